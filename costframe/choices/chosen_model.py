"""The model of a frontier's point that somebody asks about, and the frontier's own score of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.errors import ParameterError
from costframe.core.predictors.fitted import kind_of
from costframe.study.points import Point
from costframe.study.score_choice import TASK_OF, choose_error_cost, choose_score
from costframe.training.library_scores import LibraryScore


def choose_model(frontier: Any, point: Point | str | None) -> tuple[Point, Any]:
    """Return a point, by default the recommended one, and its model."""
    chosen = frontier.recommended() if point is None else frontier[point]
    return chosen, frontier.model(chosen)


def score_of(frontier: Any, model: Any, scoring: Any) -> str | LibraryScore:
    """Return the score of a frontier; a caller's own has to be given."""
    kind = kind_of(model)
    task = TASK_OF[kind or "regressor"]
    classes = np.asarray(model.classes_) if task == "classification" else np.empty(0)
    if scoring is None and frontier.has_bills:
        return choose_error_cost(model.costs_, task, classes if len(classes) else None, model.predictor_.feature_names)
    score = choose_score("scoring", frontier.score_name if scoring is None else scoring, task, len(classes))
    if str(score) != frontier.score_name:
        raise ParameterError(f"scoring: expected that of the frontier, {frontier.score_name}, got {score}")
    return score
