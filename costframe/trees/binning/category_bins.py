"""Categories of a feature: which of them have bins, and sets of bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import DataError
from costframe.core.learners.bits import bits_of
from costframe.trees.binning.thresholds import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_CATEGORY", "categories_of", "going_left", "tested_categories"]

NO_CATEGORY = np.array([np.inf])  # the only bin of a feature that is always missing; no category is infinite
_BINS = 256


def categories_of(
    column: NDArray[np.float64], known: NDArray[np.float64] | None, weight: NDArray[np.float64] | None, max_bins: int
) -> NDArray[np.float64]:
    """Choose the categories that have a bin: all, or the `max_bins` heaviest ones, of equals the lowest; ascending.

    Parameters
    ----------
    column : float64 (n,)
    known : float64 (m,), optional
        Its distinct values, if these are few.
    weight : float64 (n,), optional
        One each if not given.
    max_bins : int
    """
    values, masses = (known, np.empty(0)) if known is not None else distinct(column, weight)
    if not np.isfinite(values).all():
        raise DataError("X: categories must be finite numbers or missing, got an infinite one")
    if len(values) > max_bins:
        values = np.sort(values[np.argsort(-masses, kind="stable")[:max_bins]])
    return values if len(values) else NO_CATEGORY


def going_left(left_bins: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Bool (256,): whether each bin is in the set, uint64 (4,)."""
    return np.asarray(bits_of(left_bins.reshape(1, -1), _BINS)[0])


def tested_categories(
    left: NDArray[np.bool_], categories: NDArray[np.float64], *, missing_left: bool
) -> NDArray[np.float64]:
    """Return the categories that go against the missing way, where the bins `left`, bool (256,), go left."""
    return np.asarray(categories[left[: len(categories)] != missing_left])
