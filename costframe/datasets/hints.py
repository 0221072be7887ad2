"""Hints for writers of the prices of a table: columns that may be known too late to be bought."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, shown
from costframe.core.prices.costs import CostModel
from costframe.core.tables.columns import MISSING_TEXTS, as_numbers, decode_column, is_numeric, is_text, null_texts
from costframe.datasets.empty_tests import DRAFTED, EmptyTest, find_empty_tests
from costframe.datasets.ids import number_values
from costframe.datasets.leaks import Leak, describe_marks
from costframe.datasets.target import Mark, Target
from costframe.datasets.text_features import holds_numbers

_MOST_ROWS = 20_000  # drawn at random
_MOST_VALUES = 20  # of an outcome that is a class
_ALIKE, _IN_ORDER = 0.8, 0.95  # Cramer's V with the target, or correlation of ranks
_OUTCOMES = frozenset({
    "outcome", "target", "label", "endpoint", "death", "died", "dies", "dead", "deceased", "mortality", "survival",
    "survived", "readmitted", "readmission", "churn", "churned", "relapse", "relapsed", "recurrence", "defaulted",
    "fatal", "ausgang", "verstorben",
})  # fmt: skip
_TIMES = frozenset({
    "in", "at", "by", "of", "the", "within", "after", "to", "until", "time", "date", "days", "day", "d", "weeks",
    "week", "w", "months", "month", "m", "mo", "years", "year", "y", "yr", "yrs", "hours", "hour", "h", "is", "has",
    "was", "any", "first", "second", "final", "hospital", "hosp", "icu", "flag", "status", "event",
})  # fmt: skip
_IF_SO = "if it is not known before the target, it belongs into the list `ignore`"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def find_hints(
    columns: Mapping[str, Any],
    free: Iterable[str],
    target: str,
    y: NDArray[Any],
    labels: Sequence[Any],
    tests: Iterable[EmptyTest] = (),
) -> list[Leak]:
    """Return remarks on columns that look like a second outcome, and on missing values that tell the target.

    Parameters
    ----------
    columns : mapping of str to pyarrow columns
    free : iterable of str
        Columns whose price is known to be zero; their missing values are those of service.
    target : str
        Its name.
    y : (n,)
        The target: labels, or numbers without `labels`.
    labels : sequence
        The labels in ascending order; empty if the target is no class.
    tests : iterable of EmptyTest
        What `find_tests` returns: tests that a draft of prices calls "not made".
    """
    rows = _some_rows(len(y))
    known, notes, marks, free = _target_of(y[rows], labels), list[Leak](), dict[str, Mark](), set(free)
    for name, column in columns.items():
        values, is_categorical = _values(column, name)
        if why := _second_outcome(name, target, known, values[rows], is_categorical=is_categorical):
            notes.append(Leak.of(f"{shown(name)} looks like a second outcome, {why}; {_IF_SO}", name))
        elif name not in free and (mark := known.find_mark(values[rows], is_categorical=is_categorical)):
            marks[name] = mark
    return [*notes, *describe_marks(marks, len(columns), tests, DRAFTED)]


def find_tests(
    columns: Mapping[str, Any], costs: CostModel, y: NDArray[Any] | None, labels: Sequence[Any]
) -> list[EmptyTest]:
    """Return the tests that many rows lack, by prices; the arguments are as for `find_hints`, y None without target."""
    rows = _some_rows(len(next(iter(columns.values()))))
    empty = {name: np.isnan(_values(column, name)[0][rows]) for name, column in columns.items()}
    return find_empty_tests(costs, empty, None if y is None else _target_of(y[rows], labels))


def _some_rows(count: int) -> I8:
    return np.random.default_rng(0).permutation(count)[:_MOST_ROWS]


def _target_of(y: NDArray[Any], labels: Sequence[Any]) -> Target:
    codes = np.searchsorted(np.asarray(labels), y).astype(np.int64) if len(labels) else y.astype(np.float64)
    return Target.of(codes, labels)


def _values(column: Any, name: str) -> tuple[F8, bool]:
    """Return the values of a column, or the numbers of its texts, float64 (n,), and whether they are these."""
    try:
        column = null_texts(decode_column(column, f"column {name!r}"), MISSING_TEXTS)
        if is_numeric(column.type):
            return as_numbers(column, name), False
        is_number = is_text(column.type) and holds_numbers(column, name)
        codes = number_values(column, name).astype(np.float64)
    except DataError:
        return np.zeros(len(column)), True
    codes[codes < 0] = np.nan
    return codes, not is_number


def _second_outcome(name: str, target: str, known: Target, values: F8, *, is_categorical: bool) -> str | None:
    """Return why a column looks like a second outcome; None if it does not."""
    words, of_target = _words(name), _words(target)
    if outcomes := [word for word in words if word in _OUTCOMES]:
        return f"by the word {outcomes[0]!r} in its name"
    if (stem := _stem(words)) and stem == _stem(of_target):
        return f"by its name, which is like {shown(target)}"
    if said := known.describe(values, is_categorical=is_categorical):
        return f"for it {said.removeprefix('* ')}" if said.startswith("* ") else None
    strength = known.association(values, _MOST_VALUES)
    least = _ALIKE if known.classes else _IN_ORDER
    return f"for it goes with the target (association {strength:.2f})" if strength >= least else None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _stem(words: list[str]) -> tuple[str, ...]:
    """Return the words of a name without those that say when, unless these are all."""
    return tuple(word for word in words if word not in _TIMES) or tuple(words)
