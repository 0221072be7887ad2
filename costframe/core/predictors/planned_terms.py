"""Terms of a plan (prices, tradeoff, cap, unavailable features), and the choice of a row's next stop."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.bits import members
from costframe.core.prices.price_arrays import Limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.stages.stops import StopPrices

COMPLETE, CUT, UNAVAILABLE = 0, 1, 2


REASONS = ("complete", "max_cost", "unavailable")


@frozen(eq=False)
class Terms:
    """Terms that decide, with the models' gains, the next stops of rows; items are features and resources."""

    prices: StopPrices
    tradeoff: float  # loss accepted per unit of cost
    limited: bool  # whether there is a cap or an unavailable feature
    max_cost: float  # cap on the cost of one row, infinite without one
    known: int  # items paid for before the first stop
    reachable: NDArray[np.bool_]  # (m,): stops whose features are all available
    first_features: frozenset[int]  # that a row has at stop 0: those of its set that are available and affordable
    first_missing: tuple[int, ...]  # the other features of its set
    first_paid: int  # items that a row has paid for at stop 0, known ones included
    first_reason: int  # why features of stop 0 are missing: COMPLETE, CUT or UNAVAILABLE
    planned: bool  # whether stops have plans for these terms, apart from the cap

    @staticmethod
    @lru_cache(maxsize=256)  # for every inquiry
    def of(
        prices: StopPrices, tradeoff: float, limits: Limits | None = None, *, known: int = 0, planned: bool = False
    ) -> Terms:
        """Make terms from prices, tradeoff and limits; `known` are items paid for."""
        d, begun = len(prices.prices.cost), COMPLETE
        limited, limits = limits is not None, limits or Limits()
        first, paid = list[int](), known
        sets = [set(members(bundle & (1 << d) - 1)) for bundle in prices.bundles]
        for f in sorted(sets[0]):
            if f in limits.unavailable:
                begun = UNAVAILABLE
            elif limits.max_cost < np.inf and prices.total((paid | prices.items([f])) & ~known) > limits.max_cost:
                begun = max(begun, CUT)
            else:
                first.append(f)
                paid |= prices.items([f])
        return Terms(
            prices,
            tradeoff,
            limited,
            limits.max_cost,
            known,
            reachable=np.array([not each & limits.unavailable for each in sets]),
            first_features=frozenset(first),
            first_missing=tuple(sorted(sets[0].difference(first))),
            first_paid=paid,
            first_reason=begun,
            planned=planned,
        )

    @cached_property
    def all_reachable(self) -> bool:
        """Whether the features of every stop are all available."""
        return bool(self.reachable.all())

    def choose(self, stop: int, paid: int, gains: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Choose the next stop of rows: the first j >= `stop` with the least gain_j + tradeoff * price_j.

        Gain and price are zero for j = `stop`. It never chooses NaN.

        Parameters
        ----------
        stop : int
            Stop of the rows.
        paid : int
            Items that they have paid for.
        gains : float64 (n, m - 1 - stop)
            Expected loss of each row at each later stop minus that here.

        Returns
        -------
        to : int64 (n,)
            The next stop; `stop` itself means to answer there.
        why : int64 (n,)
            COMPLETE, or why a row could not choose a better stop: CUT, UNAVAILABLE.
        """
        totals = np.zeros((len(gains), gains.shape[1] + 1))
        with np.errstate(over="ignore", invalid="ignore"):
            np.add(gains, self.tradeoff * self.prices.to_later(paid, stop), out=totals[:, 1:])
        if np.isnan(totals.min()):
            totals[np.isnan(totals)] = np.inf
        best = totals.argmin(axis=1)
        why = np.zeros(len(gains), np.int64)
        if not self.all_reachable:
            totals[:, 1:][:, ~self.reachable[stop + 1 :]] = np.inf
            best, wanted = totals.argmin(axis=1), best
            why[best != wanted] = UNAVAILABLE
        if self.max_cost < np.inf:
            totals[:, 1:][:, ~self._affordable(stop, paid)] = np.inf
            best, wanted = totals.argmin(axis=1), best
            why[best != wanted] = np.maximum(why[best != wanted], CUT)
        return stop + best, why

    def _affordable(self, stop: int, paid: int) -> NDArray[np.bool_]:
        """Return whether each later stop would leave the row within its cap: bool (m - 1 - stop,)."""
        total, bundles = self.prices.total, self.prices.bundles[stop + 1 :]
        return np.array([total((paid | bundle) & ~self.known) <= self.max_cost for bundle in bundles], np.bool_)
