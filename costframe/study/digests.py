"""Digests of values of any kind, by which a run in a directory knows them again."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import ParameterError, shown

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (tuple, list, dict, set, frozenset)


def digest(value: object, name: str) -> str:
    """Return a text that differs between different values; `name` begins the error.

    Arrays count with all their values and their dtype, numbers of numpy as Python's, functions by their code and what
    that closes over, and other objects by what pickle would keep of them, without values that they cache.

    Raises
    ------
    ParameterError
        If pickle refuses an object, as an open file.
    """
    try:
        return _digest(value, ()).hex()
    except Exception as error:  # an object of any class may come, and raise anything
        raise ParameterError(
            f"{name}: a run in a directory is known by its values, and those of {shown(value)} cannot be read "
            f"({error}); leave out the directory"
        ) from error


def _digest(value: object, above: tuple[int, ...]) -> bytes:
    if id(value) in above:  # a cycle
        return hashlib.sha256(b"cycle %d" % above.index(id(value))).digest()
    value = value.item() if isinstance(value, np.generic) else value
    content, parts = _take_apart(value)
    digests = [_digest(part, (*above, id(value))) for part in parts]
    if isinstance(value, dict | set | frozenset):
        digests.sort()
    name = f"{type(value).__module__}.{type(value).__qualname__} {len(content)} {len(digests)} "
    return hashlib.sha256(b"".join([name.encode(), content, *digests])).digest()


def _take_apart(value: Any) -> tuple[bytes, Iterable[object]]:
    """Return the bytes of a value's own, and the values in it."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value).encode(errors="surrogatepass"), ()
    if kind in _CONTAINERS:
        return b"", value.items() if kind is dict else value
    if kind in {np.ndarray, np.memmap}:
        return _take_array_apart(value)
    if kind in {types.FunctionType, types.CodeType}:
        return _take_code_apart(value)
    return _take_object_apart(value)


def _take_array_apart(array: NDArray[Any]) -> tuple[bytes, Iterable[object]]:
    """Take an array apart; its memory order, and the room of its texts, do not count."""
    if array.dtype.hasobject:
        return f"{array.dtype} {array.shape}".encode(), array.ravel().tolist()
    text, dtype = (np.char.encode(array, "utf-8"), "U") if array.dtype.kind == "U" else (array, array.dtype.descr)
    return f"{dtype} {array.shape} ".encode() + np.ascontiguousarray(text).tobytes(), ()


def _take_code_apart(code: Any) -> tuple[bytes, Iterable[object]]:
    """Take a function apart, with what it closes over, but not what it finds in its module; or the code of one."""
    if isinstance(code, types.FunctionType):
        closed = [cell.cell_contents for cell in code.__closure__ or ()]
        return code.__module__.encode(), (code.__code__, code.__defaults__, code.__kwdefaults__, closed)
    names = (code.co_names, code.co_varnames, code.co_argcount, code.co_posonlyargcount, code.co_flags)
    return code.co_code, (code.co_consts, names)


def _take_object_apart(value: Any) -> tuple[bytes, Iterable[object]]:
    reduced = value.__qualname__ if isinstance(value, type) else value.__reduce_ex__(4)
    if isinstance(reduced, str):  # the name of a global
        return f"{getattr(value, '__module__', '')}.{reduced}".encode(), ()
    state, listed, mapped = (*reduced[2:5], None, None, None)[:3]
    if isinstance(state, dict):
        cached = functools.cached_property
        state = {key: part for key, part in state.items() if not isinstance(getattr(type(value), key, None), cached)}
    return b"", (*reduced[:2], state, list(listed or ()), dict(mapped or ()))
