"""What an algorithm offers that trains a whole path of models in one fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from costframe.core.predictors.predictor import Predictor


class ModelPath(Protocol):
    """Many models of one fit."""

    def frontier(self) -> Sequence[Any]:
        """Return the non-dominated points by ascending cost."""

    def plain(self) -> Any:
        """Return the best point of training without prices."""

    def predictor(self, point: Any, /) -> Predictor:
        """Return the model of a point."""


@runtime_checkable
class FitsPath(Protocol):
    """Optional methods of an estimator; `CostAwareEstimator` has `with_predictor`."""

    def fit_path(self, X: Any, y: Any, /, *, X_val: Any, y_val: Any, **optional: Any) -> ModelPath:
        """Train a path of models; `optional` are arguments of `fit`, `scoring` and `progress` (a callable).

        `score_named` takes the `scoring`: a name, or a caller's own score of the class codes in `TrainingData`.
        `progress` takes the finished share, from 0 to 1.
        """

    def with_predictor(self, predictor: Any, /, *, tradeoff: float, **fitted: Any) -> Any:
        """Return the fitted estimator of another predictor."""
