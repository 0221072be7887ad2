"""One fit of one algorithm, measured in score and exact cost."""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from attrs import field, frozen

from costframe.core.errors import DataError
from costframe.core.expected import ExpectedCost
from costframe.core.planned import PlannedPredictor
from costframe.core.scoring import score_named
from costframe.core.stage_tree import StageTree
from costframe.core.tables import as_rows
from costframe.frontier.points import Point

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from costframe.core.expected import CostReport


__all__ = ["Fitted", "Progress", "Rows", "Trial", "fit_at", "silent"]

ROWS_REPLAYED = 50  # rounds need rows to be stepped through one by one, which is slow; a few rows tell the mean


class Progress(Protocol):
    """Is told before and after each fit, and now and then along a path, which counts as so many fits as `points`."""

    def __call__(self, done: int, total: int, text: str, /) -> None:
        """Take the number of finished fits, of all fits as far as known, and what is or was fitted."""


def silent(_done: int, _total: int, _text: str) -> None:
    """Tell nobody."""


@frozen(eq=False)
class Rows:
    """Rows that a trial fits or measures: X (n, d), y (n,), and weights and queries or None."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None

    def codes(self, model: Any) -> NDArray[Any]:
        """Return what scores compare predictions with."""
        classes = getattr(model, "classes_", None)
        return np.asarray(self.y, np.float64) if classes is None else np.searchsorted(classes, np.asarray(self.y))


@frozen
class Fitted:
    """A point and its fitted estimator."""

    point: Point
    model: Any = field(eq=False)


@frozen(eq=False)
class Trial:
    """One algorithm on one table: fits it at a tradeoff and measures it.

    Attributes
    ----------
    algorithm : str
    make : callable
        Gives an unfitted estimator at a tradeoff.
    train, valid : Rows
    test : Rows or None
    score : str
    guard : callable
        Gives the context in which the algorithm's own code runs.
    """

    algorithm: str
    make: Callable[[float], Any]
    train: Rows
    valid: Rows
    test: Rows | None
    score: str
    guard: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext

    def fit(self, tradeoff: float) -> Fitted:
        """Fit on train, with early stopping on valid, and measure."""
        with self.guard():
            return self._fit(tradeoff)

    def _fit(self, tradeoff: float) -> Fitted:
        began = time.perf_counter()
        model = self.make(tradeoff)
        model.fit(self.train.X, self.train.y, X_val=self.valid.X, y_val=self.valid.y, **self.optional)
        return Fitted(self.measure(model, tradeoff, time.perf_counter() - began), model)

    @property
    def optional(self) -> dict[str, Any]:
        """Weights and queries that there are, as `fit` takes them."""
        given = {
            "sample_weight": self.train.weight,
            "sample_weight_val": self.valid.weight,
            "qid": self.train.qid,
            "qid_val": self.valid.qid,
        }
        return {name: value for name, value in given.items() if value is not None}

    def measure(self, model: Any, tradeoff: float, seconds: float) -> Point:
        """Measure score and exact cost of a fitted model."""
        valid_score, valid = self._score_and_cost(model, self.valid)
        test_score, test = (None, None) if self.test is None else self._score_and_cost(model, self.test)
        last, report = (self.valid, valid) if test is None or self.test is None else (self.test, test)
        n_features, n_learners = _size(model.predictor_, report)
        return Point(
            algorithm=self.algorithm,
            tradeoff=float(tradeoff),
            valid_score=valid_score,
            valid_cost=valid.mean,
            test_score=test_score,
            test_cost=None if test is None else test.mean,
            fixed=report.fixed,
            n_features=n_features,
            n_learners=n_learners,
            rounds=_mean_rounds(model, last.X),
            seconds=seconds,
        )

    def _score_and_cost(self, model: Any, rows: Rows) -> tuple[float, CostReport]:
        prediction = model.predictor_.predict(rows.X)
        score = score_named(self.score)(rows.codes(model), prediction, rows.weight, rows.qid)
        if math.isnan(score):
            raise DataError(
                f"score: there is no {self.score} on {len(rows.y)} rows that lack a class or vary in nothing"
            )
        return score, ExpectedCost(model.costs_).evaluate(model.predictor_, rows.X, sample_weight=rows.weight)


def fit_at(trial: Trial, tradeoff: float, told: Progress, done: int, total: int) -> Fitted:
    """Fit a trial at a tradeoff, and tell so before and after."""
    told(done, total, f"{trial.algorithm} at tradeoff {tradeoff:.3g}")
    fitted = trial.fit(tradeoff)
    point = fitted.point
    told(
        done + 1,
        total,
        f"{trial.algorithm} at tradeoff {tradeoff:.3g}: {trial.score} {point.valid_score:.4f}, cost "
        f"{point.valid_cost:.4g} on valid ({point.seconds:.1f} s)",
    )
    return fitted


def _size(predictor: Any, report: CostReport) -> tuple[int, int]:
    """Count the features that a predictor reads and its learners; one that is only stepped shows what it acquires."""
    if isinstance(predictor, StageTree):
        return len(predictor.layout.used), len(np.unique(predictor.layout.learner))
    if isinstance(predictor, PlannedPredictor):
        return len(set().union(*(stop.features.tolist() for stop in predictor.stops))), len(predictor.bank)
    return int(np.asarray(report.acquired).any(axis=0).sum()), 1


def _mean_rounds(model: Any, X: Any) -> float:
    rows = as_rows(X, model.predictor_.feature_names, model.predictor_.categories)
    some = rows[:: max(1, len(rows) // ROWS_REPLAYED)]
    report = ExpectedCost(model.costs_).evaluate(model.predictor_, some, rounds=True)
    return float(np.mean(report.rounds)) if report.rounds is not None and len(report.rounds) else 0.0
