"""Where the bins of one feature end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["at_quantiles", "between_values", "distinct", "midpoints"]

_CLIPPINGS = 3  # a share shrinks as heavy values are clipped; whole weights stay exact so often


def between_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put a threshold between any two adjacent ones of distinct ascending values, and +inf at the end."""
    return np.append(midpoints(values[:-1], values[1:]), np.inf)


def at_quantiles(values: NDArray[np.float64], masses: NDArray[np.float64], max_bins: int) -> NDArray[np.float64]:
    """Choose at most `max_bins` ascending thresholds, the last of which is +inf, for more distinct values than that.

    The k-th cut comes after the first value at which the cumulated weight reaches k / max_bins of the whole. There a
    value heavier than a bin's share counts as one share only, as it fills a bin of its own anyway: so a feature that is
    mostly zero still gets fine bins for the rest.

    Parameters
    ----------
    values, masses : float64 (m,)
        Distinct values, ascending, and the weight of each.
    max_bins : int
        At least two.
    """
    cuts = _quantile_cuts(masses, max_bins)
    return np.append(midpoints(values[cuts], values[cuts + 1]), np.inf)


def midpoints(below: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find a double t with `below <= t < above` for each pair, halfway where rounding and infinities allow."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are seen to just below
        middle = below / 2 + above / 2  # never overflows
    return np.where((below <= middle) & (middle < above), middle, below)


def distinct(
    column: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find distinct values, ascending and without NaN, and the weight of each: float64 (m,) both."""
    order = None if weight is None else np.argsort(column, kind="stable")
    ordered = np.sort(column) if order is None else column[order]
    ordered = ordered[: np.searchsorted(ordered, np.inf, side="right")]  # NaN is sorted to the end
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)].nonzero()[0]
    if weight is None or order is None:
        masses = np.diff(first, append=len(ordered)).astype(np.float64)
    else:
        masses = np.add.reduceat(weight[order[: len(ordered)]], first) if len(first) else np.empty(0)
    return ordered[first], masses


def _quantile_cuts(masses: NDArray[np.float64], max_bins: int) -> NDArray[np.int64]:
    """Compare max_bins * cumulated weight with k * whole: exact for whole weights, so that rows and weights agree."""
    for _ in range(_CLIPPINGS):
        whole = masses.sum()
        if not (masses * max_bins > whole).any():
            break
        masses = np.minimum(masses * max_bins, whole)
    cumulated = np.cumsum(masses)
    cuts = np.unique(np.searchsorted(cumulated * max_bins, np.arange(1, max_bins) * cumulated[-1]))
    return cuts[cuts < len(masses) - 1]
