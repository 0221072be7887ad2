"""scikit-learn's models: which class each file adopts, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from costframe.adoption.foreign import OpaqueOnlyError, package_of
from costframe.adoption.names import choose_names
from costframe.core.errors import AdoptionError, BankError, DataError, StageError
from costframe.core.predictors.predictor import Predictor

_SUPPORTED = (
    "Supported are linear models, trees, forests, isolation forests, gradient and histogram boosting, AdaBoost of "
    "trees, and bagging, voting, calibration, one-versus-rest, thresholds, feature elimination, transformed targets "
    "and searches of any models"
)


def is_sklearn(model: object) -> bool:
    """Return whether a model's class, or its nearest base class in scikit-learn, is known here, or a pipeline."""
    base = _sklearn_class(model)
    return base is not None and (base.__name__ == "Pipeline" or base.__name__ in _adopters())


def adopt_sklearn(model: object, feature_names: Sequence[str] | None = None) -> Predictor:
    """Adopt a scikit-learn model exactly.

    Every row that the original accepts reaches the original's leaf in every tree, NaN and ties included. Single trees,
    forests and GradientBoosting test `float32(x) <= threshold`; adopted thresholds are the largest doubles that pass.
    Linear models become columns with weights; a row with NaN, which they refuse, has the prediction NaN. Means of
    any models join the learners of their members; a member that cannot be adopted is an opaque learner among them.

    Parameters
    ----------
    model : a fitted estimator
        Of classifiers with probabilities the predictions are these, of class 1 for two classes; of several labels the
        probability of class 1 of each. Of classifiers without probabilities the predictions are scores; for two
        classes 1 where the score is above zero, else 0. `decision_function` gives scores before the link.
    feature_names : sequence of str, optional
        Names by position. By default the names from the model's fit, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the class is not supported, the model is not fitted, or it has a part that cannot be adopted exactly, which
        the text names.
    """
    from costframe.adoption.classes import labels_of
    from costframe.adoption.inside import names_inside
    from costframe.adoption.sklearn.wrappers import PASSING, adopt_inner
    from costframe.core.predictors.prepared import behind_preparation
    from costframe.core.predictors.stage_tree import StageTree

    name, base, adopters = type(model).__name__, _sklearn_class(model), _adopters()
    adopter = None if base is None else adopters.get(base.__name__)
    if base is None or adopter is None:
        raise _unsupported_error(name)
    _check_fitted(model)
    _check_derived(type(model), base)
    if base.__name__ in PASSING:
        return adopt_inner(model, feature_names)
    count = _find_attribute(model, "n_features_in_")
    known = names_inside(model)
    if known is not None and len(known) != (count := len(known) if count is None else count):  # of some columns
        known = None
    if count is None and feature_names is None:
        raise AdoptionError(f"{name}: does not say what it reads; give feature_names")
    names = choose_names(feature_names, known, len(feature_names or ()) if count is None else count, name)
    try:
        predictor = adopter(model, names)
    except (BankError, DataError, StageError) as error:
        raise OpaqueOnlyError(f"{name}: {error}") from error
    except AttributeError as error:  # some parts have no public name
        raise AdoptionError(
            f"{name}: {error}; this version of scikit-learn may keep it elsewhere. costframe.adopt(model, "
            "features=[...]) takes the model as one opaque learner"
        ) from error
    core = behind_preparation(predictor)
    return predictor.with_classes(labels_of(model, core.n_predictions)) if isinstance(core, StageTree) else predictor


def _adopters() -> Mapping[str, Callable[[Any, tuple[str, ...]], Predictor]]:
    """Return the functions that adopt models, by class; they import more than `is_sklearn` needs."""
    from costframe.adoption.sklearn.ensembles import ENSEMBLES
    from costframe.adoption.sklearn.linear import LINEAR
    from costframe.adoption.sklearn.one_versus_rest import RESTS
    from costframe.adoption.sklearn.trees import TREES
    from costframe.adoption.sklearn.wrappers import AROUND, PASSING, adopt_inner

    return TREES | LINEAR | ENSEMBLES | RESTS | AROUND | dict.fromkeys(PASSING, adopt_inner)


def _sklearn_class(model: object) -> type | None:
    """Return the model's class in scikit-learn, or its nearest base class there; None if it has mixins at most."""
    theirs = (base for base in type(model).__mro__ if package_of(base) == "sklearn")
    return next((base for base in theirs if base.__module__ != "sklearn.base"), None)


def _check_derived(kind: type, base: type) -> None:
    """Refuse a class of the user's own that predicts in another way than its base in scikit-learn."""
    nearer = kind.__mro__[: kind.__mro__.index(base)]
    for name in ("predict", "predict_proba", "decision_function"):
        if any(name in vars(nearer_kind) for nearer_kind in nearer):
            raise AdoptionError(
                f"{kind.__name__}: has a {name} of its own, other than {base.__name__}'s; "
                "costframe.adopt(model, features=[...]) takes it as one opaque learner"
            )


def _find_attribute(model: Any, attribute: str) -> Any:
    """Return an attribute of a fitted model or of the model inside it; None if both lack it."""
    inside = (getattr(model, name, None) for name in ("best_estimator_", "estimator_", "estimator"))
    values = (getattr(part, attribute, None) for part in (model, *inside))
    return next((value for value in values if value is not None), None)


def _unsupported_error(name: str) -> AdoptionError:
    if name == "Pipeline":
        return AdoptionError(
            "Pipeline: a pipeline cannot be adopted, its steps change the features; adopt its last step, over the "
            f"columns that the steps before it make. {_SUPPORTED}"
        )
    return AdoptionError(
        f"{name}: cannot be adopted from scikit-learn; costframe.adopt(model, features=[...]) takes any classifier or "
        f"regressor as one opaque learner. {_SUPPORTED}"
    )


def _check_fitted(model: object) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise AdoptionError(f"{type(model).__name__}: is not fitted; fit it before adopting it") from error
