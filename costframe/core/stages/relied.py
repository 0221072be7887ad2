"""What a plan at its own prices relies on: outages of anything else leave its rows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import numpy as np

from costframe.core.learners.bits import members
from costframe.core.stages.stops import Stop, StopPrices

__all__ = ["relied_on"]


def relied_on(stops: Sequence[Stop], sets: Sequence[int], prices: StopPrices, tradeoff: float) -> int:
    """Return the columns that a plan relies on, one bit each, at the prices and tradeoff of its rung.

    Those of the stops to which it sends all rows, whatever their values; of all stops, where values decide, for what a
    row gains at one stop depends on what it could buy after that.
    """
    at, paid, way = 0, prices.buying(0, [*members(sets[0])]), sets[0]
    while at + 1 < len(stops):
        plan = stops[at].planned
        if plan is None or len(plan.learners):
            return reduce(or_, sets)
        total = np.nan_to_num(plan.intercept + tradeoff * prices.to_stops(paid)[at + 1 :], nan=np.inf)
        if not total.min() < 0:
            break
        at += 1 + int(total.argmin())
        paid, way = prices.after(paid, at), way | sets[at]
    return way
