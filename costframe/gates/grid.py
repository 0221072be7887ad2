"""The points of a grid of gates: one operating point a tradeoff."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from attrs import define, field

from costframe.core.arrays import F8
from costframe.core.checks import as_items, check_number
from costframe.core.errors import ParameterError, shown
from costframe.gates.composite import Candidate, ExpensiveModel, mix_predictions
from costframe.training.data import Rows, TrainingData
from costframe.training.model_path import PathCollector
from costframe.training.path_point import PathPoint
from costframe.trees.monitor import HeldOutPredictions, Predicted


@define(eq=False)
class GatePoints:
    """The points of a grid so far.

    Attributes
    ----------
    data : TrainingData
    held : Rows
    score : callable, optional
        Of predictions of held-out rows; minus their loss by default.
    only_own : bool
        Whether a candidate has only its own point, as by the paper's recipe.
    models : PathCollector
    """

    data: TrainingData
    held: Rows
    score: Callable[[Predicted], float] | None
    only_own: bool
    models: PathCollector = field(factory=PathCollector)

    def begin(self, expensive: ExpensiveModel) -> None:
        """Add the expensive model alone."""
        weight = self.held.weight / self.held.weight.sum()
        cost = float(weight @ expensive.held.account.cost(self.data.prices))
        loss = float(weight @ expensive.held.loss)
        point = PathPoint(0, 0.0, loss, cost, self.score_of(expensive.held.proba, loss))
        self.models.add(point, partial(expensive.tree.with_costs, self.data.costs))

    def record(
        self, candidate: Candidate, tradeoff: float, full_share: float | None, expensive: ExpensiveModel
    ) -> None:
        """Add a candidate in front of an expensive model, with some of its thresholds."""
        points = [candidate.point]
        if not self.only_own:
            points = list(candidate.curve.points(candidate.point, tradeoff, full_share))
        for point in points:
            going = candidate.curve.goes_on(point)
            mixed = mix_predictions(candidate.held.cheap, expensive.held.proba, going)
            score = self.score_of(mixed, point.loss)
            measured = PathPoint(len(candidate.pair.bank), tradeoff, point.loss, point.cost, score, key=full_share)
            self.models.add(measured, partial(candidate.pair.at, point, expensive.tree))

    def score_of(self, predictions: F8, loss: float) -> float:
        """Return the score of predictions of the held-out rows with this loss."""
        return -loss if self.score is None else self.score(HeldOutPredictions(self.held, predictions))


def read_tradeoffs(tradeoffs: Any) -> F8 | None:
    """Check the tradeoffs of a grid, and return them descending; None stays None."""
    if tradeoffs is None:
        return None
    levels = [float(check_number("tradeoffs", tradeoff)) for tradeoff in read_several("tradeoffs", tradeoffs)]
    return np.array(sorted(set(levels), reverse=True))


def read_several(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values of a grid; refuse a single value, and an empty list."""
    items = as_items(values)
    if items is None:
        raise ParameterError(f"{name}: expected a list of numbers, got {shown(values)}")
    if not items:
        raise ParameterError(f"{name}: expected at least one, got none")
    return items
