"""Mixtures of two fits of an algorithm, for a budget that no fit is near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.storage.saving import opaque_names
from costframe.core.tables.row_hashes import hash_table
from costframe.core.tables.rows import as_rows
from costframe.frontier.estimates import Estimate, mix_estimates
from costframe.training.estimator import CostAwareEstimator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.frontier.budgets import Budget
    from costframe.frontier.trial import Fitted, Trial

__all__ = ["mix_to_budget"]

_FILLED = 0.99  # of a budget: the shares of rows differ a little from table to table
_MOST_ALIKE = 0.02  # of the rows, with equal values of all free features


def mix_to_budget(trial: Trial, found: Sequence[Fitted], budget: Budget) -> list[Fitted]:
    """Return the mixture with the best score at a budget on the mean cost, if it is better than each fit within it.

    It mixes a fit within the budget and one beyond: the pair on the upper hull of cost and score. There is none for
    rankings, under a budget on time, for fits without influences of rows, and where the free features tell few rows
    apart, for their hash draws the model of a row.
    """
    known = [each for each in found if each.influence is not None]
    within = [each for each in known if budget.allows(each.point)]
    if budget.cost is None or budget.time is not None or trial.valid.qid is not None or not within:
        return []
    most = _FILLED * budget.cost
    pairs = [
        (one, other, (most - one.point.cost) / (other.point.cost - one.point.cost))
        for one in within
        for other in known
        if one.point.cost < most < other.point.cost and len(one.influence) == len(other.influence)  # type: ignore[arg-type]
    ]
    best = max(pairs, key=lambda pair: _mean(pair, "score"), default=None)
    if best is None or _mean(best, "score") <= max(each.point.score for each in within):
        return []
    models = [each.estimator for each in best[:2]]
    if not all(isinstance(each, CostAwareEstimator) and not opaque_names(each.predictor_) for each in models):
        return []
    if not (by := _free_features(models[0], trial)):
        return []
    recalled = {"mixed": budget.cost, "tradeoffs": [each.point.tradeoff for each in best[:2]]}
    return trial.recall(recalled, lambda: ([_mix(trial, best, models, by)], []))[0]


def _mean(pair: tuple[Fitted, Fitted, float], name: str) -> float:
    one, other, share = pair
    return float((1 - share) * getattr(one.point, name) + share * getattr(other.point, name))


def _mix(trial: Trial, pair: tuple[Fitted, Fitted, float], models: Sequence[Any], by: tuple[str, ...]) -> Fitted:
    one, other, share = pair
    mixed = MixedPredictor(models[0].predictor_, models[1].predictor_, share, by)
    copy = models[0].with_predictor(mixed, tradeoff=one.point.tradeoff)
    errors = ((1 - share) * one.point.cost_error, share * other.point.cost_error)
    cost = _mean(pair, "cost"), float(np.hypot(*errors))
    known = mix_estimates(_estimate(one), _estimate(other), share)
    measured = trial.measure(copy, one.point.tradeoff, 0.0, known, cost)
    return evolve(measured, point=evolve(measured.point, mixed_with=other.point.tradeoff))


def _estimate(fitted: Fitted) -> Estimate:
    point = fitted.point
    return Estimate(point.score, point.score_error, fitted.influence, point.rows_lacked)


def _free_features(model: Any, trial: Trial) -> tuple[str, ...]:
    """Return the features that cost nothing, if they tell the rows of valid apart."""
    costs, predictor = model.costs_, model.predictor_
    prices = costs.select(predictor.feature_names)
    free = [f for f, price in enumerate(prices.alone) if price == 0 and prices.once[f] == 0]
    rows = as_rows(trial.valid.X, predictor.feature_names, predictor.categories)
    hashes = hash_table(np.ascontiguousarray(rows[:, free]))
    alike = np.unique(hashes, return_counts=True)[1].max(initial=0)
    return tuple(predictor.feature_names[f] for f in free) if free and alike <= _MOST_ALIKE * len(rows) else ()
