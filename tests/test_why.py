"""Why an inquiry asks, and why it stops: gains and prices beside what the engine decides, for all kinds of models."""

import json
import math

import numpy as np
import pytest
from ask_cases import fit, prices
from ask_cases import table as rows_with_gaps
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from preparation_cases import prepared_predictors
from stage_cases import full
from wrapper_cases import AnnotatedPredictor, MixedPredictor

import costframe as cf
from costframe import Answer, CostModel, WeakLearnerBank
from costframe.core.errors import CostframeError, ParameterError
from costframe.core.predictors.guarded import Bar, GuardedPredictor
from costframe.core.predictors.planned_reasons import last_choice
from costframe.core.prices.limits import REASONS
from costframe.core.tables.conditions import Condition
from costframe.plugin import PlannedPredictor, Rung, Stop
from costframe.testing import strategies

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FEWER = settings(max_examples=max(40, settings().max_examples // 3))
CAUSES = {"complete": {"complete", "nothing pays"}}
LABORATORY = CostModel.from_dict(
    {"features": {"a": 1.0, "b": {"cost": 2.0, "needs": ["lab"]}}, "resources": {"lab": 40.0}, "unit": "CAD"}
)


def step_through(inquiry, values):
    """Check each reason of an inquiry on its way, and its end."""
    while needs := inquiry.needs:
        why = inquiry.why()
        assert inquiry.why() == why
        assert inquiry.needs == needs
        assert why.stops is None
        assert {name for reason in why.asks for name in reason.names} == set(needs)
        for reason in why.asks:
            assert (reason.gain is None) == (reason.unit is None)
            assert reason.price <= why.price
            assert not reason.runner_up or set(reason.runner_up.names) != set(needs)  # a part of them may be next
        assert str(why)
        json.dumps(why.to_dict(), allow_nan=False)
        paid = inquiry.cost
        inquiry.supply({name: values[name] for name in needs})
        assert math.isclose(inquiry.cost, paid + why.price, rel_tol=1e-12, abs_tol=1e-12)
    why = inquiry.why()
    assert (why.asks, why.price) == ((), 0.0)
    reason = inquiry.answer.reason
    assert why.stops.cause in CAUSES.get(reason, {reason})
    assert not {name for each in why.stops.further for name in each.names} & set(inquiry.acquired)
    json.dumps(why.to_dict(), allow_nan=False)
    return inquiry.answer


def named(predictor, row):
    return dict(zip(predictor.feature_names, row.tolist(), strict=True))


@st.composite
def cases(draw, models):
    names = draw(strategies.feature_names())
    predictor = draw(models(names))
    costs = draw(strategies.cost_models(predictor.feature_names, computing=False))
    terms = {
        "max_cost": draw(st.none() | st.sampled_from((0.0, 1.0, 2.6, 3.5, 1e6))),
        "unavailable": draw(st.just(()) | st.sets(st.sampled_from([*predictor.feature_names, *costs.resource_names]))),
    }
    row = draw(strategies.rows(len(predictor.feature_names)).filter(len))[0]
    known = draw(st.sets(st.sampled_from(predictor.feature_names)) if predictor.feature_names else st.just(set()))
    values = named(predictor, row)
    return predictor, costs, values, terms | {"known": {name: values[name] for name in sorted(known)}}


def trees(names):
    return strategies.banks(names).flatmap(strategies.stage_trees)


@FEWER
@given(cases(trees), st.sampled_from(("path", "learner")))
def test_stage_trees_say_which_share_of_their_weight_waits(case, acquisition):
    predictor, costs, values, terms = case
    inquiry = predictor.inquire(costs, acquisition, **terms)
    if inquiry.needs:
        assert {reason.unit for reason in inquiry.why().asks} == {"weight"}
        assert all(0.0 <= reason.gain <= 1.0 + 1e-12 for reason in inquiry.why().asks)
    step_through(inquiry, values)


@FEWER
@given(cases(trees))
def test_certain_rows_say_how_far_the_rest_may_move_their_scores(case):
    predictor, costs, values, terms = case
    try:
        model = cf.certain(predictor, 0.5)
    except ParameterError:  # no sum of learners
        return
    step_through(model.inquire(costs, known=terms["known"]), values)


@FEWER
@given(cases(lambda names: strategies.planned_predictors(names, planned=True)), st.booleans())
def test_plans_retrace_the_choice_of_the_engine(case, own):
    predictor, costs, values, terms = case
    predictor = predictor.with_costs(None) if own else predictor
    inquiry = predictor.inquire(None if own else costs, **(terms | {"unavailable": ()} if own else terms))
    while True:
        known = inquiry.terms.values
        choice, state = last_choice(inquiry.walker, known), inquiry.walker.state
        if choice is None:
            assert inquiry.needs
        else:
            assert (choice.to, choice.why) == (state.stop, state.why)
            assert (choice.to == choice.stop) == (not inquiry.needs)
        if not (needs := inquiry.needs):
            break
        inquiry.supply({name: values[name] for name in needs})
    way = inquiry.walker.way  # drawn plans have spares, which stand in for an outage or a cap
    why = max(choice.why, way.terms.stand_in_reason) if way.rest.stands_in[state.stop] else choice.why
    assert REASONS[why] == inquiry.answer.reason
    step_through(predictor.inquire(None if own else costs, **(terms | {"unavailable": ()} if own else terms)), values)


@FEWER
@given(cases(lambda names: prepared_predictors(names, computing=False)))
def test_prepared_predictors_say_it_of_raw_columns(case):
    predictor, _, values, terms = case
    step_through(predictor.inquire(**terms | {"unavailable": set(terms["unavailable"]) & set(values)}), values)


def chain(costs=LABORATORY, tradeoff=0.01, **more):
    """Stay with nothing, buy a, or buy a and b: gains are the negated numbers."""
    stops = (
        Stop([], Answer([], np.empty((0, 1)), [0.0]), Answer([], np.empty((0, 2)), [-1.0, -2.0])),
        Stop([0], Answer([0], [1.0], [0.0]), Answer([0, 2], [0.0, -1.0], [0.0])),
        Stop([0, 1], Answer([0, 1], [1.0, 10.0], [0.0])),
    )
    banks = WeakLearnerBank.columns(("a", "b")), WeakLearnerBank.columns(("a", "b", "score 0"))
    return PlannedPredictor(*banks, stops, tradeoff, costs, **more)


def test_a_plan_says_its_gain_its_price_and_the_next_best():
    why = chain().inquire().why()
    (asked,) = why.asks
    assert (asked.names, asked.gain, asked.unit, asked.price) == (("a", "b"), 2.0, "loss", 43.0)
    assert (asked.runner_up.names, asked.runner_up.gain, asked.runner_up.price) == (("a",), 1.0, 1.0)
    assert str(why) == (
        "a and b are asked since they are expected to lower the loss by 2, worth 200 CAD, for 43 CAD; "
        "next best a, 1 for 1"
    )
    money = chain(tradeoff=0.05, gain_unit="money").inquire()
    assert (
        str(money.why())
        == "a is asked since it is expected to save 1 CAD of errors for 1 CAD; next best a and b, 2 for 43"
    )
    money.supply({"a": 0.25})
    assert str(money.why()) == (
        "it stops since nothing further pays; next best b, expected to save 0.25 CAD of errors for 42 CAD"
    )
    assert money.why().stops.further[0].price == 42.0
    capped = chain().inquire(max_cost=42.0)
    assert capped.why().asks[0].names == ("a",)
    assert capped.why().asks[0].runner_up is None  # b is beyond the cap
    capped.supply({"a": 0.25})
    assert capped.why().stops.cause == "max_cost"
    assert [reason.names for reason in capped.why().stops.further] == [("b",)]


def test_a_plan_that_knows_its_stop_states_the_gain_it_expects_all_the_same():
    plan = chain()
    stops = list(plan.stops)
    stops[0] = Stop([], stops[0].answer, stops[0].gains, Answer([], np.empty((0, 2)), [-1e300, 0.0]))
    fixed = PlannedPredictor(
        plan.bank, plan.gains_bank, stops, 0.01, LABORATORY, ladder=[Rung(0.0, 0.01, planned=True)]
    )
    (asked,) = fixed.inquire().why().asks
    assert (asked.names, asked.gain, asked.runner_up) == (("a",), 1.0, None)


def test_a_plan_states_the_share_of_its_gains_that_rows_realise_and_asks_for_the_same():
    plan = chain()
    planned = Answer([2], np.zeros((1, 2)), [-1.0, -2.0]), Answer([2], [-1.0], [0.0]), None
    stops = [evolve(stop, planned=each) for stop, each in zip(plan.stops, planned, strict=True)]
    for share, ladder in ((0.5, ()), (0.25, [Rung(0.0, 0.01, planned=True)])):
        own = evolve(plan, stops=stops if ladder else plan.stops, ladder=ladder, realised=(0.5, 0.25))
        (asked,) = own.inquire().why().asks
        assert (asked.names, asked.gain, asked.runner_up.gain) == (("a", "b"), 2 * share, share)
    (capped,) = own.inquire(max_cost=42.0).why().asks  # it cannot pay for what its plan wants, and gains decide
    assert (capped.names, capped.gain) == (("a",), 0.5)
    assert own.inquire(known={"a": 0.25}).why().stops.further[0].gain == 0.0625  # its plan goes on
    for realised in (0.5, (0.5,), (0.5, 1.5), (np.nan, 1.0)):
        with pytest.raises(CostframeError, match="realised"):
            evolve(plan, realised=realised)


def test_trees_weigh_what_waits_by_the_range_of_their_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = cf.estimator("cegb", costs=CostModel.uniform(("x0", "x1", "x2")), tradeoff=1e-4, n_estimators=5)
    tree = model.fit(X, X[:, 0] + 0.5 * X[:, 1] > 0).predictor_
    (answer,), bank = tree.stages, tree.bank
    ranges, first = [], []
    for t, weight in zip(answer.learners, answer.weights[:, 0], strict=True):
        a, b = bank.trees.first[bank.index[t]], bank.trees.first[bank.index[t] + 1]
        leaves = bank.trees.values[bank.trees.value[a:b][bank.trees.feature[a:b] < 0]]
        ranges.append(float(np.ptp(leaves)) * abs(weight))
        first.append(tree.feature_names[bank.trees.feature[a]])
    found = {reason.names[0]: reason.gain for reason in tree.inquire().why().asks}
    for name in set(first):
        share = sum(size for size, of in zip(ranges, first, strict=True) if of == name) / sum(ranges)
        assert found[name] == pytest.approx(share)
    assert sum(found.values()) == pytest.approx(1.0)


def test_wrappers_say_what_the_model_within_says():
    model = full(2)
    names = model.feature_names
    around = AnnotatedPredictor(model, model.card)
    assert around.inquire().why() == model.inquire().why()
    free = CostModel.of({name: float(k > 0) for k, name in enumerate(names)})
    priced = model.with_costs(free)
    mixed = MixedPredictor(priced, priced, 0.5, names[:1])
    inquiry = mixed.inquire()
    assert inquiry.why().asks[0].purpose
    guarded = GuardedPredictor(priced, [Bar(names[-1:], [Condition(names[0], above=0.0)])])
    assert guarded.inquire().why().asks[0].purpose
    for model_within in (mixed, guarded):
        step_through(model_within.inquire(), dict.fromkeys(names, 1.0))


def test_a_plan_that_a_cap_cuts_gives_the_reasons_of_the_choice_that_it_made():
    model = fit("planner", task="regression", tradeoff=1e-4).predictor_
    assert any(stop.planned is not None for stop in model.stops)
    costs, cut = prices(), 0
    for row, cap in zip(rows_with_gaps(80, seed=1)[0], np.linspace(0.0, 40.0, 80), strict=True):
        inquiry = model.inquire(costs, max_cost=cap)
        while inquiry.needs:
            inquiry.supply({name: named(model, row)[name] for name in inquiry.needs})
            choice = last_choice(inquiry.walker, {})
            assert choice.to == inquiry.walker.state.stop
            assert choice.why == inquiry.walker.state.why
        cut += inquiry.answer.reason == "max_cost"
    assert 0 < cut < 80
