"""Fits within sets of features that promise more than an algorithm's own models: no budget falls into a gap of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from costframe.core.learners.links import apply_link
from costframe.core.threads import thread_count
from costframe.sets.search import search_quickly
from costframe.sets.spread import spread
from costframe.training.estimator import CostAwareEstimator
from costframe.training.influence import influence, standard_error
from costframe.training.scoring import score_named

if TYPE_CHECKING:
    from costframe.frontier.trial import Fitted, Progress, Trial

__all__ = ["FITS", "Promises", "fit_promising"]

_SETS = 12  # of the archive's front, with nothing and everything
FITS, FITS_OF_BUDGET = 3, 2  # further fits of an algorithm, at most
_ERRORS = 2.0  # that promises are above what was reached on other rows
_CLEARLY = 0.03  # of what the best point gains over the constant: promises of less are not worth a fit


@frozen
class Promise:
    """A set of features, its cost per row, and the score of quick fits on it with its standard error."""

    columns: tuple[int, ...]
    cost: float
    score: float
    error: float


@define(eq=False)
class Promises:
    """What sets of features promise on a table; searched once, when it is first asked for."""

    _found: tuple[Promise, ...] | None = field(default=None, init=False)

    def of(self, model: CostAwareEstimator, trial: Trial) -> tuple[Promise, ...]:
        """Return sets by ascending cost, nothing first, without everything; none if there is nothing to search."""
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
    for features in (each for each in spread(archive, _SETS) if len(each) < len(data.feature_names)):
        values = apply_link(archive.loss.link, archive.scores(features))
        predictions = values[:, 0] if values.shape[1] == 1 else values
        score = float(judge(y, predictions, weight, qid))
        if not math.isfinite(score):  # a class may have no row among those that are searched on
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
    """Fit an algorithm within sets that promise clearly more than all that it reached at their cost or less.

    A set is used as if all other columns were constant, at tradeoff 0: it is bought whole. One that searches sets
    itself, or is no `CostAwareEstimator`, is left alone.

    Parameters
    ----------
    trial : Trial
    found : list of Fitted
        The algorithm's own.
    front : list of (float, float)
        Cost and score of further models that it has.
    budget : float or None
        Only sets within it are tried, until one is better than all that was reached within it.
    progress : callable
    repeat : bool
        Whether fits are repeated on the trial's folds.
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
        if kept == (budget is not None):  # the budget buys something, or the algorithm does not keep what is promised
            break
        reached.append((best.cost, point.score))
    return sorted(added, key=lambda fitted: -fitted.point.cost)


def _within(trial: Trial, columns: tuple[int, ...], *, repeat: bool) -> Trial:
    def make(tradeoff: float) -> Any:
        return trial.make(tradeoff).reading_only(columns)

    return evolve(trial, make=make, fits_repeat=repeat)
