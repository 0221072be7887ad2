"""Mixtures of two fitted models, whose mean cost is that of a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import I8
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.storage.saving import opaque_names
from costframe.core.tables.row_hashes import hash_table
from costframe.core.tables.rows import as_rows
from costframe.study.estimates import Estimate, beyond_rows, mix_estimates
from costframe.study.fitted import Fitted
from costframe.study.trial import Trial
from costframe.training.scoring import score_named, with_labels
from costframe.training.shell import CostAwareEstimator

_DRAWS, _PARTS = 16, 10  # of which model answers each row; and parts of the rows, each left out once
_FILLED = 0.99  # of a budget, by a mixture: the shares of rows differ a little from table to table
_MOST_ALIKE = 0.02  # of the rows, with equal values of all free features


def mix_to_budget(trial: Trial, found: Sequence[Fitted], budget: float | None) -> list[Fitted]:
    """Return the mixture with the best score at a budget on the mean cost, if it is better than each fit within it.

    It mixes a fit within the budget and one beyond: the pair on the upper hull of cost and score. There is none for
    rankings, for fits without influences of rows, and where the free features tell few rows apart, for their hash draws
    the model of a row.
    """
    if budget is None or trial.valid.qid is not None:
        return []
    known = [each for each in found if each.influence is not None]
    within, most = [each for each in known if each.point.cost <= budget], _FILLED * budget
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
    recalled = {"mixed": budget, "tradeoffs": [each.point.tradeoff for each in best[:2]]}
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
    first, second = _estimate(one), _estimate(other)
    known, (beyond, more) = mix_estimates(first, second, share), _beyond_mean(trial, models, share)
    varied = ((1 - share) ** 2 * beyond_rows(first), share**2 * beyond_rows(second))
    shared = (1 - share) * first.shared + share * second.shared
    error = math.sqrt(known.error**2 + more**2 + sum(varied) + shared**2)
    known = evolve(known, score=known.score + beyond, error=error, shared=shared)
    measured = trial.measure(copy, one.point.tradeoff, 0.0, known, cost)
    spent = None if one.spent is None or other.spent is None else (1 - share) * one.spent + share * other.spent
    return evolve(
        measured,
        point=evolve(measured.point, mixed_with=other.point.tradeoff),
        spent=spent,
        repeated=one.repeated and other.repeated,
    )


def _beyond_mean(trial: Trial, models: Sequence[Any], share: float) -> tuple[float, float]:
    """Return by how much the score of mixed answers exceeds the mixture of both scores, on valid; and its error.

    It is about 0 for means over rows, and not for ROC AUC or F1, which compare rows that either model has answered. It
    is the mean of a few draws of which model answers; the error is a jackknife's.
    """
    rows, rng = trial.valid, np.random.default_rng(0)
    first, second = (each.predictor_.predict(rows.X) for each in models)
    taken = rng.random((_DRAWS, len(first))) < share
    mixed = [np.where(each if first.ndim == 1 else each[:, np.newaxis], second, first) for each in taken]

    def beyond(kept: I8) -> float:
        some = rows.take(kept)
        name = with_labels(trial.score, getattr(models[0], "classes_", None), some.X)
        score, y = score_named(name), some.codes(models[0])
        scores = [float(score(y, each[kept], some.weight, None)) for each in (first, second, *mixed)]
        return float(np.mean(scores[2:])) - (1 - share) * scores[0] - share * scores[1]

    part = rng.permutation(len(first)) % _PARTS
    without = [beyond(np.flatnonzero(part != k)) for k in range(_PARTS)]
    found, error = beyond(np.arange(len(first))), math.sqrt((_PARTS - 1) * float(np.var(without)))
    return (found, error) if math.isfinite(found + error) else (0.0, 0.0)


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
