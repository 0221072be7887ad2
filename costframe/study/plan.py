"""All fits of a trial: at given tradeoffs, along its path or at a grid, then near a budget and within sets."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from costframe.core.checks import check_number
from costframe.study.bisection import REFINEMENTS, refine
from costframe.study.fits_within_sets import fit_promising
from costframe.study.fitted import Fitted
from costframe.study.grid import fit_grid
from costframe.study.mixtures import mix_to_budget
from costframe.study.paths import fit_along, has_path
from costframe.study.progress import Progress, continue_progress
from costframe.study.trial import Trial, fit_at
from costframe.training.shell import CostAwareEstimator

POINTS_OF_FITS, POINTS_OF_PATHS = 12, 24  # of an algorithm; points of a path need no fit


def fit_all(
    trial: Trial, tradeoffs: Sequence[float] | None, points: int | None, budget: float | None, progress: Progress
) -> list[Fitted]:
    """Fit at given tradeoffs, along a path, or at 0 and a grid; then fit close to a budget, and within sets."""
    if points is not None:
        check_number("points", points, low=1, whole=True)
    found, front = _fit_own(trial, tradeoffs, points, budget, progress)
    done, repeat = points or POINTS_OF_PATHS if front else len(found), bool(front) or trial.fits_repeat
    if tradeoffs is None and trial.has_bills:
        found += fit_for_bill(evolve(trial, fits_repeat=repeat), continue_progress(progress, done))
    if tradeoffs is None or budget is not None:
        found += fit_promising(trial, found, front, budget, continue_progress(progress, done), repeat=repeat)
    found += mix_to_budget(trial, found, budget)
    return found if front or tradeoffs is not None else sorted(found, key=lambda fitted: fitted.point.tradeoff)


def fit_for_bill(trial: Trial, progress: Progress) -> list[Fitted]:
    """Fit at the tradeoff that follows from the prices of errors, if the algorithm does not plan in money itself."""
    with trial.guard():
        model, rows = trial.make(0.0), trial.train
        if not isinstance(model, CostAwareEstimator) or model.traits.plans_bills:
            return []
        data = model.set_params(tradeoff=None).training_data(rows.X, rows.y, rows.weight)
    return [fit_at(trial, data.tradeoff, progress, 0, 1)]


def _fit_own(
    trial: Trial, tradeoffs: Sequence[float] | None, points: int | None, budget: float | None, progress: Progress
) -> tuple[list[Fitted], list[tuple[float, float]]]:
    """Return fits of a trial, and cost and score of all models of its path."""
    if tradeoffs is None and has_path(trial):
        return fit_along(trial, points or POINTS_OF_PATHS, budget, progress)
    if tradeoffs is None:
        found = fit_grid(trial, points or POINTS_OF_FITS, progress)
    else:
        found = [fit_at(trial, tradeoff, progress, done, len(tradeoffs)) for done, tradeoff in enumerate(tradeoffs)]
    if budget is not None:
        found += refine(trial, found, budget, continue_progress(progress, len(found), least=REFINEMENTS))
    return found, []
