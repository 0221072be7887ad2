"""Fits of algorithms that train a whole path of models at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from sklearn.base import is_classifier

from costframe.core.errors import ParameterError, format_count
from costframe.study.estimates import CostEstimate, Estimate, UndefinedScoreError
from costframe.study.fitted import Fits
from costframe.study.folds import Fold
from costframe.study.path_folds import estimate_on_fold, join_over_folds
from costframe.study.path_points import choose_points, same_point
from costframe.study.path_protocol import FitsPath, ModelPath
from costframe.study.progress import Progress
from costframe.study.rows import StudyRows, optional_arguments
from costframe.study.trial import STOPPING, Trial
from costframe.training.data import Traits
from costframe.training.path_point import PathPoint
from costframe.training.scoring import with_labels


def has_path(trial: Trial) -> bool:
    """Return whether a trial's estimator has a `fit_path` that is not None."""
    with trial.guard():
        model = trial.make(0.0)
        return isinstance(model, FitsPath) and callable(model.fit_path)


def fit_along(trial: Trial, points: int, budget: float | None, progress: Progress) -> Fits:
    """Fit a path once, and once more for each of `Trial.folds_for`, and measure the points of `choose_points`.

    Progress counts it as `points` fits.
    """
    fits = trial.recall({"path": points, "budget": budget}, lambda: _fit_path(trial, points, budget, progress))
    progress(points, points, f"{trial.algorithm} along its path: {format_count(len(fits.fits), 'point')}")
    return fits


def _make(trial: Trial) -> Any:
    """Return the estimator of a path, which plans in money where the score is the cost of errors."""
    return trial.objective.prepare(trial.make(0.0))


def _fit_path(trial: Trial, points: int, budget: float | None, progress: Progress) -> Fits:
    began, model = time.perf_counter(), _make(trial)
    trial = _apart_from_valid(trial, model)
    fitting = _PathFitting(trial, points, progress, 1 + trial.count_folds(model))
    with trial.guard():
        path = fitting.fit(model, trial.train, trial.stopping or trial.valid, 0)
        seconds = time.perf_counter() - began
        front, plain = path.frontier(), path.plain()
        full = model.costs_.full_cost(model.predictor_.feature_names)
        chosen = choose_points(front, plain, points, full_cost=full, budget=budget, objective=trial.objective)
        predictors = [path.predictor(point) for point in chosen]
        estimates = _estimate_points(
            fitting, model, path, chosen, [bool(predictor.used_features) for predictor in predictors]
        )
        largest = max(point.tradeoff for point in [*front, plain])
        fits = []
        for point, predictor, stated, estimate in zip(chosen, predictors, estimates.stated, estimates.own, strict=True):
            # A path has no tradeoff at which it buys nothing.
            tradeoff = point.tradeoff if point.n_rounds or same_point(point, plain) else largest
            copy = model.with_predictor(predictor, tradeoff=tradeoff, n_iter_=point.n_rounds)
            cost = None if estimate is None else CostEstimate(float(point.cost), float(point.cost_error), point.spent)
            fitted = trial.measure(copy, tradeoff, seconds / len(chosen), stated, cost)
            if estimate is not None:
                fitted = evolve(fitted, repeated=estimates.repeat_search)
            fits.append(fitted)
    return Fits(fits, [(point.cost, point.score) for point in front])


@frozen(eq=False)
class _PathFitting:
    """Fits of a trial's path, on all rows and on folds, whose progress counts as that of some points together."""

    trial: Trial
    points: int
    progress: Progress
    n_paths: int

    def fit(self, model: Any, train: StudyRows, valid: StudyRows, done: int) -> ModelPath:
        """Return the path of an estimator, after that of `done` others."""

        def report(share: float) -> None:
            finished = min(int((done + share) / self.n_paths * self.points), self.points - 1)
            self.progress(finished, self.points, f"{self.trial.algorithm} along its path")

        report(0.0)
        path: ModelPath = model.fit_path(
            train.X,
            train.y,
            X_val=valid.X,
            y_val=valid.y,
            scoring=with_labels(self.trial.score, np.unique(train.y) if is_classifier(model) else None),
            progress=report,
            **optional_arguments(train, valid),
        )
        return path


@frozen(eq=False)
class _PointEstimates:
    """Estimates of chosen points: the algorithm's own, those to state, and whether these are of a repeated search."""

    own: list[Estimate | None]
    stated: list[Estimate | None]
    repeat_search: bool = False


def _estimate_points(
    fitting: _PathFitting, model: Any, path: ModelPath, chosen: Sequence[PathPoint], reads: Sequence[bool]
) -> _PointEstimates:
    """Estimate points by the algorithm itself, or by its path on folds; `reads` tells which read features."""
    trial = fitting.trial
    by_valid = [None if trial.stopping is not None else _own_estimate(point) for point in chosen]
    has_own = any(by_valid)  # it trains on valid too
    folds, by_valid = _folds_for(trial, model, by_valid)
    if not folds:
        return _PointEstimates(by_valid, by_valid)
    fitting, on_folds = evolve(fitting, n_paths=1 + len(folds)), []
    try:
        for done, fold in enumerate(folds, 1):
            other = _make(trial)
            repeated = fitting.fit(other, fold.train, fold.valid, done)
            on_folds.append(estimate_on_fold(trial, fold, other, repeated, path, chosen, has_own=has_own))
        joined = join_over_folds(chosen, folds, on_folds, trial.rows_lacked(folds, model), has_own=has_own)
    except UndefinedScoreError:
        if not any(by_valid) or trial.repeats_on_folds:  # folds that were asked for, or nothing else
            raise
        return _PointEstimates(by_valid, by_valid)
    return _PointEstimates(by_valid, trial.objective.join_repeated(by_valid, joined, reads), repeat_search=True)


def _folds_for(
    trial: Trial, model: Any, by_valid: list[Estimate | None]
) -> tuple[tuple[Fold, ...], list[Estimate | None]]:
    """Return the folds that estimate a path, and its own estimates, which ignore groups, and who was tested."""
    if not any(by_valid):
        return trial.folds_for(model), by_valid
    folds = trial.folds_of_search(model)
    if not trial.train.mislead_own_folds:
        return folds, by_valid
    if not folds:
        raise ParameterError(
            f"cv: {trial.algorithm} estimates scores by folds that ignore groups and tests not made; give a number of "
            "folds"
        )
    return folds, [None] * len(by_valid)


def _apart_from_valid(trial: Trial, model: Any) -> Trial:
    """Return a trial whose valid rows estimate only, if those of a model's own folds would mislead."""
    if not trial.train.mislead_own_folds or trial.folds or trial.stopping is not None:
        return trial
    if not Traits.of(model).trains_on_validation:
        return trial
    parts = trial.train.hold_out(STOPPING, 0, classes=is_classifier(model))
    train, stopping = map(trial.train.take, parts)
    return evolve(trial, train=train, stopping=stopping)


def _own_estimate(point: PathPoint) -> Estimate | None:
    """Return the algorithm's own estimate of a point, if it has one."""
    if point.error is None:
        return None
    return Estimate(float(point.score), float(point.error), point.influence, float(point.rows_lacked))
