"""LightGBM's trees as one table of trees: the same way for every double, NaN and infinities included.

LightGBM takes |x| <= float32(1e-35) for zero before it compares, and NaN too unless NaN is a missing value of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.adoption.lightgbm.saved import CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT
from costframe.core.errors import AdoptionError, BankError
from costframe.core.learners.readings import PLAIN, TINY, WHOLE, ZERO_MISSING
from costframe.core.learners.tree_table import TreeTable, ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from costframe.adoption.lightgbm.saved import SavedModel

__all__ = ["at_most", "make_table"]

_NO_MISSING, _ZERO = 0, 1  # how a split reads NaN; 2: as a missing value
_MOST_COMPARED = 2**18  # numbers of ordered categories, summed over their splits


def at_most(threshold: ArrayLike) -> NDArray[np.float64]:
    """Return T, float64, with `(x <= T) == (z <= t)` for every double x but NaN; z is 0 where |x| <= TINY, else x."""
    limit = np.asarray(threshold, np.float64)
    below = np.where((limit >= -TINY) & (limit < 0.0), np.nextafter(-TINY, -np.inf), limit)
    return np.where((limit >= 0.0) & (limit < TINY), TINY, below)


@frozen(eq=False)
class _Tests:
    """The tests of all splits of all trees, as a `TreeTable` has them; `sets` are the categories of some."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    reading: NDArray[np.int64]
    sets: dict[int, NDArray[np.float64]]


def make_table(model: SavedModel, values: Mapping[int, NDArray[np.float64]]) -> TreeTable:
    """Return the trees of a model.

    `values` are the numbers for which the codes of a feature stand: a split by its codes becomes one by the numbers.
    """
    trees = model.trees
    leaves = np.array([len(tree.outputs) for tree in trees])
    inner = leaves - 1
    first = np.concatenate([[0], np.cumsum(leaves + inner)])
    tests, at, shift = _make_tests(model, values), ranges(first[:-1], inner), np.repeat(inner, inner)
    left, right = (np.concatenate([getattr(tree, side) for tree in trees]) for side in ("left", "right"))

    def spread(of_splits: NDArray[Any], of_leaves: Any) -> NDArray[Any]:
        """Return values by node, given those of the splits and the one of all leaves."""
        nodes = np.full(first[-1], of_leaves, of_splits.dtype)
        nodes[at] = of_splits
        return nodes

    counts = np.zeros(len(left), np.int64)
    counts[sorted(tests.sets)] = [len(tests.sets[split]) for split in sorted(tests.sets)]
    number = np.full(first[-1], -1)
    number[ranges(first[:-1] + inner, leaves)] = np.arange(leaves.sum())
    try:
        return TreeTable(
            first,
            spread(tests.feature, -1),
            spread(tests.threshold, np.nan),
            spread(tests.missing_left, False),
            spread(np.where(left < 0, shift + ~left, left), -1),
            spread(np.where(right < 0, shift + ~right, right), -1),
            np.ones(len(trees)),
            number,
            np.concatenate([tree.outputs for tree in trees]),
            spread(counts, 0),
            np.concatenate([np.zeros(0), *(tests.sets[split] for split in sorted(tests.sets))]),
            spread(tests.reading, PLAIN),
        )
    except BankError as error:
        raise AdoptionError(f"{model.where}: {error}") from error


def _make_tests(model: SavedModel, values: Mapping[int, NDArray[np.float64]]) -> _Tests:
    trees = model.trees
    feature, decision, threshold = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "decision", "threshold")
    )
    by_category, kind = (decision & CATEGORICAL) > 0, decision >> MISSING_SHIFT
    default_left = np.where(kind == _NO_MISSING, threshold >= 0.0, (decision & DEFAULT_LEFT) > 0)
    given = (each for tree in trees for each in tree.categories)
    tests = _Tests(
        feature,
        np.where(by_category, np.nan, at_most(threshold)),
        default_left & ~by_category,
        np.where(by_category, WHOLE, np.where(kind == _ZERO, ZERO_MISSING, PLAIN)),
        {split: next(given).astype(np.float64) for split in np.flatnonzero(by_category).tolist()},
    )
    coded = np.flatnonzero(np.isin(feature, list(values))).tolist()
    if sum(len(values[int(feature[split])]) for split in coded if split not in tests.sets) > _MOST_COMPARED:
        raise AdoptionError(
            f"{model.where}: has too many comparisons of ordered categories that are numbers; make them texts"
        )
    for split in coded:
        _decode(tests, split, values[int(feature[split])])
    for split in [split for split, each in tests.sets.items() if not len(each)]:  # every value goes the missing way
        tests.threshold[split] = np.inf if tests.missing_left[split] else np.nan
        tests.reading[split] = PLAIN
    return tests


def _decode(tests: _Tests, split: int, numbers: NDArray[np.float64]) -> None:
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
