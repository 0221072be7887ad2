"""Mixtures: each row is predicted, charged and asked for as by the predictor that its hash draws."""

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from test_planned import FEWER, LABORATORY, chain, inquire, same_bits

import costframe as cf
from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import CostModelError, ParameterError, StorageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.storage.saving import checksum, load, save
from costframe.testing.counting import expect_as_reported
from costframe.testing.counting import inquire as step_through
from costframe.testing.strategies import banks, cost_models, feature_names, planned_predictors, rows, stage_trees

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def cases(draw):
    names = draw(feature_names())
    costs = draw(cost_models(names, computing=False))
    by = draw(st.sets(st.sampled_from(names), min_size=1))
    free = tuple(evolve(each, cost=0.0, needs=(), once=0.0) if each.name in by else each for each in costs.features)
    costs = evolve(costs, features=free)
    parts = [draw(planned_predictors(names, opaque=False)) for _ in range(2)]
    width = {part.n_outputs for part in parts} | {part.stops[0].answer.link for part in parts}
    if len(width) > 2:
        parts[1] = evolve(parts[0], tradeoff=draw(st.sampled_from((0.0, 2.0))))
    parts = [part.with_costs(costs) for part in parts]
    return MixedPredictor(*parts, draw(st.sampled_from((0.0, 0.3, 0.5, 1.0))), sorted(by)), draw(rows(len(names)))


@FEWER
@given(cases(), st.sampled_from((None, 0.0, 1.0, 3.5)))
def test_rows_are_those_of_the_predictor_that_their_hash_draws(case, cap):
    mixed, X = case
    second = mixed.second_answers(X)
    report = mixed.cost(X, max_cost=cap)
    values = mixed.predict(X, max_cost=cap)
    for i, row in enumerate(X):
        model = (mixed.first, mixed.second)[int(second[i])]
        alone = model.cost(X[i : i + 1], max_cost=cap)
        assert report.per_row[i] == alone.per_row[0]
        hashed = [f for f, name in enumerate(mixed.feature_names) if name in mixed.by]
        assert set(np.flatnonzero(report.acquired[i])) == set(np.flatnonzero(alone.acquired[0])) | set(hashed)
        assert same_bits(values[i], model.predict(X[i : i + 1], max_cost=cap)[0])
        end, asked = inquire(mixed, row, max_cost=cap)
        assert same_bits(end.value, values[i])
        assert (end.cost, end.exit) == (report.per_row[i], int(second[i]))
        assert {*asked} == {mixed.feature_names[f] for f in np.flatnonzero(report.acquired[i])}
    assert same_bits(mixed.decision_function(X)[second], mixed.second.decision_function(X[second]))


@st.composite
def trees(draw):
    names = draw(feature_names(4))
    costs, by = draw(cost_models(names)), draw(st.sets(st.sampled_from(names), min_size=1))
    features = (evolve(each, cost=0.0, needs=()) if each.name in by else each for each in costs.features)
    n_outputs = draw(st.integers(1, 2))
    parts = [draw(stage_trees(draw(banks(names)), n_outputs=n_outputs)) for _ in range(2)]
    if len({part.n_predictions for part in parts}) > 1:
        parts[1] = parts[0]
    costs = evolve(costs, features=tuple(features))
    parts = [part.with_costs(costs) for part in parts]
    return MixedPredictor(*parts, draw(st.sampled_from((0.0, 0.5, 1.0))), sorted(by)), draw(rows(len(names)))


@FEWER
@given(trees(), st.data(), st.sampled_from(("path", "learner")), st.sampled_from((None, 0.0, 3.5)))
def test_a_report_is_what_inquiries_pay_with_limits_and_prices_of_every_kind(case, data, acquisition, cap):
    mixed, X = case
    names = [*mixed.feature_names, *mixed.costs.resource_names]
    limits = {"max_cost": cap, "unavailable": sorted(data.draw(st.sets(st.sampled_from(names), max_size=2)))}
    report = mixed.cost(X, acquisition=acquisition, rounds=True, **limits)
    for i, row in enumerate(X):
        end, source = step_through(mixed, row, mixed.costs, acquisition, **limits)
        expect_as_reported(report, i, end, source, f"row {i}", by_the_book=False)
        given = dict(zip(mixed.feature_names[:2], row.tolist(), strict=False))
        end, source = step_through(mixed, row, mixed.costs, acquisition, known=given)
        assert not set(source.fetched) & set(given)
        assert same_bits(end.value, mixed.predict(X[i : i + 1])[0])
    assert same_bits(mixed.predict(X, **limits), report.predictions) or acquisition == "learner"
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values()) + report.evaluation.total
    assert report.mean == pytest.approx(parts, rel=1e-9, abs=1e-9)


@given(rows(2))
def test_zeros_of_both_signs_and_all_missing_values_draw_alike(X):
    mixed, other = mixture(0.5), np.where(X == 0, -X, X)
    other[np.isnan(X)] = -np.nan
    assert np.array_equal(mixed.second_answers(X), mixed.second_answers(other))


@FEWER
@given(cases())
def test_the_loaded_mixture_is_the_saved_one(tmp_path_factory, case):
    mixed, X = case
    path = tmp_path_factory.getbasetemp() / "mixture"
    save(mixed, path)
    content, again = path.read_bytes(), load(path)
    assert same_bits(again.predict(X), mixed.predict(X))
    assert np.array_equal(again.cost(X).per_row, mixed.cost(X).per_row)
    save(again, path)
    assert path.read_bytes() == content


def numbers(n=20_000, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


FREE = {"a": 0.0, "b": 2.0}


def mixture(share=0.25, costs=FREE):
    costs = cf.CostModel.from_dict({"features": costs})
    cheap, dear = (chain(costs, tradeoff) for tradeoff in (9.0, 0.01))
    return MixedPredictor(cheap, dear, share, ["a"])


def test_costs_lie_between_by_the_share():
    mixed, X = mixture(), numbers()
    assert mixed.first.cost(X).mean == 0
    assert mixed.second.cost(X).mean == 2
    assert mixed.cost(X).mean == pytest.approx(0.5, abs=0.03)
    assert list(mixed.cost(X).by_stage) == pytest.approx([0.75, 0.25], abs=0.02)
    assert np.array_equal(mixed.second_answers(X), mixed.second_answers(X[::-1])[::-1])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_one_row_and_none(share):
    mixed = mixture(share)
    assert mixed.predict(numbers(1)).shape == (1,)
    assert mixed.predict(np.empty((0, 2))).shape == (0,)
    assert mixed.cost(np.empty((0, 2))).per_row.shape == (0,)
    assert ExpectedCost(mixed.costs).evaluate(mixed, numbers(1)).mean == 2 * share


def test_without_a_feature_of_the_hash_tables_and_inquiries_draw_alike():
    mixed, X = evolve(mixture(0.5, {"a": 0.0, "b": 0.0}), by=["a", "b"]), numbers(50)
    report = mixed.cost(X, unavailable=["b"])
    ends = [step_through(mixed, row, mixed.costs, unavailable=["b"])[0] for row in X]
    assert [end.exit for end in ends] == mixed.second_answers(X, frozenset({1})).astype(int).tolist()
    assert [end.cost for end in ends] == report.per_row.tolist()
    assert not report.acquired[:, 1].any()
    assert not np.array_equal(mixed.second_answers(X), mixed.second_answers(X, frozenset({1})))


WRONG = {
    "a dear feature": (lambda _: mixture(costs={"a": 1.0, "b": 2.0}), CostModelError, "'a'"),
    "dear when it predicts": (lambda m: m.predict(numbers(3), costs=[1.0, 1.0]), CostModelError, "'a'"),
    "dear in a report": (lambda m: m.cost(numbers(3), [1.0, 1.0]), CostModelError, "'a'"),
    "an unknown feature": (lambda m: evolve(m, by=["c"]), ParameterError, "by: expected distinct features"),
    "no feature": (lambda m: evolve(m, by=[]), ParameterError, "by: expected distinct features"),
    "a mixture within": (lambda m: evolve(m, first=m), ParameterError, "no mixture itself"),
    "other prices": (
        lambda m: evolve(m, second=m.second.with_costs(LABORATORY)), ParameterError, "expected the costs of the first"
    ),
    "a share of more": (lambda m: evolve(m, share=1.5), ParameterError, "share"),
    "a tradeoff": (lambda m: m.predict(numbers(3), tradeoff=1.0), ParameterError, "tradeoff: expected None"),
    "a tradeoff of a row": (lambda m: m.inquire(tradeoff=1.0), ParameterError, "tradeoff: expected None"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_mixtures_are_refused_by_name(case):
    make, error, match = WRONG[case]
    with pytest.raises(error, match=match):
        make(mixture())


def test_functions_in_a_mixture_are_not_saved(tmp_path):
    bank = WeakLearnerBank.opaque(("a",), [OpaqueLearner("f", lambda rows: rows[:, 0], (0,))])
    tree = StageTree(bank, [Answer([0], [1.0], [0.0])], cf.CostModel.from_dict({"features": {"a": 0.0}}))
    mixed = MixedPredictor(tree, tree, 0.5, ["a"])
    with pytest.raises(StorageError, match="no opaque learners in a mixture"):
        save(mixed, tmp_path / "mixture")
    assert checksum(mixed) == b""
    assert not (tmp_path / "mixture").exists()
