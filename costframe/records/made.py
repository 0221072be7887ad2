"""Which tests were made in each row of a table, as its empty cells or a mask say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import DataError, ParameterError, printable, quote_names, shown
from costframe.core.prices.panels import Panel
from costframe.core.tables.frames import column_names, is_frame, select_columns


@frozen(eq=False)
class Records:
    """The panels of a table's columns, and which of them were made in each of n rows; no row lacks none of T panels."""

    names: tuple[str, ...]  # of the panels
    columns: tuple[I8, ...]  # of each panel, numbers from 0
    made: B1 = field(repr=False)  # (n, T)

    @classmethod
    def of(cls, X: F8, names: Sequence[str], panels: Iterable[Panel], made: Any = None) -> Records | None:
        """Return the records of rows, float64 (n, d); None if all tests were made.

        Parameters
        ----------
        X : float64 (n, d)
        names : sequence of str (d,)
        panels : iterable of Panel
            Those of prices: a row in which all columns of a panel are NaN has not had it.
        made : bool (n, d), data frame of bool, or True, optional
            Which cells were asked for, in place of what prices say; columns made in the same rows are one panel. True
            says that all were.

        Raises
        ------
        DataError
            If the mask has another shape or no truth values, or denies a cell that has a value.
        """
        if made is True:
            return None
        if made is not None:
            return cls._of_mask(X, names, read_mask(made, X.shape, names))
        place = {name: column for column, name in enumerate(names)}
        panels = [panel for panel in panels if any(name in place for name in panel.features)]
        columns = [np.array([place[name] for name in panel.features if name in place]) for panel in panels]
        there = [~np.isnan(X[:, chosen]).all(axis=1) for chosen in columns]
        return cls._if_any([panel.name for panel in panels], columns, there)

    @classmethod
    def _of_mask(cls, X: F8, names: Sequence[str], mask: B1) -> Records | None:
        if (wrong := ~mask & ~np.isnan(X)).any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(f"made: {printable(names[column])} has the value {X[row, column]:g} in row {row}, not made")
        alike: dict[bytes, list[int]] = {}
        for column in np.flatnonzero(~mask.all(axis=0)).tolist():
            alike.setdefault(np.packbits(mask[:, column]).tobytes(), []).append(column)
        columns = [np.array(chosen) for chosen in alike.values()]
        panels = [", ".join(names[column] for column in chosen) for chosen in alike.values()]
        return cls._if_any(panels, columns, [mask[:, chosen[0]] for chosen in columns])

    @classmethod
    def _if_any(cls, names: Sequence[str], columns: Sequence[I8], made: Sequence[B1]) -> Records | None:
        lacking = [place for place, there in enumerate(made) if not there.all()]
        if not lacking:
            return None
        return cls(
            tuple(names[place] for place in lacking),
            tuple(columns[place] for place in lacking),
            np.column_stack([made[place] for place in lacking]),
        )

    @property
    def all_made(self) -> B1:
        """Rows in which all panels were made: bool (n,)."""
        return np.asarray(self.made.all(axis=1))

    def take(self, chosen: Any) -> Records:
        """Keep some rows, by number or by mask."""
        return evolve(self, made=self.made[chosen])


def read_mask(made: Any, shape: tuple[int, ...], names: Sequence[str]) -> B1:
    """Return a mask as bool (n, d), a frame's columns by name; refuse another shape, and what are no truth values."""
    if is_frame(made):
        held = column_names(made)
        if held is None or set(held) != set(names):
            raise DataError(f"made: expected the columns {quote_names(names)}, got {quote_names(held or ())}")
        made = select_columns(made, names)
        made = np.column_stack([np.asarray(made[name]) for name in names]) if hasattr(made, "__getitem__") else made
    if isinstance(made, str | bytes) or not hasattr(made, "__len__"):
        raise ParameterError(f"made: expected a mask of the rows, True or None, got {shown(made)}")
    mask = np.asarray(made)
    if mask.dtype != np.bool_:
        raise DataError(f"made: expected truth values, got the type {mask.dtype}")
    if mask.shape != shape:
        raise DataError(f"made: expected the shape of X, {shape}, got {mask.shape}")
    return mask
