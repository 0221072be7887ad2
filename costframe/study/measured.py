"""Measured models: score and cost of a fitted model on rows, in which all tests that it asks for are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.expected import CostReport, ExpectedCost
from costframe.study.estimates import CostEstimate, Estimate, estimate_on_rows, sum_by_unit
from costframe.study.rows import StudyRows
from costframe.study.service import pool_costs, pool_estimates
from costframe.training.error_costs import ErrorCosts
from costframe.training.influences import of_repeats
from costframe.training.library_scores import LibraryScore


@frozen(eq=False)
class Measured:
    """A model's score and cost on rows, and the report of these, of the first of completed copies."""

    score: Estimate
    cost: CostEstimate
    report: CostReport


def measure_model(score: str | LibraryScore, model: Any, rows: StudyRows) -> Measured:
    """Measure a model at its own prices on rows in which all tests that it asks for are made."""
    return measure_copies(score, model, rows.completed())


def measure_copies(
    score: str | LibraryScore, model: Any, copies: Iterable[StudyRows], evaluator: ExpectedCost | None = None
) -> Measured:
    """Measure a model on completed copies of rows, by default at its own prices."""
    each = [measure_once(score, model, copy, evaluator) for copy in copies]
    scores, costs = [copy.score for copy in each], [copy.cost for copy in each]
    return Measured(pool_estimates(scores), pool_costs(costs), each[0].report)


def measure_once(
    score: str | LibraryScore, model: Any, rows: StudyRows, evaluator: ExpectedCost | None = None
) -> Measured:
    """Measure a model on rows whose empty cells are answers."""
    report = charge_rows(model, rows, evaluator)
    assert report.predictions is not None  # noqa: S101 - routing is hard
    score = _answered(score, model, report, () if evaluator is None else evaluator.unavailable)
    estimate = estimate_on_rows(score, rows, model, report.predictions)
    return Measured(estimate, _estimate_cost(report, rows), report)


def _answered(
    score: str | LibraryScore, model: Any, report: CostReport, unavailable: tuple[str, ...]
) -> str | LibraryScore:
    """Return the cost of the answers that rows get where a column that is a price of errors is unavailable.

    Without such a column it is the score itself.
    """
    if not (isinstance(score, LibraryScore) and isinstance(score.scorer, ErrorCosts)):
        return score
    errors, card = score.scorer.errors, model.predictor_.card
    if card.classes is None or not {*errors.columns}.intersection(unavailable):
        return score
    return evolve(score, scorer=evolve(score.scorer, answers=report.ends.classes(card.half)))


def charge_rows(model: Any, rows: StudyRows, evaluator: ExpectedCost | None = None) -> CostReport:
    """Return what rows cost, whose empty cells are answers, by default at the model's own prices."""
    evaluator = ExpectedCost(model.costs_) if evaluator is None else evaluator
    predictor = model.predictor_.of_queries(rows.qid)
    return evaluator.evaluate(predictor, rows.X, sample_weight=rows.weight, made=True)


def _estimate_cost(report: CostReport, rows: StudyRows) -> CostEstimate:
    weight = np.ones(len(rows.y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    moved = weight * (report.per_row - report.mean) / (weight.sum() or 1.0)
    influence = sum_by_unit(of_repeats(moved, weight), rows.units)
    return CostEstimate(report.mean, float(np.sqrt(moved @ moved)), influence)
