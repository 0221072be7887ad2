"""Prices as objects show them: the dearest ones in a line of text, or in a table of a notebook."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence

from costframe.core.prices.entries import FeaturePrice, ResourcePrice

_MOST_ROWS, _MOST_NAMES = 20, 3  # of a table, and in a line


def _needed(features: Iterable[FeaturePrice], resources: Sequence[ResourcePrice]) -> list[ResourcePrice]:
    """Return the resources that some features need, directly or through others, in the order given."""
    needs = {each.name: each.needs for each in resources}
    found, left = set[str](), {name for feature in features for name in feature.needs}
    while left:
        found |= left
        left = {name for each in left for name in needs[each]} - found
    return [each for each in resources if each.name in found]


def total_price(features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> float:
    """Return the price per row of some features with those of the resources that they need."""
    needed = _needed(features, resources)
    return math.fsum([*(each.cost for each in features), *(each.cost for each in needed)])


def dearest(prices: Sequence[FeaturePrice | ResourcePrice]) -> str:
    """Return the names and prices of the dearest of some features and resources, or the price that all of them have."""
    if all(each.cost == prices[0].cost for each in prices):
        return f"each at {prices[0].cost:g}"
    return f"dearest {', '.join(f'{each.name} {each.cost:g}' for each in _by_price(prices, _MOST_NAMES))}"


def dearest_rows(features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> list[tuple[str, ...]]:
    """Return name, price and needs of the dearest of some features and of the resources they need."""
    resources = _needed(features, resources)
    shown = {each.name for each in resources}
    rows = [
        (f"{each.name} (resource)" if each.name in shown else each.name, f"{each.cost:g}", ", ".join(each.needs))
        for each in _by_price([*features, *resources], _MOST_ROWS)
    ]
    left = len(features) + len(resources) - len(rows)
    return [*rows, *([(f"{left:,} more", "", "")] if left else [])]


def _by_price(prices: Iterable[FeaturePrice | ResourcePrice], most: int) -> list[FeaturePrice | ResourcePrice]:
    return heapq.nsmallest(most, prices, key=lambda each: -each.cost)  # equal ones in the order given
