"""Banks of plain boosted trees, without prices, for Cronus and CSTC to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.checks import check_choice
from costframe.core.errors import DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.tables.categorical import find_categorical
from costframe.core.tables.frames import column_names
from costframe.core.tables.rows import as_rows, check_target, check_weights
from costframe.training.data import Rows
from costframe.trees.binning.scaling import check_sizes
from costframe.trees.boosting.banks import USUAL, boost_trees
from costframe.trees.boosting.losses import SoftmaxLoss, loss_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.trees.settings import TreeSettings

__all__ = ["train_bank"]

ENGINES = ("cart", "xgboost")
LOSSES = {"squared": "reg:squarederror", "logistic": "binary:logistic", "softmax": "multi:softprob"}


def train_bank(
    X: Any,
    y: ArrayLike,
    *,
    engine: str = "cart",
    loss: str = "squared",
    n_estimators: int = 100,
    learning_rate: float = 0.1,
    max_depth: int = 4,
    min_samples_leaf: int = 1,
    l2_regularization: float = 1.0,
    max_bins: int = 255,
    max_features: float = 1.0,
    sample_weight: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    categorical_features: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> WeakLearnerBank:
    """Boost trees and return them as a bank; outputs include the learning rate, the bank has no constants.

    Parameters
    ----------
    X : float64 (n, d), or data frame
    y : (n,)
        Numbers; for "logistic" (K = 2) and "softmax" (one tree per class and round) class codes 0..K-1, which must all
        occur.
    engine : {"cart", "xgboost"}
        "cart" is costframe's own. "xgboost" needs that library (`pip install "costframe[xgboost]"`) and computes in
        single precision: values of X must be missing, or finite in single precision.
    loss : {"squared", "logistic", "softmax"}
    n_estimators : int
        Rounds.
    learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins
        As everywhere; xgboost takes `min_samples_leaf` as a sum of hessians.
    max_features : float
        Share of the columns drawn for each tree, in (0, 1].
    sample_weight : float64 (n,), optional
    feature_names : sequence of str, optional
        Names of an array's columns, x0, x1, ... by default.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories, as of `MiserClassifier`; by default those of a category dtype. Only for "cart".

    Raises
    ------
    CostframeError
        A ValueError that names the wrong argument.
    """
    check_choice("engine", engine, ENGINES)
    check_choice("loss", loss, tuple(LOSSES))
    settings = USUAL.replaced(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        l2_regularization=l2_regularization,
        max_bins=max_bins,
        max_features=max_features,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    names = feature_names or column_names(X) or tuple(f"x{f}" for f in range(np.shape(X)[1] if np.ndim(X) == 2 else 0))
    columns = find_categorical(categorical_features, X, names)
    rows = _read_rows(as_rows(X, names, columns.categories), y, sample_weight, loss)
    columns.check(rows.X, "X")
    if engine == "xgboost":
        if columns.chosen.any():
            named = names[int(columns.chosen.argmax())]
            raise ParameterError(f"engine: 'xgboost' does not split by categories, and column {named!r} has some")
        trees = _by_xgboost(rows, settings, loss)
    else:
        softmax = loss == "softmax"
        n_classes = int(rows.y.max()) + 1 if softmax else 0
        minimized = SoftmaxLoss(n_classes) if softmax else loss_for(0 if loss == "squared" else 2)
        trees = boost_trees(rows, settings, minimized, categorical=columns.chosen)
    return evolve(WeakLearnerBank.from_trees(trees, names), categories=columns.categories)


def _read_rows(values: NDArray[np.float64], y: ArrayLike, sample_weight: ArrayLike | None, loss: str) -> Rows:
    if not values.size:
        raise DataError(f"X: must be a table with at least one row and one column, got shape {values.shape}")
    weight = check_weights(sample_weight, len(values), "sample_weight")
    target = check_target(y, len(values), "y")
    keep = weight > 0
    rows = Rows(values[keep], _labels(target[keep], loss), weight[keep])
    check_sizes(rows)
    return rows


def _by_xgboost(rows: Rows, settings: TreeSettings, loss: str) -> TreeTable:
    try:
        import xgboost
    except ModuleNotFoundError as error:
        raise ParameterError(
            "engine: 'xgboost' needs the library of that name: pip install 'costframe[xgboost]', or use engine='cart'"
        ) from error

    from costframe.adoption.xgboost.adopt import adopt_xgboost

    _check_single_precision(rows)
    parameters = {
        "objective": LOSSES[loss],
        "eta": settings.learning_rate,
        "max_depth": settings.max_depth,
        "min_child_weight": settings.min_samples_leaf,
        "lambda": settings.l2_regularization,
        "max_bin": settings.max_bins,
        "tree_method": "hist",
        "colsample_bytree": settings.max_features,
        "seed": settings.random_state,
        "nthread": settings.n_threads,
        "verbosity": 0,
    }
    if loss == "softmax":
        parameters["num_class"] = int(rows.y.max()) + 1
    data = xgboost.DMatrix(rows.X, rows.y, weight=rows.weight, nthread=settings.n_threads)
    return adopt_xgboost(xgboost.train(parameters, data, settings.n_estimators)).bank.trees


def _labels(y: NDArray[np.float64], loss: str) -> NDArray[Any]:
    """Return numbers as they are, class codes as int64."""
    if loss == "squared":
        return y
    present = np.unique(y)
    if len(present) < 2:
        raise DataError(f"y: expected at least two classes, got one: {present[0]:g}")
    n_classes = 2 if loss == "logistic" else len(present)
    if not np.array_equal(present, np.arange(n_classes)):
        expected = (
            "0 and 1" if loss == "logistic" else f"the class codes 0 to {n_classes - 1}, one for each of its values,"
        )
        raise DataError(
            f"y: expected {expected} for loss={loss!r}, got {', '.join(f'{code:g}' for code in present[:6])}"
        )
    return y.astype(np.int64)


def _check_single_precision(rows: Rows) -> None:
    """Refuse, with the column's name, numbers that xgboost refuses or silently takes for zero."""
    limits = np.finfo(np.float32)
    outside = np.abs(rows.X) > limits.max  # NaN is not
    if outside.any():
        raise DataError(
            f"X: expected values finite in single precision for engine='xgboost', got {rows.X[outside][0]:g}; "
            "use engine='cart'"
        )
    for name, values in (("y", rows.y), ("sample_weight", rows.weight)):
        largest = np.abs(values).max()
        if largest and not limits.tiny <= largest <= limits.max:
            raise DataError(
                f"{name}: expected numbers of a size between {limits.tiny:.1e} and {limits.max:.1e} for "
                f"engine='xgboost', the largest is {largest:g}; change their unit, or use engine='cart'"
            )
