"""Copies of columns at higher prices, which training without prices would read."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["dominated_duplicates"]


def dominated_duplicates(X: NDArray[np.float64], prices: PriceArrays, workers: Workers = ALONE) -> NDArray[np.bool_]:
    """Find columns with the values of another column, in all workers' rows, that never costs more: bool (d,).

    Of columns with equal prices the first stays. A bank trained without prices would use both.
    """
    needs, alike = prices.direct_needs, dict[bytes, list[int]]()
    direct = np.split(needs.need, needs.first[1:-1])
    digests = [
        blake2b((np.where(np.isnan(column), np.nan, column) + 0.0).tobytes(), digest_size=16).digest()
        for column in X.T  # one NaN, one zero
    ]
    for f, parts in enumerate(zip(*workers.gather(digests), strict=True)):
        alike.setdefault(b"".join(parts), []).append(f)
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
