"""First looks: fits of an algorithm with few rows, whose points come long before those of its first whole fit.

Those at a large table are tasks of their own, whose fits the store keeps. That at a smaller one is a few quick fits in
no store, while other processes begin.
"""

from __future__ import annotations

from attrs import evolve
from sklearn.base import is_classifier

from costframe.study.fitted import Fitted
from costframe.study.grid import fit_grid
from costframe.study.points import FIRST_LOOK
from costframe.study.progress import Progress
from costframe.study.promising_sets import PromisingSets
from costframe.study.store import Store
from costframe.study.trial import STOPPING, Trial

MANY_ROWS = 30_000  # of a table whose first looks are tasks
_FEW_ROWS = 10_000  # that a first look trains on
_FITS = 5  # of the first look at a smaller table


def with_few_rows(trial: Trial, promising: PromisingSets) -> Trial:
    """Return the trial of a first look: on few training rows, some of which stop fits early, and without folds."""
    few, classes = trial.train, is_classifier(trial.make(0.0))
    if len(few.y) > _FEW_ROWS:
        few = few.take(few.hold_out(1 - _FEW_ROWS / len(few.y), 0, classes=classes)[0])
    train, stopping = (few.take(places) for places in few.hold_out(STOPPING, 0, classes=classes))
    label = f"{trial.algorithm}-{FIRST_LOOK}"
    return evolve(trial, train=train, stopping=stopping, folds=(), promising=promising, label=label)


def fit_quickly(trial: Trial, progress: Progress) -> list[Fitted]:
    """Return a few named fits of the trial of a first look, which no store keeps."""
    fits = fit_grid(evolve(trial, store=Store()), _FITS, progress)
    return [evolve(fitted, point=evolve(fitted.point, name=f"{trial.label}-{n}")) for n, fitted in enumerate(fits, 1)]
