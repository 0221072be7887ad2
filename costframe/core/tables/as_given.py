"""Values that are no doubles, such as whole numbers and texts, in rows of doubles: foreign code gets them as they came.

A whole number, a truth value or a time is written in its number; see `kinds`. The number of another value, such as a
text, is made of its hash, so that it is the same in every process, and a process remembers the values whose numbers it
has made: all of a column, and the last `_ROOM` bytes of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8
from costframe.core.errors import DataError, shown
from costframe.core.tables.kinds import (
    DOUBLE,
    KINDS,
    OBJECT_TEXT,
    REMEMBERED,
    STR_TEXT,
    STRING_TEXT,
    TEXT,
    TEXTS,
    at,
    find_kind,
    has_kinds,
    kinds_of,
    number_at,
    read_kind,
    write_kind,
)
from costframe.core.tables.remembered import ColumnType, Given, givens_of, last_bits, make_room, remember, text_bits

OBJECT, STR, STRING = map(ColumnType.of, ("object", "str", "string"))
"""Types of columns of Python objects, and of texts: pandas' `str`, and its older `string`."""
_PLACES = {None: TEXT, OBJECT: OBJECT_TEXT, STR: STR_TEXT, STRING: STRING_TEXT}
_REPEATED = frozenset((str, int, bool, type(None)))  # types of values that columns of objects often repeat


@frozen
class AsGiven:
    """What stands for the labels of a feature that foreign code reads: any value, as it came.

    A double is its own number, and all else has the number of its value and of the dtype of its column. If `plain`, a
    value has one number whatever its column, and numbers of all kinds are doubles, for models that compare them.
    """

    plain: bool = False

    def number(self, value: Any) -> float:
        """Return the number of a value by itself; a number that stands for one is it already."""
        if isinstance(value, float):
            return value
        make_room()
        return self._number(value, None)

    def numbers(self, values: Iterable[Any], column: ColumnType | None = OBJECT) -> F8:
        """Return the numbers of values of a column, of values by themselves for None: float64 (values,)."""
        make_room()
        column = None if self.plain else column
        place = _PLACES.get(column)
        known: dict[Any, float] = {}
        numbers = []
        for value in values:
            if type(value) not in _REPEATED:
                numbers.append(self._number(value, column))
                continue
            key = value if type(value) is str else (type(value), value)
            if (number := known.get(key)) is None:
                at_once = place is not None and type(value) is str
                number = number_at(place or 0, text_bits(value)) if at_once else self._number(value, column)
                known[key] = number
            numbers.append(number)
        return np.array(numbers, np.float64)

    def of_array(self, values: NDArray[Any], missing: B1 | None = None, name: str | None = None) -> F8:
        """Return the numbers of an array of a dtype of NumPy: float64 (values,).

        `name` is pandas' name for a dtype with missing values.
        """
        if values.dtype.kind not in "iufbM":
            return self.numbers(values.tolist(), None if values.dtype.kind == "U" else OBJECT)
        kind = find_kind(name or str(values.dtype))
        if values.dtype.kind != "M" and (self.plain or kind is None or kind.name == "Float64"):
            numbers = values.astype(np.float64)
            none = np.nan if self.plain or kind is None else missing_number(kind.name)
            return numbers if missing is None else np.where(missing, none, numbers)
        if kind is None:
            return self.numbers(list(values))
        numbers = write_kind(kind, values, missing)
        if (large := np.flatnonzero(np.isnan(numbers) & (values.dtype.kind != "f"))).size:
            column = ColumnType.of(kind.name)
            whole = values[large].view(np.int64) if values.dtype.kind == "M" else values[large]
            numbers[large] = self.numbers(whole.tolist(), column)
        return numbers

    def of_codes(self, codes: NDArray[np.integer[Any]], values: Iterable[Any], column: ColumnType) -> F8:
        """Return the numbers of a column of some values by their positions, -1 for a missing one: float64 (codes,)."""
        missing = np.nan if self.plain else self._number(None, column)
        return np.asarray(np.append(self.numbers(values, column), missing)[codes])

    def _number(self, value: Any, column: ColumnType | None) -> float:
        if self.plain or column is None:
            is_number = isinstance(value, float) or (self.plain and isinstance(value, Real | Decimal | np.bool_))
            return float(value) if is_number else _number_alone(value)
        if isinstance(value, str) and (place := _PLACES.get(column)) is not None:
            return number_at(place, text_bits(str(value)))
        if value is None and column in {STR, STRING}:
            return number_at(_PLACES[column], 0)
        return remember(Given(value, column))


def missing_number(name: str) -> float:
    """Return the number of a missing value of a kind."""
    kind = find_kind(name)
    assert kind is not None  # noqa: S101 - one of those that are there
    return float(write_kind(kind, np.zeros(1, kind.dtype), np.ones(1, np.bool_))[0])


def _number_alone(value: Any) -> float:
    """Return the number of a value by itself that is no double."""
    if isinstance(value, str):
        return number_at(TEXT, text_bits(str(value)))
    if (name := _missing_name(value)) is not None:
        return missing_number(name)
    whole = isinstance(value, int) and -(2**63) <= value < 2**63
    if whole or isinstance(value, bool | np.number | np.bool_ | np.datetime64):
        return float(AsGiven().of_array(np.array([value]))[0])
    return remember(Given(value))


def _missing_name(value: Any) -> str | None:
    if value is None:
        return "None"
    return {"NAType": "NA", "NaTType": "NaT"}.get(type(value).__name__)


def with_types(rows: F8, types: Sequence[ColumnType | None]) -> F8:
    """Return rows of doubles and texts as those of columns of these types; values that are of no such type stay."""
    typed = rows.copy()
    for f, column in enumerate(types):
        values, kind = rows[:, f], None if column is None else find_kind(column.dtype)
        if column in _PLACES and column is not None:
            texts = kinds_of(values) == TEXT
            typed[texts, f] = at(_PLACES[column], last_bits(values[texts]))
        elif kind is not None and kind.dtype.kind in "iub":
            low, high = (0, 1) if kind.dtype.kind == "b" else (np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max)
            whole = (values == np.floor(values)) & (np.abs(values) < 2**51) & (values >= low) & (values <= high)
            typed[whole, f] = write_kind(kind, values[whole].astype(kind.dtype))
        elif kind is not None and kind.name == "float32":
            typed[:, f] = write_kind(kind, values.astype(np.float32))
    return typed


def as_doubles(numbers: F8) -> F8:
    """Return numbers as `AsGiven(plain=True)` has them, with NaN for each missing value: float64 (rows,).

    Raises
    ------
    DataError
        If a value is neither a number nor a text.
    """
    if not has_kinds(numbers):
        return numbers
    doubles, kinds = numbers.copy(), kinds_of(numbers)
    for kind in np.unique(kinds).tolist():
        chosen = kinds == kind
        if kind in TEXTS:
            bits = last_bits(numbers[chosen])
            doubles[chosen] = np.where(bits == 0, np.nan, at(TEXT, bits))
        elif kind == REMEMBERED:
            givens, place = givens_of(numbers[chosen])
            doubles[chosen] = np.array([_as_double(given.value) for given in givens])[place]
        elif kind != DOUBLE:
            values, missing = read_kind(KINDS[kind], numbers[chosen])
            if values.dtype.kind == "M":
                raise DataError(f"expected numbers or texts, got {shown(values[0])} of type {values.dtype}")
            values = np.zeros(len(values)) if values.dtype.kind == "O" else values.astype(np.float64)
            doubles[chosen] = values if missing is None else np.where(missing, np.nan, values)
    return doubles


def _as_double(value: Any) -> float:
    if value is None or _missing_name(value) is not None:
        return np.nan
    if isinstance(value, str):
        return number_at(TEXT, text_bits(str(value)))
    if isinstance(value, Real | Decimal | np.bool_):
        return float(value)
    raise DataError(f"expected numbers or texts, got {shown(value)} of type {type(value).__name__}")
