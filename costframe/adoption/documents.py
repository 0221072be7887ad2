"""Parsed model files: the type, length and range of every value is checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError, shown

_LARGEST = 2**53


def parse_json(data: bytes, where: str) -> DocumentPart:
    """Return a JSON document; refuse other data, and documents too deep to read."""
    try:
        return DocumentPart(json.loads(data), where)
    except (ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        reason = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise AdoptionError(f"{where}: is not a whole JSON document ({reason})") from error


@frozen(eq=False)
class DocumentPart:
    """A value of a parsed document and its place there, which errors name."""

    value: Any
    where: str

    def refuse(self, text: str) -> AdoptionError:
        """Return the error of a wrong part."""
        return AdoptionError(f"{self.where}: {text}")

    def has(self, name: str) -> bool:
        """Return whether the part is an object with a member that is not null."""
        return isinstance(self.value, Mapping) and self.value.get(name) is not None

    def get(self, name: str) -> DocumentPart:
        """Return a member of an object; refuse other values, and objects without it."""
        if not isinstance(self.value, Mapping):
            raise self.refuse(f"expected an object with {name!r}, got {shown(self.value)}")
        if name not in self.value:
            raise self.refuse(f"lacks {name!r}")
        return DocumentPart(self.value[name], f"{self.where}: {name}")

    def only(self, *names: str) -> DocumentPart:
        """Return an object; refuse one with members of other names, whose meaning is unknown."""
        if isinstance(self.value, Mapping):
            for name in self.value.keys() - set(names):
                raise self.refuse(
                    f"has the unknown field {name[:40]!r}, which may change what it predicts; costframe.adopt(model, "
                    "features=[...]) takes the loaded model as one opaque learner"
                )
        return self

    def items(self) -> Iterator[DocumentPart]:
        """Return the items of a list, one by one."""
        if not isinstance(self.value, list | np.ndarray):
            raise self.refuse(f"expected a list, got {shown(self.value)}")
        return (DocumentPart(value, f"{self.where} {number}") for number, value in enumerate(self.value))

    def __len__(self) -> int:
        """Count the items of a list."""
        if not isinstance(self.value, list | np.ndarray):
            raise self.refuse(f"expected a list, got {shown(self.value)}")
        return len(self.value)

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            raise self.refuse(f"expected a text, got {shown(self.value)}")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(item.text() for item in self.items())

    def whole(self, low: int = 0, high: int = _LARGEST) -> int:
        """Return a whole number from `low` to `high`, also from a text that spells it."""
        value = self.value
        if isinstance(value, str) and len(value) < 20 and value.removeprefix("-").isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            wanted = f"a whole number from {low:,} to {high:,}" if low < high else f"{low:,}"
            raise self.refuse(f"expected {wanted}, got {shown(self.value)}")
        return int(value)

    def number(self) -> float:
        """Return a finite number, also from a text that spells it."""
        try:
            number = np.nan if isinstance(self.value, bool | list) else float(self.value)
        except (TypeError, ValueError, OverflowError):
            number = np.nan
        if not np.isfinite(number):
            raise self.refuse(f"expected a finite number, got {shown(self.value)}")
        return number

    def wholes(self, length: int | None = None, low: int = 0, high: int = _LARGEST) -> I8:
        """Return a list of whole numbers from `low` to `high`: int64 (length,)."""
        array = self._array(length)
        if array.size == 0:
            return np.zeros(0, np.int64)
        if array.dtype.kind not in "iub":
            raise self.refuse(f"expected whole numbers, got some of type {array.dtype}")
        wrong = (array < low) | (array > high)
        if wrong.any():
            raise self.refuse(f"expected numbers from {low:,} to {high:,}, got {array[wrong][0]}")
        return array.astype(np.int64)

    def reals(self, length: int | None = None, *, finite: bool = True) -> F8:
        """Return a list of numbers: float64 (length,); only finite ones unless said otherwise."""
        array = self._array(length)
        if array.size and array.dtype.kind not in "iuf":
            raise self.refuse(f"expected numbers, got some of type {array.dtype}")
        with np.errstate(invalid="ignore"):  # of a NaN that signals
            numbers = array.astype(np.float64)
        if finite and not np.isfinite(numbers).all():
            raise self.refuse("expected finite numbers, got NaN or infinity")
        return numbers

    def _array(self, length: int | None) -> NDArray[Any]:
        if length is not None and len(self) != length:
            raise self.refuse(f"expected {length:,} entries, got {len(self):,}")
        if isinstance(self.value, list) and any(isinstance(item, list | str | Mapping) for item in self.value):
            raise self.refuse("expected numbers, got something else in the list")
        try:
            array = np.asarray(self.value)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse("expected a list of numbers") from None
        if array.ndim != 1 or array.dtype.kind == "O":
            raise self.refuse("expected a list of numbers, got something else")
        return array
