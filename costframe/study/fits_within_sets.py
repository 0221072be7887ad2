"""Fits within promising sets of features."""

from __future__ import annotations

import math
from typing import Any

from attrs import evolve

from costframe.study.fitted import Fitted
from costframe.study.progress import Progress
from costframe.study.promising_sets import PromisingSet
from costframe.study.trial import Trial
from costframe.training.shell import CostAwareEstimator

FITS, FITS_OF_BUDGET = 3, 2  # most further fits of an algorithm
_ERRORS = 2.0  # least standard errors of a set above the algorithm's scores
_CLEARLY = 0.03  # least gain of a set, as a share of the best point's gain over the constant


def fit_promising(
    trial: Trial,
    found: list[Fitted],
    front: list[tuple[float, float]],
    budget: float | None,
    progress: Progress,
    *,
    repeat: bool,
) -> list[Fitted]:
    """Fit an algorithm within sets that promise clearly more than its own models of no higher cost.

    It trains at tradeoff 0 as if all other columns were constant, so that rows buy the whole set. It skips algorithms
    that search sets themselves, and those that are not a `CostAwareEstimator`. `found` are the algorithm's own fits,
    `front` has cost and score of its further models. With a budget, sets cost at most that much, and the first set that
    improves on all models within it ends the trials. With `repeat`, the trial's folds repeat the fits.
    """
    with trial.guard():
        model = trial.make(0.0)
        if not isinstance(model, CostAwareEstimator) or model.traits.searches_sets:
            return []
        nothing, *sets = trial.promising.of(model, trial.train, trial.score) or [PromisingSet((), 0.0, 0.0, 0.0)]
    reached = [*front, *((fitted.point.cost, fitted.point.score) for fitted in found)]
    constant = max([nothing.score, *(each.point.score for each in found if not each.point.n_features)])
    clearly = _CLEARLY * (max([constant, *(score for _, score in reached)]) - constant)
    error = max(fitted.point.score_error for fitted in found)
    added: list[Fitted] = []

    def own(cost: float) -> float:
        return max([constant, *(score for paid, score in reached if paid <= (cost if budget is None else budget))])

    def is_worth(one: PromisingSet) -> bool:
        least = one.error if own(one.cost) == constant else _ERRORS * math.hypot(one.error, error)
        affordable = budget is None or one.cost <= budget
        return affordable and one.score - own(one.cost) > max(clearly, least)

    while len(added) < (FITS if budget is None else FITS_OF_BUDGET):
        left = [each for each in sets if is_worth(each)]
        if not left:
            break
        best = max(left, key=lambda each: each.score - own(each.cost))
        sets.remove(best)
        what = f"{trial.algorithm} within {len(best.columns)} of the features"
        progress(len(added), len(added) + 1, what)
        added.append(_within(trial, best.columns, repeat=repeat).fit(0.0))
        point = added[-1].point
        progress(len(added), len(added), f"{what}: {trial.score} {point.score:.4f}, cost {point.cost:.4g}")
        kept = point.score - own(best.cost) > clearly
        if kept == (budget is not None):  # the budget has a better model, or the estimates without fits were too high
            break
        reached.append((best.cost, point.score))
    return sorted(added, key=lambda fitted: -fitted.point.cost)


def _within(trial: Trial, columns: tuple[int, ...], *, repeat: bool) -> Trial:
    def make(tradeoff: float) -> Any:
        return trial.make(tradeoff).reading_only(columns)

    return evolve(trial, make=make, fits_repeat=repeat, settings=(*trial.settings, "within", *columns))
