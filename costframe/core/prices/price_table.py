"""Prices as objects show them: the dearest ones in a line of text, or in a table of a notebook."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence

from costframe.core.prices.entries import FeaturePrice, ResourcePrice

_MOST_ROWS, _MOST_NAMES = 20, 3  # of a table, and in a line


def _needed(features: Iterable[FeaturePrice], resources: Sequence[ResourcePrice]) -> list[ResourcePrice]:
    """Return the resources that some features need, directly or through others, in the order given."""
    needs = {resource.name: resource.needs for resource in resources}
    reached, left = set[str](), {name for feature in features for name in feature.needs}
    while left:
        reached |= left
        left = {name for needed in left for name in needs[needed]} - reached
    return [resource for resource in resources if resource.name in reached]


def total_price(features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> float:
    """Return the price per row of some features with those of the resources that they need."""
    needed = _needed(features, resources)
    return math.fsum([*(price.cost for price in features), *(price.cost for price in needed)])


def dearest(prices: Sequence[FeaturePrice | ResourcePrice]) -> str:
    """Return the names and prices of the dearest of some features and resources, or the price that all of them have."""
    if all(price.cost == prices[0].cost for price in prices):
        return f"each at {prices[0].cost:g}"
    return f"dearest {', '.join(f'{price.name} {price.cost:g}' for price in _by_price(prices, _MOST_NAMES))}"


def dearest_rows(features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> list[tuple[str, ...]]:
    """Return name, price and needs of the dearest of some features and of the resources they need."""
    resources = _needed(features, resources)
    shown = {resource.name for resource in resources}
    rows = [
        (f"{price.name} (resource)" if price.name in shown else price.name, f"{price.cost:g}", ", ".join(price.needs))
        for price in _by_price([*features, *resources], _MOST_ROWS)
    ]
    left = len(features) + len(resources) - len(rows)
    return [*rows, *([(f"{left:,} more", "", "")] if left else [])]


def _by_price(prices: Iterable[FeaturePrice | ResourcePrice], most: int) -> list[FeaturePrice | ResourcePrice]:
    return heapq.nsmallest(most, prices, key=lambda price: -price.cost)  # equal ones in the order given
