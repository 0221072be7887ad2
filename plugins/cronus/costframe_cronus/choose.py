"""Settings chosen on the initialization alone (section 3.4), on some of the rows and learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.single_stage import fit_ridge
from costframe.training.progress import track
from costframe_cronus.cascade import initialize

if TYPE_CHECKING:
    from collections.abc import Collection

    from costframe_cronus.cascade import CascadeSettings
    from costframe_cronus.judge import Judge

__all__ = ["CHOICES", "MOST_LEARNERS", "MOST_ROWS", "PAPER_CHOICES", "choose"]

CHOICES = {"rejected": (0.15, 0.3, 0.5), "ridge": (0.01, 0.1, 1.0)}  # the first is what the others are tried with
PAPER_CHOICES = {"l1": (0.0, 1e-4, 1e-3), "l1_last": (0.0, 1e-4, 1e-3)}  # rho of all stages but the last, of the last
MOST_ROWS = 20_000
MOST_LEARNERS = 1_000

_STEEPNESS = 50.0


def choose(settings: CascadeSettings, free: Collection[str], train: Judge, judge: Judge) -> CascadeSettings:
    """Set what is free, one thing after another, to what gives the best start, its thresholds placed, on other rows.

    The steepness is 50 for scores that deviate by one, as labels do: it is divided by the deviation of the scores of a
    single stage that knows no prices. The paper's rho is chosen with the paper's scale only: elsewhere prices do its
    work.
    """
    if "steepness" in free:
        settings = evolve(settings, steepness=_STEEPNESS / _spread(train, settings.ridge))
    train, judge = (evolve(one, steepness=settings.steepness) for one in (train, judge))
    choices = CHOICES | PAPER_CHOICES if settings.paper_scale else CHOICES
    tried = [(name, value) for name, values in choices.items() if name in free for value in values]
    first: dict[str, Any] = {name: values[0] for name, values in choices.items() if name in free}
    settings = evolve(settings, **first)
    best, least = settings, np.inf
    for name, value in track(tried, "Cronus: settings", verbose=settings.verbose):
        change: dict[str, Any] = {name: value}
        trial = evolve(best, **change)
        if trial == best and np.isfinite(least):
            continue
        start = initialize(train.rows, train.pricing.at, evolve(trial, relaxed=trial.paper_scale, verbose=0)).chain
        total = judge.across(start, place=True)
        if total < least:
            best, least = trial, total
    return best


def _spread(train: Judge, ridge: float) -> float:
    """Return the deviation of the scores of a single stage, in (0, 1]."""
    rows = train.rows
    normal = NormalEquations.of(rows.outputs, rows.target[:, np.newaxis], rows.in_mean)
    weights = fit_ridge(normal, normal.varies, ridge * normal.unit)
    variance = float((weights * (normal.gram @ weights)).sum())
    return float(np.sqrt(variance)) if 0 < variance <= 1 else 1.0
