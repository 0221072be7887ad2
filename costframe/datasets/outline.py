"""A table without its features: its target, task, queries, groups and split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import I8
from costframe.core.errors import DataError, format_count, shown
from costframe.core.numerals import is_numeral, looks_numeric
from costframe.core.tables.categories import check_exact
from costframe.core.tables.columns import as_queries, as_target, text_values
from costframe.core.tables.row_labels import check_nested
from costframe.datasets.parts import QID, SPLIT, Kinds, obey_split
from costframe.datasets.reading import Reading
from costframe.datasets.table_files import TableFile
from costframe.datasets.text_features import describe_counts

MOST_CLASSES = 20  # more distinct whole numbers than this are values, not classes


@frozen(eq=False)
class Outline:
    """A table without its features: labels, task, queries, groups and given split, with notes on them."""

    y: NDArray[Any]
    task: str
    queries: I8 | None
    groups: I8 | None
    split: NDArray[np.str_] | None
    notes: list[str]


def outline(opened: TableFile, table: Mapping[str, Any], how: Reading, notes: list[str]) -> Outline:
    """Read the target, the queries, the groups and the split of a file's table, pyarrow columns by name.

    The target of a text file is as it is written: for classes labels, else numbers.
    """
    qid, groups = (
        np.unique(as_queries(table[name], name), return_inverse=True)[1].astype(np.int64) if name in table else None
        for name in ("" if QID in how.ignore else QID, how.group or "")
    )
    y = as_target(opened.as_numbers(table[how.target]), how.target)
    _refuse_unread(y, opened, how)
    task, reason = _task(y, how, qid)
    if task == "classification":
        y = as_target(opened.as_written(table[how.target]), how.target)
        reason = _task(y, how, qid)[1]
    y = _convert_target(y, task, how.target, qid)
    notes = notes + reason
    classes, queries = (y if task == "classification" else None), (qid if task == "ranking" else None)
    if queries is not None and groups is not None:
        check_nested(queries, groups, f"column {how.group!r}")
    split = None
    if SPLIT in table and SPLIT not in how.ignore:
        kinds = Kinds(len(y), classes, queries, groups)
        split, remarks = obey_split(text_values(table[SPLIT], SPLIT), kinds, how.seed)
        notes = notes + remarks
    return Outline(y, task, queries, groups, split, notes)


def _refuse_unread(y: NDArray[Any], opened: TableFile, how: Reading) -> None:
    """Refuse a target of texts that look like numbers, and are none as they are written, unless they are labels."""
    if opened.text is None or how.task == "classification" or y.dtype.kind not in "US":
        return
    texts = np.unique(y).tolist()
    if all(map(looks_numeric, texts)) and (all(map(is_numeral, texts)) or len(texts) > MOST_CLASSES):
        why = next(filter(None, map(opened.spelling.why_not, texts)), "numbers stored as texts")
        raise DataError(f"target {how.target!r}: {why}; or take them for labels with --task classification")


def _task(y: NDArray[Any], how: Reading, qid: I8 | None) -> tuple[str, list[str]]:
    """Return the task, given or inferred, and notes with the reason."""
    if how.task is not None:
        return how.task, []
    if qid is not None:
        return "ranking", [f"task: ranking by {how.target!r}, for there is a column {QID!r}"]
    distinct, numeric, whole = len(np.unique(y)), _numeric(y), _whole(y)
    task = "classification" if not numeric or (whole and distinct <= MOST_CLASSES) else "regression"
    kind = "different value" if not numeric else "different whole number" if whole else "different number"
    return task, [f"task: {task}, for {how.target!r} has {format_count(distinct, kind)}"]


def _convert_target(y: NDArray[Any], task: str, target: str, qid: I8 | None) -> NDArray[Any]:
    if task == "classification":
        if _numeric(y) and not _whole(y):
            raise DataError(f"target {target!r}: classes are texts or whole numbers, got {y[y != np.floor(y)][0]:g}")
        check_exact(y.tolist() if y.dtype.kind == "f" else (), f"target {target!r}")
        return y.astype(np.int64) if y.dtype.kind in "if" else y
    if not _numeric(y):
        texts = Counter(value for value in y.tolist() if not is_numeral(value))
        raise DataError(f"target {target!r}: {task} needs numbers, got {describe_counts(texts) or shown(y[0])}")
    if task == "ranking" and qid is None:
        raise DataError(f"a ranking needs a column {QID!r} that names the query of each row")
    if task == "ranking" and (y < 0).any():
        raise DataError(f"target {target!r}: expected grades of relevance >= 0, got {y.min():g}")
    return y.astype(np.float64)


def _numeric(y: NDArray[Any]) -> bool:
    return y.dtype.kind in "iuf"


def _whole(y: NDArray[Any]) -> bool:
    return _numeric(y) and bool((y == np.floor(y)).all())
