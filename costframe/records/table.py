"""A table of records of any library: as numbers to match rows by, and completed by donors in its own type."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.prices.panels import Panel
from costframe.core.tables.categories import is_missing
from costframe.core.tables.frames import column_names, is_arrow, is_numeric_dtype, take_column, types_of
from costframe.core.tables.row_labels import check_weights
from costframe.records.completion import COPIES, code_labels, fill, find_donors
from costframe.records.made import Records, find_made
from costframe.records.readings import BY_LABEL, Reading

_OTHER_NUMBERS = re.compile(r"double|float|halffloat|decimal", re.IGNORECASE)  # of Arrow, pandas' own of it and polars


@frozen(eq=False, slots=False)
class RecordedTable:
    """Rows of which some lack tests, as numbers, with their labels."""

    X: F8 = field(repr=False)  # (n, d)
    y: NDArray[Any] = field(repr=False)  # (n,), codes or numbers
    cells: B1 = field(repr=False)  # (n, d): whether each was asked for
    names: tuple[str, ...]
    panels: tuple[Panel, ...]  # of the prices, for the names of what was made together
    by_class: bool
    weight: F8 | None = field(default=None, repr=False)  # (n,), by which donors are drawn; None is equal
    categorical: tuple[int, ...] = ()  # columns whose numbers only name categories

    @classmethod
    def of(
        cls,
        X: Any,
        y: NDArray[Any],
        names: Sequence[str],
        panels: Sequence[Panel],
        made: Any,
        *,
        by_class: bool,
        weight: Any = None,
        categorical: Collection[str] = (),
    ) -> RecordedTable:
        """Return the records of rows with labels; `made` is as for `find_made`, and weights as for `find_donors`.

        Columns named `categorical` are categories, as those are that hold no numbers.
        """
        numbers = encode_table(X, names)
        cells = find_made(numbers, names, panels, made)
        cells = np.ones(numbers.shape, np.bool_) if cells is None else cells
        weight = None if weight is None else check_weights(weight, len(numbers), "sample_weight")
        held = column_names(X)
        kinds = {} if held is None else dict(zip(held, types_of(X), strict=True))
        others = {*categorical, *(name for name, kind in kinds.items() if not is_number_type(kind))}
        places = tuple(place for place, name in enumerate(names) if name in others)
        labels = code_labels(y, by_class=by_class)
        return cls(numbers, labels, cells, tuple(names), tuple(panels), by_class, weight, places)

    @cached_property
    def records(self) -> Records | None:
        """Which panels these rows lack; None if none."""
        return Records.of_cells(self.cells, self.names, self.panels)

    @cached_property
    def donors(self) -> I8 | None:
        """The row whose values each row gets of each panel: int64 (copies, n, T); None if none lacks any."""
        return self.donors_by(BY_LABEL, COPIES)

    def donors_by(self, reading: Reading, copies: int) -> I8 | None:
        """Return donors by a reading of the records, in a number of copies; None if no row lacks any."""
        if self.records is None:
            return None
        return find_donors(
            self.X,
            self.y,
            self.records,
            by_class=self.by_class,
            copies=copies,
            reading=reading,
            weight=self.weight,
            categorical=self.categorical,
        )

    def take(self, chosen: I8) -> RecordedTable:
        """Keep some rows, by number."""
        weight = None if self.weight is None else self.weight[chosen]
        return evolve(self, X=self.X[chosen], y=self.y[chosen], cells=self.cells[chosen], weight=weight)

    @property
    def counted(self) -> I8:
        """The rows whose weight is not 0, by number."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight > 0)

    def append(self, other: RecordedTable) -> RecordedTable:
        """Append the records of other rows; if only one part has weights, the other gets ones."""
        X, y, cells = (
            np.concatenate(parts) for parts in ((self.X, other.X), (self.y, other.y), (self.cells, other.cells))
        )
        weight = None
        if self.weight is not None or other.weight is not None:
            known = [np.ones(len(part.y)) if part.weight is None else part.weight for part in (self, other)]
            weight = np.concatenate(known)
        return evolve(self, X=X, y=y, cells=cells, weight=weight)


def complete_table(X: Any, donors: I8, records: Records, names: Sequence[str]) -> Any:
    """Return rows of any library with the panels of their donors, int (n, T); cells without a donor are empty."""
    held = column_names(X)
    if held is None:
        return fill(np.asarray(X, np.float64), donors, records)
    place = {name: column for column, name in enumerate(names)}
    panel_of = {int(column): panel for panel, columns in enumerate(records.columns) for column in columns}
    for name in held:
        if (column := place.get(name)) in panel_of:
            X = _with_column(X, name, donors[:, panel_of[column]])
    return X


def hold_constant(X: Any, held: Sequence[str], names: Sequence[str]) -> Any:
    """Return rows of any library whose columns in `held` say nothing: 0 in each row, or one text or date of a row."""
    library = type(X).__module__.partition(".")[0]
    for name in held:
        if column_names(X) is None:
            X = np.array(X, np.float64)
            X[:, list(names).index(name)] = 0.0
        elif not is_number_type(types_of(X)[list(column_names(X) or ()).index(name)]):
            X = _with_column(X, name, np.full(len(X), _first_known(X, name)))
        elif is_arrow(X):
            zeros = sys.modules["pyarrow"].array(np.zeros(len(X)))
            X = X.set_column(X.column_names.index(name), name, zeros)
        elif library == "polars":
            X = X.with_columns(sys.modules["polars"].lit(0.0).alias(name))
        else:
            X = X.assign(**{name: 0.0})
    return X


def _first_known(X: Any, name: str) -> int:
    """Return the first row that has a value in a column; 0 if none has."""
    column = np.asarray(take_column(X, list(column_names(X) or ()).index(name)))
    return next((row for row, value in enumerate(column.tolist()) if not is_missing(value)), 0)


def _with_column(X: Any, name: str, giving: I8) -> Any:
    """Return a frame in which each row has the value of another row in one column; nothing where that is -1."""
    if is_arrow(X):
        indices = sys.modules["pyarrow"].array(giving.astype(np.int64), mask=giving < 0)
        return X.set_column(X.column_names.index(name), name, X[name].take(indices))
    if type(X).__module__.partition(".")[0] == "polars":
        polars = sys.modules["polars"]
        indices = polars.Series([int(row) if row >= 0 else None for row in giving], dtype=polars.UInt32)
        return X.with_columns(X[name].gather(indices).alias(name))
    values = X[name].take(np.maximum(giving, 0)).set_axis(X.index)
    return X.assign(**{name: values.where(giving >= 0)})


def encode_table(X: Any, names: Sequence[str]) -> F8:
    """Return a table as float64 (n, d), in the order of names; other values than numbers as codes, empty ones NaN."""
    held = column_names(X)
    if held is None:
        return np.asarray(X, np.float64)
    kinds, numbers = types_of(X), np.empty((len(X), len(names)))
    for place, name in enumerate(names):
        f = held.index(name)
        column = np.asarray(take_column(X, f))
        is_numeric = is_number_type(kinds[f])
        if is_numeric and column.dtype.kind != "O":
            numbers[:, place] = column
        else:
            numbers[:, place] = [number_cell(value, is_numeric=is_numeric) for value in column.tolist()]
    return numbers


def is_number_type(kind: object) -> bool:
    """Return whether a column's type, of any library, is one of numbers or truth values, however exact as doubles.

    `is_numeric_dtype` leaves out decimals and floats of Arrow, as models of other libraries read these as they came.
    """
    return is_numeric_dtype(kind) or _OTHER_NUMBERS.match(str(kind)) is not None


def number_cell(value: Any, *, is_numeric: bool) -> float:
    """Return the number of a value, for a text or a date the same in all tables; NaN for an empty cell."""
    if is_missing(value):
        return float("nan")
    return float(value) if is_numeric else float(zlib.crc32(str(value).encode()))
