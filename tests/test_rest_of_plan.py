"""Where something is unavailable: trees without columns, expected losses by what is absent, stand-ins of stops."""

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from costframe import Answer, CostModel, WeakLearnerBank, load, predict_one, save
from costframe.core.errors import StageError
from costframe.core.learners.absent_columns import go_without
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.plugin import PlannedPredictor, Rung, Spare, Stop, TreeTable
from costframe.testing import same_bits, strategies

NAMES = ("a", "b", "c")


@given(strategies.tree_tables(3), strategies.rows(3), st.lists(st.booleans(), min_size=3, max_size=3))
def test_trees_without_columns_answer_as_for_missing_values(trees, X, absent):
    found = go_without(trees, np.array(absent))
    masked = np.where(absent, np.nan, X)
    assert same_bits(
        WeakLearnerBank.from_trees(found, NAMES).outputs(X), WeakLearnerBank.from_trees(trees, NAMES).outputs(masked)
    )
    assert not set(WeakLearnerBank.from_trees(found, NAMES).read.tolist()) & set(np.flatnonzero(absent).tolist())


def test_expected_losses_find_substitutes_and_complements_and_never_fall():
    rng, n = np.random.default_rng(0), 400
    there = np.vstack([np.ones((n, 3), bool), rng.random((5 * n, 3)) < 0.5])
    a, b, c = ~there.T
    truth = 0.2 + 0.3 * (a & b) + 0.1 * c  # a and b tell the same
    losses = truth + np.tile(rng.normal(size=n), 6)  # rows differ, and that has no effect
    found = AbsenceLosses.regress(losses, np.ones(len(losses)), there, n, [(0, 1)])
    every = np.array(np.meshgrid(*[[False, True]] * 3)).reshape(3, -1).T
    lost = found.of(every) - found.least
    expected = 0.3 * (~every[:, 0] & ~every[:, 1]) + 0.1 * ~every[:, 2]
    np.testing.assert_allclose(lost, expected, atol=0.01)
    order = rng.permutation(n)
    again = AbsenceLosses.regress(
        losses.reshape(6, n)[:, order].ravel(),
        np.ones(6 * n),
        there.reshape(6, n, 3)[:, order].reshape(-1, 3),
        n,
        [(0, 1)],
    )
    assert same_bits(again.of(every), found.of(every))


def stump(feature, below, above):
    """A tree that says one of two numbers, and for a missing value their mean, by a second test."""
    return TreeTable.single(
        [feature, -1, feature, -1, -1], [0.0, 0, np.inf, 0, 0], [False, False, False, False, False],
        [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0.0, below, 0.0, above, (below + above) / 2],
    )  # fmt: skip


def plan(spare=True):
    """Nothing, then a and b; the spare ensemble adds what each says."""
    trees = [stump(f, -(f + 1.0), f + 1.0) for f in range(3)]
    bank = WeakLearnerBank.from_trees(TreeTable.concatenate(trees), NAMES)
    gains = WeakLearnerBank.columns((*NAMES, "score 0"), [])
    stops = [
        Stop([], Answer([], np.empty((0, 1)), [0.0]), Answer([], np.empty((0, 1)), [-1.0])),
        Stop([0, 1], Answer([0, 1], np.ones((2, 1)), [0.0])),
    ]
    expected = AbsenceLosses(0.0, np.eye(3, dtype=bool), [0.25, 0.5, 0.0], [0.0, 0.0, 0.0])
    kept = Spare(bank, Answer([0, 1, 2], np.ones((3, 1)), [10.0]), expected, [1.0, 0.0])
    return PlannedPredictor(bank, gains, stops, tradeoff=0.1, spare=kept if spare else None)


ROWS = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])


def test_expected_losses_are_sums_that_are_rounded_once():
    expected = AbsenceLosses(0.0, np.eye(10, dtype=bool), np.full(10, 0.1), np.zeros(10))
    assert expected.of(np.zeros((1, 10), np.bool_)).tolist() == [1.0]


def test_a_stand_in_answers_from_the_rest_of_its_set_and_pays_for_no_more():
    predictor = plan()
    assert predictor.predict(ROWS).tolist() == [3.0, 1.0]
    assert predictor.predict(ROWS, unavailable="b").tolist() == [11.0, 9.0]  # 10, and what a says
    assert plan(spare=False).predict(ROWS, unavailable="b").tolist() == [0.0, 0.0]
    report = predictor.cost(ROWS, unavailable="b")
    assert (report.per_row.tolist(), report.cut.tolist()) == ([1.0, 1.0], [True, True])
    assert predictor.exits(ROWS, unavailable="b").tolist() == [1, 1]
    inquiry = predictor.inquire(unavailable="b")
    assert inquiry.needs == ("a",)
    inquiry.supply({"a": 1.0})
    assert (inquiry.answer.value, inquiry.answer.exit, inquiry.answer.reason) == (11.0, 1, "unavailable")


def test_a_stand_in_is_bought_if_what_is_left_of_the_gain_is_worth_its_price():
    predictor = plan()  # without b the gain of 1 is .5, without a .75
    assert predictor.predict(ROWS, unavailable="b", tradeoff=0.49).tolist() == [11.0, 9.0]
    assert predictor.predict(ROWS, unavailable="b", tradeoff=0.51).tolist() == [0.0, 0.0]
    assert predictor.predict(ROWS, unavailable="a", tradeoff=0.74).tolist() == [12.0, 12.0]
    assert predictor.predict(ROWS, unavailable="a", tradeoff=0.76).tolist() == [0.0, 0.0]
    assert predictor.predict(ROWS, unavailable="b", max_cost=0.5).tolist() == [0.0, 0.0]


def test_where_a_cap_pays_for_no_set_a_row_buys_what_tells_most_of_it():
    predictor = plan()
    report = predictor.cost(ROWS, max_cost=1.5)
    assert report.predictions.tolist() == [12.0, 12.0]
    assert (report.acquired.tolist(), report.cut.tolist()) == ([[False, True, False]] * 2, [True, True])
    inquiry = predictor.inquire(max_cost=1.5)
    assert inquiry.needs == ("b",)
    inquiry.supply({"b": -1.0})
    assert (inquiry.answer.value, inquiry.answer.cost, inquiry.answer.reason) == (8.0, 1.0, "max_cost")
    assert predictor.predict(ROWS, max_cost=0.5).tolist() == [0.0, 0.0]
    assert predictor.predict(ROWS, max_cost=2.0).tolist() == predictor.predict(ROWS).tolist()
    assert predictor.inquire(max_cost=1.0, known={"a": 1.0}).needs == ("b",)  # with a, which is there, that is the set
    assert plan(spare=False).predict(ROWS, max_cost=1.5).tolist() == [0.0, 0.0]


def test_a_plan_of_one_stop_buys_within_a_cap_what_tells_most_first():
    whole = plan()
    first = evolve(whole, stops=whole.stops[1:], spare=whole.spare.beside([0.0]))
    dear = {"features": {"a": 1.0, "b": {"cost": 2.0, "needs": ["lab"]}, "c": 9.0}, "resources": {"lab": 1.0}}
    for cap, bought in ((0.5, ""), (1.0, "a"), (2.9, "a"), (3.0, "b"), (3.9, "b"), (4.0, "ab")):
        end = predict_one(first, dict(zip(NAMES, ROWS[0], strict=True)), CostModel.of(dear), max_cost=cap)
        assert "".join(sorted(end.acquired)) == bought, cap
        assert end.cost <= cap
        assert end.reason == ("complete" if bought == "ab" else "max_cost")


def test_a_row_that_begins_with_known_values_and_can_have_nothing_else_uses_them():
    inquiry = plan().inquire(known={"a": -1.0}, unavailable=("b", "c"))
    assert (inquiry.needs, inquiry.answer.value, inquiry.answer.cost) == ((), 9.0, 0.0)


def test_a_plan_of_one_stop_has_a_stand_in_too():
    whole = plan()
    single = evolve(whole, stops=(evolve(whole.stops[1], gains=None),), spare=whole.spare.beside([0.0]))
    assert single.predict(ROWS).tolist() == [3.0, 1.0]
    assert single.predict(ROWS, unavailable="b").tolist() == [11.0, 9.0]
    assert single.predict(ROWS, unavailable=("a", "b")).tolist() == [10.0, 10.0]


def selecting(losses=(1.0, 1.0, 0.5, 0.0)):
    """Nothing, then a, then b too where a is negative and c where it is positive; a alone gains nothing."""
    trees = WeakLearnerBank.from_trees(TreeTable.concatenate([stump(f, -(f + 1.0), f + 1.0) for f in range(3)]), NAMES)
    gains = WeakLearnerBank.columns((*NAMES, "score 0"))
    sends = Answer([0], [[1.0, -1.0]], [0.0, 0.0])
    stops = [
        Stop([], Answer([], np.empty((0, 1)), [0.0]), Answer([], np.empty((0, 3)), np.zeros(3)),
             Answer([], np.empty((0, 3)), [-1.0, 0.0, 0.0])),
        Stop([0], Answer([0], [1.0], [0.0]), sends, sends),
        Stop([0, 1], Answer([0, 1], np.ones((2, 1)), [0.0]), Answer([], np.empty((0, 1)), [0.0])),
        Stop([0, 2], Answer([0, 2], np.ones((2, 1)), [0.0])),
    ]  # fmt: skip
    expected = AbsenceLosses(0.0, np.eye(3, dtype=bool), [1.0, 0.3, 0.3], [0.0, 0.0, 0.0])
    spare = Spare(trees, Answer([0, 1, 2], np.ones((3, 1)), [10.0]), expected, losses)
    costs = CostModel.of(dict.fromkeys(NAMES, 1.0))
    return PlannedPredictor(trees, gains, stops, 0.1, costs, ladder=[Rung(0.0, 0.1, planned=True)], spare=spare)


def test_a_plan_by_values_goes_on_in_outages_with_what_is_known_and_under_caps():
    model, X = selecting(), np.array([[-1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    assert model.exits(X).tolist() == [2, 3]
    assert model.exits(X, unavailable="b").tolist()[1] == 3
    assert model.exits(X, unavailable="b", max_cost=2.0).tolist()[1] == 3
    assert model.exits(X, unavailable="a").tolist() == [0, 0]  # nothing tells which of the others helps
    for row, exit_without, bought in zip(X, (2, 3), "bc", strict=True):
        for limits in ({}, {"max_cost": 5.0}):
            inquiry = model.inquire(known={"a": row[0]}, **limits)
            assert inquiry.needs == (bought,)
            inquiry = model.inquire(known={"c" if bought == "b" else "b": 1.0}, **limits)
            assert inquiry.needs == ("a",)
            inquiry.supply({"a": row[0]})
            assert inquiry.needs == (bought,)
            inquiry.supply({bought: 1.0})
            assert inquiry.answer.exit == exit_without


def test_a_plan_by_values_ends_where_less_than_half_of_the_gains_is_left():
    X, left = np.array([[1.0, 1.0, 1.0]]), (1.0, 1.0, 0.5, 0.0)
    for losses, buys in ((left, True), ((1.0, 1.0, 0.9, 0.0), False)):
        model = selecting(losses)  # without c, a and b lose .3 more than all
        model = evolve(model, spare=evolve(model.spare, expected=evolve(model.spare.expected, some=[1.0, 0.3, 0.8])))
        assert model.rest(model.terms(unavailable=("c",))).keeps_plan == buys
        assert (model.exits(X, unavailable="c")[0] > 0) == buys


def test_a_row_that_its_cap_parts_from_its_plan_is_parted_though_it_lacks_something_too():
    """It wants c, then b and d, more than its cap: in reach is a by its plan, b by its gains."""
    names, nothing = (*NAMES, "d"), Answer([], np.empty((0, 1)), [0.0])

    def stop(features, *both):  # learners without weights: values decide
        return Stop(features, nothing, *(Answer([4], np.zeros((1, len(values))), values) for values in both))

    sure = stop([], [-1.0, -2.0, -1.0, -1.0], [-3.0, -2.0, -4.0, -5.0])
    stops = sure, *(stop([f], *[[0.0] * left] * 2) for f, left in ((0, 3), (1, 2))), stop([1, 3], [0.0]), stop([2])
    banks = WeakLearnerBank.from_trees(stump(0, 0.0, 0.0), names), WeakLearnerBank.columns((*names, "score 0"))
    expected = AbsenceLosses(0.0, np.eye(4, dtype=bool), [0.0] * 4, [0.0] * 4)
    spare = Spare(banks[0], nothing, expected, [1.0, 0.5, 0.5, 0.0, 0.5])
    costs, ladder = CostModel.of({"a": 1.0, "b": 1.0, "c": 1.0, "d": 9.0}), [Rung(0.0, 0.01, planned=True)]
    model = PlannedPredictor(*banks, stops, 0.01, costs, ladder=ladder, spare=spare)
    for limits, exit_, reason in (
        ({"unavailable": "c"}, 3, "unavailable"),
        ({"max_cost": 2.0}, 4, "complete"),
        ({"max_cost": 2.0, "unavailable": "c"}, 2, "unavailable"),
    ):
        inquiry = model.inquire(**limits)
        assert set(inquiry.needs) == {names[f] for f in stops[exit_].features}
        inquiry.supply(dict.fromkeys(inquiry.needs, 0.0))
        assert (inquiry.answer.exit, inquiry.answer.reason) == (exit_, reason)
        assert model.exits(np.zeros((20, 4)), **limits).tolist() == [exit_] * 20


def test_a_plan_by_values_counts_on_stand_ins_only_where_own_stops_gain_much_less_without_them():
    for losses, counts in (((1.0, 1.0, 0.5, 0.0), False), ((1.0, 1.0, 0.0, 0.05), False), ((1.0, 1.0, 0.0, 0.2), True)):
        model = selecting(losses)
        rest = model.rest(model.terms(unavailable=("b",)))
        assert rest.keeps_plan
        assert rest.stands_in.tolist() == [False, False, False, True, False]
        gains = rest.layout.expected_gains(1, np.array([[-1.0, 1.0, 1.0, 0.0]]), planned=True)[0]
        assert (gains[1] != 0) == counts
        assert gains[[0, 2]].tolist() == [-1.0, 1.0]  # of own stops, as in the plan


def test_the_first_stop_has_a_stand_in_also_where_later_ones_leave_the_same():
    whole = plan()
    answer, none = whole.stops[1].answer, np.empty((0, 1))
    stops = [
        Stop([0, 1], answer, Answer([], np.empty((0, 2)), [0.0, 0.0])),
        Stop([0, 2], evolve(answer, learners=[0, 2]), Answer([], none, [0.0])),
        Stop([0, 1, 2], answer),
    ]
    model = evolve(whole, stops=stops, spare=whole.spare.beside([1.0, 0.5, 0.0]))
    rest = model.rest(model.terms(unavailable=("b", "c")))
    assert rest.own[rest.stands_in].tolist() == [0]
    assert model.predict(ROWS, unavailable=("b", "c")).tolist() == [11.0, 9.0]


def test_what_was_saved_answers_in_an_outage_to_the_bit(tmp_path):
    save(plan(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    for name in NAMES:
        assert same_bits(loaded.predict(ROWS, unavailable=name), plan().predict(ROWS, unavailable=name))


def test_spare_ensembles_that_do_not_fit_are_refused():
    whole = plan()
    for wrong, match in (
        (evolve(whole.spare, losses=[1.0]), "losses: expected 2 finite numbers"),
        (evolve(whole.spare, answer=Answer([], np.empty((0, 2)), [0.0, 0.0])), "answer: expected one of the link"),
        (evolve(whole.spare, bank=whole.gains_bank), "bank: expected trees over the features"),
        (evolve(whole.spare, expected=AbsenceLosses(0.0, np.eye(3, dtype=bool), [-1.0, 0, 0], [0.0, 0, 0])), "some"),
        (evolve(whole.spare, expected=AbsenceLosses(np.nan, np.empty((0, 3)), [], [])), "least"),
    ):
        with pytest.raises(StageError, match=match):
            evolve(whole, spare=wrong)
