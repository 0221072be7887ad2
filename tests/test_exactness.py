"""The central law: the cost computed is the cost paid, and every way to predict a row gives the same bits."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe import CostframeError, CostModel, ExpectedCost, MiserRegressor
from costframe.core.cost.accounts import PrefixCost
from costframe.core.cost.charges import stage_costs
from costframe.core.prices.needs import Needs
from costframe.core.stages.links import log_odds
from costframe.engine import price_rows
from costframe.testing import inquire, same_bits, strategies

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning"),
]
MORE = settings(max_examples=max(100, settings().max_examples))  # than of other properties, as this is the central law


@st.composite
def cases(draw):
    names = draw(strategies.feature_names())
    tree = draw(strategies.stage_trees(draw(strategies.banks(names))))
    return (
        tree,
        draw(strategies.cost_models(names)),
        draw(strategies.rows(len(names))),
        draw(st.sampled_from(("path", "learner"))),
    )


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a))


@MORE
@given(cases())
def test_hard_report_equals_naive_twin_equals_counted_inquiry(case):
    tree, costs, X, acquisition = case
    report, prices = tree.cost(X, costs, acquisition=acquisition, rounds=True), costs.select(tree.feature_names)
    values, exits, scores = tree.predict(X), tree.exits(X), tree.decision_function(X)
    of_stage = stage_costs(tree, prices, X, acquisition)
    assert same_bits(report.predictions, values)
    assert same_bits(scores, tree.decision_function(np.asfortranarray(X)))
    for i, row in enumerate(X):
        visited, own = naive.route_taken(tree, row)
        cost, acquired = naive.hard_cost(tree, row, costs, acquisition)
        end, source = inquire(tree, row, costs, acquisition)
        answer = tree.stages[visited[-1]]
        assert exits[i] == end.exit == visited[-1]
        assert same_bits(values[i], end.value)
        assert same_bits(end.value, np.squeeze(naive.link(answer.link, own, answer.level)))
        assert same_bits(scores[i], tree.decision_function(X[i : i + 1])[0])
        assert close(report.per_row[i], cost)
        assert end.cost == report.per_row[i]
        assert close(of_stage[i, visited].sum(), cost)
        assert set(end.acquired) == set(source.fetched) == acquired
        assert {name for name, bought in zip(tree.feature_names, report.acquired[i], strict=True) if bought} == acquired
        assert end.rounds == source.calls == report.rounds[i]
        columns = [tree.feature_names.index(name) for name in acquired]
        bought = prices.cost[columns].sum() + (prices.resource_cost * prices.needs[columns].any(axis=0)).sum()
        assert close(source.charged, bought)
    if len(tree.links) > 1 and len(X):
        assert same_bits(scores.reshape(len(X), -1), log_odds(values.reshape(len(X), -1)))
    check_parts(report, prices)


def check_parts(report, prices):
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values()) + report.evaluation.total
    assert close(report.mean, parts)
    if report.acquired.dtype == np.bool_:
        assert report.fixed == pytest.approx(prices.once[report.acquired.any(axis=0)].sum())
    if len(report.per_row):
        assert close(report.mean, report.per_row.mean())
        assert report.by_stage[0] == 1.0


@given(cases(), st.sampled_from((None, 0.3, 20.0)))
def test_soft_report_equals_the_sum_over_all_ways(case, steepness):
    tree, costs, X, acquisition = case
    report = ExpectedCost(costs, routing="soft", acquisition=acquisition, steepness=steepness).evaluate(tree, X)
    for i, row in enumerate(X):
        cost, chances = naive.soft_cost(tree, row, costs, acquisition, steepness)
        assert close(report.per_row[i], cost)
        assert np.allclose(report.acquired[i], [chances[name] for name in tree.feature_names], rtol=0, atol=1e-9)
    check_parts(report, costs.select(tree.feature_names))


@given(cases(), st.data())
def test_every_need_is_read_and_what_was_not_acquired_cannot_matter(case, data):
    """Each feature asked for is acquired by the naive walk too, for any completion of what is not known yet."""
    tree, costs, X, acquisition = case
    for row in X[:2]:
        inquiry, known = tree.inquire(costs, acquisition), {}
        while needs := inquiry.needs:
            for filler in (np.nan, -np.inf, 0.5, np.inf):
                guess = np.array([known.get(name, filler) for name in tree.feature_names])
                assert set(needs) <= naive.hard_cost(tree, guess, costs, acquisition)[1]
            values = dict(zip(tree.feature_names, row.tolist(), strict=True))
            known |= {name: values[name] for name in needs}
            inquiry.supply({name: values[name] for name in needs})
        end, others = inquiry.answer, st.sampled_from((np.nan, np.inf, -1.0, 0.5, 7.0))
        other = np.array([known[name] if name in known else data.draw(others) for name in tree.feature_names])
        again, _ = inquire(tree, other, costs, acquisition)
        assert (again.exit, again.acquired, again.rounds) == (end.exit, end.acquired, end.rounds)
        assert same_bits(again.value, end.value)
        assert same_bits(tree.predict(other[None])[0], end.value)


@given(cases(), st.lists(st.integers(0, 3), min_size=5, max_size=5), st.sampled_from(("hard", "soft")))
def test_a_weight_of_two_is_a_row_given_twice(case, weights, routing):
    tree, costs, X, acquisition = case
    counts = np.array(weights[: len(X)], np.int64)
    evaluator = ExpectedCost(costs, acquisition=acquisition, routing=routing)
    if len(X) and not counts.any():
        with pytest.raises(CostframeError, match="all are zero"):
            evaluator.evaluate(tree, X, sample_weight=counts)
        return
    weighted = evaluator.evaluate(tree, X, sample_weight=counts)
    repeated = evaluator.evaluate(tree, np.repeat(X, counts, axis=0))
    assert close(weighted.mean, repeated.mean)
    assert close(weighted.fixed, repeated.fixed)
    assert weighted.by_feature == pytest.approx(repeated.by_feature)
    assert weighted.by_stage == pytest.approx(repeated.by_stage)


@pytest.mark.parametrize("n_features", [0, 3, 8, 50, 64, 65, 130])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_prices_of_rows_are_summed_in_order(n_features, step, weighted):
    rng = np.random.default_rng(n_features)
    n, resources, columns = 300, 5, np.arange(n_features) * step
    bought = rng.random((n, n_features)) < rng.random((n, 1))
    bought[:, :1] = True  # by more rows than a byte can count
    padded = np.zeros((n, 64 * max(1, -(-n_features // 64))), np.uint8)
    padded[:, :n_features] = bought
    masks = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    cost, resource_cost, weight = rng.random(n_features), rng.random(resources), np.ones(n)
    if weighted:
        weight = rng.random(n)
    lists = [rng.permutation(resources)[: rng.integers(3)].tolist() for _ in range(n_features)]
    acquired, per_row = np.zeros((n, step * n_features), np.bool_), np.zeros(n)
    by_feature, by_resource = np.zeros(n_features), np.zeros(resources)
    needs = Needs.of(lists, [[]] * resources)
    price_rows(masks, columns, cost, needs.packed, resource_cost, weight, acquired, per_row, by_feature, by_resource)
    assert (acquired[:, columns] == bought).all()
    assert acquired.sum() == bought.sum()
    features, of_resources = [0.0] * n_features, [0.0] * resources
    for i in range(n):
        chosen, total = np.flatnonzero(bought[i]).tolist(), 0.0
        for u in chosen:
            total += cost[u]
            features[u] += weight[i]
        for r in sorted({r for u in chosen for r in lists[u]}):
            total += resource_cost[r]
            of_resources[r] += weight[i]
        assert per_row[i] == total
    assert same_bits(by_feature, features)
    assert same_bits(by_resource, of_resources)


def test_the_running_cost_of_more_and_more_trees_is_the_cost_of_each_model():
    """Training watches the cost of held-out rows by it."""
    rng = np.random.default_rng(7)
    X = np.where(rng.random((200, 5)) < 0.2, np.nan, rng.normal(size=(200, 5)))
    prices = rng.uniform(0.5, 2.0, 5)
    needs = [["r"], ["r", "q"], [], ["q"], []]
    features = {f"x{f}": {"cost": price, "needs": needs[f], "once": 0.25} for f, price in enumerate(prices)}
    extras = {"resources": {"r": 2.0, "q": {"cost": 1.0, "needs": ["r"]}}, "split": 0.1, "learner": 0.2, "reuse": 0.3}
    costs = CostModel.from_dict({"features": features, **extras})
    y = np.nan_to_num(X).sum(axis=1)
    model = MiserRegressor(costs, 1e-3, n_estimators=8).fit(X, y)
    running = PrefixCost(X, np.ones(200), costs.select(costs.names))
    for t in range(len(model.bank_)):
        running.add(model.bank_.trees.restrict([t]))
        prefix = MiserRegressor(costs, 1e-3, n_estimators=t + 1).fit(X, y)
        assert running.mean == pytest.approx(prefix.cost(X).mean, rel=1e-12)
