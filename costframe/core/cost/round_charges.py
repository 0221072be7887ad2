"""Charges of going again to resources in further rounds, added to what rows acquire."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.totals import Charges
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
    costs, cost = np.unique(charges.row_costs, return_inverse=True)
    pairs, pair = np.unique(np.stack([cost.ravel(), way.ravel()], axis=1), axis=0, return_inverse=True)
    totals = [_add(float(costs[c]), further[w]) for c, w in pairs.tolist()]
    added = np.array([float(amount) for amount in further])[way.ravel()]
    return evolve(found, per_row=np.array(totals)[pair.ravel()], acquisition=charges.acquisition + added)


def _add(cost: float, further: Fraction) -> float:
    """Return a cost and what comes on top of it, rounded up, as a ledger's total is."""
    return rounded_up(*(exact(cost) + further).as_integer_ratio()) if further else cost
