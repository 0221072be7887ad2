"""All fits of a trial: at given tradeoffs, along its path or at a grid, then near a budget and within sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve

from costframe.study.bisection import REFINEMENTS, bisect_tradeoffs
from costframe.study.fits_within_sets import fit_promising
from costframe.study.fitted import Fits, Fitted
from costframe.study.grid import fit_grid
from costframe.study.mixtures import mix_to_budget
from costframe.study.paths import fit_along, has_path
from costframe.study.progress import Progress, continue_progress
from costframe.study.settings import StudyPlan
from costframe.study.trial import Trial, fit_at
from costframe.training.shell import CostAwareEstimator

POINTS_OF_FITS, POINTS_OF_PATHS = 12, 24  # of an algorithm; points of a path need no fit


def fit_all(trial: Trial, plan: StudyPlan, progress: Progress) -> list[Fitted]:
    """Fit at given tradeoffs, along a path, or at 0 and a grid; then fit close to a budget, and within sets."""
    first = _fit_first(trial, plan, progress)
    fits, front = first.fits, first.front
    done, repeat = plan.points or POINTS_OF_PATHS if front else len(fits), bool(front) or trial.fits_repeat
    if plan.tradeoffs is None and trial.objective.is_in_money:
        fits += fit_for_bill(evolve(trial, fits_repeat=repeat), continue_progress(progress, done))
    if plan.tradeoffs is None or plan.budget is not None:
        fits += fit_promising(trial, Fits(fits, front), plan.budget, continue_progress(progress, done), repeat=repeat)
    fits += mix_to_budget(trial, fits, plan.budget)
    return fits if front or plan.tradeoffs is not None else sorted(fits, key=lambda fitted: fitted.point.tradeoff)


def fit_for_bill(trial: Trial, progress: Progress) -> list[Fitted]:
    """Fit at the tradeoff that follows from the prices of errors, or in money, unless a path has done so."""
    with trial.guard():
        model, rows = trial.make(0.0), trial.train
        plans = isinstance(model, CostAwareEstimator) and model.traits.plans_bills
        if not isinstance(model, CostAwareEstimator) or (plans and has_path(trial)):
            return []
        data = model.set_params(tradeoff=None).training_data(rows.X, rows.y, rows.weight)
    if plans:
        trial = evolve(trial, make=partial(_make_in_money, trial.make))
    return [fit_at(trial, data.tradeoff, progress, 0, 1)]


def _make_in_money(make: Callable[[float], Any], tradeoff: float) -> Any:
    return make(tradeoff).set_params(tradeoff=None)


def _fit_first(trial: Trial, plan: StudyPlan, progress: Progress) -> Fits:
    """Fit at given tradeoffs, along a path, or at 0 and a grid; then fit close to a budget."""
    tradeoffs = plan.tradeoffs
    if tradeoffs is None and has_path(trial):
        return fit_along(trial, plan.points or POINTS_OF_PATHS, plan.budget, progress)
    if tradeoffs is None:
        fits = fit_grid(trial, plan.points or POINTS_OF_FITS, progress)
    else:
        fits = [fit_at(trial, tradeoff, progress, done, len(tradeoffs)) for done, tradeoff in enumerate(tradeoffs)]
    if plan.budget is not None:
        fits += bisect_tradeoffs(trial, fits, plan.budget, continue_progress(progress, len(fits), least=REFINEMENTS))
    return Fits(fits)
