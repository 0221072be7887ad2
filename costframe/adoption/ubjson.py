"""A reader of Universal Binary JSON that checks every bound, for files that may be broken."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_ubjson"]

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_FORMATS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_DEEPEST = 64


def read_ubjson(data: bytes) -> Any:
    """Read one document.

    Parameters
    ----------
    data : bytes
        The whole document, as xgboost writes it.

    Returns
    -------
    dict, list, str, number, bool, None or ndarray
        Typed arrays are one-dimensional numpy arrays.

    Raises
    ------
    ValueError
        If the data is truncated, malformed, nested more than 64 deep, or longer than the document; the text names the
        byte.
    """
    reader = _Reader(data)
    document = reader.value(0)
    if reader.at != len(data):
        raise ValueError(f"the document ends at byte {reader.at} of {len(data)}")
    return document


class _Reader:
    """A position in the data; every method reads from it and moves it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"nested deeper than {_DEEPEST} at byte {self.at}")
        marker = self._take(1)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _FORMATS:
            return self._number(marker)
        if marker == b"S":
            return self._text()
        if marker == b"[":
            return self._array(depth)
        if marker == b"{":
            return self._object(depth)
        raise ValueError(f"unknown marker {marker!r} at byte {self.at - 1}")

    def _object(self, depth: int) -> dict[str, Any]:
        members = {}
        while self._peek() != b"}":
            name = self._text()
            members[name] = self.value(depth + 1)
        self.at += 1
        return members

    def _array(self, depth: int) -> list[Any] | NDArray[np.generic]:
        if self._peek() == b"$":
            return self._typed_array()
        if self._peek() == b"#":
            self.at += 1
            return [self.value(depth + 1) for _ in range(self._length())]
        items = []
        while self._peek() != b"]":
            items.append(self.value(depth + 1))
        self.at += 1
        return items

    def _typed_array(self) -> NDArray[np.generic]:
        _, marker, sign = self._take(1), self._take(1), self._take(1)
        if marker not in _NUMBERS or sign != b"#":
            raise ValueError(f"malformed typed array at byte {self.at - 3}")
        dtype = np.dtype(_NUMBERS[marker])
        return np.frombuffer(self._take(self._length() * dtype.itemsize), dtype)

    def _text(self) -> str:
        return self._take(self._length()).decode()

    def _length(self) -> int:
        marker = self._take(1)
        if marker not in {b"i", b"U", b"I", b"l", b"L"}:
            raise ValueError(f"expected a length at byte {self.at - 1}, got {marker!r}")
        length = int(self._number(marker))
        if length < 0:
            raise ValueError(f"negative length {length} at byte {self.at}")
        return length

    def _number(self, marker: bytes) -> Any:
        form = _FORMATS[marker]
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _peek(self) -> bytes:
        if self.at >= len(self.data):
            raise ValueError(f"truncated at byte {self.at}")
        return self.data[self.at : self.at + 1]

    def _take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError(f"truncated: {self.at + count} bytes are needed, there are {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]
