"""What no row has: columns whose labels a model does not know, and columns without any value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define

from costframe.core.arrays import B1, F8
from costframe.core.callers import warn_caller
from costframe.core.errors import UnknownValuesWarning, format_count, quote_names, shown
from costframe.core.tables.categories import Categories, Labels, is_missing
from costframe.core.tables.frames import is_arrow, take_column

FEW = 10
"""Rows of which all may lack a value by chance."""


@define
class Coverage:
    """What rows have of a column that a model reads: how many have labels that it does not know, and whether any knows.

    A column without any value is strange where the model was trained with some, or it would not read it.
    """

    rows: int = 0
    unknown: int = 0  # rows with a label that the model does not know
    example: str = ""  # of such labels, the first one
    has_known: bool = False  # whether some row has a value that the model knows

    def add(self, numbers: F8, unknown: Sequence[str] = ()) -> None:
        """Count rows by their numbers to the model, float64 (rows,), and the labels that it does not know."""
        self.rows += len(numbers)
        self.has_known = self.has_known or not np.isnan(numbers).all()
        self.note(unknown)

    def note(self, unknown: Sequence[str]) -> None:
        """Count labels that the model does not know."""
        self.example = self.example or next(iter(unknown), "")
        self.unknown += len(unknown)

    def joined(self, other: Coverage) -> Coverage:
        """Return what these rows and others have."""
        has_known = self.has_known or other.has_known
        return Coverage(self.rows + other.rows, self.unknown + other.unknown, self.example or other.example, has_known)

    @property
    def is_odd(self) -> bool:
        """Whether more than half of the rows have unknown labels, or no row has a known value, by more than chance."""
        return 2 * self.unknown > self.rows or (self.rows >= FEW and not self.has_known)

    def describe(self, reader: str, labels: Labels | None = None) -> str | None:
        """Return what the rows lack, with the labels that the reader knows if it is odd; None if they lack nothing."""
        if self.unknown:
            such = f"{format_count(self.unknown, 'label')} such as {shown(self.example)}"
            known = f"; it knows {quote_names(labels)}" if self.is_odd and isinstance(labels, tuple) else ""
            most = f", in {self.unknown:,} of {format_count(self.rows, 'row')}" if self.is_odd else ""
            return f"{such} that {reader} does not know, and takes for missing{most}{known}"
        if self.has_known or self.rows < 2:
            return None
        return f"no value in any of {format_count(self.rows, 'row')}, and {reader} was trained with some"


def odd_columns(coverages: Mapping[str, Coverage], reader: str, categories: Categories) -> dict[str, str]:
    """Return a text on each column that is odd, by its name."""
    odd = {
        name: coverage.describe(reader, categories.get(name)) for name, coverage in coverages.items() if coverage.is_odd
    }
    return {name: f"column {name!r}: {text}" for name, text in odd.items()}


def warn_of(texts: Iterable[str]) -> None:
    """Warn of all columns that are odd at once, if there are any, where the caller of the package stands."""
    if every := list(texts):
        warn_caller("; ".join(every), UnknownValuesWarning)


def warn_of_frame(
    X: Any, rows: F8, names: Sequence[str], categories: Categories, used: Callable[[], Collection[str]]
) -> None:
    """Warn if columns of a data frame, read as `rows`, float64 (rows, d), hold nothing that a model knows.

    `used` returns the features that it reads; it is called if a column seems odd.
    """
    coverages: dict[str, Coverage] = {}
    for f in _lacking(rows, names, categories):
        missing, is_labelled = np.isnan(rows[:, f]), isinstance(categories.get(names[f]), tuple)
        unknown = _unknown_in(X, f, missing) if is_labelled else []
        coverage = Coverage()
        coverage.add(rows[:, f], unknown)
        coverages |= {names[f]: coverage} if coverage.is_odd else {}
    if coverages:
        read = set(used())
        odd = {name: coverage for name, coverage in coverages.items() if name in read}
        warn_of(odd_columns(odd, "the model", categories).values())


def _lacking(rows: F8, names: Sequence[str], categories: Categories) -> list[int]:
    """Return the columns that may be odd: with labels, most of which are missing, or without any value."""
    if len(rows) < 2:  # one row tells little, and dask asks with one that is made up
        return []
    empty = [f for f in np.flatnonzero(np.isnan(rows[0])).tolist() if np.isnan(rows[:, f]).all()]
    labelled = [f for f, name in enumerate(names) if isinstance(categories.get(name), tuple)] if categories else []
    return sorted({*empty, *(f for f in labelled if 2 * np.count_nonzero(np.isnan(rows[:, f])) > len(rows))})


def _unknown_in(X: Any, f: int, missing: B1) -> list[str]:
    """Return the labels of a frame's column where it is missing to a model and has a value."""
    column = take_column(X, f)
    listed = column.to_pylist() if is_arrow(X) else column.to_list()
    return [
        str(value) for value, lacks in zip(listed, missing.tolist(), strict=True) if lacks and not is_missing(value)
    ]
