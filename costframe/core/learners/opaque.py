"""Opaque learners, functions that the core can only call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen

from costframe.core.errors import BankError, shown
from costframe.core.tables.as_given import restore_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

LAST_COLUMN = 2**31 - 1


def as_columns(features: object, what: str) -> NDArray[np.int32]:
    """Return column numbers as int32 (any,); refuse any other than a list of whole numbers >= 0."""
    columns = np.asarray(features)
    if columns.size == 0:
        return np.empty(0, np.int32)
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or columns.min() < 0 or columns.max() > LAST_COLUMN:
        raise BankError(f"{what}: expected column numbers, got {shown(features)}")
    return columns.astype(np.int32)


def _tuple_of_columns(features: object) -> tuple[int, ...]:
    return tuple(as_columns(features, "features of an opaque learner").tolist())


@frozen(eq=False)
class OpaqueLearner:
    """A function of features that the core can only call.

    Parameters
    ----------
    name : str
        Name in saved files.
    function : callable
        float64 (rows, len(features)) -> float64 (rows,) or (rows, width). Rows with texts are of objects.
    features : tuple of int
        Columns that it reads, in the order of its argument.
    width : int
        Number of outputs.
    """

    name: str
    function: Callable[[NDArray[np.float64]], ArrayLike]
    features: tuple[int, ...] = field(converter=_tuple_of_columns)
    width: int = 1

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise BankError(f"opaque learner: expected a name, got {shown(self.name)}")
        if not callable(self.function):
            raise BankError(f"opaque learner {self.name!r}: expected a callable, got {type(self.function).__name__}")
        if isinstance(self.width, bool) or not isinstance(self.width, int | np.integer) or self.width < 1:
            raise BankError(f"opaque learner {self.name!r}: expected a positive width, got {shown(self.width)}")
        if len(set(self.features)) < len(self.features):
            raise BankError(f"opaque learner {self.name!r}: reads a feature twice: {self.features}")

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs, float64 (rows, width), for rows of the learner's own features.

        Raises
        ------
        BankError
            If the function returns another shape, or refuses the rows.
        """
        try:
            values = np.asarray(self.function(restore_values(rows)), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BankError(f"opaque learner {self.name!r}: {error}") from error
        if self.width == 1 and values.shape == (len(rows),):
            values = values.reshape(-1, 1)
        if values.shape != (len(rows), self.width):
            raise BankError(
                f"opaque learner {self.name!r}: expected shape {(len(rows), self.width)}, got {values.shape}"
            )
        return values
