"""Loss and exact cost of every prefix of boosted trees on some rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe.trees.annealing.path import AnnealedPoint
from costframe.trees.boosting.monitor import Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import Rows
    from costframe.trees.boosting.boost import Ensemble
    from costframe.trees.boosting.losses import Loss

__all__ = ["PrefixPoint", "measure_prefixes"]


@frozen
class PrefixPoint(AnnealedPoint):
    """The first rounds of a branch, measured on some rows.

    Attributes
    ----------
    batch : float
        Each row's equal share of the once-prices, which `cost` leaves out.
    """

    batch: float

    def total(self, tradeoff: float) -> float:
        """Return loss + tradeoff * cost, with the share of once-prices."""
        return self.loss + tradeoff * (self.cost + self.batch)


def measure_prefixes(
    ensemble: Ensemble,
    rows: Rows,
    loss: Loss,
    prices: PriceArrays,
    *,
    branch: int = 0,
    score: Callable[[Running], float] | None = None,
) -> list[PrefixPoint]:
    """Measure the constant model and the first 1, 2, ... rounds; the score is minus the loss by default."""
    running = Running(rows, loss, prices)
    running.begin(ensemble.intercept)

    def measure(n_rounds: int) -> PrefixPoint:
        once = running.paid.acquired.any(axis=0) @ prices.once / rows.total_weight if prices.once.any() else 0.0
        value = -running.loss if score is None else score(running)
        return PrefixPoint(branch, n_rounds, 0.0, running.loss, running.cost, value, float(once))

    points = [measure(0)]
    for number in range(len(ensemble.rounds)):
        running.add(ensemble.of_round(number), ensemble.step)
        points.append(measure(number + 1))
    return points
