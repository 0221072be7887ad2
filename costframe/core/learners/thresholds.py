"""The thresholds with which trees compare each column, where nothing else of the column decides their outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from costframe.core.arrays import F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import PLAIN, TREE

Cuts = Mapping[int, F8]  # ascending, by column


def cuts_of(banks: Iterable[WeakLearnerBank], n_features: int) -> Cuts:
    """Return the finite thresholds of each of the first columns, without those that learners read in other ways.

    These are columns and opaque learners, and tests for categories, or of a value read otherwise than it is.
    """
    found, otherwise = [list[float]() for _ in range(n_features)], set[int]()
    for bank in banks:
        features, learners = bank.reads
        otherwise.update(features[bank.kind[learners] != TREE].tolist())
        trees = bank.trees
        tests = trees.feature >= 0
        odd = tests & ((trees.category_count > 0) | (trees.reading != PLAIN))
        otherwise.update(trees.feature[odd].tolist())
        for f, cut in zip(trees.feature[tests & ~odd].tolist(), trees.threshold[tests & ~odd].tolist(), strict=True):
            if f < n_features and np.isfinite(cut):
                found[f].append(cut)
    return {f: np.unique(cuts) for f, cuts in enumerate(found) if f not in otherwise}


def join_cuts(one: Cuts, other: Cuts) -> Cuts:
    """Return the thresholds of two models, of columns of which both have them."""
    return {f: np.union1d(cuts, other[f]) for f, cuts in one.items() if f in other}
