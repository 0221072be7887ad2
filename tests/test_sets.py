"""Archives of sets of features: what a search with few quick fits finds."""

import numpy as np
import pytest

from costframe import CostModel
from costframe.plugin import Rows, loss_for
from costframe.sets import SetArchive, SetPrices
from costframe.trees import BinMapper, TreeSettings
from costframe_planner.parts import choose_parts

ARRAYS = CostModel.uniform(["a"]).select(["a"])  # without prices of rounds


def archive(X, y, prices):
    rows, fold, data = Rows(X, y.astype(int), np.ones(len(y))), np.arange(len(y)) % 4, BinMapper.fit(X).transform(X)
    shape = TreeSettings(max_leaves=8, min_samples_leaf=10, learning_rate=0.2, l2_regularization=1.0, n_estimators=20)
    return SetArchive(data, rows, loss_for(2), fold, fold // 2, (0, 1), prices, shape)


def prices_of(cost, resource_cost=(), needs=None):
    resources = np.array(resource_cost, np.float64)
    needs = np.zeros((len(cost), len(resources)), bool) if needs is None else needs
    return SetPrices(np.array(cost, np.float64), resources, needs, np.inf, ARRAYS)


def test_a_few_fits_reach_sets_of_many_features_also_with_as_many_resources():
    X = np.random.default_rng(0).normal(size=(600, 80))
    y = X[:, ::4].sum(axis=1) > 0  # twenty features that tell a little each
    for prices in (prices_of(np.ones(80)), prices_of(np.zeros(80), np.ones(80), np.eye(80, dtype=bool))):
        found = archive(X, y, prices)
        found.search(30)
        assert len(found.found) < 120
        full = found.found[frozenset(range(80))]
        good = [each for each in found.front() if 8 <= each.cost <= 30]
        assert min(each.loss for each in good) < 0.4 * full.loss + 0.6 * found.constant


def test_a_set_between_two_others_has_the_best_features_near_its_cost_and_there_may_be_none():
    X = np.random.default_rng(0).normal(size=(600, 12))
    y = X @ (2 * 0.8 ** np.arange(12)) > 0
    found, everything = archive(X, y, prices_of(np.ones(12))), frozenset(range(12))
    middle = found.between(frozenset({0}), everything, 4.0, 1.3)
    assert {0, 1, 2} <= middle
    assert 4 / 1.3 <= len(middle) <= 4 * 1.3
    near = [tried for tried in found.found.values() if 4 / 1.3 <= tried.cost <= 4 * 1.3]
    slope = (found.found[frozenset({0})].loss - found.found[everything].loss) / 11
    assert found.found[middle] in near
    assert all(tried.loss + slope * tried.cost >= found.found[middle].loss + slope * len(middle) for tried in near)
    assert found.between(frozenset({0}), frozenset({0, 1}), 1.5, 1.2) is None


def test_features_that_split_nowhere_are_left_out_at_once():
    X = np.random.default_rng(0).normal(size=(400, 30))
    found, everything = archive(X, X[:, 3] + X[:, 4] > 1.5, prices_of(np.ones(30))), frozenset(range(30))
    found.try_sets(found._neighbors(everything))
    used = frozenset(np.flatnonzero(np.diagonal(found.gain)).tolist())
    assert {3, 4} <= used < everything
    assert found.found[used].loss == found.found[everything].loss


@pytest.mark.parametrize(
    "prices",
    [
        prices_of([5e-324] * 4),
        prices_of(np.zeros(4), [3.0], np.ones((4, 1), bool)),
        prices_of(np.zeros(4)),
        prices_of([0.0, 0.0, 1.0, 1e308]),
    ],
)
def test_a_search_comes_down_from_everything_at_the_least_prices_and_in_one_shared_resource(prices):
    X = np.random.default_rng(0).normal(size=(120, 4))
    found = archive(X, X[:, 0] > 0, prices)
    found.search(10)
    assert min(each.loss for each in found.front()) < 0.5 * found.constant


def test_prices_of_one_feature_more_or_less_are_differences_and_shares_add_up():
    rng = np.random.default_rng(0)
    prices = SetPrices(rng.random(6), rng.random(3), rng.random((6, 3)) < 0.4, 1.0, ARRAYS)
    for size in range(7):
        features = frozenset(rng.permutation(6)[:size].tolist())
        more, less = prices.added_prices(features), prices.saved_prices(features)
        for f in range(6):
            if f in features:
                assert less[f] == pytest.approx(prices.of_set(features) - prices.of_set(features - {f}))
            else:
                assert more[f] == pytest.approx(prices.of_set(features | {f}) - prices.of_set(features))
        assert prices.shares(list(features))[list(features)].sum() == pytest.approx(prices.of_set(features))


def test_prices_of_many_sets_at_once_are_those_of_each_to_the_bit():
    rng = np.random.default_rng(0)
    for d, n_resources in ((3, 0), (60, 20), (300, 40)):
        prices = SetPrices(
            rng.lognormal(size=d), rng.lognormal(size=n_resources), rng.random((d, n_resources)) < 0.1, 1.0, ARRAYS
        )
        members = rng.random((40, d)) < np.linspace(0, 1, 40)[:, np.newaxis]
        assert prices.of_sets(members).tolist() == [prices.of_set(np.flatnonzero(each).tolist()) for each in members]


def test_a_context_is_a_selector_with_sets_for_its_blocks_and_a_shuffled_one_changes_nothing():
    random = np.random.default_rng(0)
    context, X = random.integers(0, 3, 1200), random.normal(size=(1200, 9))
    y = X.reshape(-1, 3, 3)[np.arange(1200), context].sum(axis=1) > 0  # of three blocks, one tells
    prices = prices_of(np.ones(10))
    found = archive(np.c_[context, X], y, prices)
    before, gain = dict(found.found), found.gain.copy()
    selectors, (selector, *sets) = choose_parts(found, 10)
    assert selectors == [selector] == [{0}]
    blocks = [frozenset({0, 3 * block + 1, 3 * block + 2, 3 * block + 3}) for block in range(3)]
    assert set(blocks) <= set(sets)
    assert len(sets) <= 9
    assert all(any(each <= block for block in blocks) for each in sets)
    assert min(map(len, sets)) == 2  # cheap ones too
    assert found.found == before
    np.testing.assert_array_equal(found.gain, gain)
    assert choose_parts(archive(np.c_[random.permutation(context), X], y, prices), 10) == ([], [])


def test_a_context_that_tells_which_context_to_read_has_selectors_in_its_parts_and_sets_for_their_blocks():
    random, n = np.random.default_rng(0), 2000
    outer, inner, X = random.integers(0, 3, n), random.integers(0, 2, (n, 3)), random.normal(size=(n, 6))
    y = X[np.arange(n), 2 * outer + inner[np.arange(n), outer]] > 0  # one of six columns tells
    prices = prices_of(np.ones(10))
    found = archive(np.c_[outer, inner, X], y, prices)
    selectors, sets = choose_parts(found, 27)
    assert selectors[0] == sets[0] == {0}
    assert set(selectors[1:]) == {frozenset({0, 1 + each}) for each in range(3)}
    assert {frozenset({0, 1 + each // 2, 4 + each}) for each in range(6)} <= set(sets)
    few = choose_parts(found, 12)[1]
    assert set(selectors) <= set(few)
    assert len(few) <= 12
    inner = random.permutation(inner)
    assert choose_parts(archive(np.c_[outer, inner, X], y, prices), 27)[0] == [{0}]
