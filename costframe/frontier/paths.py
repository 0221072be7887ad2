"""Algorithms that train a whole path of models in one fit: their interface, and the points chosen from a path."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from attrs import evolve
from sklearn.base import is_classifier

from costframe.core.arrays import F8
from costframe.core.errors import ParameterError, format_count
from costframe.core.predictors.predictor import Predictor
from costframe.frontier.estimates import (
    Estimate,
    UndefinedScoreError,
    difference_error,
    estimate_on_rows,
    join_folds,
    mix_estimates,
    model_variance,
)
from costframe.frontier.intervals import NINE_OF_TEN
from costframe.frontier.repeated import join_bills, join_scores
from costframe.frontier.rows import Fold, Rows
from costframe.frontier.store import Fitted
from costframe.frontier.trial import STOPPING, Progress, Trial, optional_arguments
from costframe.training.data import Traits
from costframe.training.model_path import PathPoint
from costframe.training.scoring import with_labels

_BUDGETS = 200  # budgets over which losses are summed, spaced by the logarithm of cost
_LEAST_SHARE = 0.01  # the smallest budget, as a share of the full cost, or the cheapest point above zero
_JUMP = 0.25  # least difference of neighbors that is a jump, as a share of the gain of a whole path
_NOTHING = 1e-9  # least improvement of a further point, as a share of the spread of scores


class ModelPath(Protocol):
    """Many models of one fit."""

    def frontier(self) -> Sequence[Any]:
        """Return the non-dominated points by ascending cost."""

    def plain(self) -> Any:
        """Return the best point of training without prices."""

    def predictor(self, point: Any, /) -> Predictor:
        """Return the model of a point."""

    # Optional: `counterpart(point, whole)`, the point of this path that stands for one of `whole`, a path of the same
    # estimator on more rows, or None if that is any point of equal cost.


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


def has_path(trial: Trial) -> bool:
    """Return whether a trial's estimator has a `fit_path` that is not None."""
    with trial.guard():
        model = trial.make(0.0)
        return isinstance(model, FitsPath) and callable(model.fit_path)


def fit_along(
    trial: Trial, points: int, budget: float | None, progress: Progress
) -> tuple[list[Fitted], list[tuple[float, float]]]:
    """Fit a path once, and once more for each of `Trial.folds_for`, and measure the points of `choose_points`.

    Progress counts it as `points` fits. It also returns cost and score of all non-dominated points.
    """
    found, front = trial.recall({"path": points, "budget": budget}, lambda: _fit_path(trial, points, budget, progress))
    progress(points, points, f"{trial.algorithm} along its path: {format_count(len(found), 'point')}")
    return found, front


def _make(trial: Trial) -> Any:
    """Return the estimator of a path, which plans in money where the score is the cost of errors."""
    model = trial.make(0.0)
    return model.set_params(tradeoff=None) if trial.has_bills and Traits.of(model).plans_bills else model


def _fit_path(
    trial: Trial, points: int, budget: float | None, progress: Progress
) -> tuple[list[Fitted], list[tuple[float, float]]]:
    began, name, model = time.perf_counter(), f"{trial.algorithm} along its path", _make(trial)
    trial = _apart_from_valid(trial, model)
    paths = 1 + trial.count_folds(model)

    def fit_path(model: Any, train: Rows, valid: Rows, done: int) -> ModelPath:
        def report(share: float) -> None:
            progress(min(int((done + share) / paths * points), points - 1), points, name)

        report(0.0)
        path: ModelPath = model.fit_path(
            train.X,
            train.y,
            X_val=valid.X,
            y_val=valid.y,
            scoring=with_labels(trial.score, np.unique(train.y) if is_classifier(model) else None),
            progress=report,
            **optional_arguments(train, valid),
        )
        return path

    with trial.guard():
        path = fit_path(model, trial.train, trial.stopping or trial.valid, 0)
        seconds = time.perf_counter() - began
        front, plain = path.frontier(), path.plain()
        full = model.costs_.full_cost(model.predictor_.feature_names)
        chosen = choose_points(front, plain, points, full_cost=full, budget=budget, bills=trial.has_bills)
        predictors = [path.predictor(point) for point in chosen]
        own = [None if trial.stopping is not None else _own_estimate(point) for point in chosen]
        trains = any(own)  # on valid too
        folds, own = _folds_for(trial, model, own)
        paths = 1 + len(folds)

        def over_folds() -> list[Estimate | None]:
            each = []
            for done, fold in enumerate(folds, 1):
                other = _make(trial)
                repeated = fit_path(other, fold.train, fold.valid, done)
                each.append(_estimate_on_fold(trial, fold, other, repeated, path, chosen, own=trains))
            joined = _join(chosen, folds, each, trial.rows_lacked(folds, model), own=trains)
            reads = [bool(each.used_features) for each in predictors]
            return join_bills(own, joined) if trial.has_bills else join_scores(own, joined, reads)

        known, is_repeated = own, bool(folds)
        try:
            known = over_folds() if folds else own
        except UndefinedScoreError:
            if not any(own) or trial.repeats_on_folds:  # folds that were asked for, or nothing else
                raise
            is_repeated = False
        largest = max(point.tradeoff for point in [*front, plain])
        found = []
        for point, predictor, estimate, one in zip(chosen, predictors, known, own, strict=True):
            # A path has no tradeoff at which it buys nothing.
            tradeoff = point.tradeoff if point.n_rounds or same_point(point, plain) else largest
            copy = model.with_predictor(predictor, tradeoff=tradeoff, n_iter_=point.n_rounds)
            cost = None if one is None else (float(point.cost), float(getattr(point, "cost_error", 0.0)))
            fitted = trial.measure(copy, tradeoff, seconds / len(chosen), estimate, cost)
            if one is not None:
                fitted = evolve(fitted, spent=getattr(point, "spent", None), repeated=is_repeated)
            found.append(fitted)
    return found, [(point.cost, point.score) for point in front]


def _folds_for(trial: Trial, model: Any, own: list[Estimate | None]) -> tuple[tuple[Fold, ...], list[Estimate | None]]:
    """Return the folds that estimate a path, and its own estimates, which ignore groups."""
    if not any(own):
        return trial.folds_for(model), own
    folds = trial.folds_of_search(model)
    if trial.train.groups is None:
        return folds, own
    if not folds:
        raise ParameterError(
            f"cv: {trial.algorithm} estimates scores by folds that ignore groups; give a number of folds"
        )
    return folds, [None] * len(own)


def _apart_from_valid(trial: Trial, model: Any) -> Trial:
    """Return a trial whose valid rows estimate only, if groups would be on both sides of a model's own folds."""
    if trial.train.groups is None or trial.folds or trial.stopping is not None:
        return trial
    if not Traits.of(model).trains_on_validation:
        return trial
    parts = trial.train.hold_out(STOPPING, 0, classes=is_classifier(model))
    train, stopping = map(trial.train.take, parts)
    return evolve(trial, train=train, stopping=stopping)


def _own_estimate(point: Any) -> Estimate | None:
    """Return the algorithm's own estimate of a point, if it has one."""
    error = getattr(point, "error", None)
    if error is None:
        return None
    lacked = float(getattr(point, "rows_lacked", 0.0))
    return Estimate(float(point.score), float(error), getattr(point, "influence", None), lacked)


def _estimate_on_fold(
    trial: Trial, fold: Fold, model: Any, path: ModelPath, whole: ModelPath, chosen: Sequence[Any], *, own: bool
) -> list[Estimate | None]:
    """Estimate each chosen point of the whole path on a fold's held-out rows, by a point of the fold's path.

    It is the path's counterpart of the point, or for the plain point the plain one; else a random choice between the
    two models of the frontier with the nearest costs. It is None where the score jumps between these two, as with the
    last of some features that tell little alone: neither stands for the point, which valid estimates, unless it has
    trained on that, as those with estimates of their `own`.
    """

    def estimate(point: Any) -> Estimate:
        predictor = path.predictor(point).of_queries(fold.out.qid)
        return estimate_on_rows(trial.score, fold.out, model, predictor.predict(fold.out.X))

    @functools.cache
    def at(place: int) -> Estimate:
        return estimate(front[place])

    front, plain = path.frontier(), whole.plain()
    costs = np.array([point.cost for point in front])
    counterpart = getattr(path, "counterpart", None)
    found = list[Estimate | None]()
    for point in chosen:
        same = path.plain() if same_point(point, plain) else counterpart and counterpart(point, whole)
        if same is not None:
            found.append(estimate(same))
            continue
        below = max(int(np.searchsorted(costs, point.cost, "right")) - 1, 0)
        above = min(below + 1, len(front) - 1)
        share = (point.cost - costs[below]) / (costs[above] - costs[below]) if above > below else 0.0
        share = float(np.clip(share, 0.0, 1.0))
        jumps = not own and 0 < share < 1 and _jumps(at(below), at(above), at(len(front) - 1).score - at(0).score)
        found.append(None if jumps else mix_estimates(at(below), at(above), share))
    return found


def _jumps(one: Estimate, other: Estimate, gain: float) -> bool:
    """Return whether two scores on the same rows surely differ, and by a large share of the gain of a whole path."""
    assert one.influence is not None  # noqa: S101 - both come from `estimate_on_rows`
    assert other.influence is not None  # noqa: S101
    apart = abs(other.score - one.score)
    return apart > _JUMP * gain and apart > NINE_OF_TEN * difference_error(one.influence, other.influence)


def _join(
    chosen: Sequence[Any],
    folds: Sequence[Fold],
    found: Sequence[Sequence[Estimate | None]],
    lacked: float,
    *,
    own: bool,
) -> list[Estimate | None]:
    """Join the estimates of each point over folds, with one variance of trained models for all points.

    It is the mean variance of models that cost something: the F1 of a constant jumps between folds. Of a search, whose
    models have estimates of their `own`, each point has its own variance, as some sets are found on all folds and
    others on few. A point that no model of some fold stands for has none. Their models `lacked` a share of the rows.
    """
    points = [None if None in point else point for point in zip(*found, strict=True)]
    known = [(place, each) for place, each in enumerate(points) if each is not None]
    paid = [each for place, each in known if chosen[place].cost > 0] or [each for _, each in known]
    varied = [model_variance(each) for each in paid if len({one.score for one in each}) > 1]
    shared = float(np.mean(varied)) if varied else 0.0
    places = [fold.place for fold in folds]
    joined: list[Estimate | None] = [None] * len(points)
    for place, each in known:
        variance = model_variance(each) if own else shared
        varies = len({one.score for one in each}) > 1
        joined[place] = join_folds(each, places, variance if varies else 0.0, rows_lacked=lacked)
    return joined


def choose_points(
    front: Sequence[PathPoint],
    plain: PathPoint,
    count: int,
    *,
    full_cost: float,
    budget: float | None = None,
    bills: bool = False,
) -> list[PathPoint]:
    """Choose at most `count` points: the model trained without prices, and points of a frontier by descending cost.

    It always chooses the best point, the cheapest within 1 % of it, the plain one and the cheapest one, in this order
    if `count` is small. It adds the others one by one: each time the point that most reduces the loss in score against
    the whole frontier, summed over budgets up to `full_cost`, the price of all features. It adds the best point within
    a `budget`, even beyond `count`, and the one with the least of the `bills`, if costs minus scores are bills. `front`
    has the non-dominated points by ascending cost; `plain` comes first in the result.
    """
    cost, score = (np.array([getattr(point, name) for point in front]) for name in ("cost", "score"))
    last = len(front) - 1
    good = int(np.argmax(score >= score[last] - 0.01 * abs(score[last])))
    own = next((place for place, point in enumerate(front) if same_point(point, plain)), -1)
    kept = list(dict.fromkeys([last, good, own, 0]))[:count]
    kept += choose_places(cost, score, kept, count - len(kept), full_cost)
    if budget is not None and cost[0] <= budget:
        kept.append(int(np.searchsorted(cost, budget, "right")) - 1)
    if bills:
        most = np.inf if budget is None else budget
        kept.append(int(np.argmin(np.where(cost <= max(most, cost[0]), cost - score, np.inf))))
    rest = [front[place] for place in sorted(set(kept) - {-1, own}, reverse=True)]
    return [plain, *rest] if own in kept else rest


def choose_places(cost: F8, score: F8, kept: Sequence[int], count: int, full_cost: float) -> list[int]:
    """Return at most `count` further places of non-dominated points by ascending cost; places below 0 are none.

    Each most reduces the loss in score against all points, summed over budgets up to `full_cost`.
    """
    return _choose_greedily(_affordable_gain(cost, score, _budgets(cost, full_cost)), kept, count, float(np.ptp(score)))


def same_point(a: PathPoint, b: PathPoint) -> bool:
    """Return whether two points of one path are the same model; `==` would fail on attributes that are arrays."""
    return a is b or all(getattr(a, name) == getattr(b, name) for name in ("tradeoff", "n_rounds", "cost", "score"))


def _budgets(cost: F8, full_cost: float) -> F8:
    top = max(full_cost, float(cost[-1]))
    return np.geomspace(cost[cost > 0].min(initial=_LEAST_SHARE * top), top, _BUDGETS) if top > 0 else np.zeros(1)


def _affordable_gain(cost: F8, score: F8, budgets: F8) -> F8:
    """Return each point's score above the cheapest one's if the budget allows it, else 0: float64 (points, budgets)."""
    return np.where(cost[:, np.newaxis] <= budgets, (score - score[0])[:, np.newaxis], 0.0)


def _choose_greedily(reached: F8, kept: Sequence[int], count: int, spread: float) -> list[int]:
    """Return at most `count` further places, each with the largest addition to the gain of the kept ones."""
    added: list[int] = []
    now = reached[[place for place in kept if place >= 0]].max(axis=0, initial=0.0)
    while len(added) < count:
        gained = np.maximum(reached - now, 0.0).sum(axis=1)
        best = int(np.argmax(gained))
        if gained[best] <= _NOTHING * spread:
            break
        added.append(best)
        now = np.maximum(now, reached[best])
    return added
