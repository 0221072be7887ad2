"""What a model file of LightGBM tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["CATEGORICAL", "DEFAULT_LEFT", "MISSING_SHIFT", "SavedModel", "SavedTree"]

CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2  # bits of a split's decision type; above these, how it reads NaN

_NO_WHOLES, _NO_REALS = np.zeros(0, np.int64), np.zeros(0)

Range = list[int] | tuple[float, float] | None
"""A feature in training: codes of its categories, its smallest and largest number, or None where it had one value."""


@frozen(eq=False)
class SavedTree:
    """A tree of L leaves as LightGBM writes it.

    Attributes
    ----------
    outputs : float64 (L,)
        Of the leaves.
    feature, decision : int64 (L - 1,)
        Of each split; a decision is a sum of bits.
    threshold : float64 (L - 1,)
    left, right : int64 (L - 1,)
        Children: the number of a split, or ~number of a leaf.
    categories : sequence of int64 arrays
        The categories that go left, of each split by categories, in the order of the splits.
    """

    outputs: NDArray[np.float64]
    feature: NDArray[np.int64] = _NO_WHOLES
    decision: NDArray[np.int64] = _NO_WHOLES
    threshold: NDArray[np.float64] = _NO_REALS
    left: NDArray[np.int64] = _NO_WHOLES
    right: NDArray[np.int64] = _NO_WHOLES
    categories: Sequence[NDArray[np.int64]] = ()


@frozen(eq=False)
class SavedModel:
    """A model of LightGBM.

    Attributes
    ----------
    where : str
        Its name in errors.
    version, n_scores, n_features : int
    names : tuple of str
    objective : str
        With its settings; empty where predictions are raw scores.
    averages : bool
        Whether predictions are made of the mean of all rounds, not of their sum.
    trees : sequence of SavedTree
        Round by round, one tree for each score.
    labels : sequence of lists
        The categories of the columns of pandas' category dtype, column by column; these columns are not named.
    ranges : sequence of Range
        Of all features; empty where there are no labels.
    categorical : frozenset of int
        Features that are split by categories; empty where there are no labels.
    """

    where: str
    version: int
    n_scores: int
    n_features: int
    names: tuple[str, ...]
    objective: str
    averages: bool
    trees: Sequence[SavedTree] = ()
    labels: Sequence[list[Any]] = ()
    ranges: Sequence[Range] = ()
    categorical: frozenset[int] = frozenset()
