"""Fits of estimators of other libraries on training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from costframe.adoption.foreign import describe_error
from costframe.adoption.handing import Handing
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.tables.restored_rows import restore_together
from costframe.training.data import Rows, TrainingData
from costframe.training.shell import CostAwareEstimator


def fit_copy(
    model: Any,
    rows: Rows,
    labels: NDArray[Any],
    names: tuple[str, ...],
    data: TrainingData,
    *,
    parameter: str,
    seed: int,
    framed: bool,
) -> Any:
    """Fit a copy of an estimator on the columns `names` of rows; if `framed`, on a pandas frame if pandas is installed.

    `seed` is for random states that the user has not fixed. It refuses an estimator without sample weights if the rows
    have weights; errors name the estimator by `parameter`.
    """
    copy = clone(model)
    _seed(copy, seed)
    if isinstance(copy, CostAwareEstimator):
        priced = data.costs.to_dict()
        priced["features"] = {name: priced["features"][name] for name in names}
        copy.set_params(costs=CostModel.from_dict(priced))
    X, y, weight = rows.X[:, [data.feature_names.index(name) for name in names]], labels.copy(), rows.uneven_weight
    given = {}
    if weight is not None and has_fit_parameter(copy, "sample_weight"):
        given = {"sample_weight": weight.copy()}  # copies, because foreign code may write to its arguments
    elif weight is not None:
        if rows.counts is None:
            raise ParameterError(
                f"{parameter}: {type(model).__name__} takes no sample weights, and rows have some, of "
                "their own or by class_weight"
            )
        X, y = np.repeat(X, rows.counts, axis=0), np.repeat(y, rows.counts)
    table = Handing(names if framed else None).hand(restore_together(X))
    fit_foreign(f"{parameter}: {type(model).__name__}", copy, table, y, **given)
    return copy


def fit_foreign(what: str, model: Any, X: Any, y: Any, **given: Any) -> None:
    """Fit an estimator of another library; its errors become a `DataError` that says what cannot be fitted."""
    try:
        model.fit(X, y, **given)
    except (CostframeError, MemoryError):
        raise
    except Exception as error:
        raise DataError(f"{what} cannot be fitted: {describe_error(error)}") from error


def _seed(model: Any, seed: int) -> None:
    """Set the random states that the user has not fixed."""
    parameters = model.get_params()
    unset = {
        name: seed
        for name, value in sorted(parameters.items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    if unset:
        model.set_params(**unset)
