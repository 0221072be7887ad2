"""Leaks of the answer into columns, and remarks on a table's columns.

A leak is a value that is written down after, or because of, what is to be predicted. A model that reads it looks
perfect, and costs nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.errors import format_count, quote_names, shown
from costframe.datasets.dataset import Dataset
from costframe.datasets.parts import PARTS
from costframe.datasets.shared_rows import describe_equal_rows, describe_near_rows, describe_shared_ids
from costframe.datasets.target import Mark, Target
from costframe.datasets.whose_rows import LIKE_ID, choose_whose, find_whose

if TYPE_CHECKING:
    from costframe.datasets.ids import IdColumn

_BEGIN = "possible leak: "
_MOST_ROWS = 20_000  # drawn at random
_BY_CHANCE = 0.01  # of all marks of a table together
_MOST_LISTED = 8  # columns whose missing values tell the target, one by one


class Leak(str):
    """A remark on a possible leak, and the features that it is about; none if it is about rows."""

    __slots__ = ("features",)
    features: tuple[str, ...]

    @classmethod
    def of(cls, text: str, *features: str) -> Leak:
        """Make a remark of what leaks."""
        made = cls(f"{_BEGIN}{text}")
        made.features = features
        return made

    @property
    def what(self) -> str:
        """What leaks, without the words that say that it does."""
        return self.removeprefix(_BEGIN)


def find_leaks(
    data: Dataset, ids: Mapping[str, I8] | None = None, others: Mapping[str, I8] | None = None
) -> list[Leak]:
    """Return a remark on each possible leak: on columns, by the rows of train and valid, and on rows in two parts.

    `ids` has columns that may say whose a row is, as for `describe_shared_ids`, and `others` further ones that are no
    features; the target tells whether these say it.
    """
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(data.split != "test"))[:_MOST_ROWS]
    target = Target.of(data.codes(data.y[rows]), data.classes)
    notes, marks = list[Leak](), dict[str, Mark]()
    for f, name in enumerate(data.feature_names):
        x, is_categorical = data.X[rows, f], name in data.categorical
        if said := target.describe(x, is_categorical=is_categorical):
            notes.append(Leak.of(f"{said.replace('*', shown(name), 1)}; {_way_out([name])}", name))
        elif data.costs.full_cost([name]) > 0 and (mark := target.find_mark(x, is_categorical=is_categorical)):
            marks[name] = mark
    notes += describe_marks(marks, len(data.feature_names))
    if equal := describe_equal_rows(data, rng):
        return [*notes, Leak.of(equal), *map(Leak.of, describe_shared_ids(data, ids or {}))]
    whose, ids = find_whose(data), {**(ids or {}), **choose_whose(others or {}, data)}
    if whose and data.groups is None:
        keeps = f"--group {shlex.quote(next(iter(whose)))} keeps the rows of one value together"
        notes.append(Leak.of(f"{quote_names(list(whose))}: {LIKE_ID}; if so, {keeps}", *whose))
    shared = describe_shared_ids(data, {**ids, **whose})
    near = None if shared or whose else describe_near_rows(data, rng)
    return [*notes, *map(Leak.of, shared), *([Leak.of(near)] if near else [])]


def describe_marks(marks: Mapping[str, Mark], count: int) -> list[Leak]:
    """Return remarks on columns whose missing values tell the target beyond chance, among that of `count` columns."""
    alike: dict[Mark, list[str]] = {}
    for name, mark in marks.items():
        if mark.chance * count < _BY_CHANCE:
            alike.setdefault(mark, []).append(name)
    found = sorted(alike.items(), key=lambda item: -item[0].auc)
    notes = [
        Leak.of(f"whether {quote_names(names)} {_verb(names)} {mark.what} {mark.words}; {_way_out(names)}", *names)
        for mark, names in found[:_MOST_LISTED]
    ]
    if rest := [name for _, names in found[_MOST_LISTED:] for name in names]:
        notes.append(Leak.of(f"whether {quote_names(rest)} {_verb(rest)} missing tells the target too", *rest))
    return notes


def _verb(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _way_out(names: Sequence[str]) -> str:
    ignored = " ".join(f"--ignore {shlex.quote(name)}" for name in names[:_MOST_LISTED])
    them = "it is" if len(names) == 1 else "they are"
    leave = f"leaves {'it' if len(names) == 1 else 'them'} out"
    return f"if {them} not known before the target, {ignored} {leave}"


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
