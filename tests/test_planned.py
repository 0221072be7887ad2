"""Planned predictors: every way to predict a row gives what the naive twin gives, on any terms, and costs the same."""

import pickle
import re
from itertools import compress
from struct import pack_into

import naive_planned
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_costs import needed_resources

from costframe import Answer, CostframeError, CostModel, WeakLearnerBank
from costframe.core.predictors.inquiry import supply_inquiries
from costframe.core.predictors.planned_terms import Place
from costframe.core.predictors.planned_walk import PlannedWalker
from costframe.plugin import PlannedPredictor, Rung, Stop
from costframe.testing import same_bits, strategies

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
MANY = 20  # rows that the engine scores together
FEWER = settings(max_examples=max(40, settings().max_examples // 3))  # two banks and up to four stops are slow to draw


@st.composite
def cases(draw, **options):
    names = draw(strategies.feature_names())
    predictor = draw(strategies.planned_predictors(names, **options))
    costs = draw(strategies.cost_models(names, computing=False))
    sets = [{names[f] for f in stop.features} for stop in predictor.stops]
    exact = (naive_planned.price(naive_planned.items(each, costs), costs) for each in (*sets, set().union(*sets)))
    terms = {
        "tradeoff": draw(st.sampled_from((0.0, 0.1, 1.0))),
        "max_cost": draw(st.none() | st.sampled_from((0.0, 1.0, 2.6, 3.5, 1e6, *exact))),
        "unavailable": draw(st.just(()) | st.sets(st.sampled_from([*names, *costs.resource_names]))),
    }
    return predictor, costs, draw(strategies.rows(len(names))), terms


def inquire(predictor, row, *arguments, **terms):
    """End, names asked for."""
    values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
    inquiry, asked = predictor.inquire(*arguments, **terms), []
    while inquiry.needs:
        assert not set(inquiry.needs) & set(asked)
        asked += inquiry.needs
        inquiry.supply({name: values[name] for name in inquiry.needs})
    return inquiry.answer, asked


def inquire_together(predictor, X, *arguments, **terms):
    """Ends of rows that are supplied together."""
    inquiries = [predictor.inquire(*arguments, **terms) for _ in X]
    while left := [i for i, each in enumerate(inquiries) if each.needs]:
        values = [{name: X[i, predictor.feature_names.index(name)] for name in inquiries[i].needs} for i in left]
        assert not any(supply_inquiries([inquiries[i] for i in left], values))
    return [each.answer for each in inquiries]


def check_row(twin, end, asked):
    assert same_bits(end.value, twin["value"])
    for name in ("exit", "cost", "rounds", "reason"):
        assert getattr(end, name) == twin[name], name
    assert (set(end.acquired), set(asked)) == (twin["acquired"], twin["asked"])


@pytest.mark.engine
@FEWER
@given(cases(), st.data())
def test_table_equals_naive_twin_equals_inquiry(case, data):
    predictor, costs, X, terms = case
    values, exits = predictor.predict(X, costs=costs, **terms), predictor.exits(X, costs=costs, **terms)
    scores = predictor.decision_function(X, costs=costs, **terms)
    report = predictor.cost(X, costs, rounds=True, **terms)
    twins = [naive_planned.walk(predictor, row, costs, **terms) for row in X]
    ranked = predictor.stops[0].answer.link == "ranked"
    assert same_bits(report.predictions, values)
    many = np.repeat(X, MANY, axis=0)
    assert same_bits(predictor.predict(many, costs=costs, **terms), np.repeat(values, MANY, axis=0))
    together = inquire_together(predictor, many, costs, **terms)
    for i, (row, twin) in enumerate(zip(X, twins, strict=True)):
        end, asked = inquire(predictor, row, costs, **terms)
        check_row(twin, end, asked)
        for same in together[MANY * i : MANY * (i + 1)]:
            check_row(twin, same, asked)
        assert terms["max_cost"] is None or end.cost <= terms["max_cost"]
        assert not set(asked).union(*(needed_resources(costs, name) for name in asked)) & set(terms["unavailable"])
        if end.reason == "complete":  # it ends as without limits
            assert same_bits(inquire(predictor, row, costs, tradeoff=terms["tradeoff"])[0].value, end.value)
        assert (exits[i], report.per_row[i], report.rounds[i]) == (twin["exit"], twin["cost"], twin["rounds"])
        assert same_bits(values[i], twin["value"])
        assert same_bits(scores[i], np.squeeze(twin["value" if ranked else "scores"]))
        assert set(compress(predictor.feature_names, report.acquired[i])) == twin["acquired"]
        known = data.draw(st.sets(st.sampled_from([*predictor.feature_names, *costs.resource_names])))
        if data.draw(st.booleans()):
            own = dict(zip(predictor.feature_names, row.tolist(), strict=True))
            known = {name: own.get(name, 1.0) for name in known}
        given_ = naive_planned.walk(predictor, row, costs, **terms, known=known)
        check_row(given_, *inquire(predictor, row, costs, known=known, **terms))
    limited = terms["max_cost"] is not None or bool(terms["unavailable"])
    assert not limited or report.cut.tolist() == [twin["reason"] != "complete" for twin in twins]
    reached = [sum(stop in twin["visited"] for twin in twins) for stop in range(len(predictor.stops))]
    assert report.by_stage == pytest.approx(np.array(reached) / max(len(twins), 1))
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values())
    assert report.mean == pytest.approx(parts, rel=2e-9)
    bought = set[str]().union(*(twin["acquired"] for twin in twins))
    assert report.fixed == pytest.approx(sum(each.once for each in costs.features if each.name in bought))


@pytest.mark.engine
@FEWER
@given(cases(planned=True))
def test_rungs_decide_at_the_models_own_prices_alone(case):
    predictor, costs, X, drawn = case
    predictor = evolve(predictor, costs=costs)
    several = [{"tradeoff": tradeoff} for tradeoff in (0.0, 0.07, predictor.tradeoff, 7.0)]
    limited = [{"max_cost": 1.0}, {"max_cost": 1e9}, {"unavailable": predictor.feature_names[:1]}]
    limited += [{name: drawn[name] for name in some} for some in (("max_cost", "tradeoff"), (*drawn,))]
    for terms in ({}, {"costs": evolve(costs)}, *several, *limited):
        values = predictor.predict(X, **terms)
        for i, row in enumerate(X):
            given = {"tradeoff": predictor.tradeoff, "costs": costs} | terms
            twin = naive_planned.walk(predictor, row, own=True, **given)
            assert same_bits(values[i], twin["value"])
            check_row(twin, *inquire(predictor, row, **terms))
    other = predictor.with_tradeoff(0.07)
    assert same_bits(other.predict(X), predictor.predict(X, tradeoff=0.07))
    kept = evolve(predictor, costs=None).with_costs(costs)
    assert (kept.ladder, kept.stops) == (predictor.ladder, predictor.stops) == (other.ladder, other.stops)
    dearer = evolve(costs, features=tuple(evolve(each, cost=each.cost + 1.0) for each in costs.features))
    changed = predictor.with_costs(dearer)
    assert (changed.ladder, {stop.planned for stop in changed.stops}) == ((), {None})
    assert same_bits(changed.predict(X), predictor.predict(X, costs=dearer))
    for row in X:
        twin = naive_planned.walk(predictor, row, dearer, predictor.tradeoff)
        check_row(twin, *inquire(predictor, row, costs=dearer))


NONE = np.empty((0, 2))
ONE, GONE = Answer([0], [1.0], [0.0]), Answer([], np.empty((0, 1)), [0.0])


def chain(costs=None, tradeoff=0.01, planned=None, more=()):
    """Three stops over two features: a constant, the column a, both; b needs a laboratory, and no stop needs `more`."""
    names = ("a", "b", *more)
    stops = (
        Stop([], Answer([], np.empty((0, 1)), [0.5]), Answer([], NONE, [-1.0, -2.0]), planned),
        Stop([0], Answer([0], [1.0], [0.0]), Answer([0, len(names)], [0.0, -1.0], [0.0])),
        Stop([0, 1], Answer([0, 1], [1.0, 10.0], [0.0])),
    )
    ladder = () if planned is None else (Rung(0.0, tradeoff, planned=True),)
    banks = WeakLearnerBank.columns(names), WeakLearnerBank.columns((*names, "score 0"))
    return PlannedPredictor(*banks, stops, tradeoff, costs, ladder=ladder)


LABORATORY = CostModel.from_dict(
    {"features": {"a": 1.0, "b": {"cost": 2.0, "needs": ["lab"]}}, "resources": {"lab": 40.0}, "unit": "CAD"}
)


def test_prices_decide_at_prediction():
    X = np.array([[0.25, 3.0], [-0.25, 3.0]])
    predictor = chain(LABORATORY)
    assert predictor.exits(X).tolist() == [2, 2]  # -2 + 0.43 beats -1 + 0.01
    assert predictor.exits(X, tradeoff=0.05).tolist() == [1, 1]  # -1 + .05 < -2 + 2.15; then 2.1 is too dear
    assert predictor.exits(X, costs=[1.0, 0.2], tradeoff=0.6).tolist() == [2, 2]  # -2 + .72 < -1 + .6
    assert predictor.exits(X, costs=[0.0, 2.0], tradeoff=1.0).tolist() == [1, 1]  # -1 < -2 + 2; then .25 < 2
    assert predictor.exits(X, tradeoff=2.0).tolist() == [0, 0]
    report = predictor.cost(X, max_cost=42.0)
    assert (report.per_row.tolist(), report.cut.tolist()) == ([1.0, 1.0], [True, True])
    assert predictor.inquire(known={"b": 3.0}, unavailable="lab").needs == ("a",)


def small_then_large(costs, tradeoff=0.5):
    """Four stops, of nothing, a, b, and both; the plan buys a first, as it counts on b after that."""
    stops = (
        Stop([], Answer([], np.empty((0, 1)), [0.5]), Answer([], np.empty((0, 3)), [-1.0, -2.0, -3.0]),
             Answer([], np.empty((0, 3)), [-3.0, -2.0, -3.0])),
        Stop([0], Answer([0], [1.0], [0.0]), Answer([], NONE, [-1.0, -2.0]), Answer([], NONE, [-1.0, -2.0])),
        Stop([1], Answer([1], [1.0], [0.0]), Answer([], np.empty((0, 1)), [-1.0])),
        Stop([0, 1], Answer([0, 1], [1.0, 10.0], [0.0])),
    )  # fmt: skip
    ladder = Rung(0.0, tradeoff), Rung(1e-6, tradeoff, planned=True)
    banks = WeakLearnerBank.columns(("a", "b")), WeakLearnerBank.columns(("a", "b", "score 0"))
    return PlannedPredictor(*banks, stops, 0.01, costs, ladder=ladder)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("cap", "ways", "reason"),
    [
        (42.0, [0, 1, 3], "complete"),  # the plan, which the cap does not touch
        (41.9, [0, 2], "max_cost"),  # after a, the row could not pay for b, which it would buy by its gains
        (39.0, [0, 2], "max_cost"),
        (38.9, [0, 1], "max_cost"),  # b is too dear anyway
    ],
)
def test_a_plan_that_spends_what_the_best_set_in_reach_costs_is_left(cap, ways, reason):
    """By gains b is worth its 39 at the tradeoff asked for, .01, and not at that of the plan, .05."""
    costs, row = CostModel.of({"a": 3.0, "b": 39.0}), np.array([0.25, 3.0])
    predictor = small_then_large(costs, 0.05)
    twin = naive_planned.walk(predictor, row, costs, 0.01, max_cost=cap, own=True)
    assert (twin["visited"], twin["reason"]) == (ways, reason)
    for many in (1, MANY):  # rows that are scored one by one, and together
        report = predictor.cost(np.tile(row, (many, 1)), max_cost=cap)
        assert report.per_row.tolist() == [twin["cost"]] * many
        assert report.cut.tolist() == [reason != "complete"] * many
    end, asked = inquire(predictor, row, max_cost=cap)
    check_row(twin, end, asked)
    why = predictor.inquire(max_cost=cap).why()
    assert why.tradeoff == (0.01 if ways == [0, 2] else 0.05)


def test_where_a_plan_does_not_go_on_rows_decide_as_without_it():
    """The tradeoff of its rung, .5, is for its own gains: at it, a would not pay for its 3."""
    costs, X = CostModel.of({"a": 3.0, "b": 39.0}), np.array([[0.25, 3.0]])
    predictor = small_then_large(costs, 0.5)
    without = evolve(predictor, ladder=[Rung(0.0, 0.01), Rung(1e9, 0.5, planned=True)])
    for limits in ({"unavailable": "b"}, {"unavailable": "b", "max_cost": 9.0}):
        assert predictor.exits(X, **limits).tolist() == without.exits(X, **limits).tolist() == [1]
    for known in ({"b": 3.0}, {"a": 0.25}):
        (end, asked), (as_end, as_asked) = (inquire(each, X[0], known=known) for each in (predictor, without))
        assert (end.exit, asked) == (as_end.exit, as_asked) == (3, ["a" if "b" in known else "b"])


def draw_plan(rng, names="abcd"):
    """Draw a plan of constant gains over sets in any order, with prices that people write."""
    m = int(rng.integers(3, 7))
    sets = [[], *(np.flatnonzero(rng.random(len(names)) < 0.5).tolist() for _ in range(m - 1))]
    stops = []
    for k, features in enumerate(sets):
        gains = [Answer([], np.empty((0, left)), -rng.integers(0, 9, left) / 10) for left in [m - 1 - k] * 2 if left]
        stops.append(Stop(features, Answer([], np.empty((0, 1)), [float(k)]), *gains))
    visit = {"cost": float(rng.integers(0, 4)), "round": float(rng.integers(0, 2))}
    prices = rng.integers(1, 40, len(names)) / 10
    costs = CostModel.of({
        "features": {
            name: {"cost": price, "needs": ["visit"][: rng.integers(2)]}
            for name, price in zip(names, prices.tolist(), strict=True)
        },
        "resources": {"visit": visit},
    })  # fmt: skip
    banks = WeakLearnerBank.columns(tuple(names), []), WeakLearnerBank.columns((*names, "score 0"), [])
    ladder = (Rung(0.0, float(rng.choice([0.0, 0.05, 0.2])), planned=True),)
    return PlannedPredictor(*banks, stops, 0.01, costs, ladder=ladder), costs


@pytest.mark.engine
def test_plans_are_left_under_caps_as_the_twin_leaves_them():
    rng, row, left = np.random.default_rng(0), np.zeros(4), 0
    for _ in range(150):
        predictor, costs = draw_plan(rng)
        costs = costs if rng.integers(2) else evolve(costs, resources=tuple(
            evolve(each, round=0.0) for each in costs.resources))  # fmt: skip
        predictor = evolve(predictor, costs=costs)
        free = predictor.cost(row[None]).per_row[0]
        for cap in (round(rng.random() * 12, 1), *([free] if free > 0 else [])):
            end, asked = inquire(predictor, row, max_cost=cap)
            report = predictor.cost(np.tile(row, (MANY, 1)), max_cost=cap)
            assert end.cost <= cap
            assert report.per_row.tolist() == [end.cost] * MANY
            assert report.cut.tolist() == [end.reason != "complete"] * MANY
            assert predictor.predict(row[None], max_cost=cap)[0] == end.value
            if not any(each.round for each in costs.resources):  # the twin has no prices of rounds
                twin = naive_planned.walk(predictor, row, costs, 0.01, max_cost=cap, own=True)
                check_row(twin, end, asked)
            left += end.reason == "max_cost" and free <= cap
    assert left > 10  # rows that a plan counts on more than the cap pays for, though it happens to be within it


def test_a_row_begins_where_all_is_known():
    predictor, row = chain(LABORATORY, 0.05), np.array([0.25, 3.0])
    end, asked = inquire(predictor, row, known={"a": 0.25})
    assert (end.exit, end.value, end.cost, asked) == (1, 0.25, 0.0, [])
    end, asked = inquire(predictor, row, known={"a": 0.25, "b": 3.0})
    assert (end.exit, end.value, end.rounds) == (2, 30.25, 0)
    end, asked = inquire(predictor, row, known={"b": 3.0})
    assert (end.exit, asked) == (2, ["a"])  # b is free now
    assert predictor.grows
    assert not chain(LABORATORY, planned=Answer([], NONE, [-1.0, -2.0])).grows


def exits_without(planned):
    """The stop where a row of a plan ends in each outage; c needs a scanner, and no stop needs either."""
    costs = LABORATORY.to_dict()
    costs["features"] |= {"c": {"cost": 1.0, "needs": ["scanner"]}}
    costs["resources"] |= {"scanner": 9.0}
    predictor, X, found = chain(CostModel.of(costs), planned=planned, more="c"), np.array([[0.25, 3.0, 0.0]]), {}
    for unavailable in ((), ("c",), ("scanner",), ("b",), ("lab", "c"), ("a",)):
        found[unavailable] = predictor.exits(X, unavailable=unavailable).item()
        end, _ = inquire(predictor, X[0], unavailable=unavailable)
        twin = naive_planned.walk(predictor, X[0], predictor.costs, 0.01, unavailable=unavailable, own=True)
        assert end.exit == twin["exit"] == found[unavailable]
        assert end.reason == twin["reason"]
    return found


def test_an_outage_that_meets_no_set_of_a_plan_changes_nothing():
    stays = Answer([3], [[0.0, 0.0]], [1.0, 1.0])  # of each row by its score
    assert exits_without(stays) == {(): 0, ("c",): 0, ("scanner",): 0, ("b",): 1, ("lab", "c"): 1, ("a",): 0}


def test_an_outage_that_meets_no_set_to_which_a_plan_sends_rows_changes_nothing():
    assert set(exits_without(Answer([], NONE, [1.0, 1.0])).values()) == {0}
    assert exits_without(Answer([], NONE, [0.0, -9.0])) == {(): 2, ("c",): 2, ("scanner",): 2} | {
        ("b",): 1,
        ("lab", "c"): 1,
        ("a",): 0,
    }


def test_what_cannot_be_had_of_the_first_stop_is_missing_there():
    bank, gains_bank = WeakLearnerBank.columns(("a", "b"), fill=7.0), WeakLearnerBank.columns(("a", "b", "score 0"))
    predictor = PlannedPredictor(bank, gains_bank, [Stop([0, 1], Answer([0, 1], [1.0, 10.0], [0.0]))])
    X = np.array([[1.0, 2.0]])
    for limits, value in (({}, 21.0), ({"unavailable": ["a"]}, 27.0), ({"max_cost": 1.5}, 71.0)):
        assert predictor.predict(X, **limits).tolist() == [value]
    end, asked = inquire(predictor, X[0], max_cost=1.5, unavailable=["b"])
    assert (asked, end.value, end.cost, end.reason) == (["a"], 71.0, 1.0, "unavailable")


@pytest.mark.engine
def test_a_row_alone_pays_from_its_own_set_whatever_its_number_was_in_a_table():
    walker = chain(LABORATORY).inquire().walker
    row = bytearray(walker.state.row)
    pack_into("q", row, 8 * Place.PAID, 7)
    from_table = PlannedWalker(walker.way, walker.state._replace(row=bytes(row)))
    assert from_table.after([0.25]).state == walker.after([0.25]).state


def test_threads_and_rows_beside_change_nothing():
    X = np.random.default_rng(0).normal(size=(9000, 2))
    predictor = chain(LABORATORY, 0.02)
    values, report = predictor.predict(X, n_jobs=1), predictor.cost(X, max_cost=30.0)
    for same in (predictor, pickle.loads(pickle.dumps(predictor))):  # noqa: S301 - our own bytes
        assert same_bits(same.predict(X, n_jobs=2), values)
    for i in range(0, len(X), 900):
        assert predictor.predict(X[i : i + 1])[0] == values[i]
        assert predictor.cost(X[i : i + 1], max_cost=30.0).per_row[0] == report.per_row[i]
    assert predictor.predict(X[:0]).shape == predictor.cost(X[:0]).per_row.shape == (0,)


ROW = np.zeros((1, 2))
WRONG = {
    "other links": (
        lambda p: evolve(p, stops=[*p.stops[:2], evolve(p.stops[2], answer=evolve(ONE, link="sigmoid"))]),
        "one link",
    ),
    "an answer that reads more": (
        lambda p: evolve(p, stops=[evolve(p.stops[2], features=[0])]),
        "stop 0: answer: reads 'b', which is not bought there",
    ),
    "a bank without scores": (lambda p: evolve(p, gains_bank=p.bank), "columns of bank and 1 scores"),
    "prices of computing": (
        lambda p: p.inquire({"features": {"a": 1, "b": 1}, "split": 0.5}), "split: planner prices what it acquires"
    ),
    "soft routing": (lambda p: p.cost(ROW, routing="soft"), "routing: a plan has no thresholds to soften"),
    "a rung not from 0": (lambda p: evolve(p, ladder=[Rung(0.1, 0.1)]), "expected rungs from 0 on, ascending, got [0"),
    "a rung of a plan": (lambda p: evolve(p, ladder=[Rung(0.0, 0.1, planned=True)]), "a planned rung if stops have"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_by_name(case):
    make, words = WRONG[case]
    with pytest.raises(CostframeError, match=re.escape(words)):
        make(chain())
