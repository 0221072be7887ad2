"""What learners buy on sampled rows: against the evaluator, and against sums taken anew."""

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stagewise_cases import RelaxedCost

import costframe as cf
from costframe.errors import BankError
from costframe.plugin import PricedGroups, SampledPrices, draw_rows
from costframe.testing import strategies

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning"),
]


@st.composite
def cases(draw):
    """A bank, prices without comparisons and reuse, rows with weights, and the bank's prices by path and whole."""
    names = draw(strategies.feature_names())
    bank, costs, some_rows = (
        draw(strategies.banks(names)),
        draw(strategies.cost_models(names)),
        draw(strategies.rows(len(names)).filter(len)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X = some_rows[rng.integers(len(some_rows), size=draw(st.sampled_from((1, 4, 70))))]
    costs = evolve(costs, features=tuple(evolve(one, split=0.0) for one in costs.features), reuse=0.0)
    weight, prices = rng.uniform(0.2, 3, len(X)), costs.select(names)
    groups = PricedGroups.of_bank(bank, prices)
    sampled = SampledPrices.of_bank(bank, groups, prices.needs, X, weight / weight.sum())
    return bank, costs, X, weight, sampled, SampledPrices.whole(groups)


def some(data, count):
    return np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)


@given(cases(), st.data())
def test_cost_is_the_evaluators_with_either_acquisition(case, data):
    bank, costs, X, weight, sampled, whole = case
    used = some(data, int(bank.widths.sum()))
    model = cf.StageTree(bank, [cf.Answer(np.arange(len(bank)), used.astype(float), [0.0])])  # of the outputs used
    report = cf.ExpectedCost(costs).evaluate(model, X, sample_weight=weight)
    assert sampled.cost(used) == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    assert sampled.priced(used).price.sum() == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    features = sampled.shares(used)[len(bank) : len(bank) + len(bank.feature_names)]
    np.testing.assert_allclose(features, weight @ report.acquired / weight.sum(), atol=1e-12)
    report = cf.ExpectedCost(costs, acquisition="learner").evaluate(model, X)
    assert whole.cost(used) == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    charged = RelaxedCost(whole.groups).exact_cost(used[np.newaxis, :, np.newaxis].astype(float))
    assert whole.cost(used) == pytest.approx(charged, rel=1e-9, abs=1e-9)


@given(cases(), st.data())
def test_what_is_bought_before_is_free_and_offers_tell_what_each_output_would_add(case, data):
    sampled = case[-1] if data.draw(st.booleans()) else case[-2]
    count = int(case[0].widths.sum())
    bought, second, order = (
        some(data, count),
        some(data, count),
        np.array(data.draw(st.permutations(range(count))), int),
    )
    after, alone = sampled.after(bought), np.eye(count, dtype=np.bool_)
    assert after.cost(bought) == 0
    more = sampled.cost(bought | second) - sampled.cost(bought)
    assert after.cost(second) == pytest.approx(more, rel=1e-9, abs=1e-6)
    np.testing.assert_allclose(after.offers, [after.cost(one) for one in alone], rtol=1e-9, atol=1e-9)
    together = [after.restrict(order).cost(np.arange(count) <= c) for c in range(count)]
    np.testing.assert_allclose(np.cumsum(after.restrict(order).one_by_one()), together, rtol=1e-9, atol=1e-6)
    chosen = order[: data.draw(st.integers(0, count))]  # outputs are kept in any order
    used, there = some(data, len(chosen)), np.zeros(count, np.bool_)
    there[chosen[used]] = True
    np.testing.assert_allclose(after.restrict(chosen).shares(used), after.shares(there), atol=1e-15)
    assert after.restrict(chosen).offers == pytest.approx(after.offers[chosen], abs=1e-9)


def test_nothing_can_be_bought_of_an_empty_bank():
    bank = cf.WeakLearnerBank.columns(("a",), [])
    groups = PricedGroups.of_bank(bank, cf.CostModel.uniform(("a",)).select(("a",)))
    sampled = SampledPrices.of_bank(bank, groups, np.zeros((1, 0), np.bool_), np.zeros((2, 1)), np.full(2, 0.5))
    assert sampled.offers.shape == sampled.one_by_one().shape == (0,)
    assert sampled.cost(np.zeros(0, np.bool_)) == 0
    with pytest.raises(BankError, match="rows: expected at least one"):
        SampledPrices.of_bank(bank, groups, np.zeros((1, 0), np.bool_), np.zeros((0, 1)), np.zeros(0))


@given(st.integers(0, 1000), st.integers(1, 300), st.sampled_from([1, 7, 64, 299]))
def test_rows_are_drawn_as_often_as_they_weigh(seed, n, most):
    """Never farther than one draw from what is due, which is as close as whole draws are sure to come."""
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=n) ** 3 * (rng.random(n) < 0.7)
    weight[rng.integers(n)] = 1.0
    draw = draw_rows(np.sort(rng.integers(0, 2**63, n)).astype(np.uint64), weight, most)
    assert (np.diff(draw.rows) > 0).all()
    if n <= most:
        np.testing.assert_array_equal(draw.rows, np.arange(n))
        np.testing.assert_allclose(draw.share, weight / weight.sum())
        return
    times, due = np.zeros(n), most * weight / weight.sum()
    times[draw.rows] = draw.share * most
    np.testing.assert_allclose(times, np.round(times), atol=1e-9)
    assert (np.abs(times - due) < 1 + 1e-9).all()
    assert not times[weight == 0].any()
