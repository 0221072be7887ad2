"""Rows of a leaf, parted stably between its children."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attrs import frozen

from costframe.core.threads import run_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RowSplit", "part_rows"]

_ROWS_PER_PART = 25_000
_ROWS_WORTH_THREADS = 200_000


@frozen(eq=False)
class RowSplit:
    """A test, and the rows that it parts.

    Parameters
    ----------
    rows : int32 (m,)
        Permuted in place: those that go left, then those that go right, each in their former order.
    scratch : int32 (m,)
        Overwritten.
    feature, bin, missing_left : int, int, bool
        A row goes left if its bin is at most `bin`, or missing and `missing_left`.
    left_bins : bool (256,), optional
        The bins that go left, whatever `bin` and `missing_left` are; of a categorical feature.
    """

    rows: NDArray[np.int32]
    scratch: NDArray[np.int32]
    feature: int
    bin: int
    missing_left: bool
    left_bins: NDArray[np.bool_] | None = None


def part_rows(columns: NDArray[np.uint8], splits: Sequence[RowSplit], *, n_threads: int = 1) -> list[int]:
    """Part the rows of several leaves by the bins in `columns`, uint8 (d, n), and return how many go left in each."""
    if len(splits) == 1 and len(splits[0].rows) <= _ROWS_PER_PART:
        split = splits[0]
        n_left = _part(columns[split.feature], split, split.rows, split.scratch)
        split.rows[n_left:] = split.scratch[: len(split.rows) - n_left]
        return [n_left]
    parts = [(split, at) for split in splits for at in range(0, len(split.rows), _ROWS_PER_PART)]

    def part(work: tuple[RowSplit, int]) -> int:
        split, at = work
        here = slice(at, at + _ROWS_PER_PART)
        return _part(columns[split.feature], split, split.rows[here], split.scratch[here])

    worth = sum(len(split.rows) for split in splits) >= _ROWS_WORTH_THREADS
    lefts = iter(run_parallel(part, parts, n_threads if worth else 1))
    return [_join(split, [next(lefts) for _ in range(0, len(split.rows), _ROWS_PER_PART)]) for split in splits]


@cache
def _kernels() -> tuple[Callable[..., int], Callable[..., int]]:
    """Return what is called for every split; looked up once."""
    from costframe.trees.growing.category_kernels import partition_by_set
    from costframe.trees.growing.partition_kernels import partition_rows

    return partition_rows, partition_by_set


def _part(column: NDArray[np.uint8], split: RowSplit, rows: NDArray[np.int32], right: NDArray[np.int32]) -> int:
    """Move some of a split's rows that go left to their front and the others to `right`; count the former."""
    by_bin, by_set = _kernels()
    if split.left_bins is not None:
        return by_set(column, split.left_bins, rows, right)
    return by_bin(column, split.bin, split.missing_left, rows, right)


def _join(split: RowSplit, lefts: list[int]) -> int:
    """Bring the parts of one leaf together."""
    n_left = 0
    for part, count in enumerate(lefts):
        at = part * _ROWS_PER_PART
        if part:  # the first part's are in place
            split.rows[n_left : n_left + count] = split.rows[at : at + count]
        n_left += count
    end = n_left
    for part, count in enumerate(lefts):
        at = part * _ROWS_PER_PART
        size = min(_ROWS_PER_PART, len(split.rows) - at) - count
        split.rows[end : end + size] = split.scratch[at : at + size]
        end += size
    return n_left
