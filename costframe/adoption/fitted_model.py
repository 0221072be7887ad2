"""A model that a user gives as a stage tree with class probabilities: adopted if possible, fitted if it is not."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.adoption.adopted import is_unnamed
from costframe.adoption.checking import check_answers
from costframe.adoption.foreign import is_unfitted, with_types_of
from costframe.adoption.opaque import (
    CallableModel,
    OfClassOne,
    OfPredictor,
    labels_for,
    opaque_tree,
    refit,
    require_probabilities,
)
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError, BankError, DataError, ParameterError, quote_names, shown
from costframe.core.plugins import registry
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.core.tables.as_given import AsGiven, ColumnType
from costframe.training.data import Rows, TrainingData
from costframe.training.row_reader import unfrozen
from costframe.training.sampling import deal_folds

Fit = Callable[[Rows], tuple[Any, StageTree]]  # the fitted model, and its stage tree

_NEARLY = 1e-6  # probabilities may leave [0, 1] by this much: forests sum up in single precision
_ONE = 1e-3  # the sum over all classes may differ from one by this much


@frozen
class GivenColumns:
    """The data's columns, and those for a model that does not name its own."""

    names: tuple[str, ...]  # all columns; each has a price
    given: tuple[int, ...]  # columns for the model
    parameter: str  # name of the model in errors
    named: bool = False  # whether the user named the columns for the model
    types: Mapping[str, ColumnType] = field(factory=dict, eq=False)  # with which they came, by name

    @classmethod
    def choose(
        cls, names: tuple[str, ...], wanted: Any, parameter: str, types: Mapping[str, ColumnType] | None = None
    ) -> GivenColumns:
        """Take all columns, or the wanted ones; refuse other things than names of columns, and an empty list."""
        if wanted is None:
            return cls(names, tuple(range(len(names))), parameter, types=types or {})
        if (
            isinstance(wanted, str)
            or not isinstance(wanted, Iterable)
            or not all(isinstance(one, str) for one in wanted)
        ):
            raise ParameterError(f"{parameter}: expected a list of feature names, got {shown(wanted)}")
        listed = list(dict.fromkeys(wanted))
        _check_priced(f"{parameter}: names", listed, names)
        if not listed:
            raise ParameterError(f"{parameter}: expected at least one feature name, got none")
        return cls(names, tuple(names.index(name) for name in listed), parameter, named=True, types=types or {})

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of the columns for a model."""
        return tuple(self.names[f] for f in self.given)

    def read_by(self, own: Sequence[str]) -> GivenColumns:
        """Return the columns that a model names; refuse names that the data lack, or that the user left out."""
        _check_priced(f"{self.parameter}: it reads", own, self.names)
        further = [name for name in own if name not in set(self.given_names)]
        if further:
            raise DataError(f"{self.parameter}: it reads {further[0]!r}, which is not among its features")
        return evolve(self, given=tuple(self.names.index(name) for name in own))

    def of_model(self, model: Any) -> GivenColumns:
        """Return the columns that a fitted model names, else these; refuse other names, or another number."""
        own = getattr(model, "feature_names_in_", None)
        if own is not None and all(isinstance(name, str) for name in own):
            return self.read_by([str(name) for name in own])
        count = getattr(model, "n_features_in_", len(self.given))
        if count != len(self.given):
            raise DataError(
                f"{self.parameter}: {type(model).__name__} reads {count} features, the data have {len(self.given)}; "
                "name those that it reads"
            )
        return self


def _check_priced(what: str, names: Sequence[str], known: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in set(known)]
    if unknown:
        raise DataError(f"{what} {unknown[0]!r}, which is none of the priced features {', '.join(known)}")


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
    tree = model if isinstance(model, StageTree) else _adopted(inner, columns)
    if tree is not None:
        tree = with_types_of(tree, columns.types)
        return _without_blends(_of_columns(_two_sided(tree, n_classes, columns.parameter), columns), columns, n_classes)
    if isinstance(model, Predictor):
        given = {name: each for name, each in columns.types.items() if model.categories.get(name) == AsGiven()}
        return with_types_of(_opaque(OfPredictor(model), columns.read_by(model.feature_names), n_classes), given)
    if hasattr(model, "predict_proba"):
        own = columns.of_model(model)
        called = CallableModel.of(model, own.given_names, "predict_proba")
        return with_types_of(_opaque(called, own, n_classes), own.types)
    if callable(model) and not hasattr(model, "predict"):
        return _opaque(model, columns, n_classes)
    raise ParameterError(
        f"{columns.parameter}: expected a model with class probabilities, {type(model).__name__} has no predict_proba"
        "; scikit-learn's CalibratedClassifierCV gives it one"
    )


def _adopted(model: Any, columns: GivenColumns) -> StageTree | None:
    """Adopt a model with the data's names; return None if no plugin can adopt it exactly."""
    own = getattr(model, "feature_names_in_", None)
    names = columns.of_model(model).given_names if own is not None or hasattr(model, "n_features_in_") else None
    try:
        found = registry().adopt(model, names)
        if isinstance(found, StageTree):
            check_answers(model, found)
    except AdoptionError:
        if not hasattr(model, "predict_proba"):
            raise
        return None
    return found if isinstance(found, StageTree) else None


def _of_columns(tree: StageTree, columns: GivenColumns) -> StageTree:
    """Let a tree read the data's columns: by name, or by position if its model had no names."""
    names = columns.names
    own = [tree.feature_names[f] for f in tree.bank.read]
    unknown = [name for name in own if name not in set(names)]
    given = columns.given_names
    if unknown and len(tree.feature_names) == len(given) and is_unnamed(tree.feature_names):
        tree = StageTree(evolve(tree.bank, feature_names=given, categories={}), tree.stages)
    else:
        columns.read_by(own)
    return StageTree(tree.bank.with_features(names), tree.stages)


def _of_numbers(tree: StageTree, data: TrainingData, parameter: str) -> StageTree:
    """Let a tree read the numbers of the data's labels; refuse other labels."""
    for name in (tree.feature_names[f] for f in tree.bank.read):
        own, labels = tree.categories.get(name), data.categories.get(name)
        if isinstance(own, tuple) and isinstance(labels, tuple) and own != labels:
            raise ParameterError(
                f"{parameter}: reads {name!r} with the labels {quote_names(own)}, X has {quote_names(labels)}; "
                "give `cf.adopt` of it, whose labels X then takes"
            )
    return tree.with_categories({})


def _without_blends(tree: StageTree, columns: GivenColumns, n_classes: int) -> StageTree:
    """Wrap a tree whose answer has blends, which cannot be one of several answers; a mere mean needs none.

    What tells its classes is left out: the whole has other probabilities, and the likeliest class.
    """
    own = tree.only_answer
    if own is None or not own.is_alone:
        return tree
    if not (answer := own.divided()).blends:
        return StageTree(tree.bank, (answer.by_predictions(),))
    read = tree.bank.read
    alone = StageTree(tree.bank.with_features([tree.feature_names[f] for f in read]), tree.stages)
    return _opaque(OfPredictor(alone), evolve(columns, given=tuple(read.tolist())), n_classes)


def _two_sided(tree: StageTree, n_classes: int, parameter: str) -> StageTree:
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
    return StageTree(tree.bank, tuple(_one_output(stage) for stage in tree.stages))


def _one_output(stage: Stage) -> Stage:
    if isinstance(stage, Route):
        return stage
    weights, intercept = stage.weights, stage.intercept
    if stage.link == "softmax":
        weights, intercept = weights[:, 1] - weights[:, 0], intercept[1:] - intercept[:1]
        return Answer(stage.learners, weights, intercept, "sigmoid", temperature=stage.temperature)
    return evolve(stage, weights=weights[:, 1], intercept=intercept[1:])


def _opaque(function: Callable[..., Any], columns: GivenColumns, n_classes: int) -> StageTree:
    """Wrap a function of (n, len(columns.given)) that gives probabilities of class 1, or of all classes."""
    width = 1 if n_classes == 2 else n_classes
    call = OfClassOne(function) if width == 1 else function
    return opaque_tree(columns.parameter, call, columns.names, columns.given, width).with_categories({})


def predict_checked(tree: StageTree, X: F8, whose: str, parameter: str) -> F8:
    """Return a model's probabilities of rows, float64 (n,) of class 1, or (n, M); refuse other numbers."""
    try:
        values = tree.predict(X)
    except BankError as error:
        raise DataError(f"{parameter}: {error}") from error
    return _check_probabilities(values, f"{parameter}: expected probabilities", f" for {whose}")


def _check_probabilities(values: F8, expected: str, whose: str = "") -> F8:
    """Return probabilities, (n,) of class 1 or (n, M), with rounding beyond 0 and 1 cut; refuse other numbers."""
    wrong = ~((values >= -_NEARLY) & (values <= 1 + _NEARLY))
    if wrong.any():
        raise DataError(f"{expected} from 0 to 1{whose}, got {values[wrong][0]:g}")
    _check_sums(values, f"{expected} that sum to one{whose}")
    return np.clip(values, 0.0, 1.0)


def _check_sums(values: F8, expected: str) -> None:
    """Refuse probabilities of all classes, (n, M), that do not sum to one."""
    if values.ndim == 2:
        sums = values.sum(axis=1)
        wrong = ~(np.abs(sums - 1) <= _ONE)
        if wrong.any():
            raise DataError(f"{expected}, got a sum of {sums[wrong][0]:g}")


def check_classes(model: Any, classes: NDArray[Any], parameter: str) -> None:
    """Refuse a fitted classifier whose classes are not those of the labels, in their order.

    The classes of an adopted one may also be the numbers of the labels, as xgboost's are.
    """
    adopted = getattr(model, "classes", None) if isinstance(model, Predictor) else None
    known = getattr(model, "classes_", adopted)
    if known is None or (adopted is not None and np.array_equal(adopted, np.arange(len(classes)))):
        return
    known = np.asarray(known)
    unknown = [one for one in classes.tolist() if one not in set(known.tolist())]
    if unknown:
        owner = parameter if parameter.endswith("model") else f"{parameter} model"
        raise DataError(f"y: has the class {unknown[0]!r}, which the {owner} does not know: {known.tolist()}")
    if known.tolist() != classes.tolist():
        raise DataError(
            f"{parameter}: knows the classes {known.tolist()}, expected those of y in ascending order: "
            f"{classes.tolist()}"
        )


def read_probabilities(proba: Any, n_rows: int, n_classes: int, parameter: str) -> F8:
    """Return probabilities that a user gives for rows: float64 (n,) of class 1 for two classes, else (n, M).

    Raises
    ------
    DataError
        If they have another shape, or are no probabilities.
    """
    try:
        values = np.asarray(proba, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{parameter}: expected numbers, got {shown(proba)}") from None
    if values.shape == (n_rows, 2) and n_classes == 2:
        _check_sums(values, f"{parameter}: expected rows that sum to one")
        values = values[:, 1]
    if values.shape != ((n_rows,) if n_classes == 2 else (n_rows, n_classes)):
        raise DataError(f"{parameter}: expected shape {(n_rows, n_classes)}, one row a row of X, got {values.shape}")
    return _check_probabilities(values, f"{parameter}: expected probabilities")


FOLDS = 5
_PREFITTED = (
    "{parameter}: {kind} is fitted already; if it was trained on rows of X, its probabilities there are better than "
    "those of new rows, and too many go to it. Give an unfitted one, or probabilities that do not "
    "come from training rows as {parameter}_proba (or, if it has not seen X, its own)"
)


class PrefittedWarning(UserWarning):
    """Warning: a given model may know the training rows."""


@frozen(eq=False)
class FittedModel:
    """A model, ready to stand in a stage tree, with probabilities, (n,) of class 1, or (n, M)."""

    model: Any  # the given model, its fitted copy, or the stage tree itself
    tree: StageTree
    proba: F8  # of the training rows; out of fold if the model could be refitted
    proba_val: F8 | None  # of the validation rows


@frozen(eq=False)
class GivenModel:
    """A model as a user gives it."""

    model: Any
    columns: GivenColumns  # that it may read, and the name of the estimator's parameter
    proba: F8 | None  # (n,) or (n, M): probabilities of the training rows, if the user gives them
    classes: NDArray[Any]  # (M,)
    seed: int  # of its random states that the user has not fixed
    framed: bool  # whether the columns have names of their own, so that a classifier is fitted on a data frame

    def fit(self, data: TrainingData) -> FittedModel:
        """Fit the model if it is not fitted, and predict the rows.

        Raises
        ------
        CostframeError
            If it gives no class probabilities, does not know the classes, or reads features without a price.
        """
        model, columns, parameter = self.model, self.columns, self.columns.parameter
        require_probabilities(parameter, model)
        if not isinstance(model, Predictor) and is_unfitted(model):
            return self.fit_anew(data, lambda rows: self._refit(rows, data))
        if callable(model) and not columns.named and not (hasattr(model, "predict") or isinstance(model, Predictor)):
            raise ParameterError(f"{parameter}: a function does not say what it reads, name its features")
        check_classes(model, self.classes, parameter)
        tree = _of_numbers(probability_tree(model, columns, len(self.classes)), data, parameter)
        proba = self.proba
        if proba is None:
            # To the caller of `fit` or `fit_path`.
            text = _PREFITTED.format(parameter=parameter, kind=type(model).__name__)
            warnings.warn(text, PrefittedWarning, stacklevel=6)
            proba = predict_checked(tree, data.train.X, "training rows", parameter)
        elif data.valid is None:  # else the validation rows show whether it gives probabilities
            predict_checked(tree, data.train.X, "training rows", parameter)
        return self._with_validation(model, tree, proba, data)

    def fit_anew(self, data: TrainingData, fit: Fit) -> FittedModel:
        """Fit on all training rows, and, if the user gives no probabilities, once more for each fold."""
        model, tree = fit(data.train)
        proba = self._out_of_fold(data, fit) if self.proba is None else self.proba
        return self._with_validation(model, tree, proba, data)

    def _refit(self, rows: Rows, data: TrainingData) -> tuple[Any, StageTree]:
        names, labels, parameter = (
            self.columns.given_names,
            labels_for(self.model, self.classes),
            self.columns.parameter,
        )
        how: Any = {"parameter": parameter, "seed": self.seed, "framed": self.framed}
        model = refit(self.model, rows, labels[rows.y], names, data, **how)
        check_classes(model, labels, parameter)
        return model, probability_tree(model, evolve(self.columns, types={}), len(self.classes))  # as it was fitted

    def _out_of_fold(self, data: TrainingData, fit: Fit) -> F8:
        """Predict each row by a model fitted without it and its copies: probabilities, (n,) or (n, M)."""
        rows, parameter, n_classes = data.train, self.columns.parameter, len(self.classes)
        fold = deal_folds(rows, data, FOLDS)[1]
        found = np.empty(len(rows) if n_classes == 2 else (len(rows), n_classes))
        for number in range(FOLDS):
            inside = fold == number
            if not inside.any():
                continue
            left = rows.take(~inside)
            counts = [np.bincount(each.y, minlength=n_classes) for each in (rows, left)]
            absent = np.flatnonzero((counts[0] > 0) & (counts[1] == 0))
            if len(absent):
                raise DataError(
                    f"y: class number {int(absent[0])} has too few different rows for {FOLDS} folds; give the "
                    f"probabilities as {parameter}_proba"
                )
            found[inside] = predict_checked(fit(left)[1], rows.X[inside], "rows out of fold", parameter)
        return found

    def _with_validation(self, model: Any, tree: StageTree, proba: F8, data: TrainingData) -> FittedModel:
        valid = None
        if data.valid is not None:
            valid = predict_checked(tree, data.valid.X, "validation rows", self.columns.parameter)
        return FittedModel(model, tree, proba, valid)
