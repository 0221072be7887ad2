"""One decision tree at prices: grown by looking two splits ahead, and pruned by what folds show."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field, frozen

from costframe import Answer, StageTree, WeakLearnerBank
from costframe.plugin import (
    B1,
    F8,
    I8,
    CostAwareClassifier,
    Rows,
    Sampling,
    TrainingData,
    Traits,
    check_call,
    coarse,
    resolve,
)
from costframe_baselines.split_tests import SplitTests
from costframe_baselines.tree_stakes import TreeStakes
from costframe_baselines.way_prices import WayPrices

_FOLDS, _MOST_ROWS = 5, 5_000  # that choose the penalty; of all trees
_PENALTIES = (np.inf, 0.16, 0.08, 0.04, 0.02, 0.01, 0.005, 0.0025, 0.0)  # of a leaf, as shares of the constant's loss
_LEAST_GAIN = 1e-9  # of a split, as a share of its rows' loss: less is rounding


@frozen(eq=False)
class Node:
    """A leaf, or a test with its price for each row and for the batch, and a node for the rows of either side."""

    counts: F8  # (K,): weight of its rows by class
    loss: float  # of these rows, if it is a leaf
    test: int = -1
    price: float = 0.0
    once: float = 0.0
    sides: tuple[Node, ...] = ()  # of the rows that go left, and of the others

    def prune(self, penalty: float) -> tuple[Node, float, int]:
        """Return the part of least loss + price + penalty * leaves, with its loss + price, and its leaves."""
        leaf = evolve(self, test=-1, sides=())
        if not self.sides:
            return leaf, self.loss, 1
        (left, below, some), (right, above, others) = (side.prune(penalty) for side in self.sides)
        total = below + above + self.price * float(self.counts.sum()) + self.once
        if self.loss <= total + penalty * (some + others - 1):
            return leaf, self.loss, 1
        return evolve(self, sides=(left, right)), total, some + others


@frozen(eq=False)
class _Grower:
    """Grows trees on some rows of a table."""

    rows: Rows
    tests: SplitTests
    prices: WayPrices
    stakes: TreeStakes
    depth: int

    def grow(self, rows: I8) -> Node:
        """Grow a tree on rows, int64 (m,)."""
        return self._grow(rows, self.prices, self.depth)

    def _grow(self, rows: I8, prices: WayPrices, depth: int) -> Node:
        """Choose the split of least loss + price, where each side may have one more, and grow both sides alike."""
        y, weight = self.rows.y[rows], self.rows.weight[rows]
        counts = self.stakes.count(y, weight)
        total, loss = counts.sum(), float(self.stakes.losses(counts))
        leaf, first = Node(counts, loss), prices.first()
        left = self.tests.left[rows]
        worth = first[self.tests.feature] * total < loss
        chosen = np.flatnonzero(worth & left.any(axis=0) & ~left.all(axis=0))
        if not depth or not len(chosen):
            return leaf
        left, feature = left[:, chosen], self.tests.feature[chosen]
        once = prices.once[feature]
        values = self._after_split(left, feature, y, weight, prices, depth) + first[feature] * total + once
        best = int(np.argmin(coarse(values)))
        if not values[best] < loss * (1 - _LEAST_GAIN):
            return leaf
        f, goes_left = int(feature[best]), left[:, best]
        after = prices.after(f)
        sides = tuple(self._grow(rows[side], after, depth - 1) for side in (goes_left, ~goes_left))
        return Node(counts, loss, int(chosen[best]), float(first[f]), float(once[best]), sides)

    def _after_split(self, left: B1, feature: I8, y: I8, weight: F8, prices: WayPrices, depth: int) -> F8:
        """Return the loss + price that rows have after each of T tests, if each side may have one more: float64 (T,).

        Parameters
        ----------
        left : bool (m, T)
            Whether rows go left.
        feature : int64 (T,)
        y, weight : (m,)
        prices : WayPrices
            Before the test.
        depth : int
            Most tests on a way, this one included.
        """
        n_tests = left.shape[1]
        both = np.empty((self.stakes.n_classes, n_tests, n_tests))  # weight of rows that go left at two tests, by class
        counts = self.stakes.count(y, weight)[:, np.newaxis]
        for k in range(len(both)):
            of_class = left[y == k].astype(np.float64)
            both[k] = (of_class * weight[y == k, np.newaxis]).T @ of_class
        below = np.diagonal(both, axis1=1, axis2=2)
        above, value = counts - below, np.zeros(n_tests)
        pair_prices = prices.second()[feature][:, feature] if depth > 1 else np.empty(0)
        for one, low in ((below, both), (above, below[:, np.newaxis] - both)):
            best = self.stakes.losses(one)
            if depth > 1:
                split = self.stakes.losses(low) + self.stakes.losses(one[:, :, np.newaxis] - low)
                split += pair_prices * one.sum(axis=0)[:, np.newaxis] + prices.once_second()[feature][:, feature]
                best = np.minimum(best, split.min(axis=1))
            value += best
        return value

    def judge(self, node: Node, rows: I8) -> float:
        """Return the loss + price of rows, int64 (m,), that a tree answers, without once-prices."""
        if not node.sides:
            counts = self.stakes.count(self.rows.y[rows], self.rows.weight[rows])
            return float(counts @ self.stakes.of_classes(node.counts))
        left = self.tests.left[rows, node.test]
        paid = node.price * float(self.rows.weight[rows].sum())
        return paid + self.judge(node.sides[0], rows[left]) + self.judge(node.sides[1], rows[~left])


def train_tree(data: TrainingData, depth: int, *, money: bool) -> StageTree:
    """Grow a tree of at most `depth` tests on a way, on training and validation rows, and prune it.

    With `money` it minimizes the bill, else log loss + tradeoff * cost. The penalty of a leaf is that of the least loss
    + price on folds.
    """
    rows = data.joined_rows()
    stakes = TreeStakes.of(data, rows, money=money)
    if len(rows) > _MOST_ROWS:
        rows = Sampling(data).sample(rows, _MOST_ROWS)
    prices = WayPrices.of(data.prices, 1.0 if money else data.tradeoff)
    tests = SplitTests.of(data, rows, prices, stakes)
    rows = evolve(rows, weight=stakes.exact_weight(rows))
    grower = _Grower(rows, tests, prices.reading(tests.columns), stakes, depth)
    fold, losses = Sampling(data).folds(rows, _FOLDS)[1], np.zeros(len(_PENALTIES))
    for number in np.unique(fold):
        check_call()
        out = fold == number
        tree = grower.grow(np.flatnonzero(~out if not out.all() else out))  # equal rows are in one fold, perhaps all
        pruned = [tree.prune(share * tree.loss)[0] for share in _PENALTIES]
        losses += [grower.judge(each, np.flatnonzero(out)) for each in pruned]
    tree = grower.grow(np.arange(len(rows)))
    tree = tree.prune(_PENALTIES[int(np.argmin(coarse(losses)))] * tree.loss)[0]
    return _as_stage_tree(tree, tests, stakes, data.feature_names)


def _as_stage_tree(tree: Node, tests: SplitTests, stakes: TreeStakes, names: tuple[str, ...]) -> StageTree:
    """Return a tree as a model, whose leaves have the log odds of their classes."""
    nodes, sides = [tree], []
    for node in nodes:  # grows
        sides.append((len(nodes), len(nodes) + 1) if node.sides else (-1, -1))
        nodes += node.sides
    scores, link = np.log(np.stack([stakes.shares(node.counts) for node in nodes])), "softmax"
    if stakes.n_classes == 2:
        scores, link = scores[:, 1:] - scores[:, :1], "sigmoid"
    width = scores.shape[1]
    if not tree.sides:
        return StageTree(WeakLearnerBank.columns(names, []), (Answer([], np.zeros((0, width)), scores[0], link),))
    table = tests.table(np.array([node.test for node in nodes]), np.array(sides), scores)
    return StageTree(WeakLearnerBank.from_trees(table, names), (Answer([0], np.eye(width), np.zeros(width), link),))


@define(slots=False, eq=False, repr=False)
class PricedTreeClassifier(CostAwareClassifier):
    """One decision tree for two classes or more, whose rows pay for the features on their way.

    Each split is the one of least loss + price where either side may split once more, so that pairs of features are
    found that tell only together; a feature or resource that was paid on the way is free. Where prices have errors, the
    tree minimizes the bill. Then it is pruned, by a penalty of leaves that folds choose. Validation rows train it, too,
    and at most 5,000 rows do.

    Parameters
    ----------
    costs, class_weight
        As for every classifier.
    tradeoff : float, optional
        lambda, log loss accepted per unit of cost per row. By default it minimizes the bill where prices have errors,
        else 0.001.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns whose categories are told apart, one from the others, as for CEGB.
    max_depth : int, optional
        Most tests on a way, 4 by default.

    Attributes
    ----------
    predictor_ : StageTree
    classes_ : ndarray (K,)
    """

    traits: ClassVar = Traits(takes_categories=True, trains_on_validation=True, plans_bills=True, prices_rounds=True)

    costs: Any = None
    tradeoff: float | None = None
    categorical_features: Any = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        depth = resolve("max_depth", self.max_depth, 4, low=1, high=30, whole=True)
        return train_tree(data, depth, money=self.tradeoff is None and data.costs.errors is not None)
