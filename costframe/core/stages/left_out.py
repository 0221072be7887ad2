"""What rows do without where a cap does not pay for all that an outage leaves: all but the set that loses least."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8, I8
from costframe.core.prices.basket import price_exactly
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.cap_ranks import Choice, Wares
from costframe.core.stages.set_losses import SetLosses

_BITS = 53  # of whole numbers whose sums doubles hold, in any order


def may_stand_in(prices: PriceArrays) -> bool:
    """Return whether spare trees answer at some prices: none where evaluation or a further round has a price."""
    return not (prices.learner or prices.spends or prices.has_rounds)


def left_out(
    used: I8,
    read: I8,
    losses: SetLosses,
    prices: PriceArrays,
    limits: Limits,
    paid: tuple[Collection[int], Collection[int]] = ((), ()),
) -> frozenset[int]:
    """Return the columns that rows do without; the cap pays for all others together, whatever rows come to read.

    Parameters
    ----------
    used, read : int64, ascending
        Columns that the model, and its spare trees, read.
    losses : SetLosses
        Of the spare trees, by the set of the columns that they read.
    prices : PriceArrays
    limits : Limits
        With a cap that does not pay for all that is left.
    paid : columns and resources
        Paid for before.
    """
    exact, needs, (had, open_now) = prices.exact(), prices.direct_needs, paid
    left = [f for f in used.tolist() if f not in limits.barred and f not in had]
    most = price_exactly(exact, needs, left, open_now)
    scale = max(0, most.bit_length() - _BITS)
    cost, resource_cost = (_scaled(amounts, most, scale) for amounts in (exact.cost, exact.resource_cost))
    whole = evolve(prices, cost=cost, resource_cost=resource_cost)
    offered = read[np.isin(read, left)]
    wares, free = Wares.of(offered, whole, open_now).priced()
    at, base = np.searchsorted(read, offered), np.isin(read, [f for f in had if f not in limits.barred])
    features = np.zeros((len(wares.cost), len(read)), np.bool_)
    features[:, at], base[at] = wares.features, free
    within = int(exact.limit(limits.cap)) >> scale
    units = Choice(losses, evolve(wares, features=features), base).expected(within).units
    bought = read[features[units].any(axis=0)].tolist()
    there = needs.of_features(bought, open_now).union(open_now)
    return frozenset(f for f in left if f not in bought and price_exactly(exact, needs, [f], there) > 0)


def _scaled(amounts: Collection[int], most: int, scale: int) -> F8:
    """Return whole amounts in units of 2 ** scale, rounded up; those above `most` are of nothing that is left."""
    return np.array([float(-(-min(amount, most) >> scale)) for amount in amounts], np.float64)
