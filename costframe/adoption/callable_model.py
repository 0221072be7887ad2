"""Methods of a fitted model as functions of rows that the core can call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.handing import Handing
from costframe.adoption.inside import categories_inside
from costframe.core.arrays import F8
from costframe.core.errors import shown
from costframe.core.predictors.predictor import Predictor
from costframe.core.tables.given_rows import GivenRows
from costframe.core.tables.restored_rows import ReadsGiven, ReadsNumbers, call_as_given

Method = Literal["predict_proba", "decision_function", "predict"]


@frozen(eq=False)
class CallableModel(ReadsGiven):
    """The outputs of a fitted model, float64 (n,) or (n, K), as a picklable function of rows (n, d)."""

    model: Any
    method: Method
    handing: Handing

    @classmethod
    def of(cls, model: Any, names: Sequence[str], method: Method) -> CallableModel:
        """Return a method of a fitted model of some columns."""
        fitted_names = tuple(map(str, getattr(model, "feature_names_in_", names)))
        return cls(
            model, method, evolve(Handing.of(model, len(names)), categories=categories_inside(model, fitted_names))
        )

    def __call__(self, rows: Any) -> F8:
        """Return the model's outputs; it gets rows as they came, with feature names in a frame."""
        return np.asarray(self.call(self.method, rows), np.float64)

    def call(self, method: str, rows: Any) -> Any:
        """Return what a method of the model gives for rows, a sparse table as it is."""
        if not isinstance(rows, np.ndarray | GivenRows):
            return getattr(self.model, method)(rows)
        return self.handing.call(getattr(self.model, method), rows)


@frozen(eq=False)
class ClassOneFunction(ReadsNumbers):
    """A function's probabilities of class 1, (n,) or (n, 1); the function may give both classes."""

    function: Callable[..., Any]

    def __call__(self, rows: Any) -> F8:
        """Take the second of two columns."""
        values = call_as_given(self.function, rows)
        return values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values


@frozen(eq=False)
class LabelFunction(ReadsGiven):
    """A classifier's own labels as scores, followed by the values of another of its methods, if one is given.

    Of two classes the score is -1/2 or 1/2, of more it is 1 for the label and 0 for others.
    """

    model: CallableModel
    classes: tuple[Any, ...]
    values: Callable[..., Any] | None

    @property
    def n_scores(self) -> int:
        """Number of scores of labels."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def __call__(self, rows: Any) -> F8:
        """Return scores of labels and values: float64 (rows, any)."""
        place = {label: number for number, label in enumerate(self.classes)}
        labels = np.ravel(np.asarray(self.model.call("predict", rows))).tolist()
        if strange := [label for label in labels if label not in place]:
            raise ValueError(f"predicts {shown(strange[0])}, which is none of its classes {shown(self.classes)}")
        codes = np.array([place[label] for label in labels], np.int64)
        scores: F8 = np.eye(len(self.classes))[codes]
        if self.n_scores == 1:
            scores = scores[:, 1:] - 0.5
        if self.values is None:
            return scores
        return np.hstack([scores, call_as_given(self.values, rows).reshape(len(scores), -1)])


@frozen(eq=False)
class PredictorFunction(ReadsNumbers):
    """The predictions of a predictor, as a function of rows."""

    predictor: Predictor

    def __call__(self, rows: Any) -> F8:
        """Return its predictions."""
        return self.predictor.predict(rows)
