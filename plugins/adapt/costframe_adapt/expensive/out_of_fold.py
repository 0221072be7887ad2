"""Probabilities of the expensive model for rows that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from costframe.core.costs import CostModel
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.estimator import CostAwareEstimator
from costframe.linear.held_out import row_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.stage_tree import StageTree
    from costframe.core.training import Rows, TrainingData

    Fit = Callable[[Rows], StageTree]

__all__ = ["folds", "out_of_fold", "refit"]


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


def refit(
    model: Any,
    rows: Rows,
    classes: NDArray[Any],
    names: tuple[str, ...],
    data: TrainingData,
    *,
    seed: int,
    framed: bool,
) -> Any:
    """Fit a copy of a classifier on these columns of rows, under these labels; on a frame of pandas' if there may be.

    Raises
    ------
    ParameterError
        If it takes no sample weights, and rows have some.
    DataError
        If it refuses the rows.
    """
    copy = clone(model)
    _seed(copy, seed)
    if isinstance(copy, CostAwareEstimator):
        priced = data.costs.to_dict()
        priced["features"] = {name: priced["features"][name] for name in names}
        copy.set_params(costs=CostModel.from_dict(priced))
    X, y, weight = rows.X[:, [data.feature_names.index(name) for name in names]], classes[rows.y], rows.uneven_weight
    given = {}
    if weight is not None and has_fit_parameter(copy, "sample_weight"):
        given = {"sample_weight": weight}
    elif weight is not None:
        if rows.counts is None:
            raise ParameterError(
                f"expensive: {type(model).__name__} takes no sample weights, and rows have some, of "
                "their own or by class_weight"
            )
        X, y = np.repeat(X, rows.counts, axis=0), np.repeat(y, rows.counts)
    try:
        return copy.fit(_frame(X, names) if framed else X, y, **given)
    except CostframeError:
        raise
    except (ValueError, TypeError) as error:
        raise DataError(f"expensive: {type(model).__name__} cannot be fitted: {error}") from error


def _frame(X: NDArray[np.float64], names: tuple[str, ...]) -> Any:
    """Name the columns, for what picks some by name; where pandas is not installed there are no frames of its."""
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=list(names))


def _seed(model: Any, seed: int) -> None:
    """Fix what is random, where the user has not."""
    parameters = model.get_params()
    unset = {
        name: seed
        for name, value in sorted(parameters.items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    if unset:
        model.set_params(**unset)
