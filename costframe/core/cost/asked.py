"""Labels and prices that a call of `cost` is given, told apart by their kinds."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from costframe.core.errors import ParameterError
from costframe.core.prices.costs import CostModel


def tell_apart(y_or_costs: Any, y: Any, costs: object, names: Collection[str]) -> tuple[Any, object]:
    """Return labels and prices of a call `cost(X, y_or_costs, y=y, costs=costs)`.

    Prices by position are those that name their features: a `CostModel`, a mapping, a file, or a pandas Series with all
    `names` in its index. Any other array or list has labels.
    """
    if y_or_costs is None:
        return y, costs
    is_costs = _names_prices(y_or_costs, names)
    if (costs if is_costs else y) is not None:
        raise ParameterError(f"{'costs' if is_costs else 'y'}: expected once, got it by position and by name")
    return (y, y_or_costs) if is_costs else (y_or_costs, costs)


def _names_prices(given: Any, names: Collection[str]) -> bool:
    if isinstance(given, CostModel | Mapping | str | os.PathLike):
        return True
    index = given.index if type(given).__name__ == "Series" and hasattr(given, "index") else None
    return index is not None and not callable(index) and bool(names) and set(names).issubset(index)
