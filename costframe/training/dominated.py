"""Columns that another column replaces: it has the same values and never costs more."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import B1, F8
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.tables.row_hashes import hash_table


def dominated_duplicates(X: F8, prices: PriceArrays) -> B1:
    """Find columns with the values of another column that never costs more: bool (d,).

    Of columns with equal prices the first stays. A bank trained without prices would use both.
    """
    needs, alike = prices.direct_needs, dict[int, list[int]]()
    direct = np.split(needs.need, needs.first[1:-1])
    for f, column in enumerate(X.T):
        alike.setdefault(int(hash_table(column[np.newaxis])[0]), []).append(f)
    dominated = np.ones(X.shape[1], np.bool_)
    for group in alike.values():
        first: dict[object, int] = {}  # of features with the same prices, only the first can stay
        for f in group:
            first.setdefault((prices.cost[f], prices.once[f], prices.split[f], frozenset(direct[f].tolist())), f)
        for f in (candidates := list(first.values())):
            dominated[f] = any(
                _dominates(prices, g, f) and (g < f or not _dominates(prices, f, g)) for g in candidates if g != f
            )
    return dominated


def _dominates(prices: PriceArrays, first: int, other: int) -> bool:
    """Check that no price of a feature is above the other's, and that the other needs all its resources."""
    amounts = (prices.cost, prices.once, prices.split)
    return all(price[first] <= price[other] for price in amounts) and bool(
        prices.direct_needs.unpaid(first) <= prices.direct_needs.unpaid(other)
    )
