"""Tests that may split a tree's rows."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from costframe.plugin import B1, F8, I8, Rows, TrainingData, TreeTable, coarse
from costframe.trees import BinMapper
from costframe_baselines.tree_stakes import TreeStakes
from costframe_baselines.way_prices import WayPrices

_MOST_TESTS, _MOST_CELLS = 128, 2**22  # of pairs of tests, by class
_FEWEST_BINS, _MOST_BINS = 4, 16


@frozen(eq=False)
class SplitTests:
    """Tests of single columns, and which rows go left at each."""

    columns: I8  # (k,): those that tests read, among all
    feature: I8  # (T,): the place of each test's column among these
    threshold: F8  # (T,): NaN of categories
    category: F8  # (T,): that goes right; NaN of thresholds
    missing_left: B1  # (T,)
    left: B1  # (n, T)

    @classmethod
    def of(cls, data: TrainingData, rows: Rows, prices: WayPrices, stakes: TreeStakes) -> SplitTests:
        """Make tests of the columns that may be worth their price, at most 128, the best alone of more.

        Thresholds are quantiles, fewer with more columns. A missing value goes left or right, whichever is better.
        """
        counts = stakes.count(rows.y, rows.weight)
        root = float(stakes.losses(counts))
        worth = (prices.first() * rows.total_weight + prices.once < root) & ~data.dominated_duplicates()
        columns = np.flatnonzero(worth)
        most = int(min(_MOST_TESTS, (_MOST_CELLS / stakes.n_classes) ** 0.5))
        bins = int(np.clip(most // max(len(columns), 1) + 1, _FEWEST_BINS, _MOST_BINS))
        named = np.zeros(len(columns), np.bool_) if data.categorical is None else data.categorical[columns]
        weight = rows.weight / stakes.prior[rows.y]  # so that rare classes are told apart, too
        mapper = BinMapper.fit(rows.X[:, columns], max_bins=bins, sample_weight=weight, categorical=named)
        tests = cls._of_columns(columns, mapper, rows)
        if len(tests.feature) <= most:
            return tests
        below = np.stack([rows.weight[rows.y == k] @ tests.left[rows.y == k] for k in range(stakes.n_classes)])
        price = prices.first()[columns][tests.feature] * rows.total_weight + prices.once[columns][tests.feature]
        values = stakes.losses(below) + stakes.losses(counts[:, np.newaxis] - below) + price
        return tests.take(np.sort(np.argsort(coarse(values), kind="stable")[:most]))

    @classmethod
    def _of_columns(cls, columns: I8, mapper: BinMapper, rows: Rows) -> SplitTests:
        """Make all tests of columns, int64 (k,), at the thresholds, or of the categories, of a mapper."""
        parts = list[SplitTests]()
        for place, (column, cuts, named) in enumerate(zip(columns, mapper.thresholds, mapper.categorical, strict=True)):
            x, no_cut = rows.X[:, column], np.full(len(cuts), np.nan)
            absent, of = np.isnan(x), np.full(len(cuts), place)
            known = x[:, np.newaxis] != cuts if named else x[:, np.newaxis] <= cuts
            mostly_left = rows.weight @ known >= 0.5 * rows.total_weight
            lefts, rights = np.ones(len(cuts), np.bool_), np.zeros(len(cuts), np.bool_)
            for missing_left in [lefts] if named else [rights, lefts] if absent.any() else [mostly_left]:
                left = np.where(absent[:, np.newaxis], missing_left, known)
                threshold, category = (no_cut, cuts) if named else (cuts, no_cut)
                parts.append(cls(columns, of, threshold, category, missing_left, left))
            if absent.any():
                nan = np.full(1, np.nan)  # no value passes it
                parts.append(cls(columns, np.full(1, place), nan, nan, np.ones(1, np.bool_), absent[:, np.newaxis]))
        none = np.empty(0)
        return cls(
            columns,
            np.concatenate([np.empty(0, np.int64), *(part.feature for part in parts)]),
            np.concatenate([none, *(part.threshold for part in parts)]),
            np.concatenate([none, *(part.category for part in parts)]),
            np.concatenate([np.empty(0, np.bool_), *(part.missing_left for part in parts)]),
            np.concatenate([np.empty((len(rows), 0), np.bool_), *(part.left for part in parts)], axis=1),
        )

    def take(self, tests: I8) -> SplitTests:
        """Keep some tests, int64 (m,)."""
        return SplitTests(
            self.columns,
            self.feature[tests],
            self.threshold[tests],
            self.category[tests],
            self.missing_left[tests],
            self.left[:, tests],
        )

    def table(self, test: I8, sides: I8, outputs: F8) -> TreeTable:
        """Return the tree whose nodes have these tests, -1 for leaves, sides (nodes, 2) and outputs (nodes, K)."""
        inner = test >= 0
        named = np.flatnonzero(inner & ~np.isnan(self.category[test]))
        return TreeTable.single(
            np.where(inner, self.columns[self.feature[test]], -1),
            np.where(inner, self.threshold[test], 0.0),
            inner & self.missing_left[test],
            sides[:, 0],
            sides[:, 1],
            outputs,
            {int(node): [float(self.category[test[node]])] for node in named},
        )
