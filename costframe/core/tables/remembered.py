"""Values that a process remembers by the numbers that stand for them in rows of doubles."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from threading import Lock
from typing import Any
from uuid import UUID

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, shown
from costframe.core.tables.kinds import REMEMBERED, TEXT, at, number_at

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


# Stands below its class.
_MEMORY = _Memory()


def make_room() -> None:
    """Forget the older half of the values, if there are many; for before those of a table are remembered."""
    _MEMORY.make_room()


def _hash(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") % (2**52 - 1) + 1


def text_bits(text: str) -> int:
    """Return the last bits of the numbers of a text, not zero, and remember it."""
    content = text.encode("utf-8", "surrogatepass")
    bits = _hash(content)
    _MEMORY.keep(number_at(TEXT, bits), text, len(content) + 100)
    return bits


def remember(given: Given) -> float:
    """Remember a value by the number that stands for it, and return this."""
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


def value_of(number: float) -> Any:
    """Return what a process remembers of a number: a text, or a `Given`."""
    return _MEMORY.value(number)


def texts_of(numbers: F8) -> NDArray[Any]:
    """Return the texts of numbers, None where the last bits are zero: object (numbers,)."""
    distinct, place = np.unique(last_bits(numbers), return_inverse=True)
    pairs = zip(distinct.tolist(), at(TEXT, distinct).tolist(), strict=True)
    texts = [_MEMORY.value(number) if bits else None for bits, number in pairs]
    return np.asarray(np.array([*texts, None], object)[place])


def last_bits(numbers: F8) -> I8:
    """Return the bits of numbers that tell the values of a kind from each other: int64 (numbers,)."""
    return np.ascontiguousarray(numbers).view(np.int64) & (2**52 - 1)


def givens_of(numbers: F8) -> tuple[list[Given], I8]:
    """Return what a process remembers of numbers, each once, and the place of each number among them."""
    distinct, place = np.unique(numbers, return_inverse=True)
    return [_MEMORY.value(number) for number in distinct.tolist()], place
