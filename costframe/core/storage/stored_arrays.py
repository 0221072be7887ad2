"""The arrays and fields of a file, each checked where it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import StorageError

Arrays = dict[str, NDArray[Any]]


class StoredArrays:
    """The arrays of a file; each is taken once, with its expected dtype and number of dimensions."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._left = arrays

    def take(self, name: str, dtype: str, ndim: int = 1) -> NDArray[Any]:
        """Remove an array and return it; refuse another dtype or number of dimensions."""
        array = self._left.pop(name, None)
        if array is None:
            raise StorageError(f"malformed: no array {name!r}")
        if array.dtype != np.dtype(dtype).newbyteorder("=") or array.ndim != ndim:
            raise StorageError(
                f"malformed: array {name!r}: expected {ndim} dimension(s) of {dtype}, got {array.ndim} of {array.dtype}"
            )
        return array

    def take_all(self, prefix: str, dtypes: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """Take all arrays whose names have a prefix; return them by name without it. Weights have two dimensions."""
        return {key: self.take(f"{prefix}.{key}", dtype, 2 if key == "weights" else 1) for key, dtype in dtypes.items()}

    def part(self, prefix: str) -> StoredArrays:
        """Remove the arrays whose names have a prefix; return them by names without it."""
        names = [name for name in self._left if name.startswith(prefix)]
        return StoredArrays({name.removeprefix(prefix): self._left.pop(name) for name in names})

    def close(self) -> None:
        """Refuse a file with further arrays."""
        if self._left:
            raise StorageError(f"malformed: unknown arrays {sorted(self._left)}")


def check_range(name: str, array: NDArray[Any], least: int, most: int) -> None:
    """Refuse an array with numbers out of a range."""
    if array.size and not (least <= array.min() and array.max() <= most):
        raise StorageError(f"malformed: array {name!r}: expected {least} to {most}, got {array.min()} to {array.max()}")


def fields_of(table: object, where: str, *keys: str) -> tuple[Any, ...]:
    """Return the values of exactly these keys, or refuse the table."""
    if not isinstance(table, dict) or table.keys() != set(keys):
        got = list(table) if isinstance(table, dict) else type(table).__name__
        raise StorageError(f"malformed {where}: expected exactly {list(keys)}, got {got!r:.80}")
    return tuple(table[key] for key in keys)


def as_list(part: object) -> list[Any]:
    """Return a list, or refuse another type."""
    if not isinstance(part, list):
        raise StorageError(f"malformed model: expected a list, got {type(part).__name__}")
    return part
