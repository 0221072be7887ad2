"""Probabilities of the expensive model for rows that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import DataError
from costframe.training.held_out import row_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

    Fit = Callable[[Rows], StageTree]

__all__ = ["folds", "out_of_fold"]


def folds(rows: Rows, data: TrainingData, count: int) -> NDArray[np.int64]:
    """Tell rows apart by what is in them, equal ones together: int64 (n,), from 0 to count - 1.

    Of each class, rows go round in the order of their numbers, so that every fold has its share.
    """
    numbers = row_numbers(rows, data)
    fold = np.empty(len(rows), np.int64)
    for kind in np.unique(rows.y):
        of_kind = np.flatnonzero(rows.y == kind)
        fold[of_kind] = np.unique(numbers[of_kind], return_inverse=True)[1] % count
    return fold


def out_of_fold(rows: Rows, data: TrainingData, count: int, fit: Fit, told: Callable[[], None]) -> NDArray[np.float64]:
    """Predict each row by a model that was fitted without it and its like: probabilities, (n,) or (n, M).

    Raises
    ------
    DataError
        If a class has no rows in some fold's training part.
    """
    from costframe_adapt.expensive.foreign import check_outputs

    fold = folds(rows, data, count)
    found: NDArray[np.float64] | None = None
    for number in range(count):
        inside = fold == number
        if not inside.any():
            continue
        left = rows.take(~inside)
        absent = np.setdiff1d(rows.y, left.y)
        if len(absent):
            raise DataError(
                f"y: class number {int(absent[0])} has too few different rows for {count} folds; give fewer in cv, or "
                "the probabilities as expensive_proba"
            )
        values = check_outputs(fit(left), rows.X[inside], "rows out of fold")
        if found is None:
            found = np.empty((len(rows), *values.shape[1:]))
        found[inside] = values
        told()
    assert found is not None  # noqa: S101 - there are rows
    return found
