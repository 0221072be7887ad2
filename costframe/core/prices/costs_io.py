"""Files of prices: checks of their entries by name, and reading and writing of TOML and JSON."""

from __future__ import annotations

import difflib
import json
import math
import numbers
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np
import tomli_w

from costframe.core.errors import CostModelError
from costframe.core.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from costframe.core.prices.costs import FeaturePrice, ResourcePrice

_Price = TypeVar("_Price", "FeaturePrice", "ResourcePrice")

_SHOWN_LENGTH = 80


def shown(value: object) -> str:
    """Return a value as an error text quotes it: one short line, NumPy scalars as plain numbers."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # Python does not print an integer of thousands of digits
        return f"{type(value).__name__} too long to show"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."


def entry_path(*where: str) -> str:
    """Return the address of an entry, such as ``features.chol.cost``, with names quoted where TOML quotes them."""
    bare = re.compile(r"[A-Za-z0-9_-]+")
    return ".".join(part if bare.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in where)


def entry_error(where: Sequence[str], expected: str, value: object) -> CostModelError:
    """Return the error for an entry `where` that holds `value`; an empty `where` is the whole table."""
    place = f"{entry_path(*where)}: " if where else ""
    return CostModelError(f"{place}expected {expected}, got {shown(value)}")


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return ``" (did you mean ...?)"`` with the known names closest to `name`, or an empty text if none is close."""
    close = difflib.get_close_matches(name, list(known), n=3) if isinstance(name, str) else []
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


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
    # Python's booleans are registered as numbers, NumPy's are not.
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and not value < 0:
        try:
            price = float(value)
        except OverflowError:  # an integer beyond the largest float
            price = math.inf
        if math.isfinite(price):
            return price + 0.0  # minus zero becomes zero
    raise entry_error(where, "a finite number >= 0", value)


def as_text(value: object, *where: str) -> str:
    """Return a text that UTF-8 can hold, as a plain ``str``."""
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
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not isinstance(values, Iterable):
        raise entry_error(where, "a list of names", values)
    names = tuple(as_name(value, *where) for value in values)
    check_different(names, *where)
    return names


def as_table(value: object, *where: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a table as a dict; with `keys`, refuse any other key and suggest the closest one."""
    if not isinstance(value, Mapping):
        raise entry_error(where, "a table", value)
    for key in value:
        if keys is not None and key not in keys:
            place = f"{entry_path(*where)}: " if where else ""
            hint = suggestion(key, keys)
            raise CostModelError(f"{place}unknown key {shown(key)}{hint}, expected only {', '.join(keys)}")
    return dict(value)


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


def check_entry(price: FeaturePrice | ResourcePrice, table: str, *keys: str) -> None:
    """Check a frozen entry while it is being made, and convert its fields to plain values."""
    name = as_name(price.name, table)
    object.__setattr__(price, "name", name)
    object.__setattr__(price, "needs", as_names(price.needs, table, name, "needs"))
    for key in keys:
        object.__setattr__(price, key, as_price(getattr(price, key), table, name, key))


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
            table[field.name] = list(value) if field.name == "needs" else value
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
    needed_first(resources)


def needed_first(resources: Iterable[ResourcePrice]) -> list[str]:
    """Return the resources in an order in which each comes after those it needs; refuse a circle."""
    try:
        return list(TopologicalSorter({resource.name: resource.needs for resource in resources}).static_order())
    except CycleError as error:
        circle = [*reversed(error.args[1])]  # graphlib lists the needed resource first
        where = entry_path("resources", circle[0], "needs")
        path = " -> ".join(map(entry_path, circle))
        raise CostModelError(f"{where}: expected needs without a circle, got {path}") from error


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in {".toml", ".json"}:
        raise CostModelError(f"{path}: expected a file name that ends in .toml or .json, got {path.name!r}")
    return suffix


def read_table(path: Path) -> object:
    """Return the content of a TOML or JSON file, by its suffix; every error names the file."""
    suffix = _suffix(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")  # editors on Windows put a byte order mark in front
    except UnicodeDecodeError as error:
        raise CostModelError(f"{path}: expected a text in UTF-8, got other bytes ({error})") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise CostModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        return tomllib.loads(text) if suffix == ".toml" else json.loads(text, object_pairs_hook=_different_keys)
    except RecursionError as error:
        raise CostModelError(f"{path}: expected a table of prices, got one nested too deeply") from error
    except CostModelError as error:
        raise CostModelError(f"{path}: {error}") from error
    except ValueError as error:  # also an integer with more digits than Python reads
        raise CostModelError(
            f"{path}: expected valid {suffix[1:].upper()}, got: {error}{_line(text, error)}"
        ) from error


def _line(text: str, error: ValueError) -> str:
    """Return the line that a parser's error points to: for a repeated name, TOML's parser gives the place only."""
    found = re.search(r"line (\d+)", str(error))
    lines = text.split("\n")
    number = int(found.group(1)) if found else 0
    return f": {shown(lines[number - 1].strip())}" if 0 < number <= len(lines) else ""


def _different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    check_different(key for key, _ in pairs)
    return dict(pairs)


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write a price table as TOML or JSON, by the suffix: whole or not at all."""
    if _suffix(path) == ".toml":
        text = _toml(table)
    else:
        text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_atomically(path, text.encode())
    except (OSError, ValueError) as error:
        raise CostModelError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def _toml(table: Mapping[str, Any]) -> str:
    """Return a table of scalars and, after them, tables as TOML, one line per entry.

    `tomli_w` by itself writes plain numbers before tables, which would change the order of the features.
    """
    lines = [f"{key} = {_toml_value(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for key, entries in table.items():
        if isinstance(entries, Mapping):
            lines += ["", f"[{key}]", *(f"{_toml_key(name)} = {_toml_value(item)}" for name, item in entries.items())]
    return "\n".join(lines) + "\n"


def _toml_key(name: str) -> str:
    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").removesuffix("\n")
