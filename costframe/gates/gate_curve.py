"""What each threshold of a gate would lose and cost on held-out rows, and the points chosen from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.cost.accounts import Account
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.gates.composite import ModelOutputs

__all__ = ["BOTH", "CHEAP", "EXPENSIVE", "GateCurve", "OperatingPoint"]

BOTH, CHEAP, EXPENSIVE = "both", "cheap", "expensive"
_ALONE = {CHEAP: 2, EXPENSIVE: 3}  # columns of costs: below the gate, above it, and each model without a gate
_ROUNDING = 1e-12
_AROUND = (0.25, 1.0, 4.0)  # times the tradeoff that models were trained at, at which a grid looks
_SHARES = (0.03, 0.1, 0.25, 0.5, 0.75)  # that go on, likewise


@frozen
class OperatingPoint:
    """A gate with its threshold, or the one model that is left where all rows go the same way.

    Attributes
    ----------
    kind : {"both", "cheap", "expensive"}
    threshold : float
    loss, cost : float
        Means over the held-out rows.
    batch : float
        What is paid once a batch, for each of the held-out rows.
    """

    kind: str
    threshold: float
    loss: float
    cost: float
    batch: float

    def total(self, tradeoff: float) -> float:
        """Return mean loss + tradeoff * mean cost."""
        return self.loss + (tradeoff * (self.cost + self.batch) if tradeoff else 0.0)


@frozen(eq=False)
class GateCurve:
    """Held-out rows, in the order of the gate's scores, ascending.

    Attributes
    ----------
    gate : float64 (n,)
    weight : float64 (n,)
        Sums to one.
    loss : float64 (n, 2)
        Below and above the gate.
    cost, batch : float64 (n, 4)
        Below and above, the gate's own cost in both; then the cheap and the expensive model without a gate. What is
        paid once a batch is apart, each row with an even share.
    order : int64 (n,)
        Which rows these are.
    """

    gate: NDArray[np.float64]
    weight: NDArray[np.float64]
    loss: NDArray[np.float64]
    cost: NDArray[np.float64]
    batch: NDArray[np.float64]
    order: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        gate: NDArray[np.float64],
        cheap_loss: NDArray[np.float64],
        expensive: ModelOutputs,
        accounts: tuple[Account, Account],
        weight: NDArray[np.float64],
        prices: PriceArrays,
    ) -> GateCurve:
        """Price all ways; accounts are those of the cheap model and of the gate."""
        cheap, own = accounts
        order = np.argsort(gate, kind="stable")
        ways = [way.take(order) for way in (own | cheap, own | expensive.account, cheap, expensive.account)]
        return cls(
            gate[order],
            (weight / weight.sum())[order],
            np.stack([cheap_loss, expensive.loss], axis=1)[order],
            np.stack([way.cost(prices) for way in ways], axis=1),
            np.stack([way.batch(prices) for way in ways], axis=1) / float(weight.sum()),
            order,
        )

    def at(self, threshold: float) -> OperatingPoint:
        """Divide at this threshold."""
        n_below = int(np.searchsorted(self.gate, threshold, side="right"))
        loss, cost, batch = (self._mean(values, n_below) for values in (self.loss, self.cost, self.batch))
        return OperatingPoint(BOTH, threshold, loss, cost, batch)

    def without_gate(self, kind: str) -> OperatingPoint:
        """Send all rows to one model."""
        way = _ALONE[kind]
        loss, cost, batch = (
            float(self.weight @ values[:, column])
            for values, column in ((self.loss, way - 2), (self.cost, way), (self.batch, way))
        )
        return OperatingPoint(kind, np.inf if kind == CHEAP else -np.inf, loss, cost, batch)

    def best(self, tradeoff: float, full_share: float | None) -> OperatingPoint:
        """Divide where loss + tradeoff * cost is least and at most this share goes on; a gate of no use is left out."""
        found = [self.without_gate(CHEAP)]
        if full_share in (None, 1):
            found.append(self.without_gate(EXPENSIVE))
        both = self.divide(tradeoff, full_share)
        if both is not None:
            found.append(both)
        return min(found, key=lambda point: point.total(tradeoff))

    def divide(self, tradeoff: float, full_share: float | None) -> OperatingPoint | None:
        """Divide where it is best that some rows go either way; None if the gate does not tell them apart."""
        paid = self.cost[:, :2] + self.batch[:, :2]
        objective = self.loss + (tradeoff * paid if tradeoff else 0.0)
        totals = np.cumsum(self.weight * (objective[:, 0] - objective[:, 1]))[:-1]
        possible = np.diff(self.gate) > 0
        if full_share is not None:
            possible &= 1 - np.cumsum(self.weight)[:-1] <= full_share + _ROUNDING
        return self.at(self._between(int(np.where(possible, totals, np.inf).argmin()))) if possible.any() else None

    def divide_at_share(self, share: float, full_share: float | None) -> OperatingPoint | None:
        """Divide so that about this share of the rows goes on, and at most `full_share`; None if the gate cannot."""
        possible = np.flatnonzero(np.diff(self.gate) > 0)
        above = 1 - np.cumsum(self.weight)[possible]
        if full_share is not None:
            meets = above <= full_share + _ROUNDING
            possible, above = possible[meets], above[meets]
        if not len(possible):
            return None
        return self.at(self._between(int(possible[np.abs(above - share).argmin()])))

    def points(self, own: OperatingPoint, tradeoff: float, full_share: float | None) -> Iterator[OperatingPoint]:
        """Yield a point, others as far as the share allows, and the cheap model alone; never the expensive one."""
        found: list[OperatingPoint | None] = [own, self.without_gate(CHEAP)]
        if self.gate[0] < self.gate[-1]:
            found += [self.divide(tradeoff * times, full_share) for times in _AROUND]
            shares = [share for share in _SHARES if full_share is None or share <= full_share]
            found += [self.divide_at_share(share, full_share) for share in shares]
        yielded = set()
        for point in found:
            if point is not None and point.kind != EXPENSIVE and (point.kind, point.threshold) not in yielded:
                yielded.add((point.kind, point.threshold))
                yield point

    def goes_on(self, point: OperatingPoint) -> NDArray[np.bool_]:
        """Return which rows go on, bool (n,), in the order that they came in."""
        going = np.empty(len(self.gate), np.bool_)
        going[self.order] = point.kind == EXPENSIVE if point.kind != BOTH else self.gate > point.threshold
        return going

    def _between(self, at: int) -> float:
        """Return the threshold half-way between a score and the next one."""
        middle = self.gate[at] + 0.5 * (self.gate[at + 1] - self.gate[at])
        return float(middle if middle < self.gate[at + 1] else self.gate[at])

    def _mean(self, values: NDArray[np.float64], n_below: int) -> float:
        below, above = self.weight[:n_below], self.weight[n_below:]
        return float(below @ values[:n_below, 0] + above @ values[n_below:, 1])
