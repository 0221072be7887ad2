"""Planned predictors: every way to predict a row gives what the naive twin gives, on any terms, and costs the same."""

import pickle
import re
from itertools import compress

import naive_planned
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_costs import needed_resources

from costframe.core.errors import CostframeError, CostModelError, ParameterError, StageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer
from costframe.core.stages.stops import Rung, Stop, stop_prices
from costframe.testing.strategies import cost_models, feature_names, planned_predictors, rows

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")

FEWER = settings(max_examples=max(40, settings().max_examples // 3))  # two banks and up to four stops are slow to draw


@st.composite
def cases(draw, **options):
    names = draw(feature_names())
    predictor = draw(planned_predictors(names, **options))
    costs = draw(cost_models(names, computing=False))
    terms = {
        "tradeoff": draw(st.sampled_from((0.0, 0.1, 1.0))),
        "max_cost": draw(st.none() | st.sampled_from((0.0, 1.0, 2.6, 3.5, 1e6))),
        "unavailable": draw(st.just(()) | st.sets(st.sampled_from([*names, *costs.resource_names]))),
    }
    return predictor, costs, draw(rows(len(names))), terms


def same_bits(a, b):
    return np.array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64), equal_nan=True)


def inquire(predictor, row, *arguments, **terms):
    """End, names asked for."""
    values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
    inquiry, asked = predictor.inquire(*arguments, **terms), []
    while inquiry.needs:
        assert not set(inquiry.needs) & set(asked)
        asked += inquiry.needs
        inquiry.supply({name: values[name] for name in inquiry.needs})
    return inquiry.answer, asked


def check_row(twin, end, asked):
    assert end.exit == twin["exit"]
    assert same_bits(end.value, twin["value"])
    assert end.cost == twin["cost"]
    assert set(end.acquired) == twin["acquired"]
    assert set(asked) == twin["asked"]
    assert end.rounds == twin["rounds"]
    assert end.reason == twin["reason"]


@FEWER
@given(cases())
def test_table_equals_naive_twin_equals_inquiry(case):
    predictor, costs, X, terms = case
    values, exits = predictor.predict(X, costs=costs, **terms), predictor.exits(X, costs=costs, **terms)
    scores = predictor.decision_function(X, costs=costs, **terms)
    report = predictor.cost(X, costs, rounds=True, **terms)
    twins = [naive_planned.walk(predictor, row, costs, **terms) for row in X]
    ranked = predictor.stops[0].answer.link == "ranked"
    assert same_bits(report.predictions, values)
    for i, (row, twin) in enumerate(zip(X, twins, strict=True)):
        end, asked = inquire(predictor, row, costs, **terms)
        check_row(twin, end, asked)
        check_limits(predictor, costs, row, end, asked, **terms)
        assert exits[i] == twin["exit"]
        assert same_bits(values[i], twin["value"])
        assert same_bits(scores[i], np.squeeze(twin["value" if ranked else "scores"]))
        assert report.per_row[i] == twin["cost"]
        assert set(compress(predictor.feature_names, report.acquired[i])) == twin["acquired"]
        assert report.rounds[i] == twin["rounds"]
    check_report(predictor, costs, report, twins, limited=terms["max_cost"] is not None or bool(terms["unavailable"]))


def check_limits(predictor, costs, row, end, asked, tradeoff, max_cost, unavailable):
    """No row exceeds its cap or asks for what is unavailable; one that is complete ends as without limits."""
    assert max_cost is None or end.cost <= max_cost
    assert not set(asked).union(*(needed_resources(costs, name) for name in asked)) & set(unavailable)
    if end.reason == "complete":
        assert same_bits(inquire(predictor, row, costs, tradeoff=tradeoff)[0].value, end.value)


def check_report(predictor, costs, report, twins, *, limited):
    assert (report.cut is not None) == limited
    if limited:
        assert report.cut.tolist() == [twin["reason"] != "complete" for twin in twins]
    reached = [sum(stop in twin["visited"] for twin in twins) for stop in range(len(predictor.stops))]
    assert report.by_stage == pytest.approx(np.array(reached) / max(len(twins), 1))
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values())
    assert report.mean == pytest.approx(parts, rel=2e-9)
    bought = set[str]().union(*(twin["acquired"] for twin in twins))
    assert report.fixed == pytest.approx(sum(each.once for each in costs.features if each.name in bought))


@FEWER
@given(cases(), st.data())
def test_what_is_known_is_neither_asked_for_nor_charged(case, data):
    predictor, costs, X, terms = case
    names = st.sets(st.sampled_from([*predictor.feature_names, *costs.resource_names]))
    for row in X:
        values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
        known = data.draw(names)
        if data.draw(st.booleans()):
            known = {name: values.get(name, 1.0) for name in known}
        twin = naive_planned.walk(predictor, row, costs, **terms, known=known)
        end, asked = inquire(predictor, row, costs, known=known, **terms)
        check_row(twin, end, asked)
        assert not set(end.acquired) & set(known)
        assert not (isinstance(known, dict) and set(asked) & set(known))


@FEWER
@given(cases(planned=True))
def test_rungs_decide_at_the_models_own_prices_alone(case):
    predictor, costs, X, _ = case
    predictor = evolve(predictor, costs=costs)
    several = [{"tradeoff": tradeoff} for tradeoff in (0.0, 0.07, predictor.tradeoff, 0.5, 7.0)]
    limited = [*({"max_cost": cap} for cap in (0.0, 1.0, 3.5, 1e9)), {"unavailable": predictor.feature_names[:1]}]
    for terms in ({}, {"costs": evolve(costs)}, *several, *limited):
        values = predictor.predict(X, **terms)
        for i, row in enumerate(X):
            given = {"tradeoff": predictor.tradeoff, "costs": costs} | terms
            twin = naive_planned.walk(predictor, row, own=True, **given)
            assert same_bits(values[i], twin["value"])
            check_row(twin, *inquire(predictor, row, **terms))
    for tradeoff in (0.0, 0.07, 1.0):
        other = predictor.with_tradeoff(tradeoff)
        assert same_bits(other.predict(X), predictor.predict(X, tradeoff=tradeoff))
    kept = evolve(predictor, costs=None).with_costs(costs)
    assert (kept.ladder, kept.stops) == (predictor.ladder, predictor.stops) == (other.ladder, other.stops)
    cheap = evolve(costs, features=tuple(evolve(each, cost=each.cost + 1.0) for each in costs.features))
    changed = predictor.with_costs(cheap)
    assert changed.ladder == ()
    assert all(stop.planned is None for stop in changed.stops)
    assert same_bits(changed.predict(X), predictor.predict(X, costs=cheap))
    for row in X:
        twin = naive_planned.walk(predictor, row, cheap, predictor.tradeoff)
        check_row(twin, *inquire(predictor, row, costs=cheap))


@FEWER
@given(cases(), st.data())
def test_what_gets_cheaper_is_bought_by_no_fewer_rows(case, data):
    """Of loss-to-go without prices: at the first stop where the ways part, the cheaper one is bought."""
    predictor, costs, X, terms = case
    which = data.draw(st.sampled_from(["features", "resources"] if costs.resources else ["features"]))
    place = data.draw(st.integers(0, len(getattr(costs, which)) - 1))
    entry = getattr(costs, which)[place]
    lower = data.draw(st.sampled_from((0.0, entry.cost / 2, entry.cost * 0.999)))
    entries = [evolve(each, cost=lower) if each is entry else each for each in getattr(costs, which)]
    cheaper = evolve(costs, **{which: tuple(entries)})
    needs = costs.select(predictor.feature_names).needs
    mine = np.arange(len(needs)) == place if which == "features" else needs[:, place]
    before, after = (predictor.cost(X, each, **terms).acquired[:, mine].any(axis=1) for each in (costs, cheaper))
    assert not (before & ~after).any()


ONE, GONE = Answer([0], [1.0], [0.0]), Answer([], np.empty((0, 1)), [0.0])


def chain(costs=None, tradeoff=0.01, planned=None):
    """Three stops over two features: a constant, the column a, both; b needs a laboratory."""
    names = ("a", "b")
    bank = WeakLearnerBank.columns(names)
    gains_bank = WeakLearnerBank.columns((*names, "score 0"))
    stops = (
        Stop([], Answer([], np.empty((0, 1)), [0.5]), Answer([], np.empty((0, 2)), [-1.0, -2.0]), planned),
        Stop([0], Answer([0], [1.0], [0.0]), Answer([0, 2], [0.0, -1.0], [0.0])),
        Stop([0, 1], Answer([0, 1], [1.0, 10.0], [0.0])),
    )
    ladder = () if planned is None else (Rung(0.0, tradeoff, planned=True),)
    return PlannedPredictor(bank, gains_bank, stops, tradeoff, costs, ladder=ladder)


LABORATORY = CostModel.from_dict(
    {"features": {"a": 1.0, "b": {"cost": 2.0, "needs": ["lab"]}}, "resources": {"lab": 40.0}, "unit": "CAD"}
)


def test_prices_decide_at_prediction():
    X = np.array([[0.25, 3.0], [-0.25, 3.0]])
    predictor = chain(LABORATORY)
    assert predictor.exits(X).tolist() == [2, 2]  # -2 + 0.43 beats -1 + 0.01
    assert predictor.exits(X, tradeoff=0.05).tolist() == [1, 1]  # -1 + .05 < -2 + 2.15; then 2.1 is too dear
    assert predictor.exits(X, costs=[1.0, 0.2], tradeoff=0.6).tolist() == [2, 2]  # -2 + .72 < -1 + .6
    assert predictor.exits(X, costs=[1.0, 1.7], tradeoff=0.1).tolist() == [2, 2]
    assert predictor.exits(X, costs=[0.0, 2.0], tradeoff=1.0).tolist() == [1, 1]  # -1 < -2 + 2; then .25 < 2
    assert predictor.exits(X, tradeoff=2.0).tolist() == [0, 0]
    assert predictor.predict(X, tradeoff=0.05).tolist() == [0.25, -0.25]
    report = predictor.cost(X, max_cost=42.0)
    assert report.per_row.tolist() == [1.0, 1.0]
    assert report.cut.tolist() == [True, True]
    assert "2 cut" in repr(report)
    assert predictor.cost(X, unavailable=["lab"], max_cost=0.5).per_row.tolist() == [0.0, 0.0]
    assert predictor.inquire(unavailable="lab").needs == ("a",)
    assert predictor.inquire(known={"b": 3.0}, unavailable="lab").needs == ("a",)
    assert repr(predictor).startswith("PlannedPredictor(3 stops, ")


def test_a_row_begins_where_all_is_known():
    predictor = chain(LABORATORY, 0.05)
    assert predictor.exits([[0.25, 3.0]]).tolist() == [1]
    end, asked = inquire(predictor, np.array([0.25, 3.0]), known={"a": 0.25})
    assert (end.exit, end.value, end.cost, asked) == (1, 0.25, 0.0, [])
    end, asked = inquire(predictor, np.array([0.25, 3.0]), known={"a": 0.25, "b": 3.0})
    assert (end.exit, end.value, end.rounds) == (2, 30.25, 0)
    end, asked = inquire(predictor, np.array([0.25, 3.0]), known={"b": 3.0})
    assert (end.exit, asked) == (2, ["a"])  # b is free now
    assert predictor.grows
    assert not chain(LABORATORY, planned=Answer([], np.empty((0, 2)), [-1.0, -2.0])).grows


def test_what_cannot_be_had_of_the_first_stop_is_missing_there():
    bank = WeakLearnerBank.columns(("a", "b"), fill=7.0)
    gains_bank = WeakLearnerBank.columns(("a", "b", "score 0"))
    predictor = PlannedPredictor(bank, gains_bank, [Stop([0, 1], Answer([0, 1], [1.0, 10.0], [0.0]))])
    X = np.array([[1.0, 2.0]])
    assert predictor.predict(X).tolist() == [21.0]
    assert predictor.predict(X, unavailable=["a"]).tolist() == [27.0]
    assert predictor.predict(X, max_cost=1.5).tolist() == [71.0]
    end, asked = inquire(predictor, X[0], max_cost=1.5, unavailable=["b"])
    assert (asked, end.value, end.cost, end.reason) == (["a"], 71.0, 1.0, "unavailable")


PLANNED = evolve(chain().stops[0], planned=chain().stops[0].gains)
WRONG_LADDERS = {
    "no rung": ([1.0], "ladder: rung 0: expected a Rung, got float"),
    "not from 0": ([Rung(0.1, 0.1)], "ladder: expected rungs from 0 on, ascending, got [0.1]"),
    "not ascending": ([Rung(0.0, 0.1), Rung(2.0, 0.1), Rung(1.0, 0.1)], "ascending, got [0.0, 2.0, 1.0]"),
    "no plans": ([Rung(0.0, 0.1, planned=True)], "a planned rung if stops have plans, and none otherwise"),
    "a negative tradeoff": ([Rung(0.0, -1.0)], "ladder: rung 0: tradeoff"),
    "NaN": ([Rung(float("nan"), 1.0)], "ladder: rung 0: least"),
}


@pytest.mark.parametrize(("ladder", "text"), WRONG_LADDERS.values(), ids=WRONG_LADDERS)
def test_wrong_ladders_are_refused(ladder, text):
    with pytest.raises((StageError, ParameterError), match=re.escape(text)):
        evolve(chain(), ladder=ladder)
    with pytest.raises(StageError, match="expected a planned rung if stops have plans"):
        evolve(chain(), stops=[PLANNED, *chain().stops[1:]])


@pytest.mark.parametrize("n_rows", [0, 1, 9000])
def test_threads_and_rows_beside_change_nothing(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    predictor = chain(LABORATORY, 0.02)
    values, report = predictor.predict(X, n_jobs=1), predictor.cost(X, max_cost=30.0)
    assert values.shape == report.per_row.shape == (n_rows,)
    for same in (predictor, pickle.loads(pickle.dumps(predictor))):  # noqa: S301 - our own bytes
        assert same_bits(same.predict(X, n_jobs=2), values)
    for i in range(0, n_rows, 500):
        assert predictor.predict(X[i : i + 1])[0] == values[i]
        assert predictor.cost(X[i : i + 1], max_cost=30.0).per_row[0] == report.per_row[i]


def test_an_opaque_learner_that_raises_changes_nothing():
    calls = []

    def moody(rows):
        calls.append(rows)
        if len(calls) == 1:
            raise RuntimeError("not now")
        return rows[:, 0]

    bank = WeakLearnerBank.opaque(("a",), [OpaqueLearner("moody", moody, (0,))])
    stops = [
        Stop([], Answer([], np.empty((0, 1)), [0.0]), Answer([], np.empty((0, 1)), [-9.0])),
        Stop([0], Answer([0], [1.0], [0.0])),
    ]
    inquiry = PlannedPredictor(bank, WeakLearnerBank.columns(("a", "score 0")), stops).inquire()
    with pytest.raises(RuntimeError, match="not now"):
        inquiry.supply({"a": 3.0})
    assert inquiry.needs == ("a",)
    assert inquiry.cost == 0.0
    inquiry.supply({"a": 4.0})
    assert inquiry.answer.value == 4.0


def test_inquiries_under_way_at_once_change_nothing_for_each_other():
    both = Answer([0, 1], np.eye(2), [0.0, 0.0])
    stops = [
        Stop([], Answer([], np.empty((0, 2)), [0.5, 0.25]), Answer([], np.empty((0, 1)), [-1.0])),
        Stop([0, 1], both),
    ]
    bank, gains_bank = WeakLearnerBank.columns(("a", "b")), WeakLearnerBank.columns(("a", "b", "score 0", "score 1"))
    predictor = PlannedPredictor(bank, gains_bank, stops, 0.01)
    one, other, dear = predictor.inquire(), predictor.inquire(), predictor.inquire(tradeoff=9.0)
    one.supply({"a": 1.0, "b": 2.0})
    assert other.needs == ("a", "b")
    other.supply({"a": 3.0, "b": 4.0})
    for inquiry, value in ((one, [1.0, 2.0]), (other, [3.0, 4.0]), (dear, [0.5, 0.25])):
        assert inquiry.answer.value.tolist() == value
        inquiry.answer.value[:] = 7.0
    assert one.answer.value.tolist() == [1.0, 2.0]
    assert predictor.inquire(tradeoff=9.0).answer.value.tolist() == [0.5, 0.25]
    assert pickle.loads(pickle.dumps(predictor)).inquire().needs == ("a", "b")  # noqa: S301 - our own


@pytest.mark.parametrize("kind", ["learner", "split", "reuse"])
def test_prices_of_computing_are_refused_by_name(kind):
    costs = {"features": {"a": 1.0, "b": 1.0}, kind: 0.5}
    for refused in (chain().inquire, lambda costs: chain().predict(np.zeros((1, 2)), costs=costs)):
        with pytest.raises(CostModelError, match=f"{kind}: planner prices what it acquires"):
            refused(costs)


ROW = np.zeros((1, 2))
WRONG = {
    "no stops": (lambda p: evolve(p, stops=()), "expected at least one"),
    "a single stop": (lambda p: evolve(p, stops=p.stops[2]), "put it in brackets"),
    "something else": (lambda p: evolve(p, stops=[3]), "stop 0: expected a Stop, got int"),
    "columns out of order": (lambda _: Stop([1, 0], ONE), "ascending"),
    "columns of floats": (lambda _: Stop([0.5], ONE), "list of columns"),
    "a column too far": (lambda p: evolve(p, stops=[Stop([2], GONE)]), "stop 0: buys column 2, there are 2"),
    "other links": (
        lambda p: evolve(p, stops=[*p.stops[:2], evolve(p.stops[2], answer=evolve(ONE, link="sigmoid"))]),
        "one link",
    ),
    "an answer that reads more": (
        lambda p: evolve(p, stops=[evolve(p.stops[2], features=[0])]),
        "stop 0: answer: reads 'b', which is not bought there",
    ),
    "gains that read more": (
        lambda p: evolve(p, stops=[Stop([], GONE, ONE), p.stops[2]]),
        "stop 0: gains: reads 'a', which is not bought there",
    ),
    "no gains": (
        lambda p: evolve(p, stops=[evolve(p.stops[0], gains=None), *p.stops[1:]]),
        "gains: expected those of 2",
    ),
    "gains at the end": (lambda p: evolve(p, stops=[evolve(p.stops[2], gains=GONE)]), "the last stop has none"),
    "too few gains": (lambda p: evolve(p, stops=[evolve(p.stops[0], gains=GONE), *p.stops[1:]]), "2 outputs"),
    "a learner too far": (lambda p: evolve(p, stops=[Stop([0], Answer([5], [1.0], [0.0]))]), "stop 0: answer: "),
    "a bank without scores": (lambda p: evolve(p, gains_bank=p.bank), "columns of bank and 1 scores"),
    "opaque gains": (
        lambda p: evolve(
            p, gains_bank=WeakLearnerBank.opaque((*p.feature_names, "score 0"), [OpaqueLearner("o", len, (0,))])
        ),
        "opaque",
    ),
    "no bank": (lambda p: evolve(p, bank=None), "bank: expected a WeakLearnerBank"),
    "prices of others": (lambda p: evolve(p, costs=CostModel.uniform(["a"])), "no price for 'b'"),
    "prices of no kind": (lambda p: evolve(p, costs=[1.0, 2.0]), "costs: expected a CostModel"),
    "no tradeoff": (lambda p: evolve(p, tradeoff=np.nan), "tradeoff"),
    "soft routing": (lambda p: p.cost(ROW, routing="soft"), "routing: a plan has no thresholds to soften"),
    "an inquiry by what": (lambda p: p.inquire(acquisition="all"), "acquisition"),
    "a report by what": (lambda p: p.cost(ROW, acquisition="all"), "acquisition"),
    "a negative tradeoff": (lambda p: p.predict(ROW, tradeoff=-1.0), "tradeoff"),
    "a negative cap": (lambda p: p.predict(ROW, max_cost=-1.0), "max_cost"),
    "an unknown name": (lambda p: p.predict(ROW, unavailable=["c"]), "unavailable: 'c'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_by_name(case):
    make, words = WRONG[case]
    with pytest.raises(CostframeError, match=re.escape(words)):
        make(chain())


def test_prices_of_stops_are_made_once_for_the_same_prices():
    """Every inquiry asks for them."""
    prices = CostModel.uniform(["a", "b"]).select(("a", "b"))
    assert stop_prices(prices, (1, 3)) is stop_prices(prices, (1, 3))
