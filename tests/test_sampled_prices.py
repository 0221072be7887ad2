"""What learners buy on sampled rows: against the evaluator, and against sums taken anew."""

import naive
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.errors import BankError
from costframe.core.tables.row_hashes import draw_rows
from costframe.stagewise.relaxed import RelaxedCost
from costframe.testing.strategies import banks, cost_models, feature_names, rows

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning"),
]


@st.composite
def cases(draw, kinds=("path",)):
    """A bank, prices without comparisons and reuse, rows with weights, and what the bank's prices are on them."""
    names = draw(feature_names())
    bank, costs, some_rows = draw(banks(names)), draw(cost_models(names)), draw(rows(len(names)).filter(len))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X = some_rows[rng.integers(len(some_rows), size=draw(st.sampled_from((1, 4, 70))))]
    costs = evolve(costs, features=tuple(evolve(one, split=0.0) for one in costs.features), reuse=0.0)
    weight = rng.uniform(0.2, 3, len(X))
    prices = costs.select(names)
    groups = PricedGroups.of_bank(bank, prices)
    if draw(st.sampled_from(kinds)) == "whole":
        return bank, costs, X, weight, SampledPrices.whole(groups)
    return bank, costs, X, weight, SampledPrices.of_bank(bank, groups, prices.needs, X, weight / weight.sum())


def some(data, bank, most=None):
    count = int(bank.widths.sum()) if most is None else most
    return np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)


def answer(bank, used):
    """A model of one answer that evaluates the learners of some outputs."""
    return cf.StageTree(bank, [cf.Answer(np.arange(len(bank)), used.astype(float), [0.0])])


def shares_by_row(bank, costs, X, weight, used):
    """A learner is paid by all rows, a feature where it is read, a resource where a feature is read that needs it."""
    names, needs = bank.feature_names, costs.select(bank.feature_names).needs
    learners = np.unique(np.repeat(np.arange(len(bank)), bank.widths)[used]).tolist()
    found = np.zeros(len(bank) + len(names) + needs.shape[1])
    for row in {each.tobytes() for each in X}:  # many are alike
        due = set(learners)
        for f in set().union(*(naive.learner_outputs(bank, t, np.frombuffer(row))[1] for t in learners)):
            due |= {len(bank) + f, *(len(bank) + len(names) + np.flatnonzero(needs[f])).tolist()}
        found[sorted(due)] += weight[[each.tobytes() == row for each in X]].sum() / weight.sum()
    return found


@settings(max_examples=60)
@given(cases(), st.data())
def test_cost_is_the_evaluators_by_path(case, data):
    bank, costs, X, weight, sampled = case
    used = some(data, bank)
    report = cf.ExpectedCost(costs).evaluate(answer(bank, used), X, sample_weight=weight)
    assert sampled.cost(used) == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    assert sampled.priced(used).price.sum() == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    features = sampled.shares(used)[len(bank) : len(bank) + len(bank.feature_names)]
    np.testing.assert_allclose(features, weight @ report.acquired / weight.sum(), atol=1e-12)
    np.testing.assert_allclose(sampled.shares(used), shares_by_row(bank, costs, X, weight, used), atol=1e-12)


@settings(max_examples=60)
@given(cases(("whole",)), st.data())
def test_whole_is_learner_acquisition(case, data):
    bank, costs, X, _, sampled = case
    used = some(data, bank)
    report = cf.ExpectedCost(costs, acquisition="learner").evaluate(answer(bank, used), X)
    assert sampled.cost(used) == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    charged = RelaxedCost(sampled.groups).exact_cost(used[np.newaxis, :, np.newaxis].astype(float))
    assert sampled.cost(used) == pytest.approx(charged, rel=1e-9, abs=1e-9)


@settings(max_examples=60)
@given(cases(("path", "whole")), st.data())
def test_what_is_bought_before_is_free(case, data):
    bank, _, _, _, sampled = case
    first, second = some(data, bank), some(data, bank)
    later = sampled.after(first)
    assert later.cost(first) == 0
    assert later.cost(second) == pytest.approx(sampled.cost(first | second) - sampled.cost(first), rel=1e-9, abs=1e-6)
    np.testing.assert_allclose(later.shares(second), sampled.shares(first | second) - sampled.shares(first), atol=1e-12)
    assert later.after(second).cost(np.ones(len(first), np.bool_)) <= sampled.cost(np.ones(len(first), np.bool_)) + 1e-9


@settings(max_examples=60)
@given(cases(("path", "whole")), st.data())
def test_outputs_are_kept_in_any_order(case, data):
    bank, _, _, _, sampled = case
    order = np.array(data.draw(st.permutations(range(int(bank.widths.sum())))), np.int64)
    chosen = order[: data.draw(st.integers(0, len(order)))]
    used, bought = some(data, bank, len(chosen)), some(data, bank)
    there = np.zeros(len(order), np.bool_)
    there[chosen[used]] = True
    part = sampled.after(bought).restrict(chosen)
    np.testing.assert_allclose(part.shares(used), sampled.after(bought).shares(there), atol=1e-15)
    np.testing.assert_array_equal(part.groups.member.toarray(), sampled.groups.member.toarray()[:, chosen])
    assert part.offers == pytest.approx(sampled.after(bought).offers[chosen], abs=1e-9)


@settings(max_examples=60)
@given(cases(("path", "whole")), st.data())
def test_offers_tell_what_each_output_would_add_alone_and_one_by_one(case, data):
    bank, _, _, _, sampled = case
    bought = some(data, bank)
    after, alone = sampled.after(bought), np.eye(len(bought), dtype=np.bool_)
    np.testing.assert_allclose(after.offers, [after.cost(one) for one in alone], rtol=1e-9, atol=1e-9)
    assert not after.offers[bought].any()
    order = np.array(data.draw(st.permutations(range(len(bought)))), np.int64)
    together = [after.restrict(order).cost(np.arange(len(order)) <= c) for c in range(len(order))]
    np.testing.assert_allclose(np.cumsum(after.restrict(order).one_by_one()), together, rtol=1e-9, atol=1e-6)


def test_nothing_can_be_bought_of_an_empty_bank():
    groups = PricedGroups.of_bank(cf.WeakLearnerBank.columns(("a",), []), cf.CostModel.uniform(("a",)).select(("a",)))
    sampled = SampledPrices.of_bank(
        cf.WeakLearnerBank.columns(("a",), []), groups, np.zeros((1, 0), np.bool_), np.zeros((2, 1)), np.full(2, 0.5)
    )
    assert sampled.offers.shape == SampledPrices.whole(groups).offers.shape == sampled.one_by_one().shape == (0,)
    assert sampled.offers.min(initial=np.inf) == np.inf
    assert sampled.cost(np.zeros(0, np.bool_)) == 0
    with pytest.raises(BankError, match="rows: expected at least one"):
        SampledPrices.of_bank(
            cf.WeakLearnerBank.columns(("a",)), groups, np.zeros((1, 0), np.bool_), np.zeros((0, 1)), np.zeros(0)
        )


@given(st.integers(0, 1000), st.integers(1, 300), st.sampled_from([1, 7, 64, 299]))
def test_rows_are_drawn_as_often_as_they_weigh(seed, n, most):
    """Never farther than one draw from what is due, which is as close as whole draws are sure to come."""
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=n) ** 3 * (rng.random(n) < 0.7)
    weight[rng.integers(n)] = 1.0
    keys = np.sort(rng.integers(0, 2**63, n)).astype(np.uint64)
    draw = draw_rows(keys, weight, most)
    drawn, share = draw.rows, draw.share
    assert (np.diff(drawn) > 0).all()
    assert share.sum() == pytest.approx(1.0)
    if n <= most:
        np.testing.assert_array_equal(drawn, np.arange(n))
        np.testing.assert_allclose(share, weight / weight.sum())
        return
    times, due = np.zeros(n), most * weight / weight.sum()
    times[drawn] = share * most
    np.testing.assert_allclose(times, np.round(times), atol=1e-9)
    assert (np.abs(times - due) < 1 + 1e-9).all()
    assert not times[weight == 0].any()
