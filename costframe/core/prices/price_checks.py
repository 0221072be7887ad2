"""Checks of all entries together: needs that exist, without circles, and a finite sum."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from costframe.core.errors import CostModelError, shown, suggestion
from costframe.core.prices.entries import FeaturePrice, ResourcePrice
from costframe.core.prices.entry_checks import entry_error, entry_path


def check_needs(features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> None:
    """Refuse a name in both tables, a need that is not a resource, and needs in a circle."""
    names, known = {price.name for price in features}, {price.name: price for price in resources}
    for name in known:
        if name in names:
            raise CostModelError(f"{entry_path('resources', name)}: expected a name that no feature has")
    for table, prices in (("features", features), ("resources", resources)):
        for price in prices:
            for need in price.needs:
                if need not in known:
                    hint = " (a feature)" if need in names else suggestion(need, known)
                    where = entry_path(table, price.name, "needs")
                    raise CostModelError(f"{where}: expected names of resources, got {shown(need)}{hint}")
    _check_circles(resources)


def _check_circles(resources: Sequence[ResourcePrice]) -> None:
    """Refuse needs in a circle: take away resources that no other one needs, as long as there are any."""
    needs = {resource.name: resource.needs for resource in resources}
    needing = Counter(need for needed in needs.values() for need in needed)
    free = [name for name in needs if name not in needing]
    for name in free:  # it grows on the way
        needing.subtract(needs[name])
        free += [need for need in needs[name] if not needing[need]]
    if len(free) == len(needs):
        return
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = [*reversed(error.args[1])]  # graphlib lists the needed resource first
        where = entry_path("resources", circle[0], "needs")
        path = " -> ".join(map(entry_path, circle))
        raise CostModelError(f"{where}: expected needs without a circle, got {path}") from error


def check_sum(
    settings: Mapping[str, float], features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]
) -> None:
    """Refuse prices whose sum exceeds the largest float, and name the largest one; `settings` are those of no entry."""
    parts = [[*settings.values()], [resource.cost for resource in resources]]
    parts += [[resource.round] * len(features) for resource in resources if resource.round]  # at most a round for each
    parts += [[getattr(f, key) or 0.0 for f in features] for key in ("cost", "once", "split")]
    try:
        math.fsum(chain(*parts))
    except OverflowError as error:
        amounts: list[tuple[tuple[str, ...], float]] = [((key,), price) for key, price in settings.items()]
        for key in ("cost", "once", "split"):
            amounts += [(("features", f.name, key), getattr(f, key) or 0.0) for f in features]
        amounts += [(("resources", r.name, key), getattr(r, key)) for r in resources for key in ("cost", "round")]
        where, amount = max(amounts, key=lambda entry: entry[1])
        raise entry_error(where, "prices with a finite sum", amount) from error
