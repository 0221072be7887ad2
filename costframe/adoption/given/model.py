"""A model that a user gives to an estimator: adopted if it is fitted, fitted out of fold if it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.adoption.classes import check_model_classes, labels_for, require_probabilities
from costframe.adoption.foreign import is_unfitted
from costframe.adoption.given.columns import GivenColumns
from costframe.adoption.given.fitting import fit_copy
from costframe.adoption.given.probabilities import predict_checked
from costframe.adoption.given.probability_tree import probability_tree
from costframe.core.arrays import F8
from costframe.core.callers import warn_caller
from costframe.core.errors import DataError, ParameterError, quote_names
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.training.data import Rows, TrainingData
from costframe.training.sampling import Sampling

Fit = Callable[[Rows], tuple[Any, StageTree]]  # the fitted model, and its stage tree
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

    @property
    def needs_fit(self) -> bool:
        """Whether the model is not fitted; a model without class probabilities is refused."""
        require_probabilities(self.columns.parameter, self.model)
        return not isinstance(self.model, Predictor) and is_unfitted(self.model)

    def adopted(self) -> StageTree:
        """Return a fitted model as a stage tree."""
        check_model_classes(self.model, self.classes, self.columns.parameter)
        return probability_tree(self.model, self.columns, len(self.classes))

    def fit_on(self, rows: Rows, data: TrainingData) -> tuple[Any, StageTree]:
        """Fit a copy of the model on rows; return it, and its stage tree, which reads columns as it was fitted."""
        labels, parameter = labels_for(self.model, self.classes), self.columns.parameter
        model = fit_copy(
            self.model, rows, labels[rows.y], self.columns.given_names, data,
            parameter=parameter, seed=self.seed, framed=self.framed,
        )  # fmt: skip
        check_model_classes(model, labels, parameter)
        return model, probability_tree(model, evolve(self.columns, types={}), len(self.classes))

    def fit(self, data: TrainingData) -> FittedModel:
        """Fit the model if it is not fitted, and predict the rows.

        Raises
        ------
        CostframeError
            If it gives no class probabilities, does not know the classes, or reads features without a price.
        """
        model, columns, parameter = self.model, self.columns, self.columns.parameter
        if self.needs_fit:
            return self.fit_anew(data, lambda rows: self.fit_on(rows, data))
        if callable(model) and not columns.named and not (hasattr(model, "predict") or isinstance(model, Predictor)):
            raise ParameterError(f"{parameter}: a function does not say what it reads, name its features")
        tree = _read_numbers(self.adopted(), data, parameter)
        proba = self.proba
        if proba is None:
            warn_caller(_PREFITTED.format(parameter=parameter, kind=type(model).__name__), PrefittedWarning)
            proba = predict_checked(tree, data.train.X, "training rows", parameter)
        elif data.valid is None:  # else the validation rows show whether it gives probabilities
            predict_checked(tree, data.train.X, "training rows", parameter)
        return self._with_validation(model, tree, proba, data)

    def fit_anew(self, data: TrainingData, fit: Fit) -> FittedModel:
        """Fit on all training rows, and, if the user gives no probabilities, once more for each fold."""
        model, tree = fit(data.train)
        proba = self._out_of_fold(data, fit) if self.proba is None else self.proba
        return self._with_validation(model, tree, proba, data)

    def _out_of_fold(self, data: TrainingData, fit: Fit) -> F8:
        """Predict each row by a model fitted without it and its copies: probabilities, (n,) or (n, M)."""
        rows, parameter, n_classes = data.train, self.columns.parameter, len(self.classes)
        fold = Sampling(data).folds(rows, FOLDS)[1]
        proba = np.empty(len(rows) if n_classes == 2 else (len(rows), n_classes))
        for number in range(FOLDS):
            inside = fold == number
            if not inside.any():
                continue
            left = rows.take(~inside)
            counts = [np.bincount(part.y, minlength=n_classes) for part in (rows, left)]
            absent = np.flatnonzero((counts[0] > 0) & (counts[1] == 0))
            if len(absent):
                raise DataError(
                    f"y: class number {int(absent[0])} has too few different rows for {FOLDS} folds; give the "
                    f"probabilities as {parameter}_proba"
                )
            proba[inside] = predict_checked(fit(left)[1], rows.X[inside], "rows out of fold", parameter)
        return proba

    def _with_validation(self, model: Any, tree: StageTree, proba: F8, data: TrainingData) -> FittedModel:
        valid = None
        if data.valid is not None:
            valid = predict_checked(tree, data.valid.X, "validation rows", self.columns.parameter)
        return FittedModel(model, tree, proba, valid)


def _read_numbers(tree: StageTree, data: TrainingData, parameter: str) -> StageTree:
    """Let a tree read the numbers of the data's labels; refuse other labels."""
    for name in (tree.feature_names[f] for f in tree.bank.read):
        known, labels = tree.categories.get(name), data.categories.get(name)
        if isinstance(known, tuple) and isinstance(labels, tuple) and known != labels:
            raise ParameterError(
                f"{parameter}: reads {name!r} with the labels {quote_names(known)}, X has {quote_names(labels)}; "
                "give `cf.adopt` of it, whose labels X then takes"
            )
    return tree.with_categories({})
