"""Preparation of rows: the columns that a model reads, made from raw columns, with the raw columns that each needs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.errors import DataError, quote_names, shown
from costframe.core.tables.categories import Categories, as_categories, check_features
from costframe.core.tables.frames import check_names
from costframe.core.tables.kept_outputs import call_once
from costframe.core.tables.kinds import END, FIRST
from costframe.core.tables.operations import CHECKS, Operation, as_column_tuple
from costframe.core.tables.remembered import Given, value_of
from costframe.core.tables.restored_rows import call_as_given
from costframe.core.tables.rows import as_column_names, as_feature_names, as_rows

_CELLS = 1 << 22  # of columns at a time


@define(eq=False, frozen=True)
class OpaqueOperation:
    """An operation that costframe can only call."""

    name: str  # name in saved files
    # (rows, len(reads)), float64 or as NumPy makes it of what came -> float64 (rows, width)
    function: Callable[[NDArray[Any]], ArrayLike]
    reads: tuple[int, ...] = field(converter=as_column_tuple)  # columns by number
    width: int = 1  # number of columns that it makes

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DataError(f"opaque operation: expected a name, got {shown(self.name)}")
        if not callable(self.function):
            raise DataError(f"opaque operation {self.name!r}: expected a callable, got {shown(self.function)}")
        if isinstance(self.width, bool) or not isinstance(self.width, int) or self.width < 1:
            raise DataError(f"opaque operation {self.name!r}: expected a positive width, got {shown(self.width)}")

    def __call__(self, columns: list[F8], rows: int) -> list[F8]:
        """Return the columns made, each float64 (rows,), from those that it reads."""
        table = np.column_stack(columns) if columns else np.empty((rows, 0))
        return list(np.ascontiguousarray(call_once(self, table, self._call).T))

    def _call(self, table: F8) -> F8:
        made = call_as_given(self.function, table)
        if made.shape != (len(table), self.width):
            expected = len(table), self.width
            raise DataError(f"opaque operation {self.name!r}: expected {expected} values, got {made.shape}")
        return made


def _as_operations(
    operations: Iterable[Operation | OpaqueOperation],
) -> tuple[Operation | OpaqueOperation, ...]:
    return tuple(operations)


@define(eq=False, frozen=True)
class Preparation:
    """The making of a model's columns from raw columns, by operations in order.

    Columns have numbers: the d raw ones from zero, then those that each operation makes.

    Raises
    ------
    DataError
        If a name is repeated, a column is read before it is made, or names and outputs do not fit; from what makes
        columns, if a check among the operations behind them refuses a value.
    """

    feature_names: tuple[str, ...] = field(converter=as_feature_names)  # (d,): raw columns
    # each reads raw columns, and columns that earlier ones make
    operations: tuple[Operation | OpaqueOperation, ...] = field(converter=_as_operations)
    # (m,): numbers of the columns that the model reads, in its order; a raw column may be one
    outputs: tuple[int, ...] = field(converter=as_column_tuple)
    names: tuple[str, ...] = field(converter=as_column_names)  # (m,): their names
    # labels of the raw columns whose categories are texts
    categories: Categories = field(factory=dict, converter=as_categories)

    def __attrs_post_init__(self) -> None:
        check_names(self.feature_names, "the raw columns")
        check_names(self.names, "the made columns")
        check_features(self.categories, self.feature_names)
        for number, operation in enumerate(self.operations):
            if not all(0 <= column < self._first[number] for column in operation.reads):
                raise DataError(f"operation {number}: reads a column that is not made before it: {operation.reads}")
        if len(self.names) != len(self.outputs) or not all(0 <= output < self._first[-1] for output in self.outputs):
            raise DataError(f"outputs: expected a column below {self._first[-1]} for each of {len(self.names)} names")
        check_names([operation.name for operation in self.opaques], "the opaque operations")

    @cached_property
    def _first(self) -> list[int]:
        """The first column that each operation makes, and the number of all columns."""
        first = [len(self.feature_names)]
        for operation in self.operations:
            first.append(first[-1] + operation.width)
        return first

    @cached_property
    def _checks(self) -> dict[int, list[int]]:
        """Operations that check each column, by column."""
        checks = dict[int, list[int]]()
        for number, operation in enumerate(self.operations):
            if not operation.width:
                checks.setdefault(operation.reads[0], []).append(number)
        return checks

    @property
    def opaques(self) -> tuple[OpaqueOperation, ...]:
        """The opaque operations, in order."""
        return tuple(operation for operation in self.operations if isinstance(operation, OpaqueOperation))

    @property
    def is_plain(self) -> bool:
        """Whether the model reads raw columns as they are, each at most once and without checks."""
        raw = len(self.feature_names)
        return len(set(self.outputs)) == len(self.outputs) and all(
            f < raw and f not in self._checks for f in self.outputs
        )

    @cached_property
    def reads(self) -> tuple[tuple[int, ...], ...]:
        """Raw columns that each made column needs, ascending."""
        return tuple(tuple(sorted(self._behind(output)[0])) for output in self.outputs)

    @cached_property
    def _programs(self) -> tuple[tuple[int, ...], ...]:
        """Operations that make each output, in order."""
        return tuple(tuple(sorted(self._behind(output)[1])) for output in self.outputs)

    @property
    def made_from(self) -> dict[str, tuple[str, ...]]:
        """The raw columns that each made column needs, by name."""
        return {
            name: tuple(self.feature_names[f] for f in reads)
            for name, reads in zip(self.names, self.reads, strict=True)
        }

    def transform(self, X: Any) -> F8:
        """Make the model's columns, float64 (rows, m), of raw rows: a data frame, or an array (rows, d)."""
        places = range(len(self.outputs))
        return self.fill(as_rows(X, self.feature_names, self.categories, self.read_by(places)), places)

    def read_by(self, places: Iterable[int]) -> tuple[str, ...]:
        """Return the names of the raw columns that some outputs need, by their places."""
        read = {f for place in places for f in self.reads[place]}
        return tuple(self.feature_names[f] for f in sorted(read))

    def fill(self, rows: F8, places: Sequence[int]) -> F8:
        """Make some outputs of raw rows, float64 (rows, d), by their places; the others are NaN: float64 (rows, m)."""
        made = np.full((len(rows), len(self.outputs)), np.nan)
        read = {f for place in places for f in self.reads[place]}
        step = max(1, _CELLS // max(1, self._first[-1]))
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            columns = {f: np.ascontiguousarray(part[:, f]) for f in read}
            self._run(columns, places, len(part))
            for place in places:
                made[begin : begin + step, place] = columns[self.outputs[place]]
        return made

    def make(self, columns: dict[int, F8], wanted: Iterable[int]) -> dict[int, float]:
        """Make some outputs of one row, by their places; `columns`, each float64 (1,), gains all columns made for them.

        It must hold the raw columns that they need.
        """
        places = list(wanted)
        self._run(columns, places, 1)
        return {place: float(columns[self.outputs[place]][0]) for place in places}

    def _run(self, columns: dict[int, F8], places: Iterable[int], rows: int) -> None:
        for number in sorted({number for place in places for number in self._programs[place]}):
            first, operation = self._first[number], self.operations[number]
            if not operation.width:
                self._check(operation, columns[operation.reads[0]])
            elif first not in columns:
                made = operation([columns[column] for column in operation.reads], rows)
                columns.update(enumerate(made, first))

    def _check(self, operation: Any, values: F8) -> None:
        """Refuse the first value of a column that a check does not allow."""
        row = CHECKS[operation.kind](values, operation.numbers)
        if row is None:
            return
        column, value = operation.reads[0], float(values[row])
        raw = [self.feature_names[f] for f in sorted(self._behind(column)[0])]
        where = f"column {raw[0]!r}" if column < len(self.feature_names) else f"a column made of {quote_names(raw)}"
        if operation.kind == "within":
            raise DataError(f"{where}: expected {_describe_range(*operation.numbers)}, got {value!r}")
        labels = self.categories.get(raw[0], ()) if len(raw) == 1 else ()
        known = [_label_of(key, labels) for key in operation.numbers.tolist()]
        raise DataError(f"{where}: expected one of {quote_names(known)}, got {shown(_label_of(value, labels))}")

    def _behind(self, output: int) -> tuple[set[int], set[int]]:
        """Return the raw columns and the operations behind a column."""
        raw, numbers, waiting = set[int](), set[int](), [output]
        while waiting:
            column = waiting.pop()
            number = bisect_right(self._first, column) - 1  # of the operation that makes it
            numbers.update(self._checks.get(column, ()))
            if number < 0:
                raw.add(column)
            elif number not in numbers:
                numbers.add(number)
                waiting += self.operations[number].reads
        return raw, numbers


def _label_of(number: float, labels: Any) -> Any:
    """Return the label of a number, or the value for which it stands, or the number if there is none."""
    if FIRST <= number < END:
        value = value_of(number)
        return value.value if isinstance(value, Given) else value
    return labels[int(number)] if isinstance(labels, tuple) and 0 <= number < len(labels) else number


def _describe_range(low: float, high: float, missing: float) -> str:
    largest = float(np.finfo(np.float64).max)
    what = "a finite number" if (low, high) == (-largest, largest) else f"a number from {low:.9g} to {high:.9g}"
    return f"{what} or a missing value" if missing else what
