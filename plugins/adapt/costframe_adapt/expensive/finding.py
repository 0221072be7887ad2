"""The expensive model: found, fitted where it is not, and asked for the probabilities that training goes by."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.predictor import Predictor
from costframe.training.held_out import split_off
from costframe.training.refitting import is_unfitted, refit
from costframe_adapt.expensive.default_model import boost_plainly
from costframe_adapt.expensive.foreign import Columns, as_tree, check_outputs
from costframe_adapt.expensive.out_of_fold import out_of_fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

__all__ = ["Expensive", "Finding", "PrefittedWarning", "find_expensive"]

_PREFITTED = (
    "expensive: {kind} is fitted already; if it was trained on rows of X, its probabilities there are better than "
    "those of new rows, and too many go to it. Give an unfitted one, or probabilities that do not "
    "come from training rows as expensive_proba (or, if it has not seen X, its own)"
)


class PrefittedWarning(UserWarning):
    """An expensive model that may know the training rows."""


@frozen(eq=False)
class Expensive:
    """The expensive model, ready to stand behind a gate.

    Attributes
    ----------
    model : object
        As fitted: what was given, its fitted copy, or the stage tree itself.
    tree : StageTree
    proba : float64 (n,) of class 1, or (n, M)
        Of the training rows; out of fold where the model could be refitted.
    proba_val : the same of validation rows, or None
    """

    model: Any
    tree: StageTree
    proba: NDArray[np.float64]
    proba_val: NDArray[np.float64] | None


@frozen(eq=False)
class Finding:
    """How the expensive model is to be found.

    Attributes
    ----------
    given : object
        The parameter `expensive`.
    features : object
        The parameter `expensive_features`.
    cv : int
        Folds.
    proba : float64 (n,) or (n, M), or None
        Probabilities of the training rows, if they are given.
    classes : ndarray (M,)
    seed : int
    framed : bool
        Whether the columns have names of their own, so that a classifier which is fitted inside is given a data frame.
    n_jobs : int or None
    told : callable
        Is told of each fit that is done.
    """

    given: Any
    features: Any
    cv: int
    proba: NDArray[np.float64] | None
    classes: NDArray[Any]
    seed: int
    framed: bool
    n_jobs: int | None
    told: Callable[[], None] = lambda: None


def find_expensive(data: TrainingData, asked: Finding) -> Expensive:
    """Return the expensive model of the data's features.

    Raises
    ------
    CostframeError
        If it gives no class probabilities, does not know the classes, or reads what is not priced.
    """
    columns = Columns.chosen(data.feature_names, asked.features)
    given = asked.given
    if given is None:
        if asked.features is not None:
            raise ParameterError("expensive_features: has no effect without an expensive model")
        return _boosted(data, asked)
    _check_probabilities(given)
    if not isinstance(given, Predictor) and is_unfitted(given):
        return _refitted(data, asked, columns)
    if callable(given) and asked.features is None and not (hasattr(given, "predict") or isinstance(given, Predictor)):
        raise ParameterError("expensive_features: a function does not say what it reads, name its features")
    _check_classes(given, asked.classes)
    tree = as_tree(given, columns, len(asked.classes))
    if asked.proba is None:
        # To whoever called `fit` or `fit_path`.
        warnings.warn(_PREFITTED.format(kind=type(given).__name__), PrefittedWarning, stacklevel=5)
        proba = check_outputs(tree, data.train.X, "training rows")
    else:
        proba = asked.proba
        if data.valid is None:  # else it is seen on those rows
            check_outputs(tree, data.train.X, "training rows")
    return _with_validation(given, tree, proba, data)


def _check_probabilities(model: Any) -> None:
    """Refuse estimators that have none, also those whose trees could be adopted."""
    if isinstance(model, type):
        raise ParameterError(f"expensive: expected a model, got the class {model.__name__}; call it")
    if hasattr(model, "fit") and hasattr(model, "get_params") and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"expensive: expected a classifier with predict_proba, {type(model).__name__} has none"
            "; scikit-learn's CalibratedClassifierCV gives it one"
        )


def _boosted(data: TrainingData, asked: Finding) -> Expensive:
    """Boost trees without prices; rows held out say how many."""
    trained, seen = split_off(data)
    _, n_rounds = boost_plainly(trained.train, data, seen=None if seen is data.train else seen, n_jobs=asked.n_jobs)
    n_rounds = max(1, n_rounds)

    def fit(rows: Rows) -> StageTree:
        return boost_plainly(rows, data, n_rounds=n_rounds, n_jobs=asked.n_jobs)[0]

    tree = fit(data.train)
    asked.told()
    return _with_validation(tree, tree, _unseen(data, asked, fit), data)


def _refitted(data: TrainingData, asked: Finding, columns: Columns) -> Expensive:
    """Fit copies of a classifier: one on all training rows, and one a fold on the others."""
    names, labels = columns.given_names, asked.classes
    if type(asked.given).__module__.split(".")[0] == "xgboost":
        labels = np.arange(len(labels))  # the only labels that it takes

    def fitted(rows: Rows) -> Any:
        return refit(
            asked.given, rows, labels[rows.y], names, data, parameter="expensive", seed=asked.seed, framed=asked.framed
        )

    model = fitted(data.train)
    _check_classes(model, labels)
    tree = as_tree(model, columns, len(asked.classes))
    asked.told()
    proba = _unseen(data, asked, lambda rows: as_tree(fitted(rows), columns, len(asked.classes)))
    return _with_validation(model, tree, proba, data)


def _unseen(data: TrainingData, asked: Finding, fit: Callable[[Rows], StageTree]) -> NDArray[np.float64]:
    """Return the probabilities given, else those out of fold."""
    return asked.proba if asked.proba is not None else out_of_fold(data.train, data, asked.cv, fit, asked.told)


def _with_validation(model: Any, tree: StageTree, proba: NDArray[np.float64], data: TrainingData) -> Expensive:
    valid = None if data.valid is None else check_outputs(tree, data.valid.X, "validation rows")
    return Expensive(model, tree, proba, valid)


def _check_classes(model: Any, classes: NDArray[Any]) -> None:
    """Refuse a classifier of other classes than the labels'."""
    known = getattr(model, "classes_", None)
    if known is None:
        return
    known = np.asarray(known)
    unknown = [one for one in classes.tolist() if one not in set(known.tolist())]
    if unknown:
        raise DataError(f"y: has the class {unknown[0]!r}, which the expensive model does not know: {known.tolist()}")
    if known.tolist() != classes.tolist():
        raise DataError(
            f"expensive: knows the classes {known.tolist()}, expected those of y in ascending order: {classes.tolist()}"
        )
