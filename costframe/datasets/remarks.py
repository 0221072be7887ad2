"""Remarks on what is odd about a data set, though models take it: infinite cells, columns like ids, few rows."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import format_count, shown
from costframe.core.tables.splits import PARTS
from costframe.datasets.leaks import Leak

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

__all__ = ["describe_columns", "describe_few_rows", "is_like_id"]

_FEW = {"train": 20, "valid": 10, "test": 10}  # rows of a class, queries, or rows with values
_LIKE_IDS = 20  # rows from which ascending whole numbers are hardly chance
_PAIRS = 10.0  # equal pairs that chance would make among as many whole numbers within the same limits
_ID_NAMES = {"id", "ids", "uid", "uuid", "guid", "key", "no", "nr", "number", "nummer", "index"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def describe_columns(X: NDArray[np.float64], names: Sequence[str], categorical: Collection[str]) -> list[str]:
    """Return remarks on the features, float64 (n, d), in the order of the file's rows."""
    notes = []
    for f in np.flatnonzero(np.isinf(X).any(axis=0)).tolist():
        count = format_count(int(np.isinf(X[:, f]).sum()), "infinite cell")
        notes.append(
            f"{shown(names[f])}: {count}, to trees beyond all numbers; models that are sums of columns refuse them"
        )
    numbers = [f for f, name in enumerate(names) if name not in categorical]
    notes += [
        Leak.of(
            f"{shown(names[f])} looks like an id, a whole number that differs in every row; "
            f"--ignore {shlex.quote(names[f])} leaves it out",
            names[f],
        )
        for f in numbers
        if is_like_id(X[:, f], names[f])
    ]
    return notes


def describe_few_rows(data: Dataset) -> str | None:
    """Return a remark on parts with few rows, few of a class, or few queries; None if all have enough."""
    few = [text for part in PARTS if (text := _describe_few(data, part))]
    return f"few rows: {', '.join(few)}; scores on so few say little" if few else None


def _describe_few(data: Dataset, part: str) -> str | None:
    rows, least = data.part(part), _FEW[part]
    if data.task == "classification":
        counts = {label: int((rows.y == label).sum()) for label in data.classes}
        label = min(counts, key=lambda one: counts[one])
        return f"{part} has {counts[label]} of class {shown(label)}" if counts[label] < least else None
    count = len(rows) if rows.qid is None else len(np.unique(rows.qid))
    noun = ("row", "rows") if rows.qid is None else ("query", "queries")
    return f"{part} has {format_count(count, *noun)}" if count < least else None


def is_like_id(column: NDArray[np.float64], name: str) -> bool:
    """Return whether a column, float64 (n,), holds whole numbers that all differ, and that are no measurements.

    They grow from row to row, or have the name of an id, or lie so close together that some measurements would be
    equal by chance.
    """
    n = len(column)
    if n < _LIKE_IDS or not np.isfinite(column[:_LIKE_IDS]).all() or len(np.unique(column[:_LIKE_IDS])) < _LIKE_IDS:
        return False  # quick for most
    if not np.isfinite(column).all() or (column != np.floor(column)).any() or len(np.unique(column)) < n:
        return False
    grows = bool((np.diff(column) > 0).all())
    close = n * (n - 1) / 2 >= _PAIRS * (np.ptp(column) + 1)
    return bool(grows or close) or not _ID_NAMES.isdisjoint(map(str.lower, _WORD.findall(name)))
