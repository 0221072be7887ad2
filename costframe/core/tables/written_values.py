"""Values of one row as JSON: numbers exactly, labels as texts, and what foreign code reads as it came."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from costframe.core.errors import DataError, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Labels
from costframe.core.tables.kinds import REMEMBERED, TEXT, TEXTS, kinds_of, number_at
from costframe.core.tables.remembered import Given, last_bits, remember, text_bits, value_of

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# Types of values that foreign code may read, with what makes them from texts.
_TYPES: Mapping[str, tuple[type, Callable[[str], Any]]] = {
    "int": (int, int),
    "decimal": (Decimal, Decimal),
    "fraction": (Fraction, Fraction),
    "bytes": (bytes, bytes.fromhex),
    "datetime": (datetime, datetime.fromisoformat),
    "date": (date, date.fromisoformat),
    "time": (time, time.fromisoformat),
}
_MOST_DIGITS = 1000  # of a number of any type


def write_number(number: float) -> Any:
    """Return a double as a JSON value: null for NaN, and an object for infinity."""
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else {"float": str(number)}


def read_number(written: Any) -> float:
    """Return the double that `write_number` wrote, or a `DataError`."""
    if written is None:
        return math.nan
    if isinstance(written, dict) and written.keys() == {"float"} and str(written["float"]) in _SPECIAL:
        return _SPECIAL[str(written["float"])]
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise DataError(f"expected a number, got {shown(written)}")
    try:
        return float(written)
    except OverflowError:
        raise DataError(f"expected a number that a double can hold, got {shown(written)}") from None


def write_value(number: float, labels: Labels | None) -> Any:
    """Return a feature's value, given as the number that models read, as a JSON value.

    A `DataError` refuses a value of a type that JSON cannot hold, which foreign code read as it came.
    """
    if isinstance(labels, tuple):
        place = int(number) if number in range(len(labels)) else None
        return write_number(number) if place is None else labels[place]
    return _write_given(number) if isinstance(labels, AsGiven) else write_number(number)


def _write_given(number: float) -> Any:
    kind = int(kinds_of(np.array([number]))[0])
    if kind in TEXTS:
        bits = int(last_bits(np.array([number]))[0])
        text = value_of(number_at(TEXT, bits)) if bits else None
        return text if kind == TEXT and bits else {"text": text, "place": kind}
    if kind != REMEMBERED:
        return write_number(number)
    given: Given = value_of(number)
    for name, (known, _) in _TYPES.items():
        if given.column is None and type(given.value) is known:
            return {name: given.value.hex() if isinstance(given.value, bytes) else str(given.value)}
    raise DataError(f"{shown(given.value)} of type {type(given.value).__name__} cannot be put away as text")


def read_value(written: Any, labels: Labels | None) -> float | str:
    """Return the value that `write_value` wrote, a number, or a label as a text; or a `DataError`."""
    if isinstance(labels, tuple) and isinstance(written, str):
        return written
    if not isinstance(labels, AsGiven):
        return read_number(written)
    if isinstance(written, str):
        return number_at(TEXT, text_bits(written))
    if isinstance(written, dict) and written.keys() == {"text", "place"}:
        text, place = written["text"], written["place"]
        if (text is None or isinstance(text, str)) and type(place) is int and place in TEXTS:
            return number_at(place, 0 if text is None else text_bits(text))
    if isinstance(written, dict) and len(written) == 1 and (name := next(iter(written))) in _TYPES:
        return remember(Given(_parse(name, written[name])))
    return read_number(written)


def _parse(name: str, text: object) -> Any:
    try:
        if not isinstance(text, str) or (name != "bytes" and len(text) > _MOST_DIGITS):
            raise ValueError  # noqa: TRY301 - refused below
        return _TYPES[name][1](text)
    except (ValueError, ArithmeticError):
        raise DataError(f"expected a {name} as text, got {shown(text)}") from None
