"""Values that are no doubles, such as whole numbers and texts, in rows of doubles: foreign code gets them as they came.

A whole number, a truth value or a time is written in its number; see `kinds`. The number of another value, such as a
text, is made of its hash, so that it is the same in every process, and a process remembers the values whose numbers it
has made: all of a column, and the last `_ROOM` bytes of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from numbers import Real
from threading import Lock
from typing import Any
from uuid import UUID

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
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

_ROOM = 2**28
_TOLD = (
    bool,
    int,
    float,
    np.generic,
    Decimal,
    Fraction,
    UUID,
    date,
    datetime,
    time,
    timedelta,
)  # told from others by what their `repr` says
_PANDAS = {"Timestamp", "Timedelta", "Period", "Interval"}


@frozen
class ColumnType:
    """What the values of a column have in common: its dtype, or pandas' name for it."""

    dtype: Any = field(eq=False)
    digest: bytes

    @classmethod
    def of(cls, dtype: Any) -> ColumnType:
        """Return the type of columns with a dtype; one of categories differs by these."""
        categories = getattr(dtype, "categories", None)
        listed = "" if categories is None else repr(list(categories))
        content = f"{type(dtype).__name__} {dtype!r} {listed}".encode("utf-8", "surrogatepass")
        return cls(dtype, blake2b(content, digest_size=16).digest())


OBJECT, STR, STRING = map(ColumnType.of, ("object", "str", "string"))
"""Types of columns of Python objects, and of texts: pandas' `str`, and its older `string`."""
_PLACES = {None: TEXT, OBJECT: OBJECT_TEXT, STR: STR_TEXT, STRING: STRING_TEXT}


@frozen
class Given:
    """A value as a process remembers it: of a column, or by itself."""

    value: Any  # None if it is missing
    column: ColumnType | None = None


class _Memory:
    """Values by number; the older half of them goes when there is no room."""

    def __init__(self) -> None:
        self._new: dict[float, Any] = {}
        self._old: dict[float, Any] = {}
        self._size, self._lock = 0, Lock()

    def make_room(self) -> None:
        with self._lock:
            if self._size > _ROOM:
                self._new, self._old, self._size = {}, self._new, 0

    def keep(self, number: float, value: Any, size: int) -> None:
        with self._lock:
            if number not in self._new:
                self._new[number], self._size = value, self._size + size

    def value(self, number: float) -> Any:
        try:
            return self._new[number] if number in self._new else self._old[number]
        except KeyError:
            raise DataError(
                "rows hold the number of a value that this process has not read, or no more remembers; give the values"
            ) from None


_MEMORY = _Memory()


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
        _MEMORY.make_room()
        return self._number(value, None)

    def numbers(self, values: Iterable[Any], column: ColumnType | None = OBJECT) -> F8:
        """Return the numbers of values of a column, of values by themselves for None: float64 (values,)."""
        _MEMORY.make_room()
        column = None if self.plain else column
        place = _PLACES.get(column)
        known: dict[Any, float] = {}
        found = []
        for value in values:
            if type(value) not in _REPEATED:
                found.append(self._number(value, column))
                continue
            key = value if type(value) is str else (type(value), value)
            if (number := known.get(key)) is None:
                at_once = place is not None and type(value) is str
                number = number_at(place or 0, _text_bits(value)) if at_once else self._number(value, column)
                known[key] = number
            found.append(number)
        return np.array(found, np.float64)

    def of_array(self, values: NDArray[Any], missing: B1 | None = None, name: str | None = None) -> F8:
        """Return the numbers of an array of a dtype of NumPy: float64 (values,).

        `name` is pandas' name for a dtype with missing values.
        """
        if values.dtype.kind not in "iufbM":
            return self.numbers(values.tolist(), None if values.dtype.kind == "U" else OBJECT)
        kind = find_kind(name or str(values.dtype))
        if values.dtype.kind != "M" and (self.plain or kind is None or kind.name == "Float64"):
            found = values.astype(np.float64)
            none = np.nan if self.plain or kind is None else missing_number(kind.name)
            return found if missing is None else np.where(missing, none, found)
        if kind is None:
            return self.numbers(list(values))
        found = write_kind(kind, values, missing)
        if (large := np.flatnonzero(np.isnan(found) & (values.dtype.kind != "f"))).size:
            column = ColumnType.of(kind.name)
            whole = values[large].view(np.int64) if values.dtype.kind == "M" else values[large]
            found[large] = self.numbers(whole.tolist(), column)
        return found

    def of_codes(self, codes: NDArray[np.integer[Any]], values: Iterable[Any], column: ColumnType) -> F8:
        """Return the numbers of a column of some values by their positions, -1 for a missing one: float64 (codes,)."""
        missing = np.nan if self.plain else self._number(None, column)
        return np.asarray(np.append(self.numbers(values, column), missing)[codes])

    def _number(self, value: Any, column: ColumnType | None) -> float:
        if self.plain or column is None:
            is_number = isinstance(value, float) or (self.plain and isinstance(value, Real | Decimal | np.bool_))
            return float(value) if is_number else _number_alone(value)
        if isinstance(value, str) and (place := _PLACES.get(column)) is not None:
            return number_at(place, _text_bits(str(value)))
        if value is None and column in {STR, STRING}:
            return number_at(_PLACES[column], 0)
        return _remember(Given(value, column))


_REPEATED = frozenset((str, int, bool, type(None)))  # types of values that columns of objects often repeat


def missing_number(name: str) -> float:
    """Return the number of a missing value of a kind."""
    kind = find_kind(name)
    assert kind is not None  # noqa: S101 - one of those that are there
    return float(write_kind(kind, np.zeros(1, kind.dtype), np.ones(1, np.bool_))[0])


def _number_alone(value: Any) -> float:
    """Return the number of a value by itself that is no double."""
    if isinstance(value, str):
        return number_at(TEXT, _text_bits(str(value)))
    if (name := _missing_name(value)) is not None:
        return missing_number(name)
    whole = isinstance(value, int) and -(2**63) <= value < 2**63
    if whole or isinstance(value, bool | np.number | np.bool_ | np.datetime64):
        return float(AsGiven().of_array(np.array([value]))[0])
    return _remember(Given(value))


def _missing_name(value: Any) -> str | None:
    if value is None:
        return "None"
    return {"NAType": "NA", "NaTType": "NaT"}.get(type(value).__name__)


def _hash(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") % (2**52 - 1) + 1


def _text_bits(text: str) -> int:
    """Return the last bits of the numbers of a text, not zero, and remember it."""
    content = text.encode("utf-8", "surrogatepass")
    bits = _hash(content)
    _MEMORY.keep(number_at(TEXT, bits), text, len(content) + 100)
    return bits


def _remember(given: Given) -> float:
    content = _content(given.value)
    number = number_at(REMEMBERED, _hash((given.column.digest if given.column else b"") + content))
    _MEMORY.keep(number, given, len(content) + 200)
    return number


def _content(value: Any) -> bytes:
    """Return what tells a value from others; refuse one of a type whose values cannot be told."""
    name = type(value).__name__
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, list | tuple | np.ndarray):
        try:
            return b"v" + np.asarray(value, np.float64).tobytes()
        except (TypeError, ValueError):
            name = ""
    if value is not None and not isinstance(value, _TOLD) and name not in {*_PANDAS, "NAType", "NaTType"}:
        raise DataError(f"expected texts or numbers, got {shown(value)} of type {type(value).__name__}")
    return f"o{name} {value!r} {getattr(value, 'unit', '')}".encode()


def with_types(rows: F8, types: Sequence[ColumnType | None]) -> F8:
    """Return rows of doubles and texts as those of columns of these types; values that are of no such type stay."""
    found = rows.copy()
    for f, column in enumerate(types):
        values, kind = rows[:, f], None if column is None else find_kind(column.dtype)
        if column in _PLACES and column is not None:
            texts = kinds_of(values) == TEXT
            found[texts, f] = at(_PLACES[column], _last_bits(values[texts]))
        elif kind is not None and kind.dtype.kind in "iub":
            low, high = (0, 1) if kind.dtype.kind == "b" else (np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max)
            whole = (values == np.floor(values)) & (np.abs(values) < 2**51) & (values >= low) & (values <= high)
            found[whole, f] = write_kind(kind, values[whole].astype(kind.dtype))
        elif kind is not None and kind.name == "float32":
            found[:, f] = write_kind(kind, values.astype(np.float32))
    return found


# --- values again ------------------------------------------------------------------------------------------------


def value_of(number: float) -> Any:
    """Return what a process remembers of a number: a text, or a `Given`."""
    return _MEMORY.value(number)


def texts_of(numbers: F8) -> NDArray[Any]:
    """Return the texts of numbers, None where the last bits are zero: object (numbers,)."""
    each, place = np.unique(_last_bits(numbers), return_inverse=True)
    pairs = zip(each.tolist(), at(TEXT, each).tolist(), strict=True)
    found = [_MEMORY.value(number) if bits else None for bits, number in pairs]
    return np.asarray(np.array([*found, None], object)[place])


def _last_bits(numbers: F8) -> I8:
    return np.ascontiguousarray(numbers).view(np.int64) & (2**52 - 1)


def givens_of(numbers: F8) -> tuple[list[Given], I8]:
    """Return what a process remembers of numbers, each once, and the place of each number among them."""
    each, place = np.unique(numbers, return_inverse=True)
    return [_MEMORY.value(number) for number in each.tolist()], place


def as_doubles(numbers: F8) -> F8:
    """Return numbers as `AsGiven(plain=True)` has them, with NaN for each missing value: float64 (rows,).

    Raises
    ------
    DataError
        If a value is neither a number nor a text.
    """
    if not has_kinds(numbers):
        return numbers
    found, kinds = numbers.copy(), kinds_of(numbers)
    for kind in np.unique(kinds).tolist():
        chosen = kinds == kind
        if kind in TEXTS:
            bits = _last_bits(numbers[chosen])
            found[chosen] = np.where(bits == 0, np.nan, at(TEXT, bits))
        elif kind == REMEMBERED:
            givens, place = givens_of(numbers[chosen])
            found[chosen] = np.array([_as_double(each.value) for each in givens])[place]
        elif kind != DOUBLE:
            values, missing = read_kind(KINDS[kind], numbers[chosen])
            if values.dtype.kind == "M":
                raise DataError(f"expected numbers or texts, got {shown(values[0])} of type {values.dtype}")
            values = np.zeros(len(values)) if values.dtype.kind == "O" else values.astype(np.float64)
            found[chosen] = values if missing is None else np.where(missing, np.nan, values)
    return found


def _as_double(value: Any) -> float:
    if value is None or _missing_name(value) is not None:
        return np.nan
    if isinstance(value, str):
        return number_at(TEXT, _text_bits(str(value)))
    if isinstance(value, Real | Decimal | np.bool_):
        return float(value)
    raise DataError(f"expected numbers or texts, got {shown(value)} of type {type(value).__name__}")
