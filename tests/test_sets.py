"""Archives of sets of features: what a search with few quick fits finds."""

import numpy as np

from costframe.sets.archive import SetArchive
from costframe.sets.prices import SetPrices
from costframe.training.data import Rows
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.losses import loss_for
from costframe.trees.settings import TreeSettings


def boosted(leaves, rows, step, l2=1.0, n_rounds=500, patience=20):
    return TreeSettings(
        max_leaves=leaves,
        min_samples_leaf=rows,
        learning_rate=step,
        l2_regularization=l2,
        n_estimators=n_rounds,
        n_iter_no_change=patience,
    )


def archive(X, y, prices):
    rows, fold = Rows(X, y, np.ones(len(y))), np.arange(len(y)) % 4
    data = BinMapper.fit(X).transform(X)
    return SetArchive(data, rows, loss_for(2), fold, fold // 2, (0, 1), prices, boosted(8, 10, 0.2, 1.0, 20, None))


def prices_of(cost, resource_cost=(), needs=None):
    resources = np.array(resource_cost, np.float64)
    needs = np.zeros((len(cost), len(resources)), bool) if needs is None else needs
    return SetPrices(np.array(cost, np.float64), resources, needs, np.inf)


def test_a_few_fits_reach_sets_of_many_features():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 80))
    y = (X[:, ::4].sum(axis=1) > 0).astype(int)  # twenty features that tell a little each
    found = archive(X, y, prices_of(np.ones(80)))
    found.search(30)
    full = found.found[frozenset(range(80))]
    good = [each for each in found.front() if 8 <= each.cost <= 30]
    assert min(each.loss for each in good) < 0.4 * full.loss + 0.6 * found.constant


def test_shares_of_a_set_add_up_to_its_price():
    needs = np.array([[1, 0], [1, 1], [0, 0]], bool)
    prices = prices_of([1.0, 2.0, 3.0], [4.0, 5.0], needs)
    for features in ([0, 1, 2], [0, 2], [1]):
        assert prices.shares(features)[features].sum() == prices.of_set(features)


def test_a_search_comes_down_from_everything_at_the_least_prices_and_in_one_shared_resource():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 4))
    y = (X[:, 0] > 0).astype(int)
    least, shared = prices_of([5e-324] * 4), prices_of(np.zeros(4), [3.0], np.ones((4, 1), bool))
    for prices in (least, shared, prices_of(np.zeros(4)), prices_of([0.0, 0.0, 1.0, 1e308])):
        found = archive(X, y, prices)
        found.search(10)
        assert min(each.loss for each in found.front()) < 0.5 * found.constant
