"""Anything that gives class probabilities, as a stage tree: adopted if it can be, else one opaque learner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import AdoptionError, BankError, DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.plugins.registry import registry
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route
from costframe.training.refitting import ModelOutputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.core.stages.stages import Stage

__all__ = ["NAME", "Columns", "as_tree", "check_outputs", "check_sums"]

NAME = "expensive"  # what a saved model calls the opaque learner
_NEARLY = 1e-6  # by which probabilities may leave [0, 1]: forests sum up in single precision
_ONE = 1e-3  # by which those of all classes may miss a sum of one


@frozen
class Columns:
    """The data's columns, and those that a model which does not name its own is given.

    Attributes
    ----------
    names : tuple of str
        Of the data, which are priced.
    given : tuple of int
    """

    names: tuple[str, ...]
    given: tuple[int, ...]

    @classmethod
    def chosen(cls, names: tuple[str, ...], wanted: Any) -> Columns:
        """Take all columns, or those of these names.

        Raises
        ------
        ParameterError
            If `wanted` names what the data do not have, or nothing.
        """
        if wanted is None:
            return cls(names, tuple(range(len(names))))
        if (
            isinstance(wanted, str)
            or not isinstance(wanted, Iterable)
            or not all(isinstance(one, str) for one in wanted)
        ):
            raise ParameterError(f"expensive_features: expected a list of names, got {wanted!r}")
        listed = list(dict.fromkeys(wanted))
        _check_priced("expensive_features: names", listed, names)
        if not listed:
            raise ParameterError("expensive_features: expected at least one name, got none")
        return cls(names, tuple(names.index(name) for name in listed))

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of the columns that a model is given."""
        return tuple(self.names[f] for f in self.given)

    def read_by(self, own: Sequence[str]) -> Columns:
        """Return those that a model names itself.

        Raises
        ------
        DataError
            If the data have not all of them, or it is not to be given them.
        """
        _check_priced("expensive: it reads", own, self.names)
        further = [name for name in own if name not in set(self.given_names)]
        if further:
            raise DataError(f"expensive: it reads {further[0]!r}, which expensive_features does not name")
        return Columns(self.names, tuple(self.names.index(name) for name in own))

    def of_model(self, model: Any) -> Columns:
        """Return those that a fitted model names itself, else these, if it has as many.

        Raises
        ------
        DataError
            If it names others than the data have, or is for another number of columns.
        """
        own = getattr(model, "feature_names_in_", None)
        if own is not None and all(isinstance(name, str) for name in own):
            return self.read_by([str(name) for name in own])
        count = getattr(model, "n_features_in_", len(self.given))
        if count != len(self.given):
            raise DataError(
                f"expensive: {type(model).__name__} reads {count} features, the data have {len(self.given)}; name "
                "those that it reads in expensive_features"
            )
        return self


def _check_priced(what: str, names: Sequence[str], known: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in set(known)]
    if unknown:
        raise DataError(f"{what} {unknown[0]!r}, which is none of the priced features {', '.join(known)}")


@frozen(eq=False)
class _OfClassOne:
    """A function's probabilities of class 1, (n,) or (n, 1), also where it gives those of two classes."""

    function: Callable[..., Any]

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take the second of two columns."""
        values = np.asarray(self.function(rows), np.float64)
        return values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values


def as_tree(model: Any, columns: Columns, n_classes: int) -> StageTree:
    """Turn a fitted model into a stage tree of the data's features, of one output for two classes.

    Raises
    ------
    ParameterError
        If it is nothing that gives probabilities.
    DataError
        If it reads features that are not priced, or has other outputs than one a class.
    """
    model = getattr(model, "predictor_", model)
    inner = _unfrozen(model)
    tree = model if isinstance(model, StageTree) else _adopted(inner, columns)
    if tree is not None:
        return _of_columns(_two_sided(tree, n_classes), columns)
    if isinstance(model, Predictor):
        return _opaque(model.predict, columns.read_by(model.feature_names), n_classes)
    if hasattr(model, "predict_proba"):
        own = columns.of_model(model)
        return _opaque(ModelOutputs(model, own.given_names, "predict_proba"), own, n_classes)
    if callable(model) and not hasattr(model, "predict"):
        return _opaque(model, columns, n_classes)
    raise ParameterError(
        f"expensive: expected a model with class probabilities, {type(model).__name__} has no predict_proba"
        "; scikit-learn's CalibratedClassifierCV gives it one"
    )


def _unfrozen(model: Any) -> Any:
    """Return what scikit-learn's FrozenEstimator holds."""
    return model.estimator if type(model).__name__ == "FrozenEstimator" else model


def _adopted(model: Any, columns: Columns) -> StageTree | None:
    """Adopt a model under the data's names; None if nothing can do so exactly."""
    own = getattr(model, "feature_names_in_", None)
    names = columns.of_model(model).given_names if own is not None or hasattr(model, "n_features_in_") else None
    try:
        found = registry().adopt(model, names)
    except AdoptionError:
        if not hasattr(model, "predict_proba"):
            raise
        return None
    return found if isinstance(found, StageTree) else None


def _of_columns(tree: StageTree, columns: Columns) -> StageTree:
    """Read the data's columns: by name, or by position where the tree's names are those of a model without any."""
    names = columns.names
    read = np.flatnonzero(np.diff(tree.bank.F.indptr))
    unknown = [tree.feature_names[f] for f in read if tree.feature_names[f] not in set(names)]
    given = columns.given_names
    if unknown and tree.feature_names == tuple(f"f{f}" for f in range(len(given))):
        tree = _renamed(tree, given)
    else:
        columns.read_by([tree.feature_names[f] for f in read])
    return StageTree(tree.bank.with_features(names), tree.stages)


def _renamed(tree: StageTree, names: Sequence[str]) -> StageTree:
    return StageTree(evolve(tree.bank, feature_names=tuple(names), categories={}), tree.stages)


def _two_sided(tree: StageTree, n_classes: int) -> StageTree:
    """Keep one output for two classes: the probability, or the log odds, of class 1.

    Raises
    ------
    DataError
        If its answers are ranked, or are not one output a class.
    """
    if "ranked" in tree.links:
        raise DataError("expensive: expected class probabilities, it gives ranks")
    expected = {1, 2} if n_classes == 2 else {n_classes}
    if tree.n_outputs not in expected:
        raise DataError(f"expensive: expected probabilities of {n_classes} classes, it has {tree.n_outputs} output(s)")
    if n_classes > 2 or tree.n_outputs == 1:
        return tree
    return StageTree(tree.bank, tuple(_one_output(stage) for stage in tree.stages))


def _one_output(stage: Stage) -> Stage:
    if isinstance(stage, Route):
        return stage
    weights, intercept = stage.weights, stage.intercept
    if stage.link == "softmax":
        return Answer(stage.learners, weights[:, 1] - weights[:, 0], intercept[1:] - intercept[:1], "sigmoid")
    return Answer(stage.learners, weights[:, 1], intercept[1:], stage.link)


def _opaque(function: Callable[..., Any], columns: Columns, n_classes: int) -> StageTree:
    """Wrap a function of (n, len(columns.given)) that gives probabilities of class 1, or of all classes."""
    width = 1 if n_classes == 2 else n_classes
    learner = OpaqueLearner(NAME, _OfClassOne(function) if width == 1 else function, columns.given, width)
    bank = WeakLearnerBank.opaque(columns.names, [learner])
    return StageTree(bank, (Answer([0], np.eye(width), np.zeros(width)),))


def check_outputs(tree: StageTree, X: NDArray[np.float64], whose: str) -> NDArray[np.float64]:
    """Return the probabilities of rows: float64 (n,) of class 1, or (n, M).

    Raises
    ------
    DataError
        If they are none.
    """
    try:
        values = tree.predict(X)
    except BankError as error:
        raise DataError(f"expensive: {error}") from error
    wrong = ~((values >= -_NEARLY) & (values <= 1 + _NEARLY))
    if wrong.any():
        raise DataError(f"expensive: expected probabilities from 0 to 1 for {whose}, got {values[wrong][0]:g}")
    check_sums(values, f"expensive: expected probabilities that sum to one for {whose}")
    return np.clip(values, 0.0, 1.0)


def check_sums(values: NDArray[np.float64], expected: str) -> None:
    """Refuse probabilities of all classes, (n, M), that do not sum to one; those of class 1 alone, (n,), are any.

    Raises
    ------
    DataError
        That says what was expected, and what they sum to.
    """
    if values.ndim == 2:
        sums = values.sum(axis=1)
        wrong = ~(np.abs(sums - 1) <= _ONE)
        if wrong.any():
            raise DataError(f"{expected}, got a sum of {sums[wrong][0]:g}")
