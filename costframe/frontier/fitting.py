"""Fits of a frontier's candidates on given rows, one after another or as tasks of joblib."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field, frozen
from sklearn.utils.parallel import Parallel, delayed

from costframe.core.errors import CostframeError
from costframe.core.threads import thread_count
from costframe.frontier.budgets import Budget
from costframe.frontier.checks import check_share, joint_error, keep_successes
from costframe.frontier.promises import Promises
from costframe.frontier.rows import Rows, folds_by, folds_of
from costframe.frontier.tradeoffs import fit_all
from costframe.frontier.trial import Trial, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from costframe.frontier.candidates import Candidate, Prices
    from costframe.frontier.rows import Fold
    from costframe.frontier.trial import Fitted, Progress
    from costframe.training.library_scores import LibraryScore

__all__ = ["Division", "Plan", "collect", "divide_rows", "fit_candidates"]

_UNITS = 24  # of progress, for each of several candidates


@frozen(eq=False)
class Division:
    """Rows to train on, to stop and choose by, and to test on, and folds of the first two."""

    train: Rows
    valid: Rows
    test: Rows | None
    folds: tuple[Fold, ...]
    folds_repeat: bool  # whether folds repeat single fits of estimators with a tradeoff too


@frozen(eq=False)
class Plan:
    """The fits of each candidate: the arguments of `fit_all`, and the name of the score."""

    score: str | LibraryScore
    tradeoffs: Sequence[float] | None
    points: int | None
    budget: Budget


def divide_rows(
    rows: Rows, valid: Rows | None, test: Rows | None, *, cv: Any, share: float, seed: Any, classes: bool
) -> Division:
    """Hold out rows for validation if there are none, and make folds: of a number, or by a splitter."""
    order = np.arange(len(rows.y) + (0 if valid is None else len(valid.y)))
    if valid is None:
        check_share("validation_fraction", share)
        parts = rows.hold_out(share, seed, classes=classes)
        order, (rows, valid) = np.concatenate(parts), map(rows.take, parts)
    splits = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if splits and not isinstance(cv, str):
        folds = folds_by(rows, valid, cv, order)
    else:
        folds = folds_of(rows, valid, cv, classes=classes, name="cv")
    return Division(rows, valid, test, folds, cv is not None)


def fit_candidates(
    candidates: Sequence[Candidate],
    rows: Division,
    prices: Prices,
    plan: Plan,
    progress: Progress | None,
    n_jobs: int | None,
) -> Iterator[tuple[str, list[Fitted] | CostframeError]]:
    """Fit candidates as tasks of joblib; yield the label of each with its models, or its error, in any order."""
    if n_jobs is not None:
        thread_count(n_jobs)  # refuses wrong numbers
    shares = _Shares(progress or silent, {each.label: 0.0 for each in candidates})
    make_trial = functools.partial(_make_trial, rows, prices, plan.score, Promises())
    tasks = (delayed(_fit)(make_trial(each), plan, shares.of(each.label)) for each in candidates)
    # Arrays that joblib maps into memory are read-only, for which kernels would be compiled once more.
    for label, found in Parallel(n_jobs=n_jobs, return_as="generator_unordered", max_nbytes=None)(tasks):
        shares.finish(label)
        yield label, found


def _make_trial(
    rows: Division, prices: Prices, score: str | LibraryScore, promises: Promises, each: Candidate
) -> Trial:
    return Trial(
        each.label,
        functools.partial(each.make, prices),
        rows.train,
        rows.valid,
        rows.test,
        score,
        folds=() if each.is_fitted else rows.folds,
        fits_repeat=rows.folds_repeat or not each.has_tradeoff,
        promises=promises,
        has_tradeoff=each.has_tradeoff,
    )


def _fit(trial: Trial, plan: Plan, progress: Progress) -> tuple[str, list[Fitted] | CostframeError]:
    try:
        if trial.has_tradeoff:
            return trial.algorithm, fit_all(trial, plan.tradeoffs, plan.points, plan.budget, progress)
        found = fit_all(trial, [0.0], None, Budget(), progress)
    except CostframeError as error:
        return trial.algorithm, error
    return trial.algorithm, [evolve(fitted, model=fitted.model.fitted) for fitted in found]


def collect(
    found: Iterable[tuple[str, list[Fitted] | CostframeError]],
    labels: Iterable[str],
    failed: Callable[[str, CostframeError], None] | None,
) -> list[Fitted]:
    """Return all models in the order of labels; call `failed` for each error, or raise the first one without it."""
    errors: dict[str, CostframeError] = {}
    models = dict(keep_successes(found, failed, errors))
    if errors and not models:
        raise joint_error(errors)
    return [fitted for label in labels for fitted in models.get(label, ())]


@define(eq=False)
class _Shares:
    """The progress of several candidates in one, each an equal share."""

    progress: Progress
    done: dict[str, float]
    lock: threading.Lock = field(factory=threading.Lock, init=False)

    def of(self, label: str) -> Progress:
        """Return the progress of a candidate."""
        return _Share(self, label)

    def report(self, label: str, done: int, total: int, text: str) -> None:
        """Report the progress of one candidate."""
        with self.lock:  # threads report in turn, so that the total does not fall
            self.done[label] = done / max(total, 1)
            if len(self.done) > 1:
                done, total = int(_UNITS * sum(self.done.values())), _UNITS * len(self.done)
            self.progress(done, total, text)

    def finish(self, label: str) -> None:
        """Report the end of a candidate that another process fitted in silence."""
        if self.done[label] < 1:
            self.report(label, 1, 1, label)


@frozen(eq=False)
class _Share:
    """The progress of one candidate; other processes, which get a copy, ignore it."""

    shares: _Shares
    label: str

    def __call__(self, done: int, total: int, text: str) -> None:
        self.shares.report(self.label, done, total, text)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _get_silent, ()


def _get_silent() -> Progress:
    return silent
