"""Which tests were made in each row of a table, as its empty cells or a mask say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError, ParameterError, format_count, printable, quote_names, shown
from costframe.core.prices.panels import Panel
from costframe.core.tables.frames import column_names, is_frame, take_column


@frozen(eq=False)
class Records:
    """The tests that some of n rows lack, as panels of columns made together, and which rows have had them."""

    names: tuple[str, ...]  # of T panels
    columns: tuple[I8, ...]  # of each panel, numbers from 0
    made: B1 = field(repr=False)  # (n, T)

    @classmethod
    def of(cls, X: F8, names: Sequence[str], panels: Iterable[Panel], made: Any = None) -> Records | None:
        """Return the records of rows, float64 (n, d); None if all tests were made. Arguments are of `find_made`."""
        panels = tuple(panels)
        cells = find_made(X, names, panels, made)
        return None if cells is None else cls.of_cells(cells, names, panels)

    @classmethod
    def of_cells(cls, cells: B1, names: Sequence[str], panels: Iterable[Panel] = ()) -> Records | None:
        """Return the records of a mask of cells, bool (n, d); None if all were made.

        Columns made in the same rows are one panel, with the name of that of the prices, if it has the same columns.
        """
        alike: dict[bytes, list[int]] = {}
        for column in np.flatnonzero(~cells.all(axis=0)).tolist():
            alike.setdefault(np.packbits(cells[:, column]).tobytes(), []).append(column)
        if not alike:
            return None
        known = {frozenset(panel.features): panel.name for panel in panels}
        columns = [np.array(chosen) for chosen in alike.values()]
        called = [[names[column] for column in chosen] for chosen in alike.values()]
        return cls(
            tuple(known.get(frozenset(features), ", ".join(features)) for features in called),
            tuple(columns),
            np.column_stack([cells[:, chosen[0]] for chosen in columns]),
        )

    def hide(self, X: F8) -> F8:
        """Return a copy of rows, float64 (n, d), with NaN where a panel was not made."""
        hidden = X.copy()
        for panel, columns in enumerate(self.columns):
            hidden[np.ix_(~self.made[:, panel], columns)] = np.nan
        return hidden

    def describe_most_lacking(self) -> str:
        """Return how many rows lack the panel that most rows lack, such as "scan was not made in 970 of 1,500 rows"."""
        lacking = np.count_nonzero(~self.made, axis=0)
        worst = int(lacking.argmax())
        of = format_count(len(self.made), "row")
        return f"{printable(self.names[worst])} was not made in {lacking[worst]:,} of {of}"

    def features(self, panel: int, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of a panel's columns, given those of all columns."""
        return tuple(names[column] for column in self.columns[panel])

    @property
    def all_made(self) -> B1:
        """Rows in which all panels were made: bool (n,)."""
        return np.asarray(self.made.all(axis=1))

    def take(self, chosen: Any) -> Records:
        """Keep some rows, by number or by mask."""
        return evolve(self, made=self.made[chosen])


def find_made(X: F8, names: Sequence[str], panels: Iterable[Panel], made: Any = None) -> B1 | None:
    """Return which cells were asked for, bool (n, d); None if all were.

    Parameters
    ----------
    X : float64 (n, d)
    names : sequence of str (d,)
    panels : iterable of Panel
        Those of prices: a row in which all columns of a panel are NaN has not had it.
    made : bool (n, d), data frame of bool, or True, optional
        Which cells were asked for, in place of what prices say. True says that all were.

    Raises
    ------
    DataError
        If the mask has another shape or no truth values, or denies a cell that has a value.
    """
    if made is True:
        return None
    if made is None:
        place, cells = {name: column for column, name in enumerate(names)}, np.ones(X.shape, np.bool_)
        for panel in panels:
            chosen = [place[name] for name in panel.features if name in place]
            cells[:, chosen] = ~np.isnan(X[:, chosen]).all(axis=1, keepdims=True)
    else:
        cells = read_mask(made, X.shape, names)
        if (wrong := ~cells & ~np.isnan(X)).any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(f"made: {printable(names[column])} has the value {X[row, column]:g} in row {row}, not made")
    return None if cells.all() else cells


def align_mask(made: Any, X: Any, names: Sequence[str]) -> Any:
    """Return a mask of a table's cells for the columns `names`, bool (n, d'); None and True stay as they are.

    Columns that the table lacks count as asked for.
    """
    if made is None or made is True:
        return made
    held = column_names(X) or tuple(names)
    cells = read_mask(made, (len(X), len(held)), held)
    place = {name: column for column, name in enumerate(held)}
    asked = [cells[:, place[name]] if name in place else np.ones(len(cells), np.bool_) for name in names]
    return np.column_stack(asked) if asked else np.ones((len(cells), 0), np.bool_)


def check_mask_length(made: Any, n: int, suffix: str = "") -> None:
    """Refuse a mask, `made` with a suffix, of other than n rows."""
    if not hasattr(made, "__len__") or isinstance(made, str | bytes) or len(made) != n:
        raise DataError(f"made{suffix}: expected a mask of the {n} rows of X{suffix}, True or None, got {shown(made)}")


def read_mask(made: Any, shape: tuple[int, ...], names: Sequence[str]) -> B1:
    """Return a mask as bool (n, d), a frame's columns by name; refuse another shape, and what are no truth values."""
    if is_frame(made):
        held = column_names(made)
        if held is None or set(held) != set(names):
            raise DataError(f"made: expected the columns {quote_names(names)}, got {quote_names(held or ())}")
        made = np.column_stack([np.asarray(take_column(made, held.index(name))) for name in names])
    if isinstance(made, str | bytes) or not hasattr(made, "__len__"):
        raise ParameterError(f"made: expected a mask of the rows, True or None, got {shown(made)}")
    mask = np.asarray(made)
    if mask.dtype != np.bool_:
        raise DataError(f"made: expected truth values, got the type {mask.dtype}")
    if mask.shape != tuple(shape):
        raise DataError(f"made: expected the shape of X, {tuple(shape)}, got {mask.shape}")
    return mask
