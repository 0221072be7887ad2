"""Signatures of compiled functions, read: what each parameter is, and whether an argument fits."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from attrs import field, frozen

SCALARS = {
    "f8": ctypes.c_double,
    "i8": ctypes.c_int64,
    "i4": ctypes.c_int32,
    "u8": ctypes.c_uint64,
    "b1": ctypes.c_bool,
}
DTYPES = {text: np.dtype(text) for text in ("f8", "f4", "i8", "i4", "i1", "u8", "u4", "u2", "u1", "b1")}
_SIGNATURE = re.compile(r"(\w+)\((.*)\)(?: -> (\w+))?")
_PARAMETER = re.compile(r"(\w+): (>?)([\w|]+)(?:\[([\w,+?]+)\])?(?:, *|$)")


class Signature(NamedTuple):
    """A function's or a struct's name, its parameters as text, and what it returns: "" for nothing."""

    name: str
    parameters: str
    returns: str

    @classmethod
    def read(cls, text: str) -> Signature:
        """Split a signature such as `weigh(rows: i4[m]) -> f8`."""
        match = _SIGNATURE.fullmatch(text)
        if match is None or (match[3] is not None and match[3] not in {"code", *SCALARS}):
            raise ValueError(f"expected a signature such as 'weigh(rows: i4[m], n: i8) -> f8', got {text!r}")
        return cls(match[1], match[2], match[3] or "")


class Size(NamedTuple):
    """A size of an array: of a name or a number, and 1 more for n+1."""

    text: str
    name: str
    number: int  # if there is no name
    more: int
    optional: bool
    less: int | None  # what is subtracted for the library; None if it does not get this size

    @classmethod
    def read(cls, text: str, told: set[str], *, whole: bool) -> Size:
        """Read a size; the library gets those that are `whole`, optional, or not told before."""
        name, _, more = text.removesuffix("?").partition("+")
        fixed, optional, extra = name.isdigit(), text.endswith("?"), int(more or 0)
        less = 0 if whole or optional else None if fixed or name in told else extra
        return cls(text, "" if fixed else name, int(name) if fixed else 0, extra, optional, less)


@frozen(eq=False)
class Parameter:
    """A parameter of a function, or a field of a struct: a scalar, a struct, or an array with its sizes."""

    name: str
    written: bool
    types: tuple[str, ...]
    dtypes: tuple[np.dtype[Any], ...]
    sizes: tuple[Size, ...]
    layout: StructLayout | None  # of a struct

    def refuse(self, given: object, known: dict[str, int]) -> None:
        """Raise a TypeError that says what was expected, with the sizes that are known."""
        shape = f" of shape ({', '.join(str(known.get(s.text, s.text)) for s in self.sizes)})" if self.sizes else ""
        got = f"{given.dtype} {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        kinds = " or ".join(map(str, self.dtypes or self.types))
        raise TypeError(f"{self.name}: expected C-contiguous {kinds}{shape}{', writable' * self.written}, got {got}")

    def pass_array(self, given: Any, known: dict[str, int], passed: list[Any]) -> None:
        """Append the pointer of an array, some of its sizes, and the width of its codes."""
        if not isinstance(given, np.ndarray) or given.dtype not in self.dtypes or given.ndim != len(self.sizes):
            self.refuse(given, known)
        flags = given.flags
        if not flags.c_contiguous or (self.written and given.size and not flags.writeable):
            self.refuse(given, known)
        passed.append(address_of(given))
        for (_, name, number, more, optional, less), count in zip(self.sizes, given.shape, strict=True):
            if count or not optional:
                expected = known.setdefault(name, count - more) if name else number
                if count != expected + more or expected < 0:
                    self.refuse(given, known)
            if less is not None:
                passed.append(count - less)
        if len(self.types) > 1:
            passed.append(given.itemsize)

    def pass_struct(self, given: Any, known: dict[str, int], passed: list[Any]) -> None:
        """Append the pointer of a struct, whose sizes must be those of the arguments before."""
        if getattr(given, "layout", None) is not self.layout:
            self.refuse(given, known)
        if any(known.setdefault(size, count) != count for size, count in given.sizes.items()):
            self.refuse(given, known)
        passed.append(given.words)

    @property
    def format(self) -> str:
        """The format of a field for `struct.Struct`."""
        if self.layout is not None:
            return f"{self.layout.packer.size}s"
        letter = "d" if self.types == ("f8",) and not self.sizes else "q"
        return letter * (len(self.types) + len(self.sizes))


@frozen(eq=False)
class StructLayout:
    """The fields of a kind of struct, in the order in which a library reads them."""

    module: str  # which has the struct by its name, for copies in other processes
    name: str
    fields: tuple[Parameter, ...]
    tells: frozenset[str] = field(init=False)  # sizes that each such struct has
    may_tell: frozenset[str] = field(init=False)  # sizes of optional arrays alone
    packer: Struct = field(init=False)

    def __attrs_post_init__(self) -> None:
        sizes = [size for parameter in self.fields for size in parameter.sizes if size.name]
        inner = [parameter.layout for parameter in self.fields if parameter.layout is not None]
        tells = {size.name for size in sizes if not size.optional}.union(*(layout.tells for layout in inner))
        may_tell = {size.name for size in sizes}.union(*(layout.may_tell for layout in inner)) - tells
        object.__setattr__(self, "tells", frozenset(tells))
        object.__setattr__(self, "may_tell", frozenset(may_tell))
        object.__setattr__(self, "packer", Struct("".join(parameter.format for parameter in self.fields)))


def read_parameters(text: str, layouts: Mapping[str, StructLayout], *, whole: bool) -> tuple[Parameter, ...]:
    """Return the parameters that a signature lists; of arrays, the library gets `whole` shapes, or new sizes only."""
    parameters, told, end = list[Parameter](), set[str](), 0
    while end < len(text):
        match = _PARAMETER.match(text, end)
        if match is None:
            raise ValueError(f"expected a parameter such as 'rows: >i4[n,d]', got {text[end:]!r}")
        end = match.end()
        name, written, kinds, listed = match.groups()
        layout = layouts.get(kinds) if listed is None else None
        types = tuple(kinds.split("|"))
        if layout is not None:
            told |= layout.tells
        elif not all(kind in (SCALARS if listed is None else DTYPES) for kind in types):
            raise ValueError(f"{name}: expected a type of numpy such as 'f8', or a struct, got {kinds!r}")
        sizes = list[Size]()
        for size in listed.split(",") if listed else ():
            sizes.append(Size.read(size, told, whole=whole))
            told |= set() if sizes[-1].optional else {sizes[-1].name}
        dtypes = tuple(DTYPES[kind] for kind in types) if sizes else ()
        parameters.append(Parameter(name, bool(written), types, dtypes, tuple(sizes), layout))
    return tuple(parameters)


def address_of(array: Any) -> int:
    """Return the address of an array's first item; it takes a fourth of the time if it, or its base, can be written."""
    flags = array.flags
    if flags.writeable:
        return address_of_written(array)
    if not flags.c_contiguous:
        raise TypeError("not C-contiguous")
    base = array.base
    if type(base) is np.ndarray and base.nbytes == array.nbytes and base.flags.writeable and base.flags.c_contiguous:
        return address_of_written(base)
    return int(array.ctypes.data) if array.size else 0


def address_of_written(array: Any) -> int:
    """Return the address of an array's first item; raise TypeError if it is read-only or not C-contiguous."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array)) if array.size else 0
