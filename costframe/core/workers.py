"""Workers: processes that train one model together, each on its own part of the rows.

Every worker runs the same program. Where the program needs all rows, it combines what the workers know of their parts:
sums of whole numbers, or of doubles on a grid, and maxima. Such sums do not depend on how the rows are dealt. So all
workers take the same decisions and have the same model, which is that of one worker with all rows, to the last bit.

All workers must combine equally often and in the same order: a decision whether to combine may only depend on what all
workers know, and code that combines runs on one thread.
"""

from __future__ import annotations

import ctypes
import pickle
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.errors import WorkersError
from costframe.engine import constants

Reduction = int
SUM, MAX, SUM_OF_DOUBLES = constants("add_words_up", "take_largest", "add_doubles_up")

T = TypeVar("T")

_SIGNATURE: Any = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class Workers(ABC):
    """The workers of one training, as one of them sees them."""

    count: int
    rank: int  # of this one, from 0
    _error: BaseException | None = None

    @abstractmethod
    def _combine(self, values: NDArray[Any], operation: Reduction) -> NDArray[Any]:
        """Combine equal arrays (n,) of all workers, int64, or float64 for SUM_OF_DOUBLES; every worker gets the result.

        A WorkersError says that a worker has ended, or does not answer in time.
        """

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up equal arrays of all workers: whole numbers or booleans as int64; doubles must be on a grid."""
        given = np.asarray(values)
        if given.dtype.kind == "f":
            return self._apply(given.astype(np.float64, copy=False), SUM_OF_DOUBLES)
        return self._apply(given.astype(np.int64, copy=False), SUM)

    def max(self, values: F8) -> F8:
        """Return the largest of doubles >= 0, or NaN if one worker has NaN, item by item of equal arrays."""
        given = np.abs(np.asarray(values, np.float64))  # the bits of doubles >= 0 are in order, and NaN is above
        return self._apply(given.view(np.int64), MAX).view(np.float64)

    def count_all(self, count: int) -> int:
        """Add up a count of each worker."""
        return int(self.sum(np.array([count], np.int64))[0])

    def any(self, flags: Any) -> bool:
        """Return whether it is true on any worker."""
        return self.count_all(int(np.any(flags))) > 0

    def largest(self, value: float) -> float:
        """Return the largest of the workers' numbers >= 0, or NaN if one has NaN."""
        return float(self.max(np.array([value]))[0])

    def gather(self, value: T) -> list[T]:
        """Return the values of all workers, by rank."""
        if self.count == 1:
            return [value]
        data = np.frombuffer(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), np.uint8)
        sizes = np.zeros(self.count, np.int64)
        sizes[self.rank] = len(data)
        sizes = self.sum(sizes)
        places = np.concatenate([[0], np.cumsum(-(-sizes // 8))])  # whole words
        words = np.zeros(int(places[-1]), np.int64)
        words.view(np.uint8)[8 * places[self.rank] :][: len(data)] = data
        whole = self.sum(words).view(np.uint8)
        return [pickle.loads(whole[8 * at :][:size].tobytes()) for at, size in zip(places, sizes, strict=False)]  # noqa: S301 - of workers of one training, which run one another's code anyway

    def check(self) -> None:
        """Raise the error of a combination inside the engine, which cannot raise it itself."""
        if self._error is not None:
            raise self._error

    @cached_property
    def address(self) -> int:
        """Address of a C function that combines in place, for the engine; 0 for a worker alone.

        It takes an operation, the address of the first of n values of eight bytes, and n. After a failure it does
        nothing, and the caller of the engine calls `check`.
        """
        if self.count == 1:
            return 0

        def combine(operation: Reduction, first: int, count: int) -> int:
            if self._error is None:
                try:
                    kind = ctypes.c_double if operation == SUM_OF_DOUBLES else ctypes.c_int64
                    values = np.ctypeslib.as_array((kind * count).from_address(first))
                    values[...] = self._combine(values, operation)
                except BaseException as error:  # noqa: BLE001 - the engine cannot raise it; `check` does
                    self._error = error
            return 0

        self._called = _SIGNATURE(combine)  # lives as long as the address
        return int(ctypes.cast(self._called, ctypes.c_void_p).value or 0)

    def _apply(self, values: NDArray[Any], operation: Reduction) -> NDArray[Any]:
        if self.count == 1:
            return values.copy()
        self.check()
        flat = np.ascontiguousarray(values).ravel()
        try:
            return self._combine(flat, operation).reshape(values.shape) if flat.size else flat.reshape(values.shape)
        except BaseException as error:
            self._error = error
            raise

    def __getstate__(self) -> dict[str, Any]:
        raise WorkersError("workers: are of one training and cannot be pickled")


@final
class _Alone(Workers):
    """One worker, which has all rows."""

    count, rank = 1, 0

    def _combine(self, values: NDArray[Any], operation: Reduction) -> NDArray[Any]:
        del operation
        return values

    def __reduce__(self) -> str:
        return "ALONE"


# Stands below its class.
ALONE: Workers = _Alone()
