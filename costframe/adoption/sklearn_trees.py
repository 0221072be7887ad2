"""Adoption of scikit-learn's tree models, leaf for leaf: single trees, forests and gradient boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.adopted import AdoptedTrees, choose_names
from costframe.adoption.sklearn_hist import adopt_hist_boosting
from costframe.adoption.thresholds import float32_at_most
from costframe.core.errors import AdoptionError, BankError
from costframe.core.learners.tree_table import TreeTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["adopt_sklearn", "is_sklearn_tree"]

_SINGLE = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_SUPPORTED = (*_SINGLE, *_FORESTS, *_BOOSTED, *_HISTOGRAM)

_CONSTANT_INITS = ("DummyClassifier", "DummyRegressor")
_RANDOM_STRATEGIES = ("stratified", "uniform")


def is_sklearn_tree(model: object) -> bool:
    """Return whether a model is a tree model of scikit-learn, without importing scikit-learn."""
    return _sklearn_class(model) in _SUPPORTED


def adopt_sklearn(model: object, feature_names: Sequence[str] | None = None) -> AdoptedTrees:
    """Adopt a scikit-learn tree model exactly.

    Every row that the original accepts reaches the original's leaf in every tree, NaN and ties included. Single trees,
    forests and GradientBoosting test `float32(x) <= threshold`; adopted thresholds are the largest doubles that pass.

    Parameters
    ----------
    model : a fitted decision tree, forest, GradientBoosting or HistGradientBoosting estimator
        Trees and forests of classifiers become K class probabilities with the identity link; boosted classifiers
        become scores with the sigmoid (two classes, K = 1) or softmax link; regressors have the identity link.
    feature_names : sequence of str, optional
        Names by position. By default the names from the model's fit, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the class is not supported, the model is not fitted, or it has a part that cannot be adopted exactly: several
        outputs of a classifier, an `init` estimator that depends on the row, the exponential loss, a loss with a
        logarithmic link, categories that are neither all texts nor all numbers.
    """
    name = _sklearn_class(model)
    _check_supported(model, name)
    _check_fitted(model)
    names = choose_names(
        feature_names,
        getattr(model, "feature_names_in_", None),
        model.n_features_in_,  # type: ignore[attr-defined]
        type(model).__name__,
    )
    try:
        if name in _HISTOGRAM:
            return adopt_hist_boosting(model, names)
        if name in _BOOSTED:
            return _adopt_boosting(model, names)
        return _adopt_mean(model, names, name in _FORESTS)
    except BankError as error:
        raise AdoptionError(f"{type(model).__name__}: {error}") from error


def _sklearn_class(model: object) -> str | None:
    """Return the name of the model's class in scikit-learn, or of its nearest base class there."""
    theirs = (base.__name__ for base in type(model).__mro__ if base.__module__.split(".")[0] == "sklearn")
    return next(theirs, None)


def _check_supported(model: object, name: str | None) -> None:
    if name in _SUPPORTED:
        return
    supported = ", ".join(_SUPPORTED)
    if name == "Pipeline":
        raise AdoptionError(
            "Pipeline: a pipeline cannot be adopted, its steps change the features; adopt its last step, over the "
            f"columns that the steps before it make. Supported are {supported}"
        )
    raise AdoptionError(f"{type(model).__name__}: cannot be adopted from scikit-learn. Supported are {supported}")


def _check_fitted(model: object) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise AdoptionError(f"{type(model).__name__}: is not fitted; fit it before adopting it") from error


def _adopt_mean(model: Any, names: tuple[str, ...], forest: bool) -> AdoptedTrees:
    """Adopt a tree, or the mean of a forest's trees: class fractions or regression values."""
    classes = None
    if hasattr(model, "classes_"):
        if model.n_outputs_ > 1:
            raise AdoptionError(
                f"{type(model).__name__}: a multi-output classifier cannot be adopted, it has "
                f"{model.n_outputs_} outputs; fit one classifier for each"
            )
        classes = tuple(model.classes_.tolist())
    estimators = model.estimators_ if forest else [model]
    table = TreeTable.concatenate([_tree(estimator.tree_) for estimator in estimators])
    n_scores = int(table.width[0])
    weights = np.tile(np.eye(n_scores), (len(table), 1)) / len(table)
    return AdoptedTrees(table, names, weights, np.zeros(n_scores), "identity", classes)


def _adopt_boosting(model: Any, names: tuple[str, ...]) -> AdoptedTrees:
    """Adopt GradientBoosting: `init` plus learning rate times the trees, by round and by score within a round."""
    if model.loss == "exponential":
        raise AdoptionError(f"{type(model).__name__}: loss='exponential' cannot be adopted, its link is unsupported")
    table = TreeTable.concatenate([_tree(estimator.tree_) for estimator in model.estimators_.ravel()])
    rounds, n_scores = model.estimators_.shape
    weights = np.tile(np.eye(n_scores) * model.learning_rate, (rounds, 1))
    classes = tuple(model.classes_.tolist()) if hasattr(model, "classes_") else None
    link = "identity" if classes is None else "sigmoid" if n_scores == 1 else "softmax"
    return AdoptedTrees(table, names, weights, _initial_scores(model), link, classes)


def _initial_scores(model: Any) -> NDArray[np.float64]:
    """Return the scores before the first tree, float64 (K,): the same for all rows, here for a row of zeros."""
    init = model.init_
    if not isinstance(init, str):
        kind = _sklearn_class(init)
        if kind not in _CONSTANT_INITS or init.strategy in _RANDOM_STRATEGIES:
            raise AdoptionError(
                f"{type(model).__name__}: init={init!r} cannot be adopted, its answer is not the same for all rows; "
                "expected 'zero', the default or a constant DummyClassifier or DummyRegressor"
            )
    row = np.zeros((1, model.n_features_in_), np.float32)
    scores: NDArray[np.float64] = model._raw_predict_init(row)[0]  # noqa: SLF001 - no public name computes it
    return scores


def _tree(tree: Any) -> TreeTable:
    leaf = tree.children_left < 0
    return TreeTable.single(
        np.where(leaf, -1, tree.feature),
        np.where(leaf, np.nan, float32_at_most(tree.threshold)),
        tree.missing_go_to_left.astype(bool),
        tree.children_left,
        tree.children_right,
        tree.value.reshape(tree.node_count, -1),
    )
