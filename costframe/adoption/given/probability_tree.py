"""A fitted model that a user gives, as a stage tree with class probabilities."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from costframe.adoption.callable_model import CallableModel, ClassOneFunction, PredictorFunction
from costframe.adoption.checking import check_answers
from costframe.adoption.given.columns import GivenColumns
from costframe.adoption.names import is_unnamed
from costframe.adoption.opaque import opaque_tree
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError, DataError, ParameterError, shown
from costframe.core.plugins.registry import registry
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.core.tables.as_given import AsGiven, with_types
from costframe.core.tables.remembered import ColumnType
from costframe.core.tables.restored_rows import ReadsNumbers, call_as_given
from costframe.training.row_reader import unfrozen


def probability_tree(model: Any, columns: GivenColumns, n_classes: int) -> StageTree:
    """Turn a fitted model into a stage tree of the data's features, of one output for two classes.

    Raises
    ------
    ParameterError
        If it gives no probabilities.
    DataError
        If it reads features without a price, or has other outputs than one for each class.
    """
    model = getattr(model, "predictor_", model)
    inner = unfrozen(model)
    if isinstance(model, str | os.PathLike):
        raise ParameterError(f"{columns.parameter}: expected a model with class probabilities, got {shown(model)}")
    tree = model if isinstance(model, StageTree) else _try_adopt(inner, columns)
    if tree is not None:
        tree = restore_types(tree, columns.types)
        return _wrap_blends(
            _match_columns(_keep_one_output(tree, n_classes, columns.parameter), columns), columns, n_classes
        )
    if isinstance(model, Predictor):
        given = {name: kind for name, kind in columns.types.items() if model.categories.get(name) == AsGiven()}
        return restore_types(
            _wrap_function(PredictorFunction(model), columns.read_by(model.feature_names), n_classes), given
        )
    if hasattr(model, "predict_proba"):
        read = columns.of_model(model)
        called = CallableModel.of(model, read.given_names, "predict_proba")
        return restore_types(_wrap_function(called, read, n_classes), read.types)
    if callable(model) and not hasattr(model, "predict"):
        return _wrap_function(model, columns, n_classes)
    raise ParameterError(
        f"{columns.parameter}: expected a model with class probabilities, {type(model).__name__} has no predict_proba"
        "; scikit-learn's CalibratedClassifierCV gives it one"
    )


def _try_adopt(model: Any, columns: GivenColumns) -> StageTree | None:
    """Adopt a model with the data's names; return None if no plugin can adopt it exactly."""
    fitted_names = getattr(model, "feature_names_in_", None)
    names = (
        columns.of_model(model).given_names if fitted_names is not None or hasattr(model, "n_features_in_") else None
    )
    try:
        predictor = registry().adopt(model, names)
        if isinstance(predictor, StageTree):
            check_answers(model, predictor)
    except AdoptionError:
        if not hasattr(model, "predict_proba"):
            raise
        return None
    return predictor if isinstance(predictor, StageTree) else None


def _match_columns(tree: StageTree, columns: GivenColumns) -> StageTree:
    """Let a tree read the data's columns: by name, or by position if its model had no names."""
    names = columns.names
    read = [tree.feature_names[f] for f in tree.bank.read]
    unknown = [name for name in read if name not in set(names)]
    given = columns.given_names
    if unknown and len(tree.feature_names) == len(given) and is_unnamed(tree.feature_names):
        tree = StageTree(evolve(tree.bank, feature_names=given, categories={}), tree.stages)
    else:
        columns.read_by(read)
    return StageTree(tree.bank.with_features(names), tree.stages)


def _wrap_blends(tree: StageTree, columns: GivenColumns, n_classes: int) -> StageTree:
    """Wrap a tree whose answer has blends, which cannot be one of several answers; a mere mean needs none.

    What tells its classes is left out: the whole has other probabilities, and the likeliest class.
    """
    whole = tree.only_answer
    if whole is None or not whole.is_alone:
        return tree
    if not (answer := whole.divided()).blends:
        return StageTree(tree.bank, (answer.by_predictions(),))
    read = tree.bank.read
    alone = StageTree(tree.bank.with_features([tree.feature_names[f] for f in read]), tree.stages)
    return _wrap_function(PredictorFunction(alone), evolve(columns, given=tuple(read.tolist())), n_classes)


def _keep_one_output(tree: StageTree, n_classes: int, parameter: str) -> StageTree:
    """Keep one output for two classes: the probability, or the log odds, of class 1; refuse ranks."""
    if "ranked" in tree.links:
        raise DataError(f"{parameter}: expected class probabilities, it gives ranks")
    blended = tree.only_answer is not None and bool(tree.only_answer.blends)
    expected = {n_classes} if n_classes > 2 else {1} if blended else {1, 2}
    if tree.n_predictions not in expected:
        raise DataError(
            f"{parameter}: expected probabilities of {n_classes} classes, it has {tree.n_predictions} output(s)"
        )
    if n_classes > 2 or tree.n_predictions == 1:
        return tree
    return StageTree(tree.bank, tuple(_take_second_output(stage) for stage in tree.stages))


def _take_second_output(stage: Stage) -> Stage:
    if isinstance(stage, Route):
        return stage
    weights, intercept = stage.weights, stage.intercept
    if stage.link == "softmax":
        weights, intercept = weights[:, 1] - weights[:, 0], intercept[1:] - intercept[:1]
        return Answer(stage.learners, weights, intercept, "sigmoid", temperature=stage.temperature)
    return evolve(stage, weights=weights[:, 1], intercept=intercept[1:])


def _wrap_function(function: Callable[..., Any], columns: GivenColumns, n_classes: int) -> StageTree:
    """Wrap a function of (n, len(columns.given)) that gives probabilities of class 1, or of all classes."""
    width = 1 if n_classes == 2 else n_classes
    call = ClassOneFunction(function) if width == 1 else function
    return opaque_tree(columns.parameter, call, columns.names, columns.given, width).with_categories({})


@frozen(eq=False)
class _TypedFunction(ReadsNumbers):
    """A function of foreign code that gets rows of doubles and texts with the types of columns in training."""

    function: Callable[..., Any]
    types: tuple[ColumnType | None, ...]

    def __call__(self, rows: Any) -> F8:
        """Return what the function makes of rows, float64 (rows, d)."""
        return call_as_given(self.function, with_types(rows, self.types))


def restore_types(tree: StageTree, types: Mapping[str, ColumnType]) -> StageTree:
    """Let the opaque learners of a tree read columns of the types that they had in training."""
    if not types or not tree.bank.opaques:
        return tree
    read = [tuple(types.get(tree.feature_names[f]) for f in learner.features) for learner in tree.bank.opaques]
    pairs = zip(tree.bank.opaques, read, strict=True)
    opaques = [evolve(learner, function=_TypedFunction(learner.function, kinds)) for learner, kinds in pairs]
    return evolve(tree, bank=evolve(tree.bank, opaques=opaques))
