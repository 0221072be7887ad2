"""Prices of going again to a resource in a further round: what reports compute is what inquiries and drivers pay."""

import math

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from live_cases import NAMES as FRAME_NAMES
from live_cases import sources, table, tree
from predictor_cases import NAMES, predictors

import costframe as cf
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.prices.exact_prices import exact
from costframe.errors import CostframeError
from costframe.plugin import CostModelError, ParameterError
from costframe.sources import predict_many, predict_stream
from costframe.testing import inquire, strategies

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def cases(draw):
    """A stage tree or a plan, prices some of whose resources have prices of rounds, and rows."""
    names = draw(strategies.feature_names())
    is_plan = draw(st.booleans())
    model = strategies.planned_predictors(names) if is_plan else strategies.banks(names).flatmap(strategies.stage_trees)
    costs = draw(strategies.cost_models(names, computing=not is_plan).filter(lambda costs: costs.resources))
    rounds = [draw(st.sampled_from([0.0, 0.1, 2.5, 7.0])) for _ in costs.resources]
    times = [draw(st.sampled_from([None, 0.0])) for _ in costs.resources]
    resources = [
        evolve(resource, round=price, round_time=time)
        for resource, price, time in zip(costs.resources, rounds, times, strict=True)
    ]
    return draw(model), evolve(costs, resources=tuple(resources)), draw(strategies.rows(len(names)))


@given(cases(), st.sampled_from(["path", "learner"]))
def test_cost_reported_is_cost_paid(case, acquisition):
    model, costs, X = case
    report = model.cost(X, costs, acquisition=acquisition)
    parts = [*report.by_feature.values(), *report.by_resource.values(), report.evaluation.total]
    assert math.fsum(parts) == pytest.approx(report.mean)
    for i, row in enumerate(X):
        end, source = inquire(model, row, costs, acquisition)
        assert end.cost == report.per_row[i]
        assert exact(end.cost) >= source.paid
        if not (costs.learner or costs.reuse or costs.split or any(each.split for each in costs.features)):
            assert end.cost == pytest.approx(source.charged)
    halves = [model.cost(part, costs, acquisition=acquisition) for part in (X[:2], X[2:])]
    assert cf.CostReport.merge(halves).by_resource == pytest.approx(report.by_resource)


@given(cases(), st.sampled_from(["path", "learner"]), st.data())
def test_no_row_passes_its_cap(case, acquisition, data):
    model, costs, X = case
    if model.card.plans:
        costs = cf.CostModel(costs.features, costs.resources)
    barred = data.draw(st.lists(st.sampled_from([*costs.resource_names, *model.feature_names]), max_size=1))
    asked = {"acquisition": acquisition, "unavailable": barred}
    free = model.cost(X, costs, rounds=True, **asked)
    cap = data.draw(st.sampled_from([0.0, 0.1, 3.0, 9.9, 1e6, *free.per_row.tolist()]))
    known = data.draw(st.sets(st.sampled_from([*costs.resource_names, *model.feature_names]), max_size=2))
    report = model.cost(X, costs, max_cost=cap, rounds=True, **asked)
    for i, row in enumerate(X):
        end, source = inquire(model, row, costs, max_cost=cap, **asked)
        assert end.cost == report.per_row[i] <= cap
        assert exact(end.cost) >= source.paid
        assert end.rounds == source.calls == report.rounds[i]
        assert report.cut[i] == (end.reason != "complete")
        assert np.array_equal(np.ravel(end.value), np.ravel(report.predictions[i]), equal_nan=True)
        assert inquire(model, row, costs, max_cost=cap, known=sorted(known), **asked)[0].cost <= cap
        if free.per_row[i] <= cap and not model.card.plans and costs.select(model.feature_names).has_rounds:
            assert (report.per_row[i], report.rounds[i]) == (free.per_row[i], free.rounds[i])
            assert np.array_equal(report.predictions[i], free.predictions[i], equal_nan=True)


ROUND = {
    "visit": {"cost": 1.0, "round": 2.5},
    "blood": {"cost": 0.5, "needs": ["visit"], "round": 0.1},
    "sample": {"cost": 0.3, "needs": ["visit"], "round_time": 0.0},
}


@st.composite
def round_prices(draw):
    """Prices of further rounds; the first feature is free, and needs nothing."""
    needs = {name: draw(st.sampled_from(((), ("visit",), ("blood",), ("sample", "blood")))) for name in NAMES[1:]}
    features = {name: {"cost": draw(st.sampled_from((0.0, 0.1, 1.0))), "needs": list(needs[name])} for name in needs}
    return cf.CostModel.of({"features": {"a": 0.0} | features, "resources": ROUND})


@given(st.data())
def test_every_kind_of_predictor_keeps_its_cap(data):
    model, costs = data.draw(predictors()), data.draw(round_prices())
    cap = data.draw(st.sampled_from([0.0, 0.1, 1.6, 2.7, 4.2, 9.0]))
    barred = data.draw(st.lists(st.sampled_from(["visit", "sample", *NAMES]), max_size=1))
    known = data.draw(st.sampled_from(((), ("b",), ("visit",), {"b": 0.5, "d": None})))
    X, asked = data.draw(strategies.rows(len(NAMES), most=3)), {"max_cost": cap, "unavailable": barred}
    report = model.cost(X, costs, rounds=True, **asked)
    for i, row in enumerate(X):
        end, source = inquire(model, row, costs, **asked)
        assert end.cost == report.per_row[i] <= cap
        assert exact(end.cost) == source.paid
        assert end.rounds == report.rounds[i]
        inquiry = model.inquire(costs, known=known, **asked)
        while inquiry.needs:
            inquiry.supply(dict.fromkeys(inquiry.needs, 0.25))
            assert inquiry.cost <= cap  # at every step
        assert inquiry.answer.cost <= cap


def test_sums_of_prices_that_no_double_holds_are_rounded_once():
    third = {"cost": 1 / 3, "needs": ["visit"]}
    costs = cf.CostModel.of(
        {"features": {"a": third, "b": third}, "resources": {"visit": {"cost": 16, "round": 1 / 3}}}
    )
    bank = cf.WeakLearnerBank.columns(("a", "b"))
    route = cf.Route([0], [1.0], 0.0, threshold=0.0, steepness=1.0, below=1, above=2)
    model = cf.StageTree(bank, (route, cf.Answer([], np.empty((0, 1)), [0.0]), cf.Answer([1], [1.0], [0.0])), costs)
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    for cap in (None, 17.0):
        assert model.cost(X, max_cost=cap).per_row.tolist() == [16.333333333333336, 17.0]
        assert [inquire(model, row, costs, max_cost=cap)[0].cost for row in X] == [16.333333333333336, 17.0]


def test_a_cap_binds_where_the_first_round_is_a_further_one_of_what_was_paid_for_before():
    prices = {"a": 0.0, "b": {"cost": 0.0, "needs": ["visit"]}}
    costs = cf.CostModel.of({"features": prices, "resources": {"visit": {"cost": 1.0, "round": 2.5}}})
    model = cf.StageTree(cf.WeakLearnerBank.columns(("a", "b")), (cf.Answer([1], [[1.0]], [0.0]),), costs)
    for cap, needs, reason in ((1.6, (), "max_cost"), (2.5, ("b",), "complete")):
        inquiry = model.inquire(costs, known=["visit"], max_cost=cap)
        assert inquiry.needs == needs
        if needs:
            inquiry.supply({"b": 0.25})
        assert (inquiry.answer.reason, inquiry.answer.cost) == (reason, 2.5 if needs else 0.0)


def test_what_comes_before_the_model_needs_no_resource_with_a_price_of_rounds():
    prices = {"features": {"a": {"cost": 0.0, "needs": ["visit"]}, "b": {"cost": 1.0, "needs": ["visit"]}, "c": 1.0}}
    costs = cf.CostModel.of(prices | {"resources": {"visit": {"cost": 0.0, "round": 2.0}}})
    model = cf.StageTree(cf.WeakLearnerBank.columns(tuple("abc")), (cf.Answer([1, 2], [[1.0], [1.0]], [0.0]),), costs)
    mixed = MixedPredictor(model, model, 0.5, ["a"])
    assert mixed.cost(np.zeros((1, 3)), costs).per_row == [2.0]  # both models ask for b and c at once
    with pytest.raises(ParameterError, match=r"max_cost: cannot be kept where 'a', .* needs 'visit'"):
        mixed.cost(np.zeros((1, 3)), costs, max_cost=1.0)


def chain(**price):
    """Prices of a model that goes to the blood twice: for chol, and for some rows for pulse."""
    resources = {"blood": {"cost": 3.0, "needs": ["visit"]}, "visit": {"cost": 4.0} | price}
    features = {"age": 1.0, "scan": 2.0, "chol": {"cost": 2.0, "needs": ["blood"]}}
    return cf.CostModel.of(
        {"features": features | {"pulse": {"cost": 1.0, "needs": ["blood"]}}, "resources": resources}
    )


def twice():
    bank = cf.WeakLearnerBank.columns(FRAME_NAMES)
    stages = (
        cf.Route([1], [[1.0]], 0.0, 0.0, 1.0, 2, 1),
        cf.Answer([1], [[1.0]], [0.0]),
        cf.Answer([2], [[1.0]], [0.0]),
    )
    return cf.StageTree(bank, stages)


def test_a_further_round_is_paid_through_all_that_does_not_stay():
    frame = table()
    X = frame[list(FRAME_NAMES)]
    costs, model = chain(round=10.0), twice()
    report = model.cost(X, costs, rounds=True)
    assert set(zip(report.rounds.tolist(), report.per_row.tolist(), strict=True)) == {(1, 9.0), (2, 20.0)}
    assert report.by_resource["visit"] == pytest.approx(4.0 + 10.0 * np.mean(report.rounds == 2))
    kept = evolve(costs, resources=(evolve(costs.resources[0], round_time=0.0), costs.resources[1]))
    assert set(model.cost(X, kept).per_row) == {9.0, 10.0}  # the sample is there, and needs no visit
    inquiry = model.inquire(costs, known={"blood": None})
    assert inquiry.cost == 0.0
    inquiry.supply({"chol": 1.0})
    assert inquiry.cost == 12.0  # a round after those before
    assert model.terms(costs).ledger.quote([2], [1]) == 11.0


def test_drivers_pay_for_rounds():
    frame = table()
    costs, model = chain(round=10.0), twice()
    X = frame[list(FRAME_NAMES)]
    report = model.cost(X, costs)
    with sources(frame) as both:
        ends = dict(predict_stream(model, both, frame["key"], costs))
    assert [ends[key].cost for key in frame["key"]] == report.per_row.tolist()
    assert [end.cost for end in predict_many(model, X, costs=costs)] == report.per_row.tolist()
    inquiry = model.inquire(costs)
    inquiry.supply({"chol": -1.0})
    again = model.resume(inquiry.to_json(), costs)
    again.supply({"pulse": 1.0} if "pulse" in again.needs else dict.fromkeys(again.needs, 1.0))
    assert again.cost in {9.0, 20.0}


def test_rows_that_go_on_without_a_feature_pay_for_their_rounds():
    frame = table()
    costs, model = chain(round=10.0), tree()
    with sources(frame) as both:
        ends = dict(predict_stream(model, both, frame["key"], costs, unavailable=["scan"]))
    report = model.cost(frame[list(FRAME_NAMES)], costs, unavailable=["scan"])
    assert [ends[key].cost for key in frame["key"]] == report.per_row.tolist()


def test_prices_of_rounds_are_kept_and_refused_by_name(tmp_path):
    costs = chain(round=10.0, round_time=5.0)
    costs.save(tmp_path / "costs.toml")
    assert cf.CostModel.load(tmp_path / "costs.toml") == costs
    X = table()[list(FRAME_NAMES)]
    with pytest.raises(CostModelError, match=r"resources.visit.round: expected a finite number >= 0"):
        chain(round=-1.0)
    with pytest.raises(CostModelError, match="finite sum"):
        chain(round=1e308)
    with pytest.raises(ParameterError, match="round"):
        twice().cost(X, costs, routing="soft")
    with pytest.raises(CostframeError, match="round"):
        cf.estimator("adapt", task="classification", costs=costs, tradeoff=0.1).fit(X, X["age"] > 0)
