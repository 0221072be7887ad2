"""A weak learner that is a function, and the columns that learners read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.checks import as_items
from costframe.core.errors import BankError, shown
from costframe.core.tables.kept_outputs import call_once
from costframe.core.tables.restored_rows import call_as_given

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
        float64 (rows, len(features)) -> float64 (rows,) or (rows, width). Where rows came with other numbers, or with
        texts, they are of the dtype that NumPy makes of them, such as int64 and object.
    features : tuple of int
        Columns that it reads, in the order of its argument.
    width : int
        Number of outputs.
    """

    name: str
    function: Callable[[F8], ArrayLike]
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

    def __call__(self, rows: F8) -> F8:
        """Return the outputs, float64 (rows, width), for rows of the learner's own features.

        Raises
        ------
        BankError
            If the function returns another shape, or refuses the rows.
        """
        return call_once(self, rows, self._call)

    def _call(self, rows: F8) -> F8:
        try:
            values = call_as_given(self.function, rows)
        except MemoryError:
            raise
        except Exception as error:
            kind = "" if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: "
            raise BankError(f"opaque learner {self.name!r}: {kind}{error}") from error
        if self.width == 1 and values.shape == (len(rows),):
            values = values.reshape(-1, 1)
        if values.shape != (len(rows), self.width):
            raise BankError(
                f"opaque learner {self.name!r}: expected shape {(len(rows), self.width)}, got {values.shape}"
            )
        return values


def as_learners(learners: Iterable[OpaqueLearner]) -> tuple[OpaqueLearner, ...]:
    """Return a list of opaque learners as a tuple; refuse anything else."""
    items = as_items(learners)
    if items is None or not all(isinstance(learner, OpaqueLearner) for learner in items):
        raise BankError(f"learners: expected a list of OpaqueLearner, got {shown(learners)}")
    return items
