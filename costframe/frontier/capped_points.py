"""Frontiers of fitted estimators: of a search with other rows as test, and of one model under caps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.fitted import as_predictor, what_is
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.frontier.candidates import check_labels
from costframe.frontier.checks import choose_score
from costframe.frontier.estimates import estimate_on_rows
from costframe.frontier.frontier import Frontier
from costframe.frontier.points import Point
from costframe.frontier.rows import Rows
from costframe.training.scoring import resolve_score

if TYPE_CHECKING:
    from costframe.core.cost.report import CostReport
    from costframe.training.library_scores import LibraryScore

__all__ = ["frontier_of_search", "frontier_under_caps"]

CAPS = 12
LEAST_CAP = 0.03  # as a share of the highest cost of a row


def frontier_of_search(search: Any, X: Any, y: Any, qid: Any) -> tuple[Frontier, Point]:
    """Return the frontier of a fitted search, and its chosen point, with results on test if there are rows."""
    frontier, chosen = search.frontier_, search.best_point_
    if X is None:
        return frontier, chosen
    tested, rows = evolve(chosen), Rows.of(X, y, None, qid, "")
    model = search.best_estimator_
    predictor = as_predictor(model).of_queries(rows.qid)
    report = predictor.cost(rows.X)
    score = frontier.score_name if search.scoring is None else resolve_score(search.scoring)
    found = estimate_on_rows(score, rows, model, _predictions(report))
    tested = evolve(chosen, test_score=found.score, test_error=found.error, test_cost=report.mean)
    return evolve(frontier, points=tuple(tested if p is chosen else p for p in frontier.points)), tested


def frontier_under_caps(model: Any, X: Any, y: Any, scoring: Any, qid: Any) -> tuple[Frontier, Point]:
    """Score a fitted model on rows, without a cap and under falling caps; return the frontier and the point without."""
    predictor = as_predictor(model)
    if not isinstance(predictor, Predictor):
        raise ParameterError(f"estimator: expected a fitted model of costframe, got {what_is(model)}")
    if X is None or y is None:
        raise DataError("X, y: expected rows and labels on which to score the model")
    rows = Rows.of(X, y, None, qid, "")
    check_labels("estimator", predictor, rows.X)
    classes = predictor.classes
    task = "ranking" if qid is not None else "regression" if classes is None else "classification"
    score = choose_score("scoring", scoring, task, 0 if classes is None else len(classes))
    predictor = predictor.of_queries(rows.qid)
    free = predictor.cost(rows.X)
    most = float(free.per_row.max(initial=0.0))
    caps = np.geomspace(most, LEAST_CAP * most, CAPS + 1)[1:].tolist() if most > 0 else []
    reports = [free, *(predictor.cost(rows.X, max_cost=cap) for cap in caps)]
    points = [_point(model, score, rows, report) for report in reports]
    costs = CostModel.of(predictor.costs, predictor.feature_names)
    return Frontier(tuple(points), str(score), free.unit, costs.full_cost(predictor.feature_names)), points[0]


def _point(model: Any, score: str | LibraryScore, rows: Rows, report: CostReport) -> Point:
    found = estimate_on_rows(score, rows, model, _predictions(report))
    name = type(model).__name__
    return Point(
        algorithm=name if report.cut is None else f"{name} under caps",
        tradeoff=0.0,
        score=found.score,
        score_error=found.error,
        cost=report.mean,
        test_score=None,
        test_error=None,
        test_cost=None,
        fixed=report.fixed,
        n_features=int(np.count_nonzero(np.asarray(report.acquired).any(axis=0))),
        n_learners=0,
        rounds=0.0,
        seconds=0.0,
    )


def _predictions(report: CostReport) -> Any:
    assert report.predictions is not None  # noqa: S101 - hard routing has them
    return report.predictions
