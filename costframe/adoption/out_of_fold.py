"""A model's probabilities of rows that it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.adoption.classifiers import predict_checked
from costframe.core.errors import DataError
from costframe.sets.dealing import deal_folds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

    Fit = Callable[[Rows], StageTree]

__all__ = ["FOLDS", "out_of_fold"]

FOLDS = 5


def out_of_fold(rows: Rows, data: TrainingData, fit: Fit, parameter: str, count: int = FOLDS) -> NDArray[np.float64]:
    """Predict each row by a model that was fitted without it and its like: probabilities, (n,) or (n, M).

    Parameters
    ----------
    rows : Rows
    data : TrainingData
        Whose columns the rows have.
    fit : callable
        Rows -> StageTree that gives probabilities.
    parameter : str
        By which errors call the model.
    count : int
        Folds.

    Raises
    ------
    DataError
        If a class has no rows in some fold's training part.
    """
    fold = deal_folds(rows, data, count)[1]
    found: NDArray[np.float64] | None = None
    for number in range(count):
        inside = fold == number
        if not inside.any():
            continue
        left = rows.take(~inside)
        absent = np.setdiff1d(rows.y, left.y)
        if len(absent):
            raise DataError(
                f"y: class number {int(absent[0])} has too few different rows for {count} folds; give the "
                f"probabilities as {parameter}_proba"
            )
        values = predict_checked(fit(left), rows.X[inside], "rows out of fold", parameter)
        if found is None:
            found = np.empty((len(rows), *values.shape[1:]))
        found[inside] = values
    assert found is not None  # noqa: S101 - there are rows
    return found
