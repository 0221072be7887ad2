"""Entries of prices from what is given: a table of a file, a mapping, a Series or an array; and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from costframe.core.errors import CostModelError, shown
from costframe.core.prices.entries import FeaturePrice, ResourcePrice
from costframe.core.prices.entry_checks import as_name, as_table, check_different, entry_error, entry_path

_Price = TypeVar("_Price", FeaturePrice, ResourcePrice)


def as_format(costs: Mapping[Any, Any], keys: Sequence[str]) -> Mapping[Any, Any]:
    """Return prices in the format of files: a mapping without any of its `keys` prices features."""
    plain = all(not isinstance(price, Mapping) or "cost" in price for price in costs.values())
    return {"features": costs} if plain and not any(key in keys for key in costs) else costs


def of_series(series: Any) -> dict[str, Any] | list[Any]:
    """Return the prices of a Series by name where its index has texts, else by position."""
    values, names = series.to_list(), list(getattr(series, "index", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return list(values)
    check_different(names)
    return dict(zip(names, values, strict=True))


def check_array(costs: Sequence[float] | np.ndarray[Any, Any], names: Sequence[str]) -> None:
    """Refuse prices by position that are not one number for each of `names`."""
    if isinstance(costs, np.ndarray):
        if costs.ndim != 1:
            raise CostModelError(f"costs: expected an array of one dimension, got the shape {costs.shape}")
        if costs.dtype.kind not in "iuf":
            raise CostModelError(f"costs: expected an array of numbers, got the dtype {costs.dtype}")
    elif isinstance(costs, str | bytes) or not isinstance(costs, Sequence):
        raise entry_error(["costs"], "an array or sequence of numbers", costs)
    if len(costs) != len(names):
        wanted = f"{len(names)} prices, one for each of the features {shown(list(names))}"
        raise CostModelError(f"costs: expected {wanted}, got {len(costs)}")


def as_entries(value: object, kind: type[_Price], table: str) -> tuple[_Price, ...]:
    """Return the entries of a parsed table, in which a plain number is a cost."""
    keys = [field.name for field in attrs.fields(kind) if field.name != "name"]
    entries = []
    for key, item in as_table(value, table).items():
        name = as_name(key, table)
        prices = as_table(item, table, name, keys=keys) if isinstance(item, Mapping) else {"cost": item}
        if "cost" not in prices:
            raise CostModelError(f"{entry_path(table, name, 'cost')}: expected a finite number >= 0, got no entry")
        entries.append(kind(name, **prices))
    return tuple(entries)


def as_prices(values: object, kind: type[_Price], table: str) -> tuple[_Price, ...]:
    """Return the entries of a price table as a tuple, all of one kind and with different names."""
    if not isinstance(values, tuple | list):
        raise entry_error([table], f"a tuple of {kind.__name__}", values)
    for value in values:
        if not isinstance(value, kind):
            raise entry_error([table], f"only {kind.__name__}", value)
    check_different((value.name for value in values), table)
    return tuple(values)


def to_plain(price: FeaturePrice | ResourcePrice) -> float | dict[str, Any]:
    """Return an entry as a file has it: its fields without defaults, or a number if it has a cost only."""
    table: dict[str, Any] = {"cost": price.cost}
    for field in attrs.fields(type(price)):
        value = getattr(price, field.name)
        if field.name not in {"name", "cost"} and value != field.default:
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table if len(table) > 1 else price.cost
