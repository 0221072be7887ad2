"""The format of a model's file: a version, one JSON header, raw arrays, and a checksum.

    magic (12 bytes) | version (uint32) | header length n (uint64) | header (n bytes) | arrays | SHA-256 (32 bytes)

All numbers are little-endian. The header is ``{"arrays": [...], "model": ...}`` in ASCII without spaces; each array is
listed with name, dtype, shape and offset from the end of the header; arrays follow one another without gaps.
The checksum covers all bytes before it, in every version of the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import StorageError, shown

MAGIC = b"\x89costframe\r\n"  # no text begins so; it shows rewritten line ends
VERSION = 4
DTYPES = ("|u1", "<i4", "<i8", "<f8")

_HEAD = struct.Struct("<12sIQ")
_CHECKSUM = 32  # bytes
_ENTRY = {"name", "dtype", "shape", "offset"}
_MOST_DIMENSIONS = 2


def pack(model: object, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of a file: any JSON value, and arrays of at most two dimensions, each with one of `DTYPES`."""
    directory: list[dict[str, Any]] = []
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        directory.append({"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": offset})
        parts.append(array.tobytes())
        offset += array.nbytes
    header = _dump({"arrays": directory, "model": model})
    content = b"".join([_HEAD.pack(MAGIC, VERSION, len(header)), header, *parts])
    return content + hashlib.sha256(content).digest()


def unpack(content: bytes) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the model's part of the header, and the arrays in the machine's byte order.

    A StorageError refuses what `pack` did not return. Arrays are allocated only after all sizes are checked.
    """
    check_magic(content[: len(MAGIC)])
    end = len(content) - _CHECKSUM
    if end < _HEAD.size:
        raise StorageError(f"truncated: expected at least {_HEAD.size + _CHECKSUM} bytes, got {len(content)}")
    if hashlib.sha256(memoryview(content)[:end]).digest() != content[end:]:
        raise StorageError("truncated or altered: its checksum does not match its content")
    _, version, length = _HEAD.unpack_from(content)
    if version > VERSION:
        raise StorageError(f"written by a newer costframe (format {version}), this one reads up to {VERSION}")
    if version != VERSION:
        raise StorageError(f"expected format {VERSION}, got {version}")
    begin = _HEAD.size + length
    if begin > end:
        raise StorageError(f"malformed: a header of {length} bytes does not fit in {end - _HEAD.size}")
    header = _parse(content[_HEAD.size : begin])
    if not isinstance(header, dict) or header.keys() != {"arrays", "model"} or not isinstance(header["arrays"], list):
        raise StorageError("malformed header: expected a list 'arrays' and a 'model'")
    return header["model"], _read_arrays(header["arrays"], content, begin, end)


def check_magic(begin: bytes) -> None:
    """Refuse a file that does not begin with `MAGIC`."""
    if not begin:
        raise StorageError("expected a saved model, got an empty file")
    if begin != MAGIC:
        kind = "truncated" if MAGIC.startswith(begin) else "not a costframe model"
        raise StorageError(f"{kind}: expected a file that begins with {MAGIC!r}, got {shown(begin)}")


def _read_arrays(directory: list[Any], content: bytes, begin: int, end: int) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    at = begin
    for entry in directory:
        name, dtype, shape, offset = _check_entry(entry)
        size = math.prod(shape) * dtype.itemsize  # Python's integers do not overflow
        if begin + offset != at or at + size > end:
            raise StorageError(
                f"malformed header: array {name!r} takes bytes {offset} to {offset + size}, "
                f"expected it to begin at {at - begin} and to end by {end - begin}"
            )
        if name in arrays:
            raise StorageError(f"malformed header: array {name!r} stands twice")
        raw = np.frombuffer(content, dtype, math.prod(shape), at).reshape(shape)
        arrays[name] = raw.astype(dtype.newbyteorder("="))
        at += size
    if at != end:
        raise StorageError(f"malformed header: {end - at} bytes belong to no array")
    return arrays


def _check_entry(entry: object) -> tuple[str, np.dtype[Any], tuple[int, ...], int]:
    if not isinstance(entry, dict) or entry.keys() != _ENTRY or not isinstance(entry["name"], str):
        raise StorageError(f"malformed header: expected an array's {sorted(_ENTRY)}")
    name, dtype, shape, offset = (entry[key] for key in ("name", "dtype", "shape", "offset"))
    if dtype not in DTYPES:
        raise StorageError(f"malformed header: array {name!r}: expected a dtype of {DTYPES}, got {shown(dtype)}")
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS:
        raise StorageError(f"malformed header: array {name!r}: expected at most two dimensions, got {shown(shape)}")
    if not all(type(number) is int and 0 <= number < 2**62 for number in [*shape, offset]):
        raise StorageError(f"malformed header: array {name!r}: expected sizes from 0 on, got {shown([*shape, offset])}")
    if (
        math.prod(max(1, number) for number in shape) * np.dtype(dtype).itemsize >= 2**63
    ):  # numpy refuses it if empty, too
        raise StorageError(f"malformed header: array {name!r}: expected a shape below 2^63 bytes, got {shown(shape)}")
    return name, np.dtype(dtype), tuple(shape), offset


def _dump(header: object) -> bytes:
    return json.dumps(header, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _parse(text: bytes) -> object:
    try:
        header: object = json.loads(text.decode("ascii"))
        same = _dump(header) == text
    except (ValueError, RecursionError) as error:
        raise StorageError(f"malformed header: {error}") from error
    if not same:  # for example a repeated key
        raise StorageError("malformed header: not spelled as costframe spells it")
    return header
