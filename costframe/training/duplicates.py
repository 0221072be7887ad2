"""Copies of columns at higher prices, which training without prices would read."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["dominated_duplicates"]


def dominated_duplicates(X: NDArray[np.float64], prices: PriceArrays) -> NDArray[np.bool_]:
    """Find columns with the values of another column that never costs more: bool (d,).

    Of columns with equal prices the first stays. A bank trained without prices would use both.
    """
    needs, alike = prices.direct_needs, dict[bytes, list[int]]()
    direct = np.split(needs.need, needs.first[1:-1])
    for f, column in enumerate(X.T):
        plain = np.where(np.isnan(column), np.nan, column) + 0.0  # one NaN, one zero
        alike.setdefault(blake2b(plain.tobytes(), digest_size=16).digest(), []).append(f)
    found = np.ones(X.shape[1], np.bool_)
    for group in alike.values():
        first: dict[object, int] = {}  # of features with the same prices, only the first can stay
        for f in group:
            first.setdefault((prices.cost[f], prices.once[f], prices.split[f], frozenset(direct[f].tolist())), f)
        for f in (apart := list(first.values())):
            found[f] = any(
                _dominates(prices, g, f) and (g < f or not _dominates(prices, f, g)) for g in apart if g != f
            )
    return found


def _dominates(prices: PriceArrays, one: int, other: int) -> bool:
    """Check that no price of a feature is above the other's, and that the other needs all its resources."""
    amounts = (prices.cost, prices.once, prices.split)
    return all(price[one] <= price[other] for price in amounts) and bool(
        prices.direct_needs.unpaid(one) <= prices.direct_needs.unpaid(other)
    )
