"""Loss and cost of a gate on held-out rows, at every threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.accounts import Account
from costframe.core.prices.price_arrays import PriceArrays
from costframe.training.data import Rows

BOTH, CHEAP, EXPENSIVE = "both", "cheap", "expensive"
SURE = 1e-6  # probabilities of the expensive model, and shares, are clipped to [SURE, 1 - SURE], as the authors do
_ALONE = {CHEAP: 2, EXPENSIVE: 3}  # columns of costs: below the gate, above it, and each model without a gate
_ROUNDING = 1e-12
_AROUND = (0.25, 1.0, 4.0)  # times the training tradeoff: the tradeoffs of a grid's points
_LEVELS = 12
_LOWEST = 0.02  # of the tradeoffs, in units of the constant's loss per cost of the expensive model
_HIGHEST = (1.0, 30.0)
_SHARES = (0.03, 0.1, 0.25, 0.5, 0.75)  # of rows that go on, at a grid's points


@frozen(eq=False)
class ModelOutputs:
    """Probabilities, losses and account of a model on some rows."""

    proba: F8  # (n,) or (n, M)
    loss: F8  # (n,): -log P(y_i | x_i), with the probability clipped to [SURE, 1 - SURE]
    account: Account

    @classmethod
    def of(cls, proba: F8, y: I8, account: Account) -> ModelOutputs:
        """Look up the labels' probabilities."""
        of_label = np.where(y == 1, proba, 1 - proba) if proba.ndim == 1 else proba[np.arange(len(y)), y]
        return cls(proba, np.asarray(-np.log(np.clip(of_label, SURE, 1 - SURE))), account)

    def default_tradeoffs(self, rows: Rows, prices: PriceArrays) -> F8:
        """Return descending tradeoffs, geometric, in units of the best constant's loss per cost of this model.

        At the largest, the cheapest feature with a price is hardly worth it.
        """
        share = np.bincount(rows.y, rows.weight) / rows.weight.sum()
        share = share[share > 0]
        cost = float(np.average(self.account.cost(prices), weights=rows.weight))
        loss = float(-share @ np.log(share))
        if not (cost > 0 and loss > 0):
            return np.zeros(1)
        each = prices.alone
        high = np.clip(0.3 * cost / each[each > 0].min(initial=cost), *_HIGHEST)
        return np.geomspace(high, _LOWEST, _LEVELS) * (loss / cost)


@frozen
class OperatingPoint:
    """A gate with its threshold, or one model alone, if all rows go the same way.

    Attributes
    ----------
    kind : {"both", "cheap", "expensive"}
    threshold : float
    loss, cost : float
        Means over the held-out rows.
    batch : float
        Each held-out row's share of once-prices.
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
    """Held-out rows sorted by the gate's score, ascending, with the loss and cost of each way.

    Their order among equal scores is that of their values: so sums do not depend on the order of rows.

    Attributes
    ----------
    gate : float64 (n,)
    weight : float64 (n,)
        Sums to one.
    loss : float64 (n, 2)
        Below and above the gate.
    cost, batch : float64 (n, 4)
        Below and above, both with the gate; then the cheap and the expensive model without a gate. `batch` is each
        row's equal share of once-prices, which `cost` leaves out.
    own : float64 (rows,)
        The gate's scores of the rows in their first order.
    """

    gate: F8
    weight: F8
    loss: F8
    cost: F8
    batch: F8
    own: F8

    @classmethod
    def of(
        cls,
        gate: F8,
        cheap_loss: F8,
        expensive: ModelOutputs,
        accounts: tuple[Account, Account],
        rows: Rows,
        prices: PriceArrays,
    ) -> GateCurve:
        """Sort the held-out rows and price all ways; `accounts` are those of the cheap model and of the gate."""
        cheap, gate_account = accounts
        ways = (gate_account | cheap, gate_account | expensive.account, cheap, expensive.account)
        parts = [gate, rows.weight / rows.total_weight, cheap_loss, expensive.loss]
        parts += [way.cost(prices) for way in ways] + [way.batch(prices) / rows.total_weight for way in ways]
        table: F8 = np.stack(parts, axis=1)
        table = table[np.lexsort(table.T[::-1])]
        sorted_gate, weight, *_ = table.T
        loss, cost, batch = (np.ascontiguousarray(part) for part in np.split(table[:, 2:], [2, 6], axis=1))
        return cls(sorted_gate.copy(), weight.copy(), loss, cost, batch, gate)

    def at(self, threshold: float) -> OperatingPoint:
        """Return the point of a threshold."""
        n_below = int(np.searchsorted(self.gate, threshold, side="right"))
        loss, cost, batch = (self._mean(values, n_below) for values in (self.loss, self.cost, self.batch))
        return OperatingPoint(BOTH, threshold, loss, cost, batch)

    def without_gate(self, kind: str) -> OperatingPoint:
        """Return the point that sends all rows to one model."""
        way = _ALONE[kind]
        loss, cost, batch = (
            float(self.weight @ values[:, column])
            for values, column in ((self.loss, way - 2), (self.cost, way), (self.batch, way))
        )
        return OperatingPoint(kind, np.inf if kind == CHEAP else -np.inf, loss, cost, batch)

    def best(self, tradeoff: float, full_share: float | None) -> OperatingPoint:
        """Return the point of least loss + tradeoff * cost, with at most this share going on, or without a gate."""
        points = [self.without_gate(CHEAP)]
        if full_share in (None, 1):
            points.append(self.without_gate(EXPENSIVE))
        both = self.divide(tradeoff, full_share)
        if both is not None:
            points.append(both)
        return min(points, key=lambda point: point.total(tradeoff))

    def divide(self, tradeoff: float, full_share: float | None) -> OperatingPoint | None:
        """Return the best point with rows on both sides; None if all gate scores are equal or the share forbids it."""
        paid = self.cost[:, :2] + self.batch[:, :2]
        objective = self.loss + (tradeoff * paid if tradeoff else 0.0)
        totals = np.cumsum(self.weight * (objective[:, 0] - objective[:, 1]))[:-1]
        possible = np.diff(self.gate) > 0
        if full_share is not None:
            possible &= 1 - np.cumsum(self.weight)[:-1] <= full_share + _ROUNDING
        return self.at(self._between(int(np.where(possible, totals, np.inf).argmin()))) if possible.any() else None

    def divide_at_share(self, share: float, full_share: float | None) -> OperatingPoint | None:
        """Return the point where about this share of rows goes on, at most `full_share`; None if there is none."""
        possible = np.flatnonzero(np.diff(self.gate) > 0)
        above = 1 - np.cumsum(self.weight)[possible]
        if full_share is not None:
            meets = above <= full_share + _ROUNDING
            possible, above = possible[meets], above[meets]
        if not len(possible):
            return None
        return self.at(self._between(int(possible[np.abs(above - share).argmin()])))

    def points(self, chosen: OperatingPoint, tradeoff: float, full_share: float | None) -> Iterator[OperatingPoint]:
        """Yield a point, others within the share, and the cheap model alone; never the expensive one."""
        points: list[OperatingPoint | None] = [chosen, self.without_gate(CHEAP)]
        if self.gate[0] < self.gate[-1]:
            points += [self.divide(tradeoff * times, full_share) for times in _AROUND]
            shares = [share for share in _SHARES if full_share is None or share <= full_share]
            points += [self.divide_at_share(share, full_share) for share in shares]
        yielded = set()
        for point in points:
            if point is not None and point.kind != EXPENSIVE and (point.kind, point.threshold) not in yielded:
                yielded.add((point.kind, point.threshold))
                yield point

    def goes_on(self, point: OperatingPoint) -> B1:
        """Return which rows go on, bool (rows,)."""
        if point.kind != BOTH:
            return np.full(len(self.own), point.kind == EXPENSIVE)
        return np.asarray(self.own > point.threshold)

    def _between(self, at: int) -> float:
        """Return the threshold half-way between a score and the next one."""
        middle = self.gate[at] + 0.5 * (self.gate[at + 1] - self.gate[at])
        return float(middle if middle < self.gate[at + 1] else self.gate[at])

    def _mean(self, values: F8, n_below: int) -> float:
        below, above = self.weight[:n_below], self.weight[n_below:]
        return float(below @ values[:n_below, 0] + above @ values[n_below:, 1])
