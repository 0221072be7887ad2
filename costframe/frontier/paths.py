"""Algorithms that give a whole path of models in one fit: what they offer, and how a frontier is chosen from it."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from costframe.frontier.choose import choose, same_point
from costframe.frontier.estimates import Estimate, between, model_variance, on_rows, over_folds
from costframe.frontier.trial import optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.predictors.predictor import Predictor
    from costframe.frontier.folds import Fold
    from costframe.frontier.rows import Rows
    from costframe.frontier.trial import Fitted, Progress, Trial

__all__ = ["FitsPath", "ModelPath", "PathPoint", "fit_along", "fits_path"]


class PathPoint(Protocol):
    """A model on a path.

    A point may also have `error`, the standard error of its score. Where that is not None, `score` and `cost` are the
    algorithm's own estimates for rows that its models did not see, and believed: they are not measured again on valid,
    on which such models may well have been trained. It may have `influence` too, float64 (rows of train and then of
    valid,): how far each row moves that score, as `costframe.training.influence` says.
    """

    @property
    def n_rounds(self) -> int:
        """Rounds; none for a constant."""

    @property
    def tradeoff(self) -> float:
        """At which it was trained, at last."""

    @property
    def cost(self) -> float:
        """Exact mean cost per row, of valid or as estimated."""

    @property
    def score(self) -> float:
        """On valid or as estimated; more is better."""


class ModelPath(Protocol):
    """Many models of one fit."""

    def frontier(self) -> Sequence[Any]:
        """Return the points such that no other has a higher score at no more cost, by ascending cost."""

    def plain(self) -> Any:
        """Return the best point that knows no prices."""

    def predictor(self, point: Any, /) -> Predictor:
        """Return the model of a point."""


@runtime_checkable
class FitsPath(Protocol):
    """What an estimator may offer beside `fit`; `CostAwareEstimator` has `with_predictor`."""

    def fit_path(self, X: Any, y: Any, /, *, X_val: Any, y_val: Any, **optional: Any) -> ModelPath:
        """Train a path of models; `optional` as for `fit`, and `scoring` (a score's name) and `progress` (a callable).

        `progress` is called with the share that is done, from 0 to 1.
        """

    def with_predictor(self, predictor: Any, /, *, tradeoff: float, **fitted: Any) -> Any:
        """Return the fitted estimator of another predictor."""


def fits_path(trial: Trial) -> bool:
    """Tell whether a trial's estimator gives a path; one whose `fit_path` is None does not."""
    with trial.guard():
        model = trial.make(0.0)
        return isinstance(model, FitsPath) and callable(model.fit_path)


def fit_along(
    trial: Trial, points: int, budget: float | None, progress: Progress
) -> tuple[list[Fitted], list[tuple[float, float]]]:
    """Fit a path once, and once more for each fold, and measure the points chosen from it; see `choose`.

    Progress counts all of it as `points` fits. Also returned are cost and score of all points that are not dominated.
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
            **optional(train, valid),
        )
        return path

    with trial.guard():
        path = fit_path(model, trial.train, trial.valid, 0)
        seconds = time.perf_counter() - began
        front, plain = path.frontier(), path.plain()
        full = model.costs_.full_cost(model.predictor_.feature_names)
        chosen = choose(front, plain, points, full_cost=full, budget=budget)
        known: Sequence[Estimate | None] = [_own(point) for point in chosen]
        if trial.folds and None in known:
            folds = []
            for done, fold in enumerate(trial.folds, 1):
                other = trial.make(0.0)
                folds.append(_alike(trial, fold, other, fit_path(other, fold.train, fold.valid, done), chosen, plain))
            known = _joined(trial, folds)
        largest = max(point.tradeoff for point in [*front, plain])
        found = []
        for point, estimate in zip(chosen, known, strict=True):
            # No round says at which tradeoff nothing is bought.
            tradeoff = point.tradeoff if point.n_rounds or same_point(point, plain) else largest
            copy = model.with_predictor(path.predictor(point), tradeoff=tradeoff, n_iter_=point.n_rounds)
            cost = None if _own(point) is None else float(point.cost)
            found.append(trial.measure(copy, tradeoff, seconds / len(chosen), estimate, cost))
    progress(points, points, f"{name}: {len(found)} points ({seconds:.1f} s)")
    return found, [(point.cost, point.score) for point in front]


def _own(point: Any) -> Estimate | None:
    """Return the algorithm's own estimate of a point, if it has one."""
    error = getattr(point, "error", None)
    if error is None:
        return None
    lacked = float(getattr(point, "rows_lacked", 0.0))
    return Estimate(float(point.score), float(error), getattr(point, "influence", None), lacked)


def _alike(trial: Trial, fold: Fold, model: Any, path: ModelPath, chosen: Sequence[Any], plain: Any) -> list[Estimate]:
    """Estimate, on the rows left out, what costs as much on a path of other rows as each point that was chosen.

    That is a draw between the two models of its frontier whose costs are next; for the plain model, its plain one.
    """

    @functools.cache
    def estimate(place: int) -> Estimate:
        point = path.plain() if place < 0 else front[place]
        return on_rows(trial.score, fold.out, model, path.predictor(point).predict(fold.out.X))

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
        found.append(between(estimate(below), estimate(above), float(np.clip(share, 0.0, 1.0))))
    return found


def _joined(trial: Trial, folds: Sequence[Sequence[Estimate]]) -> list[Estimate]:
    """Join the estimates of each point over folds; how much trained models vary is taken to be alike for all."""
    points = list(zip(*folds, strict=True))
    varied = [model_variance(each) for each in points if len({one.score for one in each}) > 1]
    variance = float(np.mean(varied)) if varied else 0.0
    places = [fold.place for fold in trial.folds]
    return [over_folds(each, places, variance if len({one.score for one in each}) > 1 else 0.0) for each in points]
