"""Any model as one opaque learner: a function of columns that the core can only call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from attrs import frozen

from costframe.adoption.adopted import choose_names
from costframe.adoption.given.refitting import CallableModel, describe, is_unfitted
from costframe.core.errors import AdoptionError, BankError, DataError, shown
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Method = Literal["predict_proba", "decision_function", "predict"]

__all__ = ["OfClassOne", "adopt_opaque", "labels_of", "opaque_member", "opaque_tree"]


_METHODS = ("predict_proba", "decision_function", "predict")
_OTHER_LABELS = ("SVC", "NuSVC", "FixedThresholdClassifier", "TunedThresholdClassifierCV")


@frozen(eq=False)
class OfClassOne:
    """A function's probabilities of class 1, (n,) or (n, 1); the function may give both classes."""

    function: Callable[..., Any]

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take the second of two columns."""
        values = np.asarray(self.function(rows), np.float64)
        return values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values


def opaque_tree(
    title: str, function: Callable[..., Any], names: Sequence[str], columns: Sequence[int], width: int, link: str
) -> StageTree:
    """Return a model of one opaque learner, called `title`, of some columns, whose outputs the link takes."""
    bank = WeakLearnerBank.opaque(names, [OpaqueLearner(title, function, tuple(columns), width)])
    return StageTree(bank, (Answer([0], np.eye(width), np.zeros(width), link),))


def adopt_opaque(
    model: Any, features: Sequence[str] | None = None, feature_names: Sequence[str] | None = None
) -> StageTree:
    """Adopt any fitted classifier or regressor, or a function of rows, as one opaque learner, called as its class.

    A row buys all features before the model is called. A file holds the model's name only: `cf.load` takes it as
    `opaque={name: function}`.

    Parameters
    ----------
    model : object with predict_proba, decision_function or predict, or a callable
        Of a classifier with probabilities the predictions are these, of class 1 for two classes; of one with
        `decision_function` only, its scores, for two classes 1 where the score is above zero, else 0. A callable takes
        float64 (rows, d) and returns (rows,) or (rows, K).
    features : sequence of str, optional
        The columns that the model reads, in its order, or as it names them. By default all.
    feature_names : sequence of str, optional
        Columns of the rows. By default the features, else the names from the model's fit, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the model is none of these, or is not fitted, or the features are unknown, or of another number than the
        model's.
    """
    title = getattr(model, "__name__", type(model).__name__)
    if isinstance(model, type):
        raise AdoptionError(f"{title}: expected a fitted model, got the class; call it and fit it")
    if is_unfitted(model):
        raise AdoptionError(f"{title}: is not fitted; fit it before adopting it")
    if not any(hasattr(model, name) for name in _METHODS) and not (callable(model) and not hasattr(model, "fit")):
        raise AdoptionError(
            f"{title}: expected a fitted classifier or regressor, with predict_proba or predict, a function of rows, "
            "or the path of a model file"
        )
    read = _read(model, features, feature_names, title)
    names = read if feature_names is None else choose_names(feature_names, None, len(feature_names), title)
    unknown = [name for name in read if name not in set(names)]
    if unknown:
        raise AdoptionError(f"{title}: features: {unknown[0]!r} is none of the columns {', '.join(names)}")
    columns = [names.index(name) for name in read]
    function, width, link = _outputs(model, read, title)
    try:
        tree = opaque_tree(title, function, names, columns, width, link)
        return tree.with_classes(labels_of(model, width))
    except (BankError, DataError) as error:
        raise AdoptionError(f"{title}: {error}") from error


def _read(
    model: Any, features: Sequence[str] | None, feature_names: Sequence[str] | None, title: str
) -> tuple[str, ...]:
    """Return the columns that a model reads, in its order."""
    if features is not None and (isinstance(features, str) or not isinstance(features, Iterable)):
        raise AdoptionError(f"{title}: features: expected a list of names, got {shown(features)}")
    own = getattr(model, "feature_names_in_", None)
    given = feature_names if features is None else tuple(features)
    if own is not None and given is not None:
        missing = set(own).difference(given)
        if not missing and (features is None or len(own) == len(given)):
            return tuple(str(name) for name in own)
    count = getattr(model, "n_features_in_", None)
    if own is None and given is None and count is None:
        raise AdoptionError(f"{title}: does not say what it reads; name its features, features=[...]")
    if count is None:
        count = len(given if own is None else own)  # type: ignore[arg-type] # one of them is there
    return choose_names(given, own, count, title)


def _outputs(model: Any, names: tuple[str, ...], title: str) -> tuple[Callable[..., Any], int, str]:
    """Return the function of a model, the number of its outputs, and the link to its predictions."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise AdoptionError(f"{title}: several labels a row cannot be adopted; adopt one classifier for each")
    if hasattr(model, "predict_proba"):
        return *_call(model, names, "predict_proba"), "identity"
    if classes is not None and hasattr(model, "decision_function"):
        scores, width = _call(model, names, "decision_function")
        return scores, width, "step" if width == 1 else "identity"
    if classes is not None:
        raise AdoptionError(
            f"{title}: a classifier without predict_proba and decision_function cannot be adopted; scikit-learn's "
            "CalibratedClassifierCV gives it probabilities"
        )
    if hasattr(model, "predict"):
        return *_call(model, names, "predict"), "identity"
    return model, _probe(model, len(names), title), "identity"


def labels_of(model: Any, n_predictions: int) -> NDArray[Any] | None:
    """Return the labels of a classifier's classes, of two for one prediction.

    None if several fit a row, or the classifier's own label of a row need not be that of the largest prediction.
    """
    classes = getattr(model, "classes_", None)
    binarizer = getattr(model, "label_binarizer_", getattr(model, "_label_binarizer", None))
    several = str(getattr(binarizer, "y_type_", "")).startswith("multilabel")
    if classes is None or isinstance(classes, list) or several or len(classes) < 2:
        return None
    likeliest = type(model).__name__ not in _OTHER_LABELS or not (hasattr(model, "predict_proba") or n_predictions > 1)
    cut = getattr(model, "loss", None) == "modified_huber" and n_predictions > 1  # equal probabilities, not scores
    if cut or not likeliest:
        return None
    return np.asarray(classes) if n_predictions == (1 if len(classes) == 2 else len(classes)) else None


def opaque_member(model: Any, names: tuple[str, ...], method: Method) -> StageTree:
    """Return a model of one method of a fitted estimator, which reads the columns `names`."""
    function, width = _call(model, names, method)
    return opaque_tree(type(model).__name__, function, names, range(len(names)), width, "identity")


def _call(model: Any, names: tuple[str, ...], method: Method) -> tuple[Callable[..., Any], int]:
    """Return a method as a function of rows, with the number of its outputs, one for probabilities of two classes."""
    function = CallableModel(model, tuple(getattr(model, "feature_names_in_", names)), method)
    width = _probe(function, len(names), type(model).__name__)
    return (OfClassOne(function), 1) if method == "predict_proba" and width == 2 else (function, width)


def _probe(function: Callable[..., Any], n_features: int, title: str) -> int:
    """Return the number of outputs of a function, for a row of zeros."""
    try:
        values = np.asarray(function(np.zeros((1, n_features))), np.float64)
    except Exception as error:
        raise AdoptionError(f"{title}: cannot predict a row of {n_features} zeros: {describe(error)}") from error
    if values.ndim not in {1, 2} or len(values) != 1 or not values.size:
        raise AdoptionError(f"{title}: expected one prediction a row, got shape {values.shape} for one row")
    return int(values.size)
