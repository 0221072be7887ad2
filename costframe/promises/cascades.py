"""Cascades of two models: a cheap one answers the rows of which it is sure, a safe one answers the others.

Between a cheap model and a safe one, the share of rows that the safe one answers gives every level of safety, mostly at
far less cost than models of one tradeoff: doubts are where a cheap model errs. So cascades make sequences of tests fine
where it matters. A cascade is a `StageTree`: priced, stepped, saved and served like any.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route, Stage, renumber_stage

DOUBTS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)  # distances of log odds from the border of both classes


def can_defer(predictor: Any) -> bool:
    """Return whether a predictor can be the cheap one: two classes, told by one sum of learners at the half."""
    if not isinstance(predictor, StageTree) or predictor.classes is None or len(predictor.stages) > 1:
        return False
    answer = predictor.only_answer
    if answer is None or answer.is_alone or answer.link != "sigmoid" or len(answer.intercept) > 1:
        return False
    return predictor.costs is None or predictor.costs.errors is None or not predictor.costs.errors.columns


def can_follow(predictor: Any, cheap: StageTree) -> bool:
    """Return whether a predictor can answer what the cheap one defers."""
    if not isinstance(predictor, StageTree) or predictor.n_predictions != 1:
        return False
    if any(isinstance(stage, Answer) and (stage.is_alone or stage.link == "ranked") for stage in predictor.stages):
        return False
    alike = ("feature_names", "categories", "costs")
    labels, other = (np.asarray(model.classes) for model in (predictor, cheap))
    return all(getattr(predictor, name) == getattr(cheap, name) for name in alike) and np.array_equal(labels, other)


def cascade(cheap: StageTree, safe: StageTree, doubt: float) -> StageTree:
    """Return the cascade in which `safe` answers the rows whose log odds are within `doubt` of the cheap one's border.

    The border is at even odds, or where prices of errors put it. Both are such as `can_defer` and `can_follow` take.
    """
    bank = WeakLearnerBank.concatenate([cheap.bank, safe.bank])
    answer = cheap.only_answer
    assert answer is not None  # noqa: S101 - `can_defer` looks
    border, scale, shift = _border(cheap), answer.temperature, len(cheap.bank)
    summed = answer.learners, answer.weights, answer.intercept
    first: list[Stage] = [
        Route(*summed, threshold=scale * (border + doubt), steepness=1.0, below=2, above=1),
        answer,
        Route(*summed, threshold=scale * (border - doubt), steepness=1.0, below=3, above=4),
        answer,
    ]
    stages = (*first, *(renumber_stage(stage, len(first), shift) for stage in safe.stages))
    return StageTree(bank, stages, cheap.costs, classes=cheap.classes)


def _border(cheap: StageTree) -> float:
    """Return the log odds of the second class at which both answers are as good."""
    errors = None if cheap.costs is None else cheap.costs.errors
    if errors is None:
        return 0.0
    assert cheap.classes is not None  # noqa: S101 - `can_defer` looks
    prices = errors.of_classes(cheap.classes, cheap.feature_names).constant
    missed, false_alarm = prices[1, 0] - prices[1, 1], prices[0, 1] - prices[0, 0]
    return math.log(false_alarm / missed) if missed > 0 and false_alarm > 0 else 0.0
