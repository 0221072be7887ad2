"""Leaks of the target into columns, and into rows that train and test share.

A leak is a value that is written down after, or because of, what is to be predicted. A model that reads it looks
perfect, and costs nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from costframe.core.arrays import I8
from costframe.core.errors import quote_names, shown
from costframe.datasets.dataset import Dataset
from costframe.datasets.empty_tests import RECORDS, EmptyTest, describe_silent_tests, find_empty_tests
from costframe.datasets.near_rows import describe_near_rows
from costframe.datasets.shared_rows import describe_equal_rows, describe_shared_ids
from costframe.datasets.target import MISSING, Mark, Target
from costframe.datasets.whose_rows import LIKE_ID, choose_whose, find_whose
from costframe.records.made import find_made

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
    data: Dataset,
    ids: Mapping[str, I8] | None = None,
    others: Mapping[str, I8] | None = None,
    *,
    asks: bool = True,
) -> list[Leak]:
    """Return a remark on each possible leak: on columns, by the rows of train and valid, and on rows in two parts.

    `ids` has columns that may say whose a row is, as for `describe_shared_ids`, and `others` further ones that are no
    features; the target tells whether these say it. Remarks on empty cells of priced columns ask, unless it is said,
    whether nobody made these tests; of tests that nobody made, the values that there are can leak.
    """
    rng = np.random.default_rng(0)
    rows, target = _drawn(data, rng)
    cells = find_made(
        data.X[rows], data.feature_names, data.costs.panels, None if data.made is None else data.made[rows]
    )
    notes, marks = list[Leak](), dict[str, Mark]()
    for f, name in enumerate(data.feature_names):
        x, known, is_categorical = data.X[rows, f], target, name in data.categorical
        if cells is not None and not cells[:, f].all():
            made = rows[cells[:, f]]
            x, known = data.X[made, f], Target.of(data.codes(data.y[made]), data.classes)
        said = target.describe(data.X[rows, f], is_categorical=is_categorical)
        if known is not target and not (said and said.startswith("whether")):
            said = known.describe(x, is_categorical=is_categorical)
        if said:
            notes.append(Leak.of(f"{said.replace('*', shown(name), 1)}; {_way_out([name])}", name))
        elif data.costs.full_cost([name]) > 0 and (mark := known.find_mark(x, is_categorical=is_categorical)):
            marks[name] = mark
    tests = _tests_of(data, rows, target) if asks and data.made is None else []
    notes += describe_marks(marks, len(data.feature_names), tests)
    if equal := describe_equal_rows(data, rng):
        return [*notes, Leak.of(equal), *map(Leak.of, describe_shared_ids(data, ids or {}))]
    whose, ids = find_whose(data), {**(ids or {}), **choose_whose(others or {}, data)}
    if whose and data.groups is None:
        keeps = f"--group {shlex.quote(next(iter(whose)))} keeps the rows of one value together"
        notes.append(Leak.of(f"{quote_names(list(whose))}: {LIKE_ID}; if so, {keeps}", *whose))
    shared = describe_shared_ids(data, {**ids, **whose})
    near = None if shared or whose else describe_near_rows(data, rng)
    return [*notes, *map(Leak.of, shared), *([Leak.of(near)] if near else [])]


def remark_on_empty_tests(data: Dataset, leaks: Iterable[Leak]) -> str | None:
    """Return a remark on priced columns that are empty in many rows, without those of `leaks`; None without any."""
    if data.made is not None:
        return None
    tests = _tests_of(data, *_drawn(data, np.random.default_rng(0)))
    said = {name for leak in leaks if RECORDS in leak for name in leak.features}
    return describe_silent_tests([test for test in tests if said.isdisjoint(test.panel.features)])


def _drawn(data: Dataset, rng: np.random.Generator) -> tuple[I8, Target]:
    """Draw the rows that remarks are about, of train and valid; return their numbers and target."""
    rows = rng.permutation(np.flatnonzero(data.split != "test"))[:_MOST_ROWS]
    return rows, Target.of(data.codes(data.y[rows]), data.classes)


def _tests_of(data: Dataset, rows: I8, target: Target) -> list[EmptyTest]:
    empty = {name: np.isnan(data.X[rows, f]) for f, name in enumerate(data.feature_names)}
    return find_empty_tests(data.costs, empty, target)


def describe_marks(
    marks: Mapping[str, Mark], count: int, tests: Iterable[EmptyTest] = (), says: str = RECORDS
) -> list[Leak]:
    """Return remarks on columns whose missing values tell the target beyond chance, among that of `count` columns.

    Of `tests` they say that these may not have been made, and what `says` so.
    """
    share = {name: test.share for test in tests for name in test.panel.features}
    names_of: dict[Mark, list[str]] = {}
    for name, mark in marks.items():
        if mark.chance * count < _BY_CHANCE:
            names_of.setdefault(mark, []).append(name)
    marked = sorted(names_of.items(), key=lambda item: -item[0].auc)
    notes = list[Leak]()
    for mark, names in marked[:_MOST_LISTED]:
        ways = [_way_out(names)]
        if mark.what == MISSING and share.keys() >= set(names):
            them = ("it is", "it") if len(names) == 1 else ("they are", "them")
            ways.insert(0, f"{them[0]} empty in {share[names[0]]:.0%} of rows: if nobody made {them[1]} there, {says}")
        told = f"whether {quote_names(names)} {_verb(names)} {mark.what} {mark.words}"
        notes.append(Leak.of("; ".join([told, *ways]), *names))
    if rest := [name for _, names in marked[_MOST_LISTED:] for name in names]:
        notes.append(Leak.of(f"whether {quote_names(rest)} {_verb(rest)} missing tells the target too", *rest))
    return notes


def _verb(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _way_out(names: Sequence[str]) -> str:
    ignored = " ".join(f"--ignore {shlex.quote(name)}" for name in names[:_MOST_LISTED])
    them = "it is" if len(names) == 1 else "they are"
    leave = f"leaves {'it' if len(names) == 1 else 'them'} out"
    return f"if {them} not known before the target, {ignored} {leave}"
