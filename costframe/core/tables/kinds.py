"""Kinds of numbers that are no doubles, such as whole numbers, truth values and times, in rows of doubles.

A number from `FIRST` to `END`, far from those of data, stands for a value of a kind: its exponent and its first bits
tell the kind, and the other bits the value. So a column is written and read by arithmetic, in any process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8

FIRST, END = 2.0**1000, 2.0**1022
_EXPONENT = 1023 + 1000  # of FIRST, as doubles hold it
_BITS = 52  # of a double after its exponent

REMEMBERED = 0  # place, counted by exponents from FIRST, of values that the memory of a process holds
TEXT, OBJECT_TEXT, STR_TEXT, STRING_TEXT = 1, 2, 3, 4  # places of texts: by themselves, and in columns of dtypes
TEXTS = (TEXT, OBJECT_TEXT, STR_TEXT, STRING_TEXT)
_SMALL = 5  # place of the kinds that share one
_WIDE = 6  # first place of kinds with one for each
_SMALL_BITS = 33  # of a value of a small kind
_EMPTY = 2**_SMALL_BITS - 1  # its bits where it is missing
_HALF = 2**51
_END_BITS = (_EXPONENT + 22) << _BITS
_FIRST_SMALL = 64
DOUBLE = -1
"""Number in `kinds_of` of doubles that stand for themselves."""

_SMALL_NAMES = (
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "boolean", "Int8", "Int16",
    "Int32", "UInt8", "UInt16", "UInt32", "Float32", "Float64", "None", "NA", "NaT",
)  # fmt: skip
_WIDE_NAMES = (
    "int64", "uint64", "Int64", "UInt64", "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]",
)  # fmt: skip
MISSING_NAMES = ("None", "NA", "NaT")
"""Kinds that are one missing value each."""


@frozen
class Kind:
    """A kind of numbers: the dtype that its columns have in NumPy, or in pandas if these may have missing values."""

    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its values in NumPy."""
        if self.name in MISSING_NAMES:
            return np.dtype(object)
        return np.dtype("bool" if self.name == "boolean" else self.name.lower())

    @property
    def step(self) -> int:
        """The units between two values that are written: nanoseconds are written where they are whole microseconds."""
        return 1000 if self.name == "datetime64[ns]" else 1

    @property
    def is_nullable(self) -> bool:
        """Whether its columns have pandas' dtype for missing values beside such values."""
        return self.name == "boolean" or self.name[0] in "IUF"

    @property
    def may_miss(self) -> bool:
        """Whether some of its values may be missing."""
        return self.is_nullable or self.name in MISSING_NAMES or self.name.startswith("datetime")

    @property
    def id(self) -> int:
        """Its number in `kinds_of`."""
        if self.name in _WIDE_NAMES:
            return _WIDE + _WIDE_NAMES.index(self.name)
        return _FIRST_SMALL + _SMALL_NAMES.index(self.name)


# Every kind, by its number and by its name; stands below its class.
KINDS = {kind.id: kind for kind in map(Kind, (*_SMALL_NAMES, *_WIDE_NAMES))}
_BY_NAME = {kind.name: kind for kind in KINDS.values()}


def find_kind(name: str) -> Kind | None:
    """Return the kind whose columns have this dtype; None for others, doubles among them."""
    return _BY_NAME.get(name)


def at(place: int, bits: ArrayLike) -> F8:
    """Return the numbers at a place with these last bits, whole numbers from 0 to 2^52 - 1."""
    return (np.asarray(bits, np.int64) | ((_EXPONENT + place) << _BITS)).view(np.float64)


def number_at(place: int, bits: int) -> float:
    """Return the number at a place with these last bits."""
    return float(FIRST * 2.0**place * (1 + bits / 2**_BITS))  # exact


def has_kinds(rows: F8) -> bool:
    """Return whether some numbers stand for values of kinds."""
    with np.errstate(invalid="ignore"):
        high = rows >= FIRST
        return bool(high.any()) and bool((high & (rows < END)).any())


def kinds_of(numbers: F8) -> I8:
    """Return the kind of each number: `DOUBLE`, a place, or the id of a `Kind`."""
    bits = np.ascontiguousarray(numbers).view(np.int64)
    place = (bits >> _BITS) - _EXPONENT
    small = _FIRST_SMALL + ((bits & (2**_BITS - 1)) >> _SMALL_BITS)
    kinds = np.where(place == _SMALL, small, place)
    return np.where((place >= 0) & (numbers < END), kinds, DOUBLE)


def only_kind(numbers: F8) -> int | None:
    """Return the kind of all numbers; None if there may be several, or their values are remembered."""
    bits = np.ascontiguousarray(numbers).view(np.int64)
    low, high = int(bits.min()), int(bits.max())
    if high < _EXPONENT << _BITS:
        return DOUBLE
    place: int = (high >> _BITS) - _EXPONENT
    if place == _SMALL and low >> _SMALL_BITS == high >> _SMALL_BITS:
        return int(_FIRST_SMALL + ((high & (2**_BITS - 1)) >> _SMALL_BITS))
    is_one = low >> _BITS == high >> _BITS and high < _END_BITS
    return place if is_one and place not in {_SMALL, REMEMBERED} else None


def write_kind(kind: Kind, values: NDArray[Any], missing: B1 | None = None) -> F8:
    """Return the numbers of values, of the kind's dtype; NaN for those, beyond 2^51, that have no room in one."""
    if kind.id >= _FIRST_SMALL:
        bits = _small_bits(values) if missing is None else np.where(missing, _EMPTY, _small_bits(values))
        return at(_SMALL, bits | ((kind.id - _FIRST_SMALL) << _SMALL_BITS))
    whole = values.view(np.int64)  # a uint64 beyond int64 is negative here
    low = 0 if values.dtype.kind == "u" else 1 - _HALF
    if missing is None and kind.step == 1 and len(whole) and whole.min() >= low and whole.max() < _HALF:
        return at(kind.id, whole + _HALF)  # as most are, and quick
    steps = whole if kind.step == 1 else whole // kind.step
    fits = (steps >= low) & (steps < _HALF) & (steps * kind.step == whole)
    present = fits if missing is None else fits & ~missing
    numbers = at(kind.id, np.where(present, steps + _HALF, 0))
    return numbers if fits.all() else np.where(present if missing is None else present | missing, numbers, np.nan)


def _small_bits(values: NDArray[Any]) -> I8:
    if values.dtype.kind == "f":
        return values.view(f"u{values.itemsize}").astype(np.int64)
    return values.astype(np.int64) + 2**31


def read_kind(kind: Kind, numbers: F8) -> tuple[NDArray[Any], B1 | None]:
    """Return the values of numbers of a kind, of its dtype, and where they are missing, if some may be."""
    bits = np.ascontiguousarray(numbers).view(np.int64)
    if kind.id < _FIRST_SMALL:
        bits = (bits & (2**_BITS - 1)) - _HALF
        missing = bits == -_HALF if kind.may_miss else None
        return (bits if kind.step == 1 else bits * kind.step).view(kind.dtype), missing
    bits = bits & (2**_SMALL_BITS - 1)
    missing = bits == _EMPTY if kind.may_miss else None
    if kind.dtype.kind == "f":
        bits = bits if missing is None else np.where(missing, 0, bits)
        return bits.astype(f"u{kind.dtype.itemsize}").view(kind.dtype), missing
    bits = bits if missing is None else np.where(missing, 2**31, bits)
    return (bits - 2**31).astype(kind.dtype), missing
