"""The example plugin, and its regressor with a plan: a constant, its first stumps, all of them."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "costframe-stumps"))

from costframe_stumps import costframe_algorithms
from costframe_stumps.estimators import StumpsClassifier, StumpsRegressor

from costframe import Answer, WeakLearnerBank
from costframe.plugin import CostModelError, PlannedPredictor, Stop

__all__ = ["HONEST", "FeaturesAndResources", "PlannedStumps", "StumpsClassifier", "StumpsRegressor", "planned"]

(HONEST,) = costframe_algorithms()


def planned(tree, X, y, tradeoff):
    """Stop at a constant, at the first half of the stumps of a tree with one answer, or at all of them."""
    (answer,), bank = tree.stages, tree.bank
    counts = sorted({0, len(answer.learners) // 2, len(answer.learners)})
    answers = [Answer(answer.learners[:n], answer.weights[:n], answer.intercept) for n in counts]
    sets = [np.flatnonzero(np.diff(bank.F[:, each.learners].indptr)) for each in answers]
    scores = [each.intercept + bank.outputs(X)[:, : len(each.weights)] @ each.weights for each in answers]
    loss = [0.5 * np.mean((score[:, 0] - y) ** 2) for score in scores]
    score = WeakLearnerBank.columns((*bank.feature_names, "score 0"), [len(bank.feature_names)])
    gains = [
        Answer([0], np.full((1, later), 0.01 * (k > 0)), np.array(loss[k + 1 :]) - loss[k]) if later else None
        for k, later in enumerate(reversed(range(len(counts))))
    ]
    stops = [Stop(*each) for each in zip(sets, answers, gains, strict=True)]
    return PlannedPredictor(bank, score, stops, tradeoff, tree.costs)


class FeaturesAndResources(StumpsRegressor):
    """A regressor that refuses prices of computing."""

    def _train(self, data):
        for name in ("split", "learner", "reuse"):
            if np.any(getattr(data.prices, name)):
                raise CostModelError(f"{name}: a plan prices what it acquires")
        return super()._train(data)


class PlannedStumps(FeaturesAndResources):
    """A regressor that plans."""

    def fit(self, X, y, sample_weight=None, **more):
        super().fit(X, y, sample_weight, **more)
        rows = self._read(X)
        self.predictor_ = planned(self.predictor_, rows, np.asarray(y, np.float64), self.tradeoff)
        return self
