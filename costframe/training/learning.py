"""What a fit learns from where tests were not made: rows as recorded, completed rows, or rows with all tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from costframe.core.arrays import I8
from costframe.core.checks import check_choice
from costframe.core.errors import DataError
from costframe.records.completion import FEWEST_OF_CLASS, fill, find_donors
from costframe.records.made import Records
from costframe.training.data import Rows
from costframe.training.sampling import deal_groups

RECORDED, COMPLETED, TESTED = "recorded", "completed", "tested"
LEARNING = RECORDED, COMPLETED, TESTED
_GROUPS = 4  # of rows, each with donors of its own
COPIES = 4  # of each row to learn from; more took longer, and learned no more


def check_learning(how: object) -> None:
    """Refuse a way to learn other than those of `LEARNING`."""
    check_choice("learning", how, LEARNING)


def learn_from(rows: Rows, records: Records | None, how: str, name: str, categorical: Sequence[int] = ()) -> Rows:
    """Return the rows that a fit learns from; a refusal calls them by `name`, X or X_val.

    Completed ones are as many copies of each row as there are completions, whose weights together are the row's. A
    copy knows its row, as the folds of an algorithm must not part them, and its group, which has its donors. Numbers
    of columns that are `categorical` only name categories.
    """
    if records is None or how == RECORDED:
        return rows
    if how == TESTED:
        return rows.take(find_tested(records, rows.y, name, has_classes=rows.labels is not None))
    by_class, copies = rows.labels is not None or rows.qid is not None, COPIES
    groups = _group(rows, records)
    donors = find_donors(
        rows.X,
        rows.y,
        records,
        by_class=by_class,
        copies=copies,
        groups=groups,
        weight=rows.weight,
        categorical=categorical,
    )
    queries = None
    if rows.qid is not None:
        queries = np.concatenate([rows.qid + copy * (int(rows.qid.max()) + 1) for copy in range(copies)])
    return evolve(
        rows,
        X=np.concatenate([fill(rows.X, of_copy, records) for of_copy in donors]),
        y=np.tile(rows.y, copies),
        weight=np.tile(rows.weight / copies, copies),
        qid=queries,
        units=np.tile(np.arange(len(rows)) if rows.qid is None else rows.qid, copies),
        groups=None if groups is None else np.tile(groups, copies),
    )


def find_tested(records: Records, y: NDArray[Any], name: str, *, has_classes: bool) -> I8:
    """Return the rows in which all tests were made, by number; refuse if there are none, or none of a class."""
    tested = np.flatnonzero(records.all_made)
    if has_classes and len(np.unique(y[tested])) < len(np.unique(y)):
        raise DataError(f"{name}: a class has no row in which all tests were made, {', '.join(records.names)}")
    if not len(tested):
        raise DataError(f"{name}: there is no row in which all tests were made, {', '.join(records.names)}")
    return tested


def _group(rows: Rows, records: Records) -> I8 | None:
    """Return the group of each row, whose donors are of the same one: int64 (n,); None if donors are too few.

    Folds hold out whole groups: with donors on both sides, a value in a held-out copy is often one that trees have seen
    with the donor's label, which is the copy's own. Each group has its share of the donors of each class, and enough.
    """
    kinds = np.zeros(len(rows), np.int64) if rows.labels is None else rows.y.astype(np.int64)
    donors = np.array([records.made[kinds == kind].sum(axis=0) for kind in np.unique(kinds)])
    fewest = int(donors[donors >= FEWEST_OF_CLASS].min(initial=_GROUPS * FEWEST_OF_CLASS))
    count = min(_GROUPS, fewest // FEWEST_OF_CLASS)
    if count < 2:
        return None
    if rows.qid is not None:
        return deal_groups(rows, kinds, count)
    patterns = np.unique(np.column_stack([kinds, records.made]), axis=0, return_inverse=True)[1]
    return deal_groups(rows, patterns.ravel(), count)
