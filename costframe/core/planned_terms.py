"""The terms of a plan, prices, tradeoff, a cap, what cannot be had; and where a row goes on these terms."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.bits import ones_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.stop_prices import StopPrices

__all__ = ["COMPLETE", "CUT", "REASONS", "UNAVAILABLE", "Terms"]

COMPLETE, CUT, UNAVAILABLE = 0, 1, 2
REASONS = ("complete", "max_cost", "unavailable")


@frozen(eq=False)
class Terms:
    """What decides where rows go, beside what is known of them.

    Attributes
    ----------
    prices : StopPrices
    tradeoff : float
        Loss accepted per unit of cost.
    max_cost : float or None
        What one row may be charged at most.
    known : int
        Items that are paid for before the first stop.
    reachable : bool (m,)
        Stops all of whose features can be had.
    first : tuple of int
        Features that a row has at stop 0: all of its set, but those that cannot be had or paid for.
    missing : tuple of int
        The others of its set.
    begins_with : int
        Items that a row has paid for at stop 0, known ones among them.
    begun : {COMPLETE, CUT, UNAVAILABLE}
        Why some of its features are missing.
    planned : bool
        Whether the regressions for these very terms are used, where there are any.
    """

    prices: StopPrices
    tradeoff: float
    max_cost: float | None
    known: int
    reachable: NDArray[np.bool_]
    first: tuple[int, ...]
    missing: tuple[int, ...]
    begins_with: int
    begun: int
    planned: bool

    @staticmethod
    @lru_cache(maxsize=256)  # every inquiry asks
    def of(
        prices: StopPrices,
        tradeoff: float,
        max_cost: float | None = None,
        *,
        unavailable: int = 0,
        known: int = 0,
        planned: bool = False,
    ) -> Terms:
        """Settle terms; `unavailable` are features that cannot be had, one bit a column, `known` items paid for."""
        d = len(prices.prices.cost)
        features = [bundle & (1 << d) - 1 for bundle in prices.bundles]
        reachable = np.array([not each & unavailable for each in features])
        first: list[int] = []
        begun = COMPLETE
        for f in (wanted := ones_of(features[0])):
            cost = prices.total(prices.items([*first, f]) & ~known)
            if unavailable >> f & 1:
                begun = UNAVAILABLE
            elif max_cost is not None and cost > max_cost:
                begun = max(begun, CUT)
            else:
                first.append(f)
        missing = tuple(f for f in wanted if f not in first)
        begins_with = known | prices.items(first)
        return Terms(prices, tradeoff, max_cost, known, reachable, tuple(first), missing, begins_with, begun, planned)

    @cached_property
    def everything(self) -> bool:
        """Whether every stop can be had."""
        return bool(self.reachable.all())

    def choose(self, stop: int, paid: int, gains: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Choose where rows go on: to the stop j >= `stop` of least gain_j + tradeoff * price_j, the first of equals.

        Staying has neither gain nor price. NaN is never chosen.

        Parameters
        ----------
        stop : int
            Where the rows stand.
        paid : int
            Items that they have paid for.
        gains : float64 (n, m - 1 - stop)
            Of each row, expected loss at each later stop minus that here.

        Returns
        -------
        to : int64 (n,)
            The stop chosen; `stop` itself is to answer there.
        why : int64 (n,)
            COMPLETE, or what kept a row from a better one: CUT, UNAVAILABLE.
        """
        totals = np.zeros((len(gains), gains.shape[1] + 1))
        with np.errstate(over="ignore", invalid="ignore"):
            np.add(gains, self.tradeoff * self.prices.to_later(paid, stop), out=totals[:, 1:])
        if np.isnan(totals.min()):
            totals[np.isnan(totals)] = np.inf
        best = totals.argmin(axis=1)
        why = np.zeros(len(gains), np.int64)
        if not self.everything:
            totals[:, 1:][:, ~self.reachable[stop + 1 :]] = np.inf
            best, wanted = totals.argmin(axis=1), best
            why[best != wanted] = UNAVAILABLE
        if self.max_cost is not None:
            totals[:, 1:][:, ~self._affordable(stop, paid, self.max_cost)] = np.inf
            best, wanted = totals.argmin(axis=1), best
            why[best != wanted] = np.maximum(why[best != wanted], CUT)
        return stop + best, why

    def _affordable(self, stop: int, paid: int, max_cost: float) -> NDArray[np.bool_]:
        """Bool (m - 1 - stop,): whether a row that went on to a later stop would still be within the cap."""
        total, bundles = self.prices.total, self.prices.bundles[stop + 1 :]
        return np.array([total((paid | bundle) & ~self.known) <= max_cost for bundle in bundles], np.bool_)
