"""Fits within promising sets of features."""

from __future__ import annotations

import math
from typing import Any

from attrs import define, evolve, field

from costframe.study.fitted import Fits, Fitted
from costframe.study.progress import Progress
from costframe.study.promising_sets import PromisingSet
from costframe.study.trial import Trial
from costframe.training.shell import CostAwareEstimator

FITS, FITS_OF_BUDGET = 3, 2  # most further fits of an algorithm
_ERRORS = 2.0  # least standard errors of a set above the algorithm's scores
_CLEARLY = 0.03  # least gain of a set, as a share of the best point's gain over the constant


@define(eq=False)
class _Reached:
    """The scores that an algorithm reaches at some costs, against which sets promise more."""

    points: list[tuple[float, float]]  # cost and score
    constant: float  # score of what reads nothing
    error: float  # largest standard error of a fit
    budget: float | None
    clearly: float = field(init=False)  # least difference of scores that counts

    def __attrs_post_init__(self) -> None:
        self.clearly = _CLEARLY * (max([self.constant, *(score for _, score in self.points)]) - self.constant)

    def best(self, cost: float) -> float:
        """Return the best score at a cost, or within the budget if there is one."""
        most = cost if self.budget is None else self.budget
        return max([self.constant, *(score for paid, score in self.points if paid <= most)])

    def gain(self, promising: PromisingSet) -> float:
        """Return how much more a set promises."""
        return promising.score - self.best(promising.cost)

    def is_exceeded_by(self, promising: PromisingSet) -> bool:
        """Return whether a set within the budget promises clearly more, and more than chance."""
        if self.budget is not None and promising.cost > self.budget:
            return False
        is_first = self.best(promising.cost) == self.constant
        least = promising.error if is_first else _ERRORS * math.hypot(promising.error, self.error)
        return self.gain(promising) > max(self.clearly, least)


def fit_promising(trial: Trial, first: Fits, budget: float | None, progress: Progress, *, repeat: bool) -> list[Fitted]:
    """Fit an algorithm within sets that promise clearly more than its own models of no higher cost.

    It trains at tradeoff 0 as if all other columns were constant, so that rows buy the whole set. It skips algorithms
    that search sets themselves, and those that are not a `CostAwareEstimator`. `first` has the algorithm's own fits.
    With a budget, sets cost at most that much, and the first set that improves on all models within it ends the trials.
    With `repeat`, the trial's folds repeat the fits.
    """
    with trial.guard():
        model = trial.make(0.0)
        if not isinstance(model, CostAwareEstimator) or model.traits.searches_sets:
            return []
        nothing, *sets = trial.promising.of(model, trial.train, trial.score) or [PromisingSet((), 0.0, 0.0, 0.0)]
    points = [fitted.point for fitted in first.fits]
    reached = _Reached(
        [*first.front, *((point.cost, point.score) for point in points)],
        max([nothing.score, *(point.score for point in points if not point.n_features)]),
        max(point.score_error for point in points),
        budget,
    )
    added: list[Fitted] = []
    while len(added) < (FITS if budget is None else FITS_OF_BUDGET):
        promising = [candidate for candidate in sets if reached.is_exceeded_by(candidate)]
        if not promising:
            break
        best = max(promising, key=reached.gain)
        sets.remove(best)
        what = f"{trial.algorithm} within {len(best.columns)} of the features"
        progress(len(added), len(added) + 1, what)
        added.append(_within(trial, best.columns, repeat=repeat).fit(0.0))
        point = added[-1].point
        progress(len(added), len(added), f"{what}: {trial.score} {point.score:.4f}, cost {point.cost:.4g}")
        is_better = point.score - reached.best(best.cost) > reached.clearly
        if is_better == (budget is not None):  # the budget has a better model, or estimates without fits were too high
            break
        reached.points.append((best.cost, point.score))
    return sorted(added, key=lambda fitted: -fitted.point.cost)


def _within(trial: Trial, columns: tuple[int, ...], *, repeat: bool) -> Trial:
    def make(tradeoff: float) -> Any:
        return trial.make(tradeoff).reading_only(columns)

    return evolve(trial, make=make, fits_repeat=repeat, settings=(*trial.settings, "within", *columns))
