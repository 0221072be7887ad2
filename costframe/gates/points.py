"""The points of a grid of gates: thresholds of all candidates, with their score and exact cost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.gates.composite import Predictions, compose, mix_predictions
from costframe.training.model_path import PathCollector

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.gates.composite import Candidate, ExpensiveModel
    from costframe.gates.gate_curve import ModelOutputs
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.boosting.monitor import Predicted

__all__ = ["GatePoint", "GatePoints", "default_tradeoffs", "read_several", "read_tradeoffs"]

_LEVELS = 12
_LOWEST = 0.02  # of the tradeoffs, in units of the constant's loss per cost of the expensive model
_HIGHEST = (1.0, 30.0)


@frozen
class GatePoint:
    """A model of the grid.

    Attributes
    ----------
    tradeoff : float
        Of its training; 0 for the expensive model alone.
    full_share : float or None
    n_rounds : int
        Trees or columns of its cheap models and gates; 0 for the expensive model alone.
    loss, cost : float
        Mean validation loss, and exact mean validation cost per row.
    score : float
        The given score, or minus the loss.
    """

    tradeoff: float
    full_share: float | None
    n_rounds: int
    loss: float
    cost: float
    score: float


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
    models: PathCollector[GatePoint] = field(factory=PathCollector)

    def begin(self, expensive: ExpensiveModel) -> None:
        """Add the expensive model alone."""
        weight = self.held.weight / self.held.weight.sum()
        cost = float(weight @ expensive.held.account.cost(self.data.prices))
        loss = float(weight @ expensive.held.loss)
        point = GatePoint(0.0, None, 0, loss, cost, self.score_of(expensive.held.proba, loss))
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
            measured = (point.loss, point.cost, self.score_of(mixed, point.loss))
            found = GatePoint(tradeoff, full_share, len(candidate.pair.bank), *measured)
            self.models.add(found, partial(compose, candidate.pair, point, expensive.tree))

    def score_of(self, predictions: NDArray[np.float64], loss: float) -> float:
        """Return the score of predictions of the held-out rows with this loss."""
        return -loss if self.score is None else self.score(Predictions(self.held, predictions))


def default_tradeoffs(held: Rows, expensive: ModelOutputs, prices: PriceArrays) -> NDArray[np.float64]:
    """Return descending tradeoffs, geometric, in units of the best constant's loss per cost of the expensive model.

    At the largest, the cheapest feature with a price is hardly worth it.
    """
    share = np.bincount(held.y, held.weight) / held.weight.sum()
    share = share[share > 0]
    cost = float(np.average(expensive.account.cost(prices), weights=held.weight))
    loss = float(-share @ np.log(share))
    if not (cost > 0 and loss > 0):
        return np.zeros(1)
    each = prices.alone
    high = np.clip(0.3 * cost / each[each > 0].min(initial=cost), *_HIGHEST)
    return np.geomspace(high, _LOWEST, _LEVELS) * (loss / cost)


def read_tradeoffs(tradeoffs: Any) -> NDArray[np.float64] | None:
    """Check the tradeoffs of a grid, and return them descending; None stays None."""
    if tradeoffs is None:
        return None
    levels = [float(check_number("tradeoffs", tradeoff)) for tradeoff in read_several("tradeoffs", tradeoffs)]
    return np.array(sorted(set(levels), reverse=True))


def read_several(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values of a grid; refuse a single value, and an empty list."""
    try:
        found = tuple(values)
    except TypeError:
        raise ParameterError(f"{name}: expected a list of numbers, got {shown(values)}") from None
    if not found:
        raise ParameterError(f"{name}: expected at least one, got none")
    return found
