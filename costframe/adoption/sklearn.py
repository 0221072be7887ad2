"""Adoption of scikit-learn's tree models, leaf for leaf: trees, forests, gradient and histogram boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.adoption.adopted import choose_names, float32_at_most, one_answer
from costframe.core.errors import AdoptionError, BankError, StageError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.tables.categories import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["adopt_sklearn", "is_sklearn"]

_SINGLE = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_SUPPORTED = (*_SINGLE, *_FORESTS, *_BOOSTED, *_HISTOGRAM)

_CONSTANT_INITS = ("DummyClassifier", "DummyRegressor")
_RANDOM_STRATEGIES = ("stratified", "uniform")
_LOG_LINKS = ("poisson", "gamma")


def is_sklearn(model: object) -> bool:
    """Return whether a model is scikit-learn's, or of a class derived from its tree models, without importing it."""
    return type(model).__module__.split(".")[0] == "sklearn" or _sklearn_class(model) in _SUPPORTED


def adopt_sklearn(model: object, feature_names: Sequence[str] | None = None) -> StageTree:
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
            return _adopt_histogram(model, names)
        if name in _BOOSTED:
            return _adopt_boosting(model, names)
        return _adopt_mean(model, names, name in _FORESTS)
    except (BankError, StageError) as error:
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


def _adopt_mean(model: Any, names: tuple[str, ...], forest: bool) -> StageTree:
    """Adopt a tree, or the mean of a forest's trees: class fractions or regression values."""
    if hasattr(model, "classes_") and model.n_outputs_ > 1:
        raise AdoptionError(
            f"{type(model).__name__}: a multi-output classifier cannot be adopted, it has "
            f"{model.n_outputs_} outputs; fit one classifier for each"
        )
    table = TreeTable.concatenate([_tree(one.tree_) for one in (model.estimators_ if forest else [model])])
    n_scores = int(table.width[0])
    weights = np.tile(np.eye(n_scores), (len(table), 1)) / len(table)
    return one_answer(table, names, weights, np.zeros(n_scores), "identity")


def _adopt_boosting(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt GradientBoosting: `init` plus learning rate times the trees, by round and by score within a round."""
    if model.loss == "exponential":
        raise AdoptionError(f"{type(model).__name__}: loss='exponential' cannot be adopted, its link is unsupported")
    table = TreeTable.concatenate([_tree(estimator.tree_) for estimator in model.estimators_.ravel()])
    rounds, n_scores = model.estimators_.shape
    weights = np.tile(np.eye(n_scores) * model.learning_rate, (rounds, 1))
    return one_answer(table, names, weights, _initial_scores(model), _boosted_link(model, n_scores))


def _adopt_histogram(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt histogram gradient boosting, whose leaves include the learning rate.

    Its tests are `x <= threshold` in float64 like those of `TreeTable`, and an unknown category goes the missing way in
    both.
    """
    if model.loss in _LOG_LINKS:
        raise AdoptionError(
            f"{type(model).__name__}: loss={model.loss!r} cannot be adopted, its logarithmic link is unsupported"
        )
    categories = _Categories.of(model, names)
    rounds = model._predictors  # noqa: SLF001 - there is no public name
    n_scores = model.n_trees_per_iteration_
    table = TreeTable.concatenate([_histogram_tree(one, categories) for predictors in rounds for one in predictors])
    weights = np.tile(np.eye(n_scores), (len(rounds), 1))
    baseline = np.reshape(model._baseline_prediction, -1)  # noqa: SLF001 - there is no public name
    return one_answer(table, names, weights, baseline, _boosted_link(model, n_scores), categories.labels)


def _boosted_link(model: Any, n_scores: int) -> str:
    if not hasattr(model, "classes_"):
        return "identity"
    return "sigmoid" if n_scores == 1 else "softmax"


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


def _histogram_tree(predictor: Any, categories: _Categories) -> TreeTable:
    nodes = predictor.nodes
    leaf, named = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    return TreeTable.single(
        np.where(leaf, -1, categories.column[nodes["feature_idx"]]),
        np.where(leaf | named, np.nan, nodes["num_threshold"]),
        nodes["missing_go_to_left"].astype(bool),
        np.where(leaf, -1, nodes["left"].astype(np.int64)),
        np.where(leaf, -1, nodes["right"].astype(np.int64)),
        nodes["value"],
        {int(node): categories.against(predictor, nodes[node]) for node in np.flatnonzero(named)},
    )


@frozen(eq=False)
class _Categories:
    """The encoding of columns before the model's trees read them."""

    column: NDArray[np.int64]  # (d,): original column of each column of the trees, the categorical ones first
    values: tuple[NDArray[np.float64], ...]  # value in X for each code of each categorical column
    labels: dict[str, tuple[str, ...]]  # of the columns whose categories are texts; X has their positions

    @classmethod
    def of(cls, model: Any, names: tuple[str, ...]) -> _Categories:
        """Read a fitted model's encoder."""
        categorical = model.is_categorical_
        if categorical is None:
            return cls(np.arange(len(names)), (), {})
        column = np.argsort(~categorical, kind="stable")
        encoder = model._preprocessor.named_transformers_["encoder"]  # noqa: SLF001 - there is no public name
        values: list[NDArray[np.float64]] = []
        labels: dict[str, tuple[str, ...]] = {}
        for f, known in zip(column, encoder.categories_, strict=False):
            present = [value for value in known.tolist() if not is_missing(value) or value is None]
            if all(isinstance(value, str) for value in present) and present:
                labels[names[f]] = tuple(present)
                values.append(np.arange(len(present), dtype=np.float64))
            elif all(isinstance(value, bool | int | float) for value in present):
                values.append(np.array(present, np.float64))
            else:
                raise AdoptionError(
                    f"{type(model).__name__}: the categories of {names[f]!r} are neither all texts nor all numbers"
                )
        return cls(column, tuple(values), labels)

    def against(self, predictor: Any, node: Any) -> NDArray[np.float64]:
        """Return the categories that go against a node's missing way: those of the left, or all other known ones."""
        values = self.values[node["feature_idx"]]
        left = _members(predictor.raw_left_cat_bitsets[node["bitset_idx"]], len(values))
        return np.sort(values[~left if node["missing_go_to_left"] else left])


def _members(bits: NDArray[np.uint32], count: int) -> NDArray[np.bool_]:
    """Return which codes are in a set: bool (count,)."""
    codes = np.arange(count)
    return np.asarray(bits[codes >> 5] >> (codes & 31).astype(np.uint32) & 1, np.bool_)
