"""Predictions of many rows: each row equals `predict_one`, and the arrays hold what the rows hold."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from preparation_cases import prepared_predictors

import costframe as cf
from costframe import SteppedPredictor
from costframe.testing import strategies

CAPS = (None, None, 0.0, 1.0, 2.6, 5.0, 1e6)


def same(a, b):
    """Equal bit by bit; the payload of a NaN does not count."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))


def expect_same(end, other):
    assert same(end.value, other.value)
    names = ("cost", "acquired", "rounds", "exit", "reason", "failed_cost", "failures")
    assert [getattr(end, name) for name in names] == [getattr(other, name) for name in names]


def expect_arrays(many, names):
    """The arrays hold the fields of the rows; costs are sums in another order, so they may differ by rounding."""
    assert len(many) == len(many.value) == len(many.cost) == len(many.acquired) == len(many.cut)
    assert (many.value.dtype, many.cost.dtype, many.acquired.dtype, many.cut.dtype) == (float, float, bool, bool)
    for i, end in enumerate(many):
        assert same(end.value, many.value[i])
        assert end.cost == pytest.approx(many.cost[i], rel=1e-9, abs=1e-9)
        assert set(end.acquired) == {name for name, had in zip(names, many.acquired[i], strict=True) if had}
        assert (end.reason != "complete") == many.cut[i]


def step_twice(names):
    def steps():
        first = yield names[:1]
        last = yield names[-1:]
        return first[names[0]] + last[names[-1]]

    return steps


@st.composite
def cases(draw):
    """A predictor of any kind, prices, rows, and terms."""
    kind = draw(st.sampled_from(("stages", "sum", "plan", "prepared", "stepped")))
    names, until, acquisition = draw(strategies.feature_names()), None, draw(st.sampled_from(("path", "learner")))
    if kind in {"stages", "sum"}:
        routes = 4 if kind == "stages" else 0
        predictor = draw(strategies.stage_trees(draw(strategies.banks(names)), most_routes=routes))
        if kind == "sum" and (until := draw(st.sampled_from((0.0, 0.5)))) is not None:
            predictor = evolve(predictor, stages=[evolve(predictor.stages[0], link="sigmoid", level=0.0)])
            predictor, acquisition = cf.certain(predictor, until), "path"
    elif kind == "plan":
        predictor = draw(strategies.planned_predictors(names, planned=draw(st.booleans())))
    elif kind == "prepared":
        predictor = draw(prepared_predictors(names, computing=False))
    else:
        predictor = SteppedPredictor(names, step_twice(names), fallback=0.5)
    costs = (
        predictor.costs
        if kind == "prepared"
        else draw(strategies.cost_models(names, computing=kind in {"stages", "sum"}))
    )
    limits = {}
    if until is None:
        paid_for = [*names, *costs.resource_names]
        limits["max_cost"] = draw(st.sampled_from(CAPS))
        limits["unavailable"] = sorted(draw(st.just(()) | st.sets(st.sampled_from(paid_for), max_size=2)))
    known = draw(st.just(()) | st.sets(st.sampled_from(names), max_size=2))
    if draw(st.booleans()):
        known = dict.fromkeys(known, draw(st.sampled_from((0.0, 1.0))))
    return (
        predictor,
        draw(strategies.rows(len(names))),
        {"costs": costs, "acquisition": acquisition, "known": known, **limits},
    )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@given(cases())
def test_each_row_of_any_predictor_is_that_of_predict_one(case):
    predictor, X, terms = case
    with np.errstate(all="ignore"):
        one = [cf.predict_one(predictor, row, **terms) for row in X]
        names = predictor.feature_names
        dicts = [dict(zip(names, row.tolist(), strict=True)) for row in X]
        for table in (X, pd.DataFrame(X, columns=list(names))[list(reversed(names))], dicts):
            many = cf.predict_many(predictor, table, **terms)
            for end, other in zip(many, one, strict=True):
                expect_same(end, other)
            expect_arrays(many, names)


def chain():
    """Two stages: rows above zero at a pay for b too."""
    bank = cf.WeakLearnerBank.columns(("a", "b"))
    stages = (
        cf.Route([0], [[1.0]], 0.0, 0.0, 1.0, 1, 2),
        cf.Answer([0], [[1.0]], 0.0),
        cf.Answer([0, 1], [[1.0], [1.0]], 0.0),
    )
    return cf.StageTree(bank, stages, costs=cf.CostModel.from_array([1.0, 2.0], ("a", "b")))


X = np.array([[-1.0, 5.0], [2.0, 3.0], [np.nan, 1.0], [4.0, np.nan]])


def test_changes_of_the_table_afterwards_change_no_row():
    for table in (X.copy(), pd.DataFrame(X, columns=["a", "b"])):
        many = cf.predict_many(chain(), table)
        table[:] = 7.0
        assert [end.value for end in many][:2] == many.value[:2].tolist() == [-1.0, 5.0]
