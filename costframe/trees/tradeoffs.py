"""Falling tradeoffs, from one at which nothing is bought to almost none."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8
from costframe.core.checks import as_items
from costframe.core.errors import ParameterError, shown
from costframe.core.prices.price_arrays import PriceArrays

_LEVELS = 24  # at most; a level is half of the one before if that gives no more
_CONCEIVABLE = 1e-150, 1e150  # tradeoffs with finite products with prices and weights


def falling_tradeoffs(loss: float, full: float, prices: PriceArrays, limits: tuple[float, float] | None) -> F8:
    """Return geometrically falling tradeoffs, float64 (levels,), by default from almost no purchases down to 0.

    `loss` is that of the best constant minus that of the best model, the largest possible gain; `full` is the cost per
    row of the model without prices, or of all features if that is more; `limits` are the first and the last tradeoff.
    """
    if limits is not None:
        return _levels(*limits)
    if not (full > 0 and loss > 0):
        return np.zeros(1)
    alone = prices.alone
    with np.errstate(over="ignore", under="ignore"):
        high = loss / min(full, alone[alone > 0].min(initial=np.inf))
        low = 1e-3 * loss / full
    return np.append(_levels(*np.clip([high, low], *_CONCEIVABLE).tolist()), 0.0)


def check_limits(limits: object) -> tuple[float, float]:
    """Check the first and the last of falling tradeoffs."""
    items = as_items(limits)
    given = np.empty(0) if items is None else np.asarray(items)
    if given.shape != (2,) or given.dtype.kind not in "iuf" or not np.inf > given[0] >= given[1] > 0:
        raise ParameterError(f"tradeoffs: expected two falling numbers > 0, got {shown(limits)}")
    return float(given[0]), float(given[1])


def _levels(high: float, low: float) -> F8:
    halvings = np.log2(high) - np.log2(low)
    return np.geomspace(high, low, min(_LEVELS, 1 + int(np.ceil(halvings))))
