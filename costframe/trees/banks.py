"""Banks of plain boosted trees, without prices: what Cronus and CSTC choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.bank import WeakLearnerBank
from costframe.core.errors import DataError, ParameterError
from costframe.core.tables import as_rows, column_names
from costframe.core.threads import thread_count
from costframe.core.training import Rows, check_number, check_target, check_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.tree_table import TreeTable
    from costframe.trees.finish import GrownTree
    from costframe.trees.losses import Loss

__all__ = ["train_bank"]

ENGINES = ("xgboost", "cart")
LOSSES = {"squared": "reg:squarederror", "logistic": "binary:logistic", "softmax": "multi:softprob"}


@frozen
class _Settings:
    loss: str
    n_estimators: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: int
    l2_regularization: float
    max_bins: int
    column_share: float
    random_state: int
    n_threads: int


def train_bank(
    X: Any,
    y: ArrayLike,
    *,
    engine: str = "xgboost",
    loss: str = "squared",
    n_estimators: int = 100,
    learning_rate: float = 0.1,
    max_depth: int = 4,
    min_samples_leaf: int = 1,
    l2_regularization: float = 1.0,
    max_bins: int = 255,
    column_share: float = 1.0,
    sample_weight: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> WeakLearnerBank:
    """Boost trees and return them as a bank; outputs carry the learning rate, constants are left out.

    Parameters
    ----------
    X : float64 (n, d), or data frame
    y : (n,)
        Numbers, or class codes 0..K-1 for "logistic" (K = 2) and "softmax" (one tree a class and round).
    engine : {"xgboost", "cart"}
    loss : {"squared", "logistic", "softmax"}
    n_estimators : int
        Rounds.
    learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins
        As everywhere; `min_samples_leaf` is a sum of hessians to xgboost.
    column_share : float
        Share of the columns drawn for each tree, in (0, 1].
    sample_weight : float64 (n,), optional
    feature_names : sequence of str, optional
        Names of an array's columns, x0, x1, ... by default.

    Raises
    ------
    CostframeError
        A ValueError that names what does not fit.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if loss not in LOSSES:
        raise ParameterError(f"loss: expected one of {', '.join(LOSSES)}, got {loss!r}")
    names = feature_names or column_names(X) or tuple(f"x{f}" for f in range(np.shape(X)[1] if np.ndim(X) == 2 else 0))
    values = as_rows(X, names)
    weight = check_weights(sample_weight, len(values), "sample_weight")
    target = _labels(check_target(y, len(values), "y"), loss)
    keep = weight > 0
    rows = Rows(values[keep], target[keep], weight[keep])
    settings = _Settings(
        loss,
        check_number("n_estimators", n_estimators, low=1, whole=True),
        check_number("learning_rate", learning_rate, strict=True, high=1),
        check_number("max_depth", max_depth, low=1, whole=True),
        check_number("min_samples_leaf", min_samples_leaf, low=1, whole=True),
        check_number("l2_regularization", l2_regularization),
        check_number("max_bins", max_bins, low=2, high=255, whole=True),
        check_number("column_share", column_share, strict=True, high=1),
        check_number("random_state", random_state, whole=True),
        thread_count(n_jobs),
    )
    trees = (_by_xgboost if engine == "xgboost" else _by_cart)(rows, settings)
    return WeakLearnerBank.from_trees(trees, names)


def _by_xgboost(rows: Rows, settings: _Settings) -> TreeTable:
    import xgboost

    from costframe.adoption.xgboost import adopt_xgboost

    parameters = {
        "objective": LOSSES[settings.loss],
        "eta": settings.learning_rate,
        "max_depth": settings.max_depth,
        "min_child_weight": settings.min_samples_leaf,
        "lambda": settings.l2_regularization,
        "max_bin": settings.max_bins,
        "tree_method": "hist",
        "colsample_bytree": settings.column_share,
        "seed": settings.random_state,
        "nthread": settings.n_threads,
        "verbosity": 0,
    }
    if settings.loss == "softmax":
        parameters["num_class"] = int(rows.y.max()) + 1
    data = xgboost.DMatrix(rows.X, rows.y, weight=rows.weight, nthread=settings.n_threads)
    return adopt_xgboost(xgboost.train(parameters, data, settings.n_estimators)).table


def _by_cart(rows: Rows, settings: _Settings) -> TreeTable:
    from costframe.core.tree_table import TreeTable
    from costframe.trees.binning import BinMapper
    from costframe.trees.boosting import boost
    from costframe.trees.grow import grow_tree

    random = np.random.default_rng(settings.random_state)
    mapper = BinMapper.fit(rows.X, max_bins=settings.max_bins, sample_weight=rows.weight, n_threads=settings.n_threads)
    binned = mapper.transform(rows.X, n_threads=settings.n_threads)
    d = rows.X.shape[1]

    def grow(gradients: NDArray[np.float32], hessians: NDArray[np.float32]) -> GrownTree:
        columns = np.zeros(d, np.bool_)
        columns[random.permutation(d)[: max(1, round(settings.column_share * d))]] = True
        return grow_tree(
            binned,
            gradients,
            hessians,
            features=columns,
            growth="breadth",
            max_depth=settings.max_depth,
            min_samples_leaf=settings.min_samples_leaf,
            l2=settings.l2_regularization,
            n_threads=settings.n_threads,
        )

    ensemble, _ = boost(
        rows,
        _loss(settings.loss, rows.y),
        grow,
        n_rounds=settings.n_estimators,
        step=settings.learning_rate,
        end_when_idle=settings.column_share == 1,
    )
    table = TreeTable.concatenate(ensemble.tables)
    return evolve(table, values=table.values * settings.learning_rate)


def _loss(name: str, y: NDArray[np.float64]) -> Loss:
    from costframe.trees.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

    if name == "squared":
        return SquaredLoss()
    return LogisticLoss() if name == "logistic" else SoftmaxLoss(int(y.max()) + 1)


def _labels(y: NDArray[np.float64], loss: str) -> NDArray[Any]:
    if loss == "squared":
        return y
    codes = y.astype(np.int64)
    if (codes != y).any() or (codes < 0).any() or (loss == "logistic" and codes.max(initial=0) > 1):
        expected = "0 and 1" if loss == "logistic" else "class codes 0, 1, 2, ..."
        raise DataError(f"y: expected {expected} for loss={loss!r}, got {np.unique(y)[:6].tolist()}")
    if len(np.unique(codes)) < 2:
        raise DataError(f"y: expected at least two classes, got one: {int(codes[0])}")
    return codes
