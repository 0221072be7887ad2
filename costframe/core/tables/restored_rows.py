"""Rows of doubles as foreign code gets them: rows whose columns came with the same dtypes, together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.tables.as_given import OBJECT, STR, STRING
from costframe.core.tables.given_rows import GivenColumn, GivenRows, as_objects
from costframe.core.tables.kinds import (
    DOUBLE,
    FIRST,
    KINDS,
    MISSING_NAMES,
    OBJECT_TEXT,
    REMEMBERED,
    STR_TEXT,
    STRING_TEXT,
    TEXT,
    find_kind,
    has_kinds,
    kinds_of,
    only_kind,
    read_kind,
)
from costframe.core.tables.remembered import ColumnType, Given, givens_of, texts_of

_TEXT_TYPES = {TEXT: None, OBJECT_TEXT: OBJECT, STR_TEXT: STR, STRING_TEXT: STRING}
_FLOAT: Any = find_kind("Float64")


def _missing(name: str) -> Any:
    """Return the missing value of a kind."""
    if name == "None":
        return None
    import pandas as pd

    return getattr(pd, name)


class ReadsGiven(ABC):
    """A function of rows that takes `GivenRows` too, and makes of them what foreign code takes."""

    @abstractmethod
    def __call__(self, rows: Any) -> Any:
        """Return a value, or several, for each row, float64 (rows, d) or `GivenRows`."""


class ReadsNumbers(ABC):
    """A function of rows that takes the numbers of values, such as a predictor, or one around another function."""

    @abstractmethod
    def __call__(self, rows: Any) -> Any:
        """Return a value, or several, for each row."""


def call_as_given(function: Callable[..., ArrayLike], rows: Any) -> F8:
    """Return what a function makes of rows as they came: float64 (rows,) or (rows, width).

    A function that is none of `ReadsGiven` takes arrays. Rows of doubles, and sparse ones, are given as they are.
    """
    if isinstance(rows, GivenRows):
        return np.asarray(function(rows if isinstance(function, ReadsGiven | ReadsNumbers) else rows.as_array()), float)
    if isinstance(function, ReadsNumbers) or not isinstance(rows, np.ndarray) or not has_kinds(rows):
        return np.asarray(function(rows), np.float64)
    outputs: F8 | None = None
    for places, part in restore_rows(rows):
        values = call_as_given(function, part)
        if len(part) == len(rows) or values.ndim == 0 or len(values) != len(part):
            return values  # the caller names the fault of another length
        outputs = np.empty((len(rows), *values.shape[1:])) if outputs is None else outputs
        outputs[places] = values
    assert outputs is not None  # noqa: S101 - there are rows
    return outputs


def restore_rows(rows: F8) -> Iterator[tuple[I8, GivenRows]]:
    """Yield the rows whose columns came with the same dtypes, by their numbers, as `GivenRows`."""
    kinds, places = [], []
    for column in rows.T:
        kind, place = _groups(column)
        kinds.append(kind)
        places.append(place)
    varied = [place for place in places if place is not None]
    if not varied:
        yield np.arange(len(rows)), _restore(rows, [kind[0] for kind in kinds])
        return
    distinct, group = np.unique(np.column_stack(varied), axis=0, return_inverse=True)
    for number in range(len(distinct)):
        chosen = np.flatnonzero(np.ravel(group) == number)
        first = chosen[0]
        kinds_of_group = [kind[0 if place is None else place[first]] for kind, place in zip(kinds, places, strict=True)]
        yield chosen, _restore(rows[chosen], kinds_of_group)


def restore_together(rows: F8) -> F8 | GivenRows:
    """Return rows as one table, for training: a column of values that came with several dtypes is one of objects."""
    if not has_kinds(rows):
        return rows
    columns = []
    for column in rows.T:
        kinds, place = _groups(column)
        if place is None:
            columns.append(_column(column, kinds[0]))
            continue
        values = np.empty(len(rows), object)
        for number in np.unique(place).tolist():
            chosen = place == number
            values[chosen] = as_objects(_column(column[chosen], kinds[number]).as_array())
        columns.append(GivenColumn(values, None, OBJECT))
    return GivenRows(tuple(columns), len(rows))


def _groups(column: F8) -> tuple[list[Any], I8 | None]:
    """Return the different kinds of a column's numbers, and the place of each number's kind if there are several.

    A kind is that of `kinds_of`, or the type of a column whose values are remembered, or of such a value by itself.
    """
    if (only := only_kind(column)) is not None:
        return [only], None
    kinds = kinds_of(column)
    if (kinds == _FLOAT.id).any():
        kinds[kinds == DOUBLE] = _FLOAT.id  # doubles and missing ones of pandas' Float64 are one column
    distinct, place = np.unique(kinds, return_inverse=True)
    different: list[Any] = distinct.tolist()
    if REMEMBERED in different:
        chosen = kinds == REMEMBERED
        givens, of_given = givens_of(column[chosen])
        held: dict[Any, int] = {kind: number for number, kind in enumerate(different)}
        numbers = [held.setdefault(_kind_of(given), len(held)) for given in givens]
        place[chosen] = np.array(numbers)[of_given]
        different = list(held)
    if (place == place[0]).all():
        return [different[place[0]]], None
    return different, place


def _kind_of(given: Given) -> Any:
    """Return the kind of a remembered value: an id, the type of its column, or the type of a value by itself."""
    if given.column is None:
        return type(given.value)
    kind = find_kind(given.column.dtype) if isinstance(given.column.dtype, str) else None
    return kind.id if kind is not None else OBJECT_TEXT if given.column == OBJECT else given.column


def _restore(rows: F8, kinds: Sequence[Any]) -> GivenRows:
    return GivenRows(tuple(_column(*pair) for pair in zip(rows.T, kinds, strict=True)), len(rows))


def _column(numbers: F8, kind: Any) -> GivenColumn:
    """Return the values of numbers of one kind."""
    if kind == DOUBLE:
        return GivenColumn(np.ascontiguousarray(numbers))
    if isinstance(kind, type | ColumnType):
        return GivenColumn(_remembered(numbers), None, kind if isinstance(kind, ColumnType) else None)
    apart = numbers < 2 * FIRST  # their values are remembered
    if kind in _TEXT_TYPES:
        values = np.empty(len(numbers), object)
        values[~apart] = texts_of(numbers[~apart])
        values[apart] = _remembered(numbers[apart])
        return GivenColumn(values, None, _TEXT_TYPES[kind])
    known = KINDS[kind]
    if known is _FLOAT:
        missing = kinds_of(numbers) != DOUBLE
        return GivenColumn(np.where(missing, 0.0, numbers), missing, ColumnType.of(known.name))
    if known.name in MISSING_NAMES:
        return GivenColumn(np.full(len(numbers), _missing(known.name), object))
    values, missing = read_kind(known, numbers)
    if apart.any():
        whole = _remembered(numbers[apart]).astype(np.uint64 if known.dtype.kind == "u" else np.int64)
        values[apart] = whole.view(known.dtype)
        missing = missing if missing is None else missing & ~apart
    return GivenColumn(values, missing, ColumnType.of(known.name) if known.is_nullable else None)


def _remembered(numbers: F8) -> NDArray[Any]:
    givens, place = givens_of(numbers)
    values = np.empty(len(givens) + 1, object)  # one more keeps NumPy from looking into lists
    for number, given in enumerate(givens):
        values[number] = given.value
    return np.asarray(values[place])
