"""The entries of a price table, and their checks, with errors that name the entry."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, TypeVar, cast

import attrs
import numpy as np

from costframe.core.checks import as_items
from costframe.core.errors import CostModelError, shown, suggestion
from costframe.core.numerals import is_numeral

EPOCHS = {"days": 1, "seconds": 86_400, "milliseconds": 86_400_000, "microseconds": 86_400_000_000}
"""What numbers since 1970-01-01 may count, each with how many are in a day."""
PARTS = ("year", "month", "day", "weekday", "hour")
"""Parts of dates that may be features."""

BARE = re.compile(r"[A-Za-z0-9_-]+")  # what TOML does not quote


@attrs.frozen
class FeaturePrice:
    """The prices of one feature.

    Parameters
    ----------
    name : str
        The input column.
    cost : float
        Paid per row that acquires the feature.
    needs : tuple of str
        Resources that must be there first; resources that these need in turn are not repeated.
    once : float
        Paid per batch in which any row acquires the feature (gamma_m of CEGB).
    split : float or None
        Paid per comparison with the feature inside a tree (alpha of CEGB); None stands for the model's `split`.
    time : float
        Milliseconds that a fetch takes, after the resources that it needs are there.
    parts : tuple of str
        Parts of a feature of dates that models may read beside its days, all paid with the feature: some of "year",
        "month", "day", "weekday" (0 is Monday) and "hour".
    epoch : {"days", "seconds", "milliseconds", "microseconds"}, optional
        What numbers of a feature of dates count, since 1970-01-01 in UTC; None refuses them in place of dates.

    Raises
    ------
    CostModelError
        If a price is not a finite number >= 0, a name is not a text, or a part or epoch is unknown; the error names the
        entry.
    """

    name: str
    cost: float = 0.0
    needs: tuple[str, ...] = ()
    once: float = 0.0
    split: float | None = None
    time: float = 0.0
    parts: tuple[str, ...] = ()
    epoch: str | None = None

    def __attrs_post_init__(self) -> None:
        _check_entry(self, "features", "cost", "once", "time", *(() if self.split is None else ("split",)))
        if self.parts != () or self.epoch is not None:
            _check_date(self)

    @property
    def is_date(self) -> bool:
        """Whether the entry says that the feature is a date."""
        return bool(self.parts) or self.epoch is not None


@attrs.frozen
class ResourcePrice:
    """The price of one resource, paid once per row by the first feature that needs it.

    Parameters
    ----------
    name : str
        The resource; no feature has this name.
    cost : float
        Paid per row in which an acquired feature needs the resource, directly or through another one.
    needs : tuple of str
        Other resources that must be there first.
    time : float
        Milliseconds that it takes, after the resources that it needs are there.
    """

    name: str
    cost: float = 0.0
    needs: tuple[str, ...] = ()
    time: float = 0.0

    def __attrs_post_init__(self) -> None:
        _check_entry(self, "resources", "cost", "time")


_Price = TypeVar("_Price", FeaturePrice, ResourcePrice)


def entry_path(*where: str) -> str:
    """Return the address of an entry, such as ``features.chol.cost``, with names quoted where TOML quotes them."""
    return ".".join(part if BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in where)


def entry_error(where: Sequence[str], expected: str, value: object) -> CostModelError:
    """Return the error for an entry `where` that holds `value`; an empty `where` is the whole table."""
    place = f"{entry_path(*where)}: " if where else ""
    return CostModelError(f"{place}expected {expected}, got {shown(value)}")


def check_different(names: Iterable[str], *where: str) -> None:
    """Refuse a name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            place = f"{entry_path(*where)}: " if where else ""
            raise CostModelError(f"{place}expected different names, got {shown(name)} twice")
        seen.add(name)


def as_price(value: object, *where: str) -> float:
    """Return a price as a float; refuse a value that is not a finite number >= 0, naming the entry `where`."""
    if type(value) is float and 0.0 <= value < math.inf:  # a table may hold hundreds of thousands
        return value + 0.0
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    # Python's booleans are registered as numbers, NumPy's are not; Decimal is none of them.
    if isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool):
        try:
            price = float(value) if cast("Any", value) >= 0 else -1.0
        except (OverflowError, ValueError, InvalidOperation):  # beyond the largest float, or NaN of Decimal
            price = math.inf
        if 0.0 <= price < math.inf:
            return price + 0.0  # minus zero becomes zero
    error = entry_error(where, "a finite number >= 0", value)
    raise CostModelError(f"{error}; write it without quotes") if isinstance(value, str) and is_numeral(value) else error


def as_text(value: object, *where: str) -> str:
    """Return a text that UTF-8 can hold, as a plain ``str``."""
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise entry_error(where, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise entry_error(where, "a text without lone surrogates", value) from error
    return "".join(value)  # numpy.str_ and other subclasses become plain


def as_name(value: object, *where: str) -> str:
    """Return the name of a feature or resource: a non-empty text that UTF-8 can hold."""
    if not isinstance(value, str) or not value:
        raise entry_error(where, "a name, a text that is not empty", value)
    return as_text(value, *where)


def as_names(values: object, *where: str) -> tuple[str, ...]:
    """Return a list of different names as a tuple; refuse a single text in place of a list."""
    given = as_items(values)
    if given is None:
        raise entry_error(where, "a list of names", values)
    names = tuple(as_name(value, *where) for value in given)
    check_different(names, *where)
    return names


def as_hashable_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return a tuple of names as it is, to be checked once and looked up afterwards; check anything else."""
    try:
        hash(names)
    except TypeError:  # a list, or an unhashable name in a tuple
        return as_names(names, "names")
    return names if type(names) is tuple else as_names(names, "names")


def as_table(value: object, *where: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a table as a dict; with `keys`, refuse any other key and suggest the closest one."""
    if not isinstance(value, Mapping):
        raise entry_error(where, "a table", value)
    for key in value:
        if keys is not None and key not in keys:
            place = f"{entry_path(*where)}: " if where else ""
            hint = suggestion(key, keys)
            more = "" if hint else _where_prices_stand(key, value[key], *where)
            raise CostModelError(f"{place}unknown key {shown(key)}{hint}, expected only {', '.join(keys)}{more}")
    return dict(value)


def _where_prices_stand(key: object, value: object, *where: str) -> str:
    """Return the lines that mend a price at an unknown place: one in no table, or whose name has points."""
    path, inner = [*where[1:], str(key)], value
    while isinstance(inner, Mapping) and inner and "cost" not in inner:
        first, inner = next(iter(inner.items()))
        path.append(str(first))
    if isinstance(inner, bool) or not isinstance(inner, numbers.Real | Mapping):
        return ""
    lines = [] if where else ["the prices of features stand below a line [features]"]
    if len(path) > 1:
        price = f"{inner:g}" if isinstance(inner, numbers.Real) else "{ ... }"
        lines.append(
            f"a name with a point stands in quotes: {json.dumps('.'.join(path), ensure_ascii=False)} = {price}"
        )
    return f"; {', and '.join(lines)}"


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


def _check_entry(price: FeaturePrice | ResourcePrice, table: str, *keys: str) -> None:
    """Check a frozen entry while it is being made, and convert its fields to plain values."""
    name = as_name(price.name, table)
    object.__setattr__(price, "name", name)
    object.__setattr__(price, "needs", as_names(price.needs, table, name, "needs"))
    for key in keys:
        object.__setattr__(price, key, as_price(getattr(price, key), table, name, key))


def _check_date(price: FeaturePrice) -> None:
    """Check the parts and the epoch of a frozen entry while it is being made."""
    parts = as_names(price.parts, "features", price.name, "parts")
    object.__setattr__(price, "parts", parts)
    if unknown := [part for part in parts if part not in PARTS]:
        raise entry_error(("features", price.name, "parts"), f"some of {', '.join(PARTS)}", unknown[0])
    if price.epoch is not None and (not isinstance(price.epoch, str) or price.epoch not in EPOCHS):
        raise entry_error(("features", price.name, "epoch"), f"one of {', '.join(EPOCHS)}", price.epoch)


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
    needing = Counter(need for each in needs.values() for need in each)
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


def check_sum(own: Mapping[str, float], features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> None:
    """Refuse prices whose sum exceeds the largest float, and name the largest one; `own` are those of no entry."""
    parts = [[*own.values()], [resource.cost for resource in resources]]
    parts += [[getattr(f, key) or 0.0 for f in features] for key in ("cost", "once", "split")]
    try:
        math.fsum(chain(*parts))
    except OverflowError as error:
        amounts: list[tuple[tuple[str, ...], float]] = [((key,), price) for key, price in own.items()]
        for key in ("cost", "once", "split"):
            amounts += [(("features", f.name, key), getattr(f, key) or 0.0) for f in features]
        amounts += [(("resources", resource.name, "cost"), resource.cost) for resource in resources]
        where, amount = max(amounts, key=lambda entry: entry[1])
        raise entry_error(where, "prices with a finite sum", amount) from error
