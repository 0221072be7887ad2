"""Algorithms that train a whole path of models in one fit: their interface, and the points chosen from a path."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from costframe.frontier.choose import choose_points, same_point
from costframe.frontier.estimates import Estimate, estimate_on_rows, join_folds, mix_estimates, model_variance
from costframe.frontier.trial import optional_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.predictors.predictor import Predictor
    from costframe.frontier.folds import Fold
    from costframe.frontier.rows import Rows
    from costframe.frontier.trial import Fitted, Progress, Trial

__all__ = ["FitsPath", "ModelPath", "PathPoint", "fit_along", "has_path"]


class PathPoint(Protocol):
    """A model on a path.

    A point may also have `error`, the standard error of its score. If it is not None, `score` and `cost` are the
    algorithm's own estimates on held-out rows, and sweeps do not measure them on valid, because the models may have
    been trained on valid. It may also have `influence`, float64 (rows of train, then of valid,): the influence of each
    row on that score; see `costframe.training.scoring`.
    """

    @property
    def n_rounds(self) -> int:
        """Rounds; zero for a constant."""

    @property
    def tradeoff(self) -> float:
        """Tradeoff of the last round of training."""

    @property
    def cost(self) -> float:
        """Exact mean cost per row on valid, or the algorithm's estimate."""

    @property
    def score(self) -> float:
        """Score on valid, or the algorithm's estimate; higher is better."""


class ModelPath(Protocol):
    """Many models of one fit."""

    def frontier(self) -> Sequence[Any]:
        """Return the non-dominated points by ascending cost."""

    def plain(self) -> Any:
        """Return the best point of training without prices."""

    def predictor(self, point: Any, /) -> Predictor:
        """Return the model of a point."""


@runtime_checkable
class FitsPath(Protocol):
    """Optional methods of an estimator; `CostAwareEstimator` has `with_predictor`."""

    def fit_path(self, X: Any, y: Any, /, *, X_val: Any, y_val: Any, **optional: Any) -> ModelPath:
        """Train a path of models; `optional` are arguments of `fit`, `scoring` (a name) and `progress` (a callable).

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
    """Fit a path once, and once more for each fold, and measure the points of `choose_points`.

    Progress counts it as `points` fits. It also returns cost and score of all non-dominated points.
    """
    began, name = time.perf_counter(), f"{trial.algorithm} along its path"
    paths, model = 1 + len(trial.folds), trial.make(0.0)

    def fit_path(model: Any, train: Rows, valid: Rows, done: int) -> ModelPath:
        def report(share: float) -> None:
            progress(min(int((done + share) / paths * points), points - 1), points, name)

        report(0.0)
        path: ModelPath = model.fit_path(
            train.X,
            train.y,
            X_val=valid.X,
            y_val=valid.y,
            scoring=trial.score,
            progress=report,
            **optional_arguments(train, valid),
        )
        return path

    with trial.guard():
        path = fit_path(model, trial.train, trial.valid, 0)
        seconds = time.perf_counter() - began
        front, plain = path.frontier(), path.plain()
        full = model.costs_.full_cost(model.predictor_.feature_names)
        chosen = choose_points(front, plain, points, full_cost=full, budget=budget)
        known: Sequence[Estimate | None] = [_own_estimate(point) for point in chosen]
        if trial.folds and None in known:
            folds = []
            for done, fold in enumerate(trial.folds, 1):
                other = trial.make(0.0)
                folds.append(
                    _estimate_on_fold(trial, fold, other, fit_path(other, fold.train, fold.valid, done), chosen, plain)
                )
            known = _join(trial, folds)
        largest = max(point.tradeoff for point in [*front, plain])
        found = []
        for point, estimate in zip(chosen, known, strict=True):
            # A path has no tradeoff at which it buys nothing.
            tradeoff = point.tradeoff if point.n_rounds or same_point(point, plain) else largest
            copy = model.with_predictor(path.predictor(point), tradeoff=tradeoff, n_iter_=point.n_rounds)
            cost = None if _own_estimate(point) is None else float(point.cost)
            found.append(trial.measure(copy, tradeoff, seconds / len(chosen), estimate, cost))
    progress(points, points, f"{name}: {len(found)} points ({seconds:.1f} s)")
    return found, [(point.cost, point.score) for point in front]


def _own_estimate(point: Any) -> Estimate | None:
    """Return the algorithm's own estimate of a point, if it has one."""
    error = getattr(point, "error", None)
    if error is None:
        return None
    lacked = float(getattr(point, "rows_lacked", 0.0))
    return Estimate(float(point.score), float(error), getattr(point, "influence", None), lacked)


def _estimate_on_fold(
    trial: Trial, fold: Fold, model: Any, path: ModelPath, chosen: Sequence[Any], plain: Any
) -> list[Estimate]:
    """Estimate each chosen point on a fold's held-out rows, by models of equal cost on the fold's path.

    The model is a random choice between the two models of the frontier with the nearest costs; for the plain point, the
    fold's plain one.
    """

    @functools.cache
    def estimate(place: int) -> Estimate:
        point = path.plain() if place < 0 else front[place]
        return estimate_on_rows(trial.score, fold.out, model, path.predictor(point).predict(fold.out.X))

    front = path.frontier()
    costs = np.array([point.cost for point in front])
    found = []
    for point in chosen:
        if same_point(point, plain):
            found.append(estimate(-1))
            continue
        below = max(int(np.searchsorted(costs, point.cost, "right")) - 1, 0)
        above = min(below + 1, len(front) - 1)
        share = (point.cost - costs[below]) / (costs[above] - costs[below]) if above > below else 0.0
        found.append(mix_estimates(estimate(below), estimate(above), float(np.clip(share, 0.0, 1.0))))
    return found


def _join(trial: Trial, folds: Sequence[Sequence[Estimate]]) -> list[Estimate]:
    """Join the estimates of each point over folds, with one variance of trained models for all points."""
    points = list(zip(*folds, strict=True))
    varied = [model_variance(each) for each in points if len({one.score for one in each}) > 1]
    variance = float(np.mean(varied)) if varied else 0.0
    places = [fold.place for fold in trial.folds]
    return [join_folds(each, places, variance if len({one.score for one in each}) > 1 else 0.0) for each in points]
