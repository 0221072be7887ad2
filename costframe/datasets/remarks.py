"""Remarks on a table: on columns with infinite cells, columns that look like ids, and parts with few rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from costframe.core.arrays import F8
from costframe.core.errors import format_count, shown
from costframe.datasets.dataset import Dataset
from costframe.datasets.ids import IdColumn
from costframe.datasets.leaks import Leak
from costframe.datasets.parts import PARTS

_FEW = {"train": 20, "valid": 10, "test": 10}  # rows of a class, queries, or rows with values


def describe_columns(X: F8, names: Sequence[str], ids: Mapping[str, IdColumn]) -> list[str]:
    """Return remarks on the features, float64 (n, d), some of which look like ids."""
    notes = []
    for f in np.flatnonzero(np.isinf(X).any(axis=0)).tolist():
        count = format_count(int(np.isinf(X[:, f]).sum()), "infinite cell")
        notes.append(
            f"{shown(names[f])}: {count}, to trees beyond all numbers; models that are sums of columns refuse them"
        )
    for name in (name for name in names if name in ids):
        out = f"--ignore {shlex.quote(name)} leaves it out{ids[name].way_out(name)}"
        notes.append(Leak.of(f"{shown(name)} looks like {ids[name].describe()}; {out}", name))
    return notes


def remark_on_few_rows(data: Dataset) -> str | None:
    """Return a remark on parts with few rows, few of a class, or few queries; None if all have enough."""
    few = [text for part in PARTS if (text := _describe_few(data, part))]
    return f"few rows: {', '.join(few)}; scores on so few say little" if few else None


def _describe_few(data: Dataset, part: str) -> str | None:
    rows, least = data.part(part), _FEW[part]
    if data.task == "classification":
        counts = {label: int((rows.y == label).sum()) for label in data.classes}
        label = min(counts, key=lambda k: counts[k])
        return f"{part} has {counts[label]} of class {shown(label)}" if counts[label] < least else None
    count = len(rows) if rows.qid is None else len(np.unique(rows.qid))
    noun = ("row", "rows") if rows.qid is None else ("query", "queries")
    return f"{part} has {format_count(count, *noun)}" if count < least else None
