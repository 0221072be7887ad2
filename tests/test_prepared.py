"""Predictors of made columns: what they report is what an inquiry for raw columns pays, and they predict the same."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from mutations import copies, mutate_json, survive
from preparation_cases import clipped_sums, prepared_predictors

import costframe as cf
from costframe.core.errors import CostframeError, DataError, ParameterError, StorageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.storage.saving import _build, _store
from costframe.core.storage.stored_parts import StoredArrays
from costframe.core.tables.preparation import OpaqueOperation, Operation, Preparation
from costframe.testing.case import same_bits
from costframe.testing.counting import expect_as_reported, expect_close, inquire
from costframe.testing.strategies import LABELS, rows

NAMES = ("x0", "x1", "x2", "x3")


def overflows():
    """Allow sums of infinite leaves and of huge weights."""
    return np.errstate(all="ignore")


def halves(predictor, X):
    """Return the largest cost of rows without a cap, and half of it."""
    most = float(predictor.cost(X).per_row.max(initial=0.0))
    return most, most / 2


@given(st.data(), rows(len(NAMES), 4), st.sampled_from(("path", "learner")), st.booleans())
def test_a_report_is_what_an_inquiry_for_raw_columns_pays(data, X, acquisition, computing):
    predictor = data.draw(prepared_predictors(NAMES, computing=computing))
    with overflows():
        report, values = predictor.cost(X, acquisition=acquisition, rounds=True), predictor.predict(X)
        for i, row in enumerate(X):
            end, source = inquire(predictor, row, predictor.costs, acquisition)
            expect_as_reported(report, i, end, source, f"row {i}", by_the_book=not computing)
            assert same_bits(end.value, values[i])
            assert same_bits(report.predictions[i], values[i])
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values()) + report.evaluation.total
    expect_close(report.mean, parts, "the mean against its parts")


@given(prepared_predictors(NAMES), rows(len(NAMES), 4))
def test_the_inner_predictor_costs_the_same_at_prices_through_the_preparation(predictor, X):
    costs = cf.CostModel.from_dict(without_once(predictor.costs))
    with overflows():
        inner = predictor.priced.cost(predictor.preparation.transform(X), costs.through(predictor.preparation))
        outer = predictor.cost(X, costs)
    np.testing.assert_allclose(inner.per_row, outer.per_row, rtol=1e-9)


def without_once(costs):
    table = costs.to_dict()
    plain = {name: each for name, each in table["features"].items() if not isinstance(each, dict)}
    tables = {name: each | {"once": 0.0} for name, each in table["features"].items() if isinstance(each, dict)}
    return table | {"features": plain | tables}


@given(prepared_predictors(NAMES), rows(len(NAMES), 4), st.data())
def test_limits_cut_predictions_reports_and_inquiries_alike(predictor, X, data):
    names = [*NAMES, *predictor.costs.resource_names]
    barred = sorted(data.draw(st.sets(st.sampled_from(names), max_size=2)))
    with overflows():
        cap = data.draw(st.sampled_from(halves(predictor, X)))
        limits = {"max_cost": cap, "unavailable": barred}
        report, values = predictor.cost(X, **limits), predictor.predict(X, **limits)
        for i, row in enumerate(X):
            inquiry, asked = predictor.inquire(**limits), []
            while needs := inquiry.needs:
                asked += needs
                inquiry.supply({name: row[NAMES.index(name)] for name in needs})
            end = inquiry.answer
            assert not set(asked) & set(barred)
            assert end.cost <= cap
            assert same_bits(end.value, values[i])
            assert same_bits(report.predictions[i], values[i])
            expect_close(report.per_row[i], end.cost, f"row {i}")
            assert report.cut[i] == (end.reason != "complete")


@given(prepared_predictors(NAMES), rows(len(NAMES), 3), st.sets(st.sampled_from(NAMES)), st.booleans())
def test_raw_columns_that_are_known_are_free(predictor, X, known, by_value):
    with overflows():
        for row in X:
            values = dict(zip(NAMES, row.tolist(), strict=True))
            end, source = inquire(predictor, row, predictor.costs)
            paid = {name: values[name] for name in known} if by_value else tuple(known)
            again, more = inquire(predictor, row, predictor.costs, known=paid)
            assert same_bits(again.value, end.value)
            assert set(more.fetched) == set(source.fetched) - (known if by_value else set())
            saved = full_cost(predictor.costs, {*source.fetched, *known}) - full_cost(predictor.costs, known)
            spent = full_cost(predictor.costs, source.fetched)
            expect_close(again.cost, end.cost - spent + saved, "the price of what is not known")


def full_cost(costs, names):
    return costs.full_cost(sorted(names)) if names else 0.0


@given(prepared_predictors(NAMES), rows(len(NAMES), 5))
def test_one_row_is_made_as_in_a_table(predictor, X):
    whole = predictor.preparation.transform(X)
    for i in range(len(X)):
        columns = {f: X[i : i + 1, f].copy() for f in range(len(NAMES))}
        made = predictor.preparation.make(columns, range(whole.shape[1]))
        assert same_bits(np.array(list(made.values())), whole[i])


@given(prepared_predictors(NAMES), rows(len(NAMES), 4))
def test_saved_is_loaded(tmp_path_factory, predictor, X):
    path = tmp_path_factory.mktemp("saved") / "model.costframe"
    functions = {one.name: one.function for one in (*predictor.inner.bank.opaques, *predictor.preparation.opaques)}
    cf.save(predictor, path)
    loaded = cf.load(path, functions)
    with overflows():
        assert same_bits(loaded.predict(X), predictor.predict(X))
        assert same_bits(loaded.cost(X).per_row, predictor.cost(X).per_row)
    assert loaded.costs == predictor.costs
    if predictor.preparation.opaques:
        missing = predictor.preparation.opaques[0].name
        with pytest.raises(StorageError, match=f"'{missing}'"):
            cf.load(path, {name: function for name, function in functions.items() if name != missing})


def test_hostile_files_are_refused_or_read_without_harm():
    numbers = [Operation("lookup", [0], [9.0, 0.0, np.nan, 5.0, 6.0]), Operation("linear", [0, 1], [1.0, 2.0, 3.0])]
    preparation = Preparation(
        ("a", "b"),
        [*numbers, OpaqueOperation("call", clipped_sums, [1, 2], 2)],
        [2, 3, 5],
        ["x", "y", "z"],
        {"a": LABELS},
    )
    tree = cf.StageTree(WeakLearnerBank.columns(preparation.names), (cf.Answer([0, 1, 2], np.ones((3, 1)), [0.0]),))
    arrays = {}
    model = _store(PreparedPredictor(tree, preparation), arrays) | {"classes": None, "estimator": None}
    kinds = {name: array.dtype for name, array in arrays.items()}
    document = {"model": model, "arrays": {name: array.tolist() for name, array in arrays.items()}}
    rows = np.array([[0.0, 1.0], [1.0, np.nan]])

    def read(copy):
        try:
            rebuilt = {name: np.array(values, kinds.get(name)) for name, values in copy["arrays"].items()}
        except (ValueError, TypeError, OverflowError, KeyError, AttributeError) as error:
            raise StorageError("no arrays, which no file could hold") from error
        loaded = _build(copy.get("model"), StoredArrays(rebuilt), {"call": clipped_sums})
        with overflows():
            loaded.predict(rows)
            loaded.cost(rows)

    read(document)
    outcome = survive(read, copies(mutate_json, document, 300))
    assert outcome.refused > 0 < outcome.read
    assert outcome.megabytes < 200


def test_what_is_read_decides_which_columns_are_needed():
    preparation = Preparation(
        ("a", "b", "c"), [Operation("product", [0, 1]), Operation("constant", [], 1.0)], [3, 2, 4], ["ab", "c", "one"]
    )
    assert preparation.made_from == {"ab": ("a", "b"), "c": ("c",), "one": ()}
    bank = WeakLearnerBank.columns(preparation.names, [0, 2])
    tree = cf.StageTree(bank, (cf.Answer([0, 1], np.ones((2, 1)), [0.0]),))
    predictor = PreparedPredictor(tree, preparation)
    assert predictor.used_features == ("a", "b")
    inquiry = predictor.inquire(known={"b": 3.0})
    assert inquiry.needs == ("a",)
    inquiry.supply({"a": 2.0})
    assert inquiry.answer.value == 7.0
    assert (inquiry.answer.cost, inquiry.answer.rounds) == (1.0, 1)


def small(operations=(), outputs=(0,)):
    preparation = Preparation(("a",), operations, outputs, [f"m{i}" for i in range(len(outputs))])
    tree = cf.StageTree(WeakLearnerBank.columns(preparation.names), (cf.Answer([0], [[1.0]], [0.0]),))
    return PreparedPredictor(tree, preparation)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: small([Operation("sine", [0])]), DataError, "expected a known kind, got 'sine'"),
        (lambda: small([Operation("product", [0])]), DataError, "'product': does not read 1 columns"),
        (lambda: small([Operation("add", [0])]), DataError, "'add': 0 numbers"),
        (lambda: small([Operation("lookup", [0], [0, 2, 1, 5, 5])]), DataError, "'lookup': 5 numbers"),
        (lambda: small([Operation("bin", [0], [1, 0])]), DataError, "'bin': 2 numbers"),
        (lambda: small([Operation("exp", [1])]), DataError, "not made before it"),
        (lambda: small([], (1,)), DataError, "outputs: expected a column below 1"),
        (lambda: small([OpaqueOperation("one", clipped_sums, [0], 3)], (1,)).predict([[1.0]]), DataError, "'one'"),
        (lambda: evolve(small(), inner=small().with_costs(None)), DataError, "expected a predictor of the made"),
        (lambda: evolve(small(), inner=None), ParameterError, "expected a predictor"),
        (lambda: small().cost([[1.0]], routing="soft"), ParameterError, "routing"),
        (lambda: small().predict([["text"]]), DataError, "expected numbers"),
    ],
)
def test_what_does_not_fit_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_frames_need_only_what_is_read():
    pd = pytest.importorskip("pandas")
    preparation = Preparation(("a", "b"), [Operation("exp", [0])], [2, 1], ["ea", "b"])
    tree = cf.StageTree(WeakLearnerBank.columns(("ea", "b"), [0]), (cf.Answer([0], [[1.0]], [0.0]),))
    predictor = PreparedPredictor(tree, preparation)
    frame = pd.DataFrame({"other": ["text"], "a": [0.0]})
    assert predictor.predict(frame).tolist() == [1.0]
    assert predictor.cost(frame).by_feature == {"a": 1.0, "b": 0.0}
    with pytest.raises(CostframeError, match="lack 'a'"):
        predictor.predict(frame[["other"]])
