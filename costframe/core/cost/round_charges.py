"""Charges of going again to resources in further rounds, added to what rows acquire."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8, I8
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.totals import Charges
from costframe.core.prices.basket import price_exactly
from costframe.core.prices.exact_prices import exact, rounded_up
from costframe.core.prices.price_arrays import ZERO, PriceArrays
from costframe.core.prices.visits import Visits


def charge_rounds(charges: Charges, asked: AskedRounds, prices: PriceArrays, weight: F8) -> Charges:
    """Return charges with the price of each further round to a resource, given the rounds of all rows.

    The weights of rows, float64 (n,), are those of the charges.
    """
    visits = Visits(prices.direct_needs.restrict(asked.columns), prices.resource_stays)
    again = visits.count_again(asked.rounds)
    found = evolve(charges, round_weight=weight @ again)
    priced = np.flatnonzero(prices.resource_round)
    if not again[:, priced].any():
        return found
    ways, way = np.unique(again[:, priced], axis=0, return_inverse=True)
    amounts = [exact(price) for price in prices.resource_round[priced].tolist()]
    further = [sum((n * price for n, price in zip(counts, amounts, strict=True)), ZERO) for counts in ways.tolist()]
    costs, cost = _exact_costs(charges, prices)
    pairs, pair = np.unique(np.stack([cost.ravel(), way.ravel()], axis=1), axis=0, return_inverse=True)
    totals = [rounded_up(*(costs[c] + further[w]).as_integer_ratio()) for c, w in pairs.tolist()]
    added = np.array([float(amount) for amount in further])[way.ravel()]
    return evolve(found, per_row=np.array(totals)[pair.ravel()], acquisition=charges.acquisition + added)


def _exact_costs(charges: Charges, prices: PriceArrays) -> tuple[list[Fraction], I8]:
    """Return different costs before further rounds, and the number of each row's: int64 (rows,).

    A cost is the sum of its prices where that has few digits; else it was rounded up, and rows are priced again, as a
    second rounding could pass their cap.
    """
    units = prices.exact()
    if units.are_doubles() or units.learner or units.split or units.reuse:
        costs, cost = np.unique(charges.row_costs, return_inverse=True)
        return [exact(amount) for amount in costs.tolist()], cost.ravel()
    sets, number = np.unique(charges.acquired > 0, axis=0, return_inverse=True)
    bought = [price_exactly(units, prices.direct_needs, np.flatnonzero(row).tolist()) for row in sets]
    return [Fraction(amount, units.per_unit) for amount in bought], number.ravel()
