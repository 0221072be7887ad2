"""A model that is given, ready for use: fitted if it is not, as a stage tree, with probabilities to train by."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from attrs import frozen

from costframe.adoption.classifiers import check_classes, predict_checked, probability_tree
from costframe.adoption.out_of_fold import FOLDS, out_of_fold
from costframe.adoption.refitting import is_unfitted, labels_for, refit, require_probabilities
from costframe.core.errors import ParameterError
from costframe.core.predictors.predictor import Predictor

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from costframe.adoption.given_columns import GivenColumns
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData

__all__ = ["FittedModel", "GivenModel", "PrefittedWarning"]

_PREFITTED = (
    "{parameter}: {kind} is fitted already; if it was trained on rows of X, its probabilities there are better than "
    "those of new rows, and too many go to it. Give an unfitted one, or probabilities that do not "
    "come from training rows as {parameter}_proba (or, if it has not seen X, its own)"
)


class PrefittedWarning(UserWarning):
    """A given model may know the training rows."""


@frozen(eq=False)
class FittedModel:
    """A model, ready to stand in a stage tree.

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
class GivenModel:
    """A model as a user gives it.

    Attributes
    ----------
    model : object
    columns : GivenColumns
        What it may read, and the parameter that it came as.
    proba : float64 (n,) or (n, M), or None
        Its probabilities of the training rows, if they are given.
    classes : ndarray (M,)
    seed : int
        For what is random in it, where that is not fixed.
    framed : bool
        Whether the columns have names of their own, so that a classifier which is fitted inside is given a data frame.
    """

    model: Any
    columns: GivenColumns
    proba: NDArray[np.float64] | None
    classes: NDArray[Any]
    seed: int
    framed: bool

    def fit(self, data: TrainingData) -> FittedModel:
        """Fit it if it is not, and ask it about the rows.

        Raises
        ------
        CostframeError
            If it gives no class probabilities, does not know the classes, or reads what is not priced.
        """
        model, columns, n_classes = self.model, self.columns, len(self.classes)
        require_probabilities(columns.parameter, model)
        if not isinstance(model, Predictor) and is_unfitted(model):
            return self._refit(data)
        if callable(model) and not columns.named and not (hasattr(model, "predict") or isinstance(model, Predictor)):
            raise ParameterError(f"{columns.parameter}: a function does not say what it reads, name its features")
        check_classes(model, self.classes, columns.parameter)
        tree = probability_tree(model, columns, n_classes)
        proba = self.proba
        if proba is None:
            # To whoever called `fit` or `fit_path`.
            text = _PREFITTED.format(parameter=columns.parameter, kind=type(model).__name__)
            warnings.warn(text, PrefittedWarning, stacklevel=5)
            proba = predict_checked(tree, data.train.X, "training rows", columns.parameter)
        elif data.valid is None:  # else it is seen on those rows
            predict_checked(tree, data.train.X, "training rows", columns.parameter)
        return self._ask(model, tree, proba, data)

    def fit_anew(self, data: TrainingData, fit: Callable[[Rows], tuple[Any, StageTree]]) -> FittedModel:
        """Fit on all training rows, and once a fold for the probabilities, unless these are given.

        Parameters
        ----------
        data : TrainingData
        fit : callable
            Rows -> the fitted model, and its stage tree.
        """
        model, tree = fit(data.train)
        proba = self.proba
        if proba is None:
            proba = out_of_fold(data.train, data, lambda rows: fit(rows)[1], self.columns.parameter, FOLDS)
        return self._ask(model, tree, proba, data)

    def _refit(self, data: TrainingData) -> FittedModel:
        names, labels, parameter = (
            self.columns.given_names,
            labels_for(self.model, self.classes),
            self.columns.parameter,
        )

        def fit(rows: Rows) -> tuple[Any, StageTree]:
            model = refit(
                self.model, rows, labels[rows.y], names, data, parameter=parameter, seed=self.seed, framed=self.framed
            )
            check_classes(model, labels, parameter)
            return model, probability_tree(model, self.columns, len(self.classes))

        return self.fit_anew(data, fit)

    def _ask(self, model: Any, tree: StageTree, proba: NDArray[np.float64], data: TrainingData) -> FittedModel:
        valid = None
        if data.valid is not None:
            valid = predict_checked(tree, data.valid.X, "validation rows", self.columns.parameter)
        return FittedModel(model, tree, proba, valid)
