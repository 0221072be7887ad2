"""Checks of the values of a price table, with errors that name the entry."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import numpy as np

from costframe.core.checks import as_items
from costframe.core.errors import CostModelError, shown, suggestion
from costframe.core.numerals import is_numeral

BARE = re.compile(r"[A-Za-z0-9_-]+")  # what TOML does not quote


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
