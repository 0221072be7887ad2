"""Rows whose columns have the dtypes with which they came, as foreign code takes them: arrays and frames."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1
from costframe.core.tables.as_given import OBJECT, STR, STRING
from costframe.core.tables.kinds import find_kind
from costframe.core.tables.remembered import ColumnType

_NUMBERS = "iufb"
_EXACT = 2**53


@frozen(eq=False)
class GivenColumn:
    """The values of a column, (rows,): an array of their dtype in NumPy, or of objects."""

    values: NDArray[Any]
    missing: B1 | None = None  # which of them are, if some may be
    column: ColumnType | None = None  # its type, if it is not that of the values

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its values in NumPy."""
        return self.values.dtype

    def as_array(self) -> NDArray[Any]:
        """Return it as NumPy has it: numbers with NaN for missing ones, else objects."""
        if self.missing is None or not self.missing.any() or self.values.dtype.kind == "O":
            return self.values
        if self.values.dtype.kind == "M":
            return np.where(self.missing, np.datetime64("NaT"), self.values)
        return np.where(self.missing, np.nan, self.values)

    def as_category(self, known: tuple[Any, ...]) -> GivenColumn:
        """Return it with a category dtype if its values are texts or numbers, as the known categories are."""
        if self.column is not None and self.column not in {OBJECT, STR, STRING}:
            return self
        from pandas import CategoricalDtype, isna

        values = as_objects(self.as_array())
        none = isna(values)
        kind = str if isinstance(known[0], str) else Real
        if not all(isinstance(value, kind) for value in values[~none].tolist()):
            return self
        values[none] = None
        return GivenColumn(values, None, ColumnType.of(CategoricalDtype(list(known))))

    def as_series(self) -> Any:
        """Return it as a column of pandas, of the dtype with which it came."""
        import pandas as pd

        dtype: Any = None if self.column is None else self.column.dtype
        if isinstance(dtype, str) and (kind := find_kind(dtype)) is not None and kind.is_nullable:
            missing = np.zeros(len(self.values), np.bool_) if self.missing is None else self.missing
            if kind.dtype.kind == "f":  # in which NaN is another value
                return pd.Series(pd.arrays.FloatingArray(self.values.astype(kind.dtype), missing))
            made = pd.Series(self.values.astype(kind.dtype)).astype(dtype)  # type: ignore[call-overload] # a name
            return made.mask(missing)
        if self.values.dtype.kind != "O":
            return pd.Series(self.as_array())
        values = self.values.tolist()
        if dtype is None:
            return pd.Series(values)
        if isinstance(dtype, pd.CategoricalDtype):
            return pd.Series(pd.Categorical(values, dtype=dtype))
        if dtype == "str" and int(pd.__version__.split(".")[0]) < 3:  # where it makes texts of all values
            dtype = object
        return pd.Series(values, dtype=dtype)


@frozen(eq=False)
class GivenRows:
    """Rows whose columns have the dtypes with which they came."""

    columns: tuple[GivenColumn, ...]
    count: int  # of rows

    def __len__(self) -> int:
        """Count the rows."""
        return self.count

    def take(self, places: Sequence[int]) -> GivenRows:
        """Return some columns, in this order."""
        return GivenRows(tuple(self.columns[f] for f in places), self.count)

    def as_array(self) -> NDArray[Any]:
        """Return an array (rows, d) as NumPy makes it of the columns: of objects where some are no numbers.

        It is of objects, too, where doubles would change whole numbers.
        """
        arrays = [column.as_array() for column in self.columns]
        kinds = {array.dtype.kind for array in arrays}
        if len({array.dtype for array in arrays}) > 1 and (kinds - set(_NUMBERS) or _would_round(arrays)):
            arrays = [as_objects(array) for array in arrays]
        return np.column_stack(arrays)

    def as_frame(self, names: Sequence[str]) -> Any:
        """Return a frame of pandas with these names of columns."""
        import pandas as pd

        if all(column.column is None and column.dtype == np.float64 for column in self.columns):
            return pd.DataFrame(self.as_array(), columns=list(names))
        return pd.DataFrame(dict(enumerate(column.as_series() for column in self.columns))).set_axis(
            list(names), axis=1
        )


def _would_round(arrays: Sequence[NDArray[Any]]) -> bool:
    """Return whether NumPy's common dtype of arrays leaves out some of their whole numbers."""
    if np.result_type(*arrays).kind != "f":
        return False
    whole = (array for array in arrays if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and len(array))
    return any(array.max() > _EXACT or array.min() < -_EXACT for array in whole)


def as_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Return the values of an array as Python has them: objects (values,)."""
    objects = np.empty(len(array), object)
    objects[:] = list(array) if array.dtype.kind in "Mm" else array.tolist()
    return objects
