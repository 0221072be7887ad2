"""Fits within promising feature sets, which fill gaps of cost between an algorithm's own models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from costframe.core.stages.stages import apply_link, squeeze
from costframe.core.threads import thread_count
from costframe.sets.archive import search_quickly
from costframe.sets.choice import choose_spread
from costframe.training.estimator import CostAwareEstimator
from costframe.training.scoring import influence, score_named, standard_error

if TYPE_CHECKING:
    from costframe.frontier.trial import Fitted, Progress, Trial

__all__ = ["FITS", "Promises", "fit_promising"]

_SETS = 12  # sets of the archive's front, with the empty set and all features
FITS, FITS_OF_BUDGET = 3, 2  # most further fits of an algorithm
_ERRORS = 2.0  # least standard errors of a promise above the algorithm's scores
_CLEARLY = 0.03  # least gain of a promise, as a share of the best point's gain over the constant


@frozen
class Promise:
    """A set of features with its cost per row, and the score and standard error of a quick fit on it."""

    columns: tuple[int, ...]
    cost: float
    score: float
    error: float


@define(eq=False)
class Promises:
    """Promising feature sets of a table, searched once, at the first use."""

    _found: tuple[Promise, ...] | None = field(default=None, init=False)

    def of(self, model: CostAwareEstimator, trial: Trial) -> tuple[Promise, ...]:
        """Return sets by ascending cost, the empty set first, without the set of all features; () without a search."""
        if self._found is None:
            self._found = tuple(_search(model, trial))
        return self._found


def _search(model: CostAwareEstimator, trial: Trial) -> list[Promise]:
    rows = trial.train
    data = model.training_data(rows.X, rows.y, rows.weight, qid=rows.qid)
    archive = search_quickly(data, thread_count(model.get_params().get("n_jobs")))
    if archive is None:
        return []
    found, judge, y = [], score_named(trial.score), archive.rows.y
    weight, qid = archive.rows.uneven_weight, archive.rows.qid
    for features in (each for each in choose_spread(archive, _SETS) if len(each) < len(data.feature_names)):
        predictions = squeeze(apply_link(archive.loss.link, archive.scores(features)))
        score = float(judge(y, predictions, weight, qid))
        if not math.isfinite(score):  # the searched rows may lack a class
            return []
        error = standard_error(influence(trial.score, y, predictions, weight, qid))
        found.append(Promise(tuple(sorted(features)), archive.prices.of_set(features), score, error))
    return found


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
        if not isinstance(model, CostAwareEstimator) or model.searches_sets:
            return []
        nothing, *promises = trial.promises.of(model, trial) or [Promise((), 0.0, 0.0, 0.0)]
    reached = [*front, *((fitted.point.cost, fitted.point.score) for fitted in found)]
    constant = max([nothing.score, *(each.point.score for each in found if not each.point.n_features)])
    clearly = _CLEARLY * (max(score for _, score in reached) - constant)
    error = max(fitted.point.score_error for fitted in found)
    added: list[Fitted] = []

    def own(cost: float) -> float:
        return max([constant, *(score for paid, score in reached if paid <= (cost if budget is None else budget))])

    def is_worth(promise: Promise) -> bool:
        least = promise.error if own(promise.cost) == constant else _ERRORS * math.hypot(promise.error, error)
        affordable = budget is None or promise.cost <= budget
        return affordable and promise.score - own(promise.cost) > max(clearly, least)

    while len(added) < (FITS if budget is None else FITS_OF_BUDGET):
        left = [each for each in promises if is_worth(each)]
        if not left:
            break
        best = max(left, key=lambda each: each.score - own(each.cost))
        promises.remove(best)
        what = f"{trial.algorithm} within {len(best.columns)} of the features"
        progress(len(added), len(added) + 1, what)
        added.append(_within(trial, best.columns, repeat=repeat).fit(0.0))
        point = added[-1].point
        progress(len(added), len(added), f"{what}: {trial.score} {point.score:.4f}, cost {point.cost:.4g}")
        kept = point.score - own(best.cost) > clearly
        if kept == (budget is not None):  # the budget has a better model, or promises do not come true
            break
        reached.append((best.cost, point.score))
    return sorted(added, key=lambda fitted: -fitted.point.cost)


def _within(trial: Trial, columns: tuple[int, ...], *, repeat: bool) -> Trial:
    def make(tradeoff: float) -> Any:
        return trial.make(tradeoff).reading_only(columns)

    return evolve(trial, make=make, fits_repeat=repeat, settings=(*trial.settings, "within", *columns))
