"""Prices as objects show them: the dearest ones in a line of text, or in a table of a notebook."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice

_MOST_ROWS, _MOST_NAMES = 20, 3  # of a table, and in a line


def needed_resources(costs: CostModel, features: Iterable[FeaturePrice]) -> list[ResourcePrice]:
    """Return the resources that some features need, directly or through others, in the order of the cost model."""
    needs = {each.name: each.needs for each in costs.resources}
    found, left = set[str](), {name for feature in features for name in feature.needs}
    while left:
        found |= left
        left = {name for each in left for name in needs[each]} - found
    return [each for each in costs.resources if each.name in found]


def total_price(costs: CostModel, features: Sequence[FeaturePrice]) -> float:
    """Return the price per row of some features with the resources that they need."""
    resources = needed_resources(costs, features)
    return math.fsum([*(each.cost for each in features), *(each.cost for each in resources)])


def dearest(prices: Sequence[FeaturePrice | ResourcePrice]) -> str:
    """Return the names and prices of the dearest of some features and resources, or the price that all of them have."""
    if all(each.cost == prices[0].cost for each in prices):
        return f"each at {prices[0].cost:g}"
    return f"dearest {', '.join(f'{each.name} {each.cost:g}' for each in _by_price(prices, _MOST_NAMES))}"


def price_table(costs: CostModel, names: Iterable[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a header, and name, price and needs of the dearest of some features and of the resources they need."""
    wanted = set(names)
    features = [feature for feature in costs.features if feature.name in wanted]
    resources = needed_resources(costs, features)
    shown = {each.name for each in resources}
    rows = [
        (f"{each.name} (resource)" if each.name in shown else each.name, f"{each.cost:g}", ", ".join(each.needs))
        for each in _by_price([*features, *resources], _MOST_ROWS)
    ]
    left = len(features) + len(resources) - len(rows)
    return ("", costs.unit, "needs"), [*rows, *([(f"{left:,} more", "", "")] if left else [])]


def _by_price(prices: Iterable[FeaturePrice | ResourcePrice], most: int) -> list[FeaturePrice | ResourcePrice]:
    return heapq.nsmallest(most, prices, key=lambda each: -each.cost)  # equal ones in the order given
