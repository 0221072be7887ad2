"""Mixtures of two fitted models, whose mean cost is that of a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import I8
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.storage.stored_models import opaque_names
from costframe.core.tables.row_hashes import hash_table
from costframe.core.tables.rows import as_rows
from costframe.study.estimates import CostEstimate, Estimate, beyond_rows, mix_estimates
from costframe.study.fitted import Fits, Fitted
from costframe.study.trial import Trial
from costframe.training.scoring import score_named, with_labels
from costframe.training.shell import CostAwareEstimator

_DRAWS, _PARTS = 16, 10  # of which model answers each row; and parts of the rows, each left out once
_FILLED = 0.99  # of a budget, by a mixture: the shares of rows differ a little from table to table
_MOST_ALIKE = 0.02  # of the rows, with equal values of all free features


@frozen(eq=False)
class _Pair:
    """Two fits, of which the second, a dearer one, answers a share of the rows."""

    first: Fitted
    second: Fitted
    share: float

    def mean(self, first: float, second: float) -> float:
        """Return the mean of what rows have by the first and by the second fit."""
        return float((1 - self.share) * first + self.share * second)

    @property
    def score(self) -> float:
        """The mean score."""
        return self.mean(self.first.point.score, self.second.point.score)

    @property
    def cost(self) -> CostEstimate:
        """The mean cost."""
        first, second, share = self.first.point, self.second.point, self.share
        errors, spent = ((1 - share) * first.cost_error, share * second.cost_error), None
        if self.first.spent is not None and self.second.spent is not None:
            spent = (1 - share) * self.first.spent + share * self.second.spent
        return CostEstimate(self.mean(first.cost, second.cost), float(np.hypot(*errors)), spent)


def mix_to_budget(trial: Trial, fits: Sequence[Fitted], budget: float | None) -> list[Fitted]:
    """Return the mixture with the best score at a budget on the mean cost, if it is better than each fit within it.

    It mixes a fit within the budget and one beyond: the pair on the upper hull of cost and score. There is none for
    rankings, for fits without influences of rows, and where the free features tell few rows apart, for their hash draws
    the model of a row.
    """
    if budget is None or trial.valid.qid is not None:
        return []
    known = [fitted for fitted in fits if fitted.influence is not None]
    within = [fitted for fitted in known if fitted.point.cost <= budget]
    best = max(_pairs(within, known, _FILLED * budget), key=lambda pair: pair.score, default=None)
    if best is None or best.score <= max(fitted.point.score for fitted in within):
        return []
    models = best.first.estimator, best.second.estimator
    if not all(isinstance(model, CostAwareEstimator) and not opaque_names(model.predictor_) for model in models):
        return []
    if not (by := _free_features(models[0], trial)):
        return []
    recalled = {"mixed": budget, "tradeoffs": [best.first.point.tradeoff, best.second.point.tradeoff]}
    return trial.recall(recalled, lambda: Fits([_mix(trial, best, models, by)])).fits


def _pairs(within: Sequence[Fitted], known: Sequence[Fitted], cost: float) -> list[_Pair]:
    """Return all pairs, estimated on the same rows, that have a mean cost."""
    return [
        _Pair(first, second, (cost - first.point.cost) / (second.point.cost - first.point.cost))
        for first in within
        for second in known
        if first.point.cost < cost < second.point.cost and _count_rows(first) == _count_rows(second)
    ]


def _count_rows(fitted: Fitted) -> int:
    return 0 if fitted.influence is None else len(fitted.influence)


def _mix(trial: Trial, pair: _Pair, models: tuple[Any, Any], by: tuple[str, ...]) -> Fitted:
    first, second, share = pair.first, pair.second, pair.share
    mixed = MixedPredictor(models[0].predictor_, models[1].predictor_, share, by)
    copy = models[0].with_predictor(mixed, tradeoff=first.point.tradeoff)
    measured = trial.measure(copy, first.point.tradeoff, 0.0, _estimate_mixture(trial, pair, models), pair.cost)
    point = evolve(measured.point, mixed_with=second.point.tradeoff)
    return evolve(measured, point=point, repeated=first.repeated and second.repeated)


def _estimate_mixture(trial: Trial, pair: _Pair, models: tuple[Any, Any]) -> Estimate:
    """Return the estimated score of a mixture, with all that the errors of both fits have beyond their rows."""
    first, second, share = _estimate(pair.first), _estimate(pair.second), pair.share
    mean, (beyond, error_beyond) = mix_estimates(first, second, share), _beyond_mean(trial, models, share)
    varied = ((1 - share) ** 2 * beyond_rows(first), share**2 * beyond_rows(second))
    shared = (1 - share) * first.shared + share * second.shared
    error = math.sqrt(mean.error**2 + error_beyond**2 + sum(varied) + shared**2)
    return evolve(mean, score=mean.score + beyond, error=error, shared=shared)


def _beyond_mean(trial: Trial, models: Sequence[Any], share: float) -> tuple[float, float]:
    """Return by how much the score of mixed answers exceeds the mixture of both scores, on valid; and its error.

    It is about 0 for means over rows, and not for ROC AUC or F1, which compare rows that either model has answered. It
    is the mean of a few draws of which model answers; the error is a jackknife's.
    """
    rows, rng = next(trial.valid.completed()), np.random.default_rng(0)
    first, second = (model.predictor_.predict(rows.X) for model in models)
    taken = rng.random((_DRAWS, len(first))) < share
    mixed = [np.where(second_answers if first.ndim == 1 else second_answers[:, np.newaxis], second, first)
             for second_answers in taken]  # fmt: skip

    def beyond(numbers: I8) -> float:
        some = rows.take(numbers)
        name = with_labels(trial.score, getattr(models[0], "classes_", None), some.X)
        score, y = score_named(name), some.codes(models[0])
        scores = [float(score(y, answers[numbers], some.weight, None)) for answers in (first, second, *mixed)]
        return float(np.mean(scores[2:])) - (1 - share) * scores[0] - share * scores[1]

    part = rng.permutation(len(first)) % _PARTS
    without = [beyond(np.flatnonzero(part != k)) for k in range(_PARTS)]
    excess, error = beyond(np.arange(len(first))), math.sqrt((_PARTS - 1) * float(np.var(without)))
    return (excess, error) if math.isfinite(excess + error) else (0.0, 0.0)


def _estimate(fitted: Fitted) -> Estimate:
    point = fitted.point
    return Estimate(point.score, point.score_error, fitted.influence, point.rows_lacked, point.shared_error)


def _free_features(model: Any, trial: Trial) -> tuple[str, ...]:
    """Return the features that cost nothing, if they tell the rows of valid apart."""
    costs, predictor = model.costs_, model.predictor_
    prices = costs.select(predictor.feature_names)
    free = [f for f, price in enumerate(prices.alone) if price == 0 and prices.once[f] == 0]
    rows = as_rows(trial.valid.X, predictor.feature_names, predictor.categories)
    hashes = hash_table(np.ascontiguousarray(rows[:, free]))
    alike = np.unique(hashes, return_counts=True)[1].max(initial=0)
    return tuple(predictor.feature_names[f] for f in free) if free and alike <= _MOST_ALIKE * len(rows) else ()
