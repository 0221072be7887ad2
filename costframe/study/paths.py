"""Fits of algorithms that train a whole path of models at once."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from attrs import evolve
from sklearn.base import is_classifier

from costframe.core.errors import ParameterError, format_count
from costframe.study.estimates import Estimate, UndefinedScoreError
from costframe.study.fitted import Fitted
from costframe.study.folds import Fold
from costframe.study.path_folds import estimate_on_fold, join_over_folds
from costframe.study.path_points import choose_points, same_point
from costframe.study.path_protocol import FitsPath, ModelPath
from costframe.study.progress import Progress
from costframe.study.repeated_search import join_bills, join_scores
from costframe.study.rows import StudyRows, optional_arguments
from costframe.study.trial import STOPPING, Trial
from costframe.training.data import Traits
from costframe.training.scoring import with_labels


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

    def fit_path(model: Any, train: StudyRows, valid: StudyRows, done: int) -> ModelPath:
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
                each.append(estimate_on_fold(trial, fold, other, repeated, path, chosen, own=trains))
            joined = join_over_folds(chosen, folds, each, trial.rows_lacked(folds, model), own=trains)
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
