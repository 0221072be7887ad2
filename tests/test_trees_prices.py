"""Prices paid once by a model, leaf by leaf."""

import numpy as np
import pytest

from costframe import engine
from costframe.core.prices.needs import Needs
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.prices import OncePrices
from costframe.trees.growing.room import WEIGHT, new_room

pytestmark = pytest.mark.engine

ROWS = np.arange(3, dtype=np.int32)


class Tree:
    """A tree that pays, of which only the prices are of interest."""

    def __init__(self, prices):
        X = np.arange(3.0 * len(prices.feature_price)).reshape(3, -1)
        state, self.arrays = prices.state(), new_room(BinMapper.fit(X).transform(X), 1, 0, 2)
        self.state, self.room = engine.Prices(*state), engine.Room(*self.arrays)
        engine.begin_prices(self.state)

    def prices(self, depth=1):
        """What a leaf of all rows pays for a split on each feature."""
        engine.open_account(self.room, self.state, ROWS)
        if depth:
            weights = np.array([0.0, self.arrays.numbers[0, WEIGHT]])
            engine.settle_account(self.room, self.state, 1, 0, weights)
        engine.charge(self.state, self.arrays.money[0], self.arrays.price)
        return self.arrays.price.tolist()

    def pay(self, feature):
        return engine.pay(self.room, self.state, 0, feature)


def test_features_and_resources_are_paid_once():
    prices = OncePrices(
        [1.0, 2.0, 4.0], resource_price=[8.0, 16.0], needed=Needs.of([[0], [1], []], [[], [0]]).listed()
    )
    tree = Tree(prices)
    assert tree.prices() == [9, 26, 4]
    assert tree.pay(0)
    assert tree.prices() == [0, 18, 4]
    assert not tree.pay(0)
    assert tree.pay(1)
    assert Tree(prices).prices() == [0, 0, 4]  # for good


def test_a_split_pays_by_the_weight_of_its_rows_and_the_root_for_the_learner():
    tree = Tree(OncePrices([0.0, 0.0], split_price=[0.5, 2.0], root_price=10.0))
    assert tree.prices(depth=0) == [11.5, 16]
    assert tree.prices() == [1.5, 6]
    assert Tree(OncePrices([0.0, 0.0], split_price=[0.5, 2.0], row_weight=[1.0, 0.0, 3.0])).prices() == [2, 8]


def test_reuse_is_paid_once_a_tree_by_features_of_earlier_trees():
    prices = OncePrices([1.0, 1.0], reuse_price=0.25)
    tree = Tree(prices)
    tree.pay(0)
    assert tree.prices() == [0, 1]  # bought by this very tree
    tree = Tree(prices)
    assert tree.prices() == [0.25, 1]
    assert tree.pay(0)
    assert tree.prices() == [0, 1]


def test_at_tradeoff_zero_all_is_free_even_what_adds_up_to_infinity():
    prices = OncePrices([1e308, 1.0], split_price=1e308, tradeoff=0.0)
    assert Tree(prices).prices() == [0, 0]
    prices.tradeoff = 2.0
    assert Tree(prices).prices() == [1e300, 1e300]


def test_prices_are_copied():
    given = np.array([1.0, 2.0])
    prices = OncePrices(given)
    given[:] = 9
    assert Tree(prices).prices() == [1, 2]
