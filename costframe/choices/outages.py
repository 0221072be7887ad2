"""What outages cost the model of a frontier's point, by the score of the frontier."""

from __future__ import annotations

from typing import Any

from costframe.choices.read_records import score_of
from costframe.core.cost.expected import ExpectedCost
from costframe.core.terms.outages import Outages
from costframe.study.outages import measure_outages, with_tests
from costframe.study.points import Point
from costframe.study.rows import StudyRows


def find_outages(frontier: Any, point: Point | str | None, rows: StudyRows, scoring: Any, sources: Any) -> Outages:
    """Return what outages cost the model of a point, by default the recommended one; see `Choices.outages`."""
    model = frontier.model(frontier.recommended() if point is None else frontier[point])
    score, evaluator = score_of(frontier, model, scoring), ExpectedCost(model.costs_)
    return measure_outages(score, model, with_tests(rows, model), evaluator, sources=sources)
