"""Digests of values: equal for equal models and prices, in any process, also after saving and loading."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import attrs
import numpy as np

_SIZE = 16  # bytes


def digest_of(*values: Any) -> str:
    """Return a digest of values in hexadecimal letters: of texts, numbers, arrays, collections, and classes of attrs.

    Numbers and arrays that are equal have one digest, whatever their type. A function in a field is not told from
    others. A `TypeError` refuses anything else.
    """
    digest = blake2b(digest_size=_SIZE)
    _feed(digest, values)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bytes | int | float):
        _feed_bytes(digest, _scalar(value))
    elif isinstance(value, np.ndarray):
        _feed_array(digest, value)
    elif isinstance(value, Mapping):
        _feed(digest, ("mapping", *sorted(value)))
        _feed(digest, [value[key] for key in sorted(value)])
    elif isinstance(value, frozenset | set):
        _feed(digest, ("set", *sorted(value)))
    elif isinstance(value, tuple | list):
        digest.update(b"(%d" % len(value))
        for item in value:
            _feed(digest, item)
    elif attrs.has(type(value)):
        fields = [getattr(value, field.name) for field in attrs.fields(type(value))]
        _feed(digest, (type(value).__name__, *("function" if callable(item) else item for item in fields)))
    else:
        raise TypeError(f"expected data, got a {type(value).__name__}")


def _scalar(value: str | bytes | float | None) -> bytes:
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, float) and (not value.is_integer() or str(value) == "-0.0"):
        return b"f" + repr(value).encode()
    return b"n" if value is None else b"i" + hex(int(value)).encode()


def _feed_array(digest: Any, array: Any) -> None:
    if array.dtype.kind not in "fiub":
        _feed(digest, array.tolist())
        return
    kind = "<f8" if array.dtype.kind == "f" else "<i8"
    _feed(digest, ("array", kind, *array.shape))
    _feed_bytes(digest, np.ascontiguousarray(array, kind).tobytes())


def _feed_bytes(digest: Any, content: bytes) -> None:
    digest.update(b"%d:" % len(content))
    digest.update(content)
