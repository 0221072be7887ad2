"""What outages cost the model of a frontier's point, by the score of the frontier."""

from __future__ import annotations

from typing import Any

from costframe.choices.chosen_model import choose_model, score_of
from costframe.core.cost.expected import ExpectedCost
from costframe.core.terms.outages import Outages
from costframe.study.outages import measure_outages
from costframe.study.points import Point
from costframe.study.rows import StudyRows


def find_outages(frontier: Any, point: Point | str | None, rows: StudyRows, scoring: Any, sources: Any) -> Outages:
    """Return what outages cost the model of a point, by default the recommended one; see `Choices.outages`."""
    _, model = choose_model(frontier, point)
    score, evaluator = score_of(frontier, model, scoring), ExpectedCost(model.costs_)
    return measure_outages(score, model, rows.with_records_for(model), evaluator, sources=sources)
