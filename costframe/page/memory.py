"""Records of the engine laid out as WebAssembly reads them: one block of bytes, which a page loads anywhere."""

from __future__ import annotations

from collections.abc import Collection
from struct import pack

import numpy as np
from numpy.typing import NDArray

from costframe.engine.structs import Record

_ALIGNED = 8  # bytes


class Words:
    """Bytes of a struct, the places in it that are addresses, and those of its fields by name."""

    def __init__(self) -> None:
        self.bytes, self.addresses, self.fields = bytearray(), list[int](), dict[str, int]()

    def add_address(self, address: int | None, layout: str = "<Q") -> None:
        """Append the address of something in memory, of 4 or 8 bytes; None is of nothing."""
        if address is not None:
            self.addresses.append(len(self.bytes))
        self.bytes += pack(layout, address or 0)

    def join(self, other: Words) -> None:
        """Append another struct."""
        self.addresses += [len(self.bytes) + place for place in other.addresses]
        self.bytes += other.bytes


class Memory:
    """Arrays and structs one behind the other; addresses count from the first byte.

    `pointers` are the places that a page has to move by the address at which it loads the bytes. Structs named in
    `without` are laid out as empty ones, as no row in a browser reads them.
    """

    def __init__(self, without: Collection[str] = ()) -> None:
        self.bytes, self.pointers = bytearray(), list[int]()
        self._without, self._places = frozenset(without), dict[bytes, int]()

    def put(self, content: bytes | Words) -> int:
        """Append bytes or a struct; return the address."""
        self.bytes += bytes(-len(self.bytes) % _ALIGNED)
        address = len(self.bytes)
        if isinstance(content, Words):
            self.pointers += [address + place for place in content.addresses]
            content = bytes(content.bytes)
        self.bytes += content
        return address

    def put_array(self, array: NDArray[np.generic]) -> int | None:
        """Append an array, once for equal ones; return the address, None if it is empty."""
        if not array.size:
            return None
        content = array.tobytes()
        if content not in self._places:
            self._places[content] = self.put(content)
        return self._places[content]

    def put_records(self, *records: Record | Words) -> int:
        """Append what the engine's steps take first: the addresses of some structs, one behind the other."""
        way = Words()
        for record in records:
            way.add_address(self.put(record if isinstance(record, Words) else self.words(record)), "<I")
        return self.put(way)

    def words(self, record: Record, *, apart: bool = False) -> Words:
        """Return a struct as the engine reads it in a browser, its arrays in memory, of its own if they are `apart`.

        A vector there is an address and a size of four bytes each; all else has eight, as in any build of the engine.
        """
        words, is_empty = Words(), record.layout.name in self._without
        for parameter, value in zip(record.layout.fields, record.arrays, strict=True):
            words.fields[parameter.name] = len(words.bytes)
            if parameter.layout is not None:
                words.join(self.words(value))
            elif not parameter.sizes:
                words.bytes += pack("<d" if parameter.types == ("f8",) else "<q", value)
            else:
                shape = (0,) * value.ndim if is_empty else value.shape
                address = None if is_empty else self.put(value.tobytes()) if apart else self.put_array(value)
                is_vector = len(shape) == len(parameter.types) == 1
                words.add_address(address, "<I" if is_vector else "<Q")
                width = (value.itemsize,) if len(parameter.types) > 1 else ()
                words.bytes += pack("<I" if is_vector else f"<{len(shape) + len(width)}q", *shape, *width)
        return words


def array_of(record: Record, name: str) -> NDArray[np.generic]:
    """Return an array of a struct by its name."""
    names = [parameter.name for parameter in record.layout.fields]
    array: NDArray[np.generic] = record.arrays[names.index(name)]
    return array
