"""LightGBM's trees as a table: every double goes the same way, NaN and infinities included.

LightGBM takes |x| <= float32(1e-35) for zero before it compares, and NaN too unless NaN is a missing value of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from costframe.adoption.lightgbm.text import CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT, LightGBMModel
from costframe.adoption.trees import SplitTests, spread, tabulate_trees
from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import AdoptionError, BankError
from costframe.core.learners.tree_table import PLAIN, TINY, WHOLE, ZERO_MISSING, TreeTable, ranges

_NO_MISSING, _ZERO = 0, 1  # how a split reads NaN; 2: as a missing value
_MOST_COMPARED = 2**18  # numbers of ordered categories, summed over their splits


def at_most(threshold: ArrayLike) -> F8:
    """Return T, float64, with `(x <= T) == (z <= t)` for every double x but NaN; z is 0 where |x| <= TINY, else x."""
    limit = np.asarray(threshold, np.float64)
    below = np.where((limit >= -TINY) & (limit < 0.0), np.nextafter(-TINY, -np.inf), limit)
    return np.where((limit >= 0.0) & (limit < TINY), TINY, below)


def tabulate_splits(model: LightGBMModel, values: Mapping[int, F8]) -> TreeTable:
    """Return the trees of a model.

    `values` are the numbers for which the codes of a feature stand: a split by its codes becomes one by the numbers.
    """
    trees = model.trees
    n_leaves = np.array([len(tree.outputs) for tree in trees])
    n_splits = n_leaves - 1
    first = np.concatenate([[0], np.cumsum(n_leaves + n_splits)])
    split, leaf = np.full((2, first[-1]), -1)  # a tree's splits come first, then its leaves
    split[ranges(first[:-1], n_splits)] = np.arange(n_splits.sum())
    leaf[ranges(first[:-1] + n_splits, n_leaves)] = np.arange(n_leaves.sum())
    shift = np.repeat(n_splits, n_splits)
    left, right = (np.concatenate([getattr(tree, side) for tree in trees]) for side in ("left", "right"))
    tests = _make_tests(model, values)
    try:
        return tabulate_trees(
            first,
            split,
            tests,
            spread(np.where(left < 0, shift + ~left, left), split, -1),
            spread(np.where(right < 0, shift + ~right, right), split, -1),
            leaf,
            np.concatenate([tree.outputs for tree in trees])[:, None],
        )
    except BankError as error:
        raise AdoptionError(f"{model.where}: {error}") from error


@frozen(eq=False)
class _Tests:
    """The tests of all splits of all trees, in the terms of `TreeTable`; `sets` are the categories of some."""

    feature: I8
    threshold: F8
    missing_left: B1
    reading: I8
    sets: dict[int, F8]

    def joined(self) -> SplitTests:
        """Return the tests with their categories in one array."""
        coded = sorted(self.sets)
        count = np.zeros(len(self.feature), np.int64)
        count[coded] = [len(self.sets[split]) for split in coded]
        categories = np.concatenate([np.zeros(0), *(self.sets[split] for split in coded)])
        return SplitTests(self.feature, self.threshold, self.missing_left, count, categories, self.reading)


def _make_tests(model: LightGBMModel, values: Mapping[int, F8]) -> SplitTests:
    trees = model.trees
    feature, decision, threshold = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "decision", "threshold")
    )
    by_category, kind = (decision & CATEGORICAL) > 0, decision >> MISSING_SHIFT
    default_left = np.where(kind == _NO_MISSING, threshold >= 0.0, (decision & DEFAULT_LEFT) > 0)
    sets = (codes for tree in trees for codes in tree.categories)
    tests = _Tests(
        feature,
        np.where(by_category, np.nan, at_most(threshold)),
        default_left & ~by_category,
        np.where(by_category, WHOLE, np.where(kind == _ZERO, ZERO_MISSING, PLAIN)),
        {split: next(sets).astype(np.float64) for split in np.flatnonzero(by_category).tolist()},
    )
    coded = np.flatnonzero(np.isin(feature, list(values))).tolist()
    if sum(len(values[int(feature[split])]) for split in coded if split not in tests.sets) > _MOST_COMPARED:
        raise AdoptionError(
            f"{model.where}: has too many comparisons of ordered categories that are numbers; make them texts"
        )
    for split in coded:
        _decode(tests, split, values[int(feature[split])])
    for split in [split for split, codes in tests.sets.items() if not len(codes)]:  # every value goes the missing way
        tests.threshold[split] = np.inf if tests.missing_left[split] else np.nan
        tests.reading[split] = PLAIN
    return tests.joined()


def _decode(tests: _Tests, split: int, numbers: F8) -> None:
    """Make a split by codes one by the numbers for which they stand; any other number is missing, as NaN is."""
    if split in tests.sets:
        codes = tests.sets[split].astype(np.int64)
        codes = codes[codes < len(numbers)]
    else:
        codes = np.arange(len(numbers))
        goes_left = codes <= tests.threshold[split]
        if tests.reading[split] == ZERO_MISSING:
            goes_left[:1] = tests.missing_left[split]
        codes = codes[goes_left != tests.missing_left[split]]
    tests.sets[split] = np.sort(numbers[codes])
    tests.threshold[split], tests.reading[split] = np.nan, PLAIN
