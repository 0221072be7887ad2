"""Boosted trees without prices as a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.checks import check_choice
from costframe.core.errors import DataError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.tables.categorical import find_categorical
from costframe.core.tables.frames import column_names
from costframe.core.tables.row_labels import check_target, check_weights
from costframe.core.tables.rows import as_feature_names, as_rows
from costframe.training.data import Rows
from costframe.training.losses import SoftmaxLoss, loss_for
from costframe.trees.banks import USUAL, boost_trees

LOSSES = ("squared", "logistic", "softmax")


def train_bank(
    X: Any,
    y: ArrayLike,
    *,
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
    loss : {"squared", "logistic", "softmax"}
    n_estimators : int
        Rounds.
    learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins
        As everywhere.
    max_features : float
        Share of the columns drawn for each tree, in (0, 1].
    sample_weight : float64 (n,), optional
    feature_names : sequence of str, optional
        Names of an array's columns, x0, x1, ... by default.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories, as of `MiserClassifier`; by default a data frame's texts and category dtypes.

    Raises
    ------
    CostframeError
        A ValueError that names the wrong argument.
    """
    check_choice("loss", loss, LOSSES)
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
    usual = column_names(X) or tuple(f"x{f}" for f in range(np.shape(X)[1] if np.ndim(X) == 2 else 0))
    names = usual if feature_names is None else as_feature_names(feature_names)
    columns = find_categorical(categorical_features, X, names)
    rows = _read_rows(as_rows(X, names, columns.categories), y, sample_weight, loss)
    columns.check(rows.X, "X")
    softmax = loss == "softmax"
    n_classes = int(rows.y.max()) + 1 if softmax else 0
    minimized = SoftmaxLoss(n_classes) if softmax else loss_for(0 if loss == "squared" else 2)
    trees = boost_trees(rows, settings, minimized, categorical=columns.chosen)
    return evolve(WeakLearnerBank.from_trees(trees, names), categories=columns.categories)


def _read_rows(values: F8, y: ArrayLike, sample_weight: ArrayLike | None, loss: str) -> Rows:
    if not values.size:
        raise DataError(f"X: must be a table with at least one row and one column, got shape {values.shape}")
    weight = check_weights(sample_weight, len(values), "sample_weight")
    target = check_target(y, len(values), "y")
    keep = weight > 0
    rows = Rows(values[keep], _labels(target[keep], loss), weight[keep])
    rows.check_sizes()
    return rows


def _labels(y: F8, loss: str) -> NDArray[Any]:
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
