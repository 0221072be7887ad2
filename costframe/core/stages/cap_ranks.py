"""The order in which rows under a cap may buy features: the best set that it pays for, then one unit after another."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.set_losses import SetLosses

(MOST_RANKS,) = engine.constants("most_cap_ranks")
MOST_ALL = 10  # units of which all sets are compared
MOST_PAIRED = 64  # units of which gains are taken anew for each one that is added
MOST_FIRST = 2  # units with which a set may begin
TRIED = 32  # caps, where no set was tried
_ROUNDED = 1.0 + 1e-12  # prices within a cap, but for rounding
_SMALL = 1e-6  # share of the price of all units: a smaller one counts as that


@frozen(eq=False, slots=False)
class Wares:
    """What rows may buy of the U features that a model uses: n units, each of features with one price together.

    A unit is a feature, or all features without prices of their own that need the same resources.
    """

    features: B1  # (n, U): of each unit
    cost: F8  # (n,): of its features
    needs: B1  # (n, R): resources that it needs
    resource_cost: F8  # (R,)

    @classmethod
    def of(cls, used: I8, prices: PriceArrays, paid: Collection[int] = ()) -> Wares:
        """Part the features used, columns (U,), by their prices; those without a price are units of their own.

        Resources `paid` cost nothing.
        """
        packed = prices.direct_needs.restrict(used)
        priced = prices.resource_cost > 0
        needs = np.zeros((len(used), len(priced)), np.bool_)
        for u in range(len(used)):
            needs[u, list(packed.unpaid(u, paid))] = True
        needs &= priced
        cost = prices.cost[used]
        shared = np.flatnonzero((cost == 0) & needs.any(axis=1))
        group = np.arange(len(used))
        if len(shared):
            _, first, place = np.unique(needs[shared], axis=0, return_index=True, return_inverse=True)
            group[shared] = shared[first[place.reshape(-1)]]
        leaders, unit = np.unique(group, return_inverse=True)
        features = np.zeros((len(leaders), len(used)), np.bool_)
        features[unit, np.arange(len(used))] = True
        return cls(features, cost[leaders], needs[leaders], prices.resource_cost)

    @cached_property
    def price(self) -> float:
        """The price of all units."""
        return float(self.cost.sum() + self.resource_cost[self.needs.any(axis=0)].sum())

    def priced(self) -> tuple[Wares, B1]:
        """Return the units that cost something, and the features that cost nothing, bool (U,)."""
        paid = (self.cost > 0) | self.needs.any(axis=1)
        wares = Wares(self.features[paid], self.cost[paid], self.needs[paid], self.resource_cost)
        return wares, np.asarray(self.features[~paid].any(axis=0))


class _Chosen(NamedTuple):
    """Units that a row may buy, with their price, the resources that they need, and members of each set of losses."""

    units: B1  # (n,)
    price: float
    resources: B1  # (R,)
    found: F8  # (s,)


@frozen(eq=False, slots=False)
class Choice:
    """The choice of units by expected losses."""

    losses: SetLosses
    wares: Wares
    base: B1  # (U,): features that cost nothing

    @cached_property
    def tried(self) -> tuple[B1, F8, F8]:
        """The units of tried sets, bool (m, n), with the free features in them, their prices, and their losses.

        If none was tried, those that are expected to be best for some caps.
        """
        sets, wares, lost = self.losses.sets, self.wares, self.losses.losses
        units = (sets.astype(np.float64) @ wares.features.T.astype(np.float64)) > 0
        if not len(sets):
            if len(wares.cost) <= MOST_ALL:
                units = _every(len(wares.cost))
            else:
                chosen = [self.expected(cap) for cap in (wares.price * np.arange(TRIED + 1) / TRIED).tolist()]
                units = np.unique([each.units for each in chosen], axis=0)
            lost = self._loss(self._nothing.found + units @ self._counts)
        return units, self._price_sets(units)[1], lost

    @cached_property
    def best_tried(self) -> tuple[F8, I8]:
        """Prices of tried sets, ascending, (m,), and the best set up to each: its number, (m,)."""
        _, price, lost = self.tried
        order = np.lexsort((lost, price))
        best = order[np.maximum.accumulate(np.where(_falls(lost[order]), np.arange(len(order)), 0))]
        return price[order], best

    def filled(self, cap: float) -> _Chosen:
        """Return the best set that was tried and that a row can pay for, and more where that leaves money."""
        units, price, lost = self.tried
        fits = np.flatnonzero(price <= cap)
        best = units[fits[np.lexsort((price[fits], lost[fits]))[0]]]
        return self._fill(self._chosen(best), cap, by_price=True)

    def ranks(self, units: B1) -> U8:
        """Return the ranks of features, (U,): 0 for those of units, bool (n,), and free ones, then unit by unit."""
        chosen = self._chosen(units)
        ranks = np.zeros(len(self.base), np.uint8)
        for place, unit in enumerate(self.order(chosen).tolist()):
            ranks[self.wares.features[unit]] = min(1 + place, MOST_RANKS)
        return ranks

    def expected(self, cap: float) -> _Chosen:
        """Return the units of least expected loss that a row can pay for, tried or not; of equal ones the cheapest.

        Of many units, the best that greedy searches find.
        """
        if len(self.wares.cost) <= MOST_ALL:
            return self._best_of_all(cap)
        starts = [self._fill(self._nothing, cap, by_price=by_price) for by_price in (True, False)]
        if len(self.wares.cost) <= MOST_PAIRED:
            gains, prices = self._gains(self._nothing), self._prices(self._nothing)
            dear = [i for i in np.argsort(-gains, kind="stable")[:MOST_FIRST] if prices[i] <= cap]
            starts += [self._fill(self._with(self._nothing, int(i)), cap, by_price=True) for i in dear]
        return min(starts, key=lambda each: (float(self._loss(each.found[None])[0]), each.price))

    def order(self, chosen: _Chosen) -> I8:
        """Return the units that are not chosen, those first that gain most for their price: int64 (any,)."""
        worth = self._worth(chosen)
        worth[chosen.units] = -np.inf
        return np.argsort(-worth, kind="stable")[: np.count_nonzero(~chosen.units)]

    @cached_property
    def _counts(self) -> F8:
        """How many features of each set of losses a unit has: float64 (n, s)."""
        return self.wares.features.astype(np.float64) @ self.losses.absence.sets.T.astype(np.float64)

    @cached_property
    def _nothing(self) -> _Chosen:
        n, n_resources = self.wares.needs.shape
        found = self.losses.absence.sets.astype(np.float64) @ self.base.astype(np.float64)
        return _Chosen(np.zeros(n, np.bool_), 0.0, np.zeros(n_resources, np.bool_), found)

    def _loss(self, found: F8) -> F8:
        """Return the expected losses of rows that have so many features of each set, (any, s): float64 (any,)."""
        return self.losses.absence.of_counts(found)

    @cached_property
    def _all_sets(self) -> tuple[B1, F8, B1, F8, F8]:
        """All sets of units, with what `_Chosen` has of each, and their expected losses."""
        every = _every(len(self.wares.cost))
        resources, price = self._price_sets(every)
        found = self._nothing.found + every @ self._counts
        return every, price, resources, found, self._loss(found)

    def _best_of_all(self, cap: float) -> _Chosen:
        every, price, resources, found, lost = self._all_sets
        fits = np.flatnonzero(price <= cap)
        best = fits[np.lexsort((price[fits], lost[fits]))[0]]
        return _Chosen(every[best], float(price[best]), resources[best], found[best])

    def _chosen(self, units: B1) -> _Chosen:
        resources, price = self._price_sets(units[None])
        return _Chosen(units, float(price[0]), resources[0], self._nothing.found + units @ self._counts)

    def _price_sets(self, units: B1) -> tuple[B1, F8]:
        """Return the resources that sets of units, bool (m, n), need, bool (m, R), and their prices, float64 (m,)."""
        resources = (units.astype(np.float64) @ self.wares.needs.astype(np.float64)) > 0
        return resources, units @ self.wares.cost + resources @ self.wares.resource_cost

    def _fill(self, chosen: _Chosen, cap: float, *, by_price: bool) -> _Chosen:
        """Add units while any gains and can be paid, those first that gain most, for their price or in all."""
        while (i := self._next(chosen, cap, by_price=by_price)) is not None:
            chosen = self._with(chosen, i)
        return chosen

    def _next(self, chosen: _Chosen, cap: float, *, by_price: bool) -> int | None:
        """Return the next unit to add within a cap; None if there is none, or none gains."""
        prices = self._prices(chosen)
        fits = ~chosen.units & (chosen.price + prices <= cap)
        if not fits.any():
            return None
        worth = self._worth(chosen) if by_price else self._gains(chosen)
        place = int(np.argmax(np.where(fits, worth, -np.inf)))
        return None if worth[place] <= 0 else place

    def _worth(self, chosen: _Chosen) -> F8:
        """Return the gain of each unit for its price, beside those chosen: float64 (n,)."""
        with np.errstate(invalid="ignore", over="ignore"):
            shares = np.nan_to_num(self._prices(chosen) / self.wares.price) if self.wares.price else 0.0
        return self._gains(chosen) / np.maximum(shares, _SMALL)

    def _gains(self, chosen: _Chosen) -> F8:
        """Return the gain of each unit beside those chosen; of many units, beside none and beside all others."""
        if len(chosen.units) > MOST_PAIRED:
            return self._gains_alone
        return self._loss(chosen.found[None]) - self._loss(chosen.found + self._counts)

    @cached_property
    def _gains_alone(self) -> F8:
        none, every = self._nothing.found, self._nothing.found + self._counts.sum(axis=0)
        first, last = self._loss(none + self._counts), self._loss(every - self._counts)
        return self._loss(none[None]) - first + last - self._loss(every[None])

    def _prices(self, chosen: _Chosen) -> F8:
        """Return the price of each unit beside those chosen: float64 (n,)."""
        return self.wares.cost + (self.wares.needs & ~chosen.resources) @ self.wares.resource_cost

    def _with(self, chosen: _Chosen, i: int) -> _Chosen:
        units = chosen.units.copy()
        units[i] = True
        resources = chosen.resources | self.wares.needs[i]
        return _Chosen(units, chosen.price + float(self._prices(chosen)[i]), resources, chosen.found + self._counts[i])


@frozen(eq=False)
class CapRanks:
    """Ranks of the U features of a model under caps: 0 for those of the best set, then unit by unit."""

    caps: F8  # (c,): ascending, the first is 0
    ranks: NDArray[np.uint8]  # (c, U): for caps from each on

    def of(self, cap: float) -> U8:
        """Return the ranks under a cap: uint8 (U,)."""
        ranks: U8 = self.ranks[max(0, int(np.searchsorted(self.caps, cap, side="right")) - 1)]
        return ranks


def rank_features(losses: SetLosses, wares: Wares, shares: F8, factors: F8) -> CapRanks:
    """Rank the features of a model, by expected losses.

    The best set costs at most a cap times a factor: that of the largest share, (C,) ascending, of the price of all
    features that is within the cap, else of the first. Where it is infinite, the order of learners is to choose, and
    all ranks are 0.
    """
    wares, base = wares.priced()
    choice = Choice(losses, wares, base)
    units = choice.tried[0]
    limits, best = choice.best_tried
    with np.errstate(invalid="ignore", over="ignore"):
        starts = np.nan_to_num(shares[1:] * wares.price) / _ROUNDED
    finite = np.unique(factors[np.isfinite(factors)])
    caps = np.unique(np.concatenate([[0.0], starts, *(limits / factor for factor in finite)]))
    caps, known, ranks = caps[np.isfinite(caps)], dict[int, U8](), list[U8]()
    for cap in caps.tolist():
        factor = factors[int(np.searchsorted(starts, cap, side="right"))]
        n_within = int(np.searchsorted(limits, cap * factor * _ROUNDED, side="right")) if np.isfinite(factor) else 0
        place = int(best[n_within - 1]) if n_within else -1
        if place not in known:
            known[place] = np.zeros(len(base), np.uint8) if place < 0 else choice.ranks(units[place])
        ranks.append(known[place])
    return CapRanks(caps, np.array(ranks))


def _every(n: int) -> B1:
    """Return all sets of n units: bool (2 ** n, n)."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.bool_)


def _falls(losses: F8) -> B1:
    """Return where losses are lower than all before: bool (n,)."""
    return np.append(True, losses[1:] < np.minimum.accumulate(losses)[:-1])
