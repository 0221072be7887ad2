"""UBJSON, the binary form of xgboost's files."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.adoption.documents import DocumentPart
from costframe.core.errors import AdoptionError

_FORMATS = {b"i": "b", b"U": "B", b"I": "h", b"l": "i", b"L": "q", b"d": "f", b"D": "d"}
_DTYPES = {marker: np.dtype(form).newbyteorder(">") for marker, form in _FORMATS.items()}
_NUMBERS = {marker: struct.Struct(">" + form) for marker, form in _FORMATS.items()}
_LENGTHS = (b"i", b"U", b"I", b"l", b"L")
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_DEEPEST = 64


def parse_ubjson(data: bytes, where: str) -> DocumentPart:
    """Return a UBJSON document, typed arrays as numpy's; refuse other data, and documents nested more than 64 deep."""
    reader = _Reader(data)
    try:
        document = reader.document()
    except ValueError as error:  # a UnicodeDecodeError is one
        raise AdoptionError(f"{where}: is not a whole UBJSON document ({error})") from error
    return DocumentPart(document, where)


class _Reader:
    """A position in the data; every method reads from it and moves it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def document(self) -> Any:
        document = self.value(0)
        if self.at != len(self.data):
            raise ValueError(f"the document ends at byte {self.at:,} of {len(self.data):,}")
        return document

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"nested deeper than {_DEEPEST} at byte {self.at:,}")
        marker = self._take(1)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _NUMBERS:
            return self._number(marker)
        if marker == b"S":
            return self._text()
        if marker == b"[":
            return self._array(depth)
        if marker == b"{":
            return self._object(depth)
        raise ValueError(f"unknown marker {marker!r} at byte {self.at - 1:,}")

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
        if self._peek() == b"#":  # every item takes a byte at least, so a wrong count meets the end of the data
            self.at += 1
            return [self.value(depth + 1) for _ in range(self._length())]
        items = []
        while self._peek() != b"]":
            items.append(self.value(depth + 1))
        self.at += 1
        return items

    def _typed_array(self) -> NDArray[np.generic]:
        _, marker, sign = self._take(1), self._take(1), self._take(1)
        if marker not in _DTYPES or sign != b"#":
            raise ValueError(f"malformed typed array at byte {self.at - 3:,}")
        dtype = _DTYPES[marker]
        return np.frombuffer(self._take(self._length() * dtype.itemsize), dtype)

    def _text(self) -> str:
        return self._take(self._length()).decode()

    def _length(self) -> int:
        marker = self._take(1)
        if marker not in _LENGTHS:
            raise ValueError(f"expected a length at byte {self.at - 1:,}, got {marker!r}")
        length = int(self._number(marker))
        if length < 0:
            raise ValueError(f"negative length {length} at byte {self.at:,}")
        return length

    def _number(self, marker: bytes) -> Any:
        form = _NUMBERS[marker]
        return form.unpack(self._take(form.size))[0]

    def _peek(self) -> bytes:
        if self.at >= len(self.data):
            raise ValueError(f"truncated at byte {self.at:,}")
        return self.data[self.at : self.at + 1]

    def _take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError(f"truncated: {self.at + count:,} bytes are needed, there are {len(self.data):,}")
        self.at += count
        return self.data[self.at - count : self.at]
