"""Adoption of what scikit-learn wraps around one model: searches, feature elimination, thresholds, changed targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike

from costframe.adoption.foreign import package_of, refused
from costframe.adoption.inside import WRAPPERS, inner_of
from costframe.adoption.opaque import opaque_tree
from costframe.adoption.sklearn.members import Members, PredictorMethod
from costframe.adoption.sklearn.terms import Term
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError
from costframe.core.plugins.registry import registry
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor, behind_preparation
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import BlendPart
from costframe.core.tables.restored_rows import ReadsNumbers

ELIMINATIONS = ("RFE", "RFECV")
PASSING = (*WRAPPERS, *ELIMINATIONS)
"""Classes that predict as the model inside them, whose columns may have names of its own."""


def adopt_inner(model: Any, feature_names: Sequence[str] | None) -> Predictor:
    """Adopt the model inside a wrapper, which may read some columns only."""
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    inner = _as_pipeline(model) if type(model).__name__ in ELIMINATIONS else inner_of(model)
    predictor: Predictor | None = registry().adopt(inner, given)
    if predictor is None:
        raise refused(model, f"its {type(inner).__name__} is not among those that can")
    return predictor


def _as_pipeline(model: Any) -> Any:
    """Return recursive feature elimination as its two steps: the choice of columns, and the model of those."""
    from sklearn.pipeline import Pipeline

    return Pipeline([("columns", model), ("model", model.estimator_)])


def adopt_threshold(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt FixedThresholdClassifier or TunedThresholdClassifierCV: class 1 from a probability, or a score, on."""
    inner = getattr(model, "estimator_", None) or model.estimator
    asked = model.response_method
    method = asked if asked != "auto" else "predict_proba" if hasattr(inner, "predict_proba") else "decision_function"
    level, place = _read_threshold(model, method), _find_positive(model)
    predictor: Predictor | None = registry().adopt(inner, names)
    core: Any = None if predictor is None else behind_preparation(predictor)
    answer = core.only_answer if isinstance(core, StageTree) and len(core.stages) == 1 else None
    if predictor is None or answer is None or answer.n_predictions > 1:
        raise refused(model, f"its {type(inner).__name__} is no single sum of learners")
    if method == "predict_proba":
        # Class 1 has p >= t or, with class 0 as the positive one, 1 - p < t.
        above = float(np.nextafter(level, -np.inf)) if place else 1.0 - level
        changed = evolve(answer.by_predictions(), class_above=above)
    elif answer.by_scores and len(answer.intercept) == 1:
        cut = float(np.nextafter(level, -np.inf)) if place else -level
        changed = evolve(answer, cut=cut)
    else:
        raise refused(model, f"response_method={method!r} over {type(inner).__name__}")
    tree = StageTree(core.bank, (changed,), classes=core.classes)
    priced = None if predictor.costs is None else predictor.costs.without_errors()
    whole: Predictor = evolve(predictor, inner=tree) if isinstance(predictor, PreparedPredictor) else tree
    return whole.with_classes(model.classes_).with_costs(priced)


def _read_threshold(model: Any, method: str) -> float:
    level = getattr(model, "best_threshold_", None)
    if level is None:
        level = model.threshold
    return (0.5 if method == "predict_proba" else 0.0) if isinstance(level, str) else float(level)


def _find_positive(model: Any) -> int:
    """Return the number of the class whose probabilities are compared with the threshold."""
    scorer = getattr(model, "_curve_scorer", None)
    label = model.pos_label if scorer is None else scorer._get_pos_label()  # noqa: SLF001 - there is no public name
    return 1 if label is None else [*model.classes_.tolist()].index(label)


def adopt_transformed(model: Any, names: tuple[str, ...]) -> Predictor:
    """Adopt TransformedTargetRegressor: what its regressor predicts, as the targets were before the transformation.

    A transformation that is no link here is called with the predictions, as an opaque learner of the columns that the
    regressor reads.
    """
    members = Members(model, names)
    term = _invert(members.predicted(model.regressor_, "predict"), model.transformer_)
    if term is not None:
        return members.predictor(members.sum([term]).answer())
    try:
        predictor: Predictor | None = registry().adopt(model.regressor_, names)
    except AdoptionError:
        predictor = None
    if predictor is None:
        raise refused(model, f"its {type(model.regressor_).__name__} is not among those that can")
    predict = PredictorMethod.of(predictor, "predict")
    function = _InvertedPredictions(predict, model.transformer_)
    width = np.size(function(np.zeros((1, len(predict.columns)))))
    tree = opaque_tree(type(model).__name__, function, names, predict.columns, width)
    return tree.with_categories(predictor.categories).with_costs(predictor.costs)


@frozen(eq=False)
class _InvertedPredictions(ReadsNumbers):
    """Predictions as the targets were before a transformation, for the columns that a predictor reads."""

    predict: PredictorMethod
    transformer: Any

    def __call__(self, rows: F8) -> F8:
        predicted = self.predict(rows).reshape(len(rows), -1)
        return np.asarray(self.transformer.inverse_transform(predicted), np.float64)


def _invert(term: Term, transformer: Any) -> Term | None:
    """Return values as they were before a fitted transformation; None if it is not known here."""
    name = type(transformer).__name__
    if name == "Pipeline":
        for _, step in reversed(transformer.steps):
            inverted = term if step is None or isinstance(step, str) else _invert(term, step)
            if inverted is None:
                return None
            term = inverted
        return term
    reader = _INVERSES.get(name) if package_of(type(transformer)) == "sklearn" else None
    return None if reader is None else reader(term, transformer)


def _inverse_of_scale(scale: str, shift: str) -> Callable[[Term, Any], Term | None]:
    """Return what multiplies by an attribute and adds another, as far as a transformation has them."""

    def inverse(term: Term, transformer: Any) -> Term | None:
        factor, constant = getattr(transformer, scale, None), getattr(transformer, shift, None)
        return _rescale(term, 1.0 if factor is None else factor, 0.0 if constant is None else constant)

    return inverse


def _rescale(term: Term, factor: ArrayLike, constant: ArrayLike) -> Term:
    ones = np.ones(term.n_values)
    return term.times(np.diag(ones * np.asarray(factor)), ones * np.asarray(constant))


def _invert_range(term: Term, transformer: Any) -> Term:
    return _rescale(term, 1.0 / transformer.scale_, -transformer.min_ / transformer.scale_)


def _invert_function(term: Term, transformer: Any) -> Term | None:
    """Return the values of an inverse function that is a link."""
    function = transformer.inverse_func
    if transformer.inv_kw_args:
        return None
    if function is None:
        return term
    if function is not np.exp and function is not np.expm1:
        return None
    powers = term.linked(*[BlendPart("exp")] * term.n_values)
    return powers if function is np.exp else _rescale(powers, 1.0, -1.0)


# Stands below the functions that it names.
_INVERSES: dict[str, Callable[[Term, Any], Term | None]] = {
    "StandardScaler": _inverse_of_scale("scale_", "mean_"),
    "RobustScaler": _inverse_of_scale("scale_", "center_"),
    "MaxAbsScaler": _inverse_of_scale("scale_", "none"),
    "MinMaxScaler": _invert_range,
    "FunctionTransformer": _invert_function,
}

AROUND = {
    **dict.fromkeys(("FixedThresholdClassifier", "TunedThresholdClassifierCV"), adopt_threshold),
    "TransformedTargetRegressor": adopt_transformed,
}
