"""Values that are no numbers, such as texts, in rows of doubles: opaque learners take them as they were given.

The number of such a value is made of its hash, far from the numbers of data, so that it is the same in every process.
A process remembers the values whose numbers it has made: all of a column, and the last `_ROOM` bytes of others.
"""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_FIRST = 2.0**1000  # numbers of values are from here to twice this
_ROOM = 2**28


class _Memory:
    """Values by number; the older half of them goes when there is no room."""

    def __init__(self) -> None:
        self._new: dict[float, Any] = {}
        self._old: dict[float, Any] = {}
        self._size, self._lock = 0, Lock()

    def make_room(self) -> None:
        with self._lock:
            if self._size > _ROOM:
                self._new, self._old, self._size = {}, self._new, 0

    def keep(self, number: float, value: Any, size: int) -> None:
        with self._lock:
            if number not in self._new:
                self._new[number], self._size = value, self._size + size

    def value(self, number: float) -> Any:
        try:
            return self._new[number] if number in self._new else self._old[number]
        except KeyError:
            raise DataError(
                "rows hold the number of a text that this process has not read, or no more remembers; give texts"
            ) from None


_MEMORY = _Memory()


@frozen
class AsGiven:
    """What stands for the labels of a feature that opaque learners read: any text, and numbers as they are.

    Texts, None, and vectors, such as embeddings, have numbers by their hashes; with `whole_numbers`, whole numbers too,
    for models that tell 3 from 3.0.
    """

    whole_numbers: bool = False

    def number(self, value: Any) -> Any:
        """Return the number of a value that is none; another value as it is."""
        _MEMORY.make_room()
        return self._number(value)

    def numbers(self, values: Iterable[Any]) -> NDArray[np.float64]:
        """Return values as numbers: float64 (values,)."""
        _MEMORY.make_room()
        found = [self._number(value) for value in values]
        try:
            return np.array(found, np.float64)
        except (TypeError, ValueError):
            odd = next(value for value in found if not isinstance(value, int | float | np.number | np.bool_))
            raise DataError(f"expected texts or numbers, got {shown(odd)} of type {type(odd).__name__}") from None

    def _number(self, value: Any) -> Any:
        content = self._content(value)
        if content is None:
            return value
        digest = int.from_bytes(blake2b(content, digest_size=8).digest(), "little") % 2**52
        number = _FIRST * (1 + digest / 2**52)
        _MEMORY.keep(number, value, len(content) + 100)
        return number

    def _content(self, value: Any) -> bytes | None:
        """Return what tells a value from others; None of a number."""
        if isinstance(value, str):
            return b"s" + value.encode("utf-8", "surrogatepass")
        if value is None or type(value).__name__ == "NAType":
            return type(value).__name__.encode()
        if isinstance(value, bytes):
            return b"b" + value
        if isinstance(value, list | tuple | np.ndarray):
            return b"v" + np.asarray(value, np.float64).tobytes()
        whole = self.whole_numbers and isinstance(value, int | np.integer | np.bool_)
        return b"i" + str(int(value)).encode() if whole else None


def restore_values(rows: NDArray[np.float64]) -> NDArray[Any]:
    """Return rows, of objects, with values as they were given in place of their numbers; rows without any unchanged."""
    coded = (rows >= _FIRST) & (rows < 2 * _FIRST)
    if not coded.any():
        return rows
    found = rows.astype(object)
    for (row, column), number in zip(np.argwhere(coded).tolist(), rows[coded].tolist(), strict=True):
        found[row, column] = _MEMORY.value(number)
    return found
