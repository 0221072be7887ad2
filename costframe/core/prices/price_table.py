"""Prices as a table of texts, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice

_MOST = 40  # rows


def price_table(costs: CostModel, names: Iterable[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a header, and name, price and needs of some features and of the resources that they need, as texts."""
    wanted = set(names)
    features = [feature for feature in costs.features if feature.name in wanted]
    needed = costs.select([feature.name for feature in features]).direct_needs.of_set(range(len(features)))
    resources = [each for each, some in zip(costs.resources, needed, strict=True) if some]
    priced: list[FeaturePrice | ResourcePrice] = [*features, *resources]
    rows = [(each.name, f"{each.cost:g}", ", ".join(each.needs)) for each in priced]
    more = [(f"{len(rows) - _MOST} more", "", "")] if len(rows) > _MOST else []
    return ("", costs.unit, "needs"), [*rows[:_MOST], *more]
