"""Held-out rows, on which fitted models are measured: score, cost, rounds and size."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.cost.expected import CostReport, ExpectedCost
from costframe.core.predictors.guarded import GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.rows import as_rows
from costframe.study.estimates import CostEstimate, Estimate, surely_differ
from costframe.study.fitted import Fitted
from costframe.study.measured import Measured, charge_rows, measure_model, measure_once
from costframe.study.mistakes import mistakes_in_words
from costframe.study.points import Point
from costframe.study.rows import StudyRows
from costframe.training.library_scores import LibraryScore

_ROWS_REPLAYED = 50  # rounds step through rows one by one, which is slow


@frozen(eq=False)
class HeldOut:
    """Rows to choose by, and perhaps to test on, with the score of models on them."""

    valid: StudyRows
    test: StudyRows | None
    score: str | LibraryScore

    def measure(
        self,
        algorithm: str,
        model: Any,
        tradeoff: float,
        seconds: float,
        score: Estimate | None = None,
        cost: CostEstimate | None = None,
        *,
        learned_from_valid: bool = False,
    ) -> Fitted:
        """Measure score and cost of a fitted model, on valid unless they are known.

        Of records, models of folds may differ much from the one that they stand for: one learned the marks of empty
        cells, another of the same cost not. So valid has the last word where its score surely differs, unless the model
        `learned_from_valid`.
        """
        on_test = measured = None
        if score is None or cost is None:
            measured = measure_model(self.score, model, self.valid)
            is_apart = score is not None and self.valid.lacks_tests and surely_differ(score, measured.score)
            score = measured.score if score is None or (is_apart and not learned_from_valid) else score
            cost = measured.cost if cost is None else cost
        if self.test is not None:
            on_test = measured = measure_model(self.score, model, self.test)
        # a search without test rows has score and cost from folds
        report = charge_rows(model, next(self.valid.completed())) if measured is None else measured.report
        seen = self._in_records(model)
        n_features, n_learners = _size(model.predictor_, report)
        point = Point(
            algorithm=algorithm,
            tradeoff=float(tradeoff),
            score=score.score,
            score_error=score.error,
            cost=cost.mean,
            cost_error=cost.error,
            test_score=None if on_test is None else on_test.score.score,
            test_error=None if on_test is None else on_test.score.error,
            test_cost=None if on_test is None else on_test.cost.mean,
            fixed=report.fixed,
            n_features=n_features,
            n_learners=n_learners,
            rounds=_mean_rounds(model, (self.test or self.valid).X),
            seconds=seconds,
            rows_lacked=score.rows_lacked,
            mistakes=mistakes_in_words(score.mistakes, getattr(model, "classes_", None)),
            shared_error=score.shared,
            recorded_score=None if seen is None else seen.score.score,
            recorded_cost=None if seen is None else seen.cost.mean,
        )
        return Fitted(point, model, score.influence, cost.influence)

    def _in_records(self, model: Any) -> Measured | None:
        """Return what the records alone would say, of test rows if there are some; None if they lack no tests."""
        rows = self.valid if self.test is None else self.test
        return measure_once(self.score, model, rows) if rows.lacks_tests else None


def _size(predictor: Any, report: CostReport) -> tuple[int, int]:
    """Return the numbers of features and learners of a predictor; for a stepped one, of features it acquired."""
    if isinstance(predictor, MixedPredictor):
        learners = sum(_size(part, report)[1] for part in (predictor.first, predictor.second))
        return len(predictor.used_features), learners
    if isinstance(predictor, GuardedPredictor):
        return len(predictor.used_features), _size(predictor.inner, report)[1]
    if isinstance(predictor, StageTree):
        return len(predictor.layout.used), len(np.unique(predictor.layout.learner))
    if isinstance(predictor, PlannedPredictor):
        return len(set().union(*(stop.features.tolist() for stop in predictor.stops))), len(predictor.bank)
    return int(np.asarray(report.acquired).any(axis=0).sum()), 1


def _mean_rounds(model: Any, X: Any) -> float:
    rows = as_rows(X, model.predictor_.feature_names, model.predictor_.categories)
    some = rows[:: max(1, len(rows) // _ROWS_REPLAYED)]
    report = ExpectedCost(model.costs_).evaluate(model.predictor_, some, rounds=True, made=True)
    return float(np.mean(report.rounds)) if report.rounds is not None and len(report.rounds) else 0.0
