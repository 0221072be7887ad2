"""The base of estimators of forests: scores, and the path of forests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define

from costframe.gates import read_tradeoffs
from costframe.plugin import CostAwareClassifier, by_partition, log_odds, restore_on_error
from costframe.trees import scorer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.plugin import DeferredPath, TrainingData
    from costframe.trees import Predicted
    from costframe_budgetforest.judge import ForestPoint

__all__ = ["ForestClassifier"]


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class ForestClassifier(CostAwareClassifier):
    """Scores, and the path of forests."""

    @by_partition
    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any
    ) -> NDArray[np.float64]:
        """Return scores: float64 (rows,), log odds for two classes, else (rows, K) logarithms of probabilities."""
        scores = super().decision_function(X, max_cost=max_cost, unavailable=unavailable, **terms)
        return np.asarray(log_odds(scores.reshape(len(scores), -1)).reshape(scores.shape))

    def _find_path(
        self,
        data: TrainingData,
        tradeoffs: NDArray[np.float64] | None,
        score: Callable[[Predicted], float] | None,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath[ForestPoint]:
        raise NotImplementedError

    @restore_on_error
    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any,
        y_val: ArrayLike,
        sample_weight_val: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        tradeoffs: Sequence[float] | None = None,
        scoring: Any = None,
        progress: Callable[[float], None] | None = None,
    ) -> DeferredPath[ForestPoint]:
        """Return all non-dominated forests of one fit with their exact cost on validation rows.

        The estimator becomes the forest with the least validation loss + tradeoff * cost at its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val
            As for `fit`.
        tradeoffs : sequence of float, optional
            Of BudgetPrune: by default up to 16, at which the best pruning changes. BudgetRF has none.
        scoring : "loss", name of a score, or callable, optional
            The score of points, higher is better; minus the validation loss by default.
        progress : callable, optional
            Called with the finished share, from 0 to 1.

        Returns
        -------
        DeferredPath of ForestPoint

        Raises
        ------
        CostframeError
            As for `fit`; also if there are no validation data.
        """
        data = self.path_data(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, qid=qid, qid_val=qid_val
        )
        path = self._find_path(data, read_tradeoffs(tradeoffs), scorer(scoring), progress)
        point = path.at(float(self.tradeoff))
        self.n_iter_ = point.n_rounds
        self._keep(path.predictor(point), data.costs, data.train)
        return path
