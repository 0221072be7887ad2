"""Tables of the FlatBuffers format, read with a check of every place and length before the bytes there are read.

A table begins with the distance to its *vtable*, which lists the distance of each field from the table, 0 for a field
that is absent. Vectors, texts and tables are fields that hold the distance to their content. A file may name one
content many times; here every use counts, and all uses together may not be longer than the file, so that what is made
of a file is not much longer either.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

__all__ = ["Table", "read_root"]

_TABLE = 12  # bytes that the use of a table counts at least


def read_root(data: bytes, where: str) -> Table:
    """Return the root table of a whole buffer; `where` names it in errors."""
    buffer = _Buffer(data, where)
    return buffer.table(buffer.follow(0), where)


class _Buffer:
    """Bytes, and how many more of them may be used."""

    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where, self.left = data, where, len(data)

    def number(self, kind: str, at: int) -> Any:
        """Return one number of a kind of `struct`."""
        size = struct.calcsize(kind)
        self.check(at, size)
        return struct.unpack_from(f"<{kind}", self.data, at)[0]

    def check(self, at: int, size: int) -> None:
        if at < 0 or at + size > len(self.data):
            raise AdoptionError(
                f"{self.where}: is malformed, it refers to bytes {at:,} to {at + size:,}, beyond its end"
            )

    def follow(self, at: int) -> int:
        """Return the place that the distance at a place leads to."""
        return at + int(self.number("I", at))

    def spend(self, size: int) -> None:
        """Count the use of bytes."""
        self.left -= size
        if self.left < 0:
            raise AdoptionError(f"{self.where}: is malformed, parts of it refer to the same bytes")

    def table(self, at: int, where: str) -> Table:
        """Return the table at a place, whose vtable and fields are within the buffer."""
        vtable = at - self.number("i", at)
        size, inline = self.number("H", vtable), self.number("H", vtable + 2)
        if size < 4 or size % 2:
            raise AdoptionError(f"{where}: is malformed, it has a table of fields of {size} bytes")
        self.check(vtable, size)
        self.check(at, inline)
        self.spend(max(inline, _TABLE))
        return Table(self, at, vtable, size, inline, where)


@frozen(eq=False)
class Table:
    """A table; fields are numbers from 0, in the order of the schema."""

    buffer: _Buffer
    at: int
    vtable: int
    vtable_size: int
    size: int
    where: str

    def scalar(self, field: int, kind: str, default: Any) -> Any:
        """Return a number of a kind of `struct`, or the default if the field is absent."""
        at = self._place(field, struct.calcsize(kind))
        return default if at is None else self.buffer.number(kind, at)

    def text(self, field: int) -> str:
        """Return a text, "" if it is absent."""
        at = self._place(field, 4)
        return "" if at is None else self._text(self.buffer.follow(at))

    def table(self, field: int, name: str) -> Table | None:
        """Return a table, which errors call by `name`."""
        at = self._place(field, 4)
        return None if at is None else self.buffer.table(self.buffer.follow(at), f"{self.where}: {name}")

    def vector(self, field: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a vector of numbers or structures, empty if it is absent."""
        kind = np.dtype(dtype).newbyteorder("<")
        at = self._place(field, 4)
        if at is None:
            return np.empty(0, kind)
        first, length = self._span(self.buffer.follow(at), kind.itemsize)
        return np.frombuffer(self.buffer.data, kind, length, first)

    def tables(self, field: int, name: str) -> Iterator[Table]:
        """Return a vector of tables, which errors call by `name` and number, one by one."""
        for number, at in enumerate(self._targets(field)):
            yield self.buffer.table(at, f"{self.where}: {name} {number}")

    def texts(self, field: int) -> Iterator[str]:
        """Return a vector of texts, one by one."""
        return map(self._text, self._targets(field))

    def _targets(self, field: int) -> Iterator[int]:
        at = self._place(field, 4)
        if at is not None:
            first, length = self._span(self.buffer.follow(at), 4)
            places = np.arange(first, first + 4 * length, 4) + np.frombuffer(self.buffer.data, "<u4", length, first)
            yield from places.tolist()

    def _place(self, field: int, size: int) -> int | None:
        """Return the place of a field of so many bytes, None if it is absent."""
        entry = 4 + 2 * field
        distance = self.buffer.number("H", self.vtable + entry) if entry < self.vtable_size else 0
        if distance == 0:
            return None
        if distance + size > self.size:
            raise AdoptionError(f"{self.where}: is malformed, field {field} is beyond its end")
        return self.at + distance

    def _span(self, at: int, size: int) -> tuple[int, int]:
        """Return where the entries of a vector begin, and their number."""
        length = int(self.buffer.number("I", at))
        self.buffer.check(at + 4, length * size)
        self.buffer.spend(4 + length * size)
        return at + 4, length

    def _text(self, at: int) -> str:
        first, length = self._span(at, 1)
        try:
            return self.buffer.data[first : first + length].decode()
        except UnicodeDecodeError as error:
            raise AdoptionError(f"{self.where}: is malformed, a text is not in UTF-8 ({error})") from None
