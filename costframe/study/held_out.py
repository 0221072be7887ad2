"""Held-out rows, on which fitted models are measured: score, cost, rounds and size."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.cost.expected import CostReport, ExpectedCost
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.rows import as_rows
from costframe.study.estimates import CostEstimate, Estimate, estimate_on_rows, sum_by_unit
from costframe.study.fitted import Fitted
from costframe.study.mistakes import mistakes_in_words
from costframe.study.points import Point
from costframe.study.rows import StudyRows
from costframe.training.influences import of_repeats
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
    ) -> Fitted:
        """Measure score and cost of a fitted model, on valid unless they are known."""
        on_test = report = None
        if score is None or cost is None:
            on_valid, report = self._score_and_cost(model, self.valid)
            score = on_valid if score is None else score
            cost = _estimate_cost(report, self.valid) if cost is None else cost
        if self.test is not None:
            on_test, report = self._score_and_cost(model, self.test)
        elif report is None:  # a search without test rows, with score and cost from folds
            report = _cost(model, self.valid)
        n_features, n_learners = _size(model.predictor_, report)
        point = Point(
            algorithm=algorithm,
            tradeoff=float(tradeoff),
            score=score.score,
            score_error=score.error,
            cost=cost.mean,
            cost_error=cost.error,
            test_score=None if on_test is None else on_test.score,
            test_error=None if on_test is None else on_test.error,
            test_cost=None if on_test is None else report.mean,
            fixed=report.fixed,
            n_features=n_features,
            n_learners=n_learners,
            rounds=_mean_rounds(model, (self.test or self.valid).X),
            seconds=seconds,
            rows_lacked=score.rows_lacked,
            mistakes=mistakes_in_words(score.mistakes, getattr(model, "classes_", None)),
            shared_error=score.shared,
        )
        return Fitted(point, model, score.influence, cost.influence)

    def _score_and_cost(self, model: Any, rows: StudyRows) -> tuple[Estimate, CostReport]:
        report = _cost(model, rows)
        assert report.predictions is not None  # noqa: S101 - routing is hard
        return estimate_on_rows(self.score, rows, model, report.predictions), report


def _cost(model: Any, rows: StudyRows) -> CostReport:
    predictor = model.predictor_.of_queries(rows.qid)
    return ExpectedCost(model.costs_).evaluate(predictor, rows.X, sample_weight=rows.weight)


def _estimate_cost(report: CostReport, rows: StudyRows) -> CostEstimate:
    weight = np.ones(len(rows.y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    moved = weight * (report.per_row - report.mean) / (weight.sum() or 1.0)
    influence = sum_by_unit(of_repeats(moved, weight), rows.units)
    return CostEstimate(report.mean, float(np.sqrt(moved @ moved)), influence)


def _size(predictor: Any, report: CostReport) -> tuple[int, int]:
    """Return the numbers of features and learners of a predictor; for a stepped one, of features it acquired."""
    if isinstance(predictor, MixedPredictor):
        learners = sum(_size(part, report)[1] for part in (predictor.first, predictor.second))
        return len(predictor.used_features), learners
    if isinstance(predictor, StageTree):
        return len(predictor.layout.used), len(np.unique(predictor.layout.learner))
    if isinstance(predictor, PlannedPredictor):
        return len(set().union(*(stop.features.tolist() for stop in predictor.stops))), len(predictor.bank)
    return int(np.asarray(report.acquired).any(axis=0).sum()), 1


def _mean_rounds(model: Any, X: Any) -> float:
    rows = as_rows(X, model.predictor_.feature_names, model.predictor_.categories)
    some = rows[:: max(1, len(rows) // _ROWS_REPLAYED)]
    report = ExpectedCost(model.costs_).evaluate(model.predictor_, some, rounds=True)
    return float(np.mean(report.rounds)) if report.rounds is not None and len(report.rounds) else 0.0
