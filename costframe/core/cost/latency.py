"""Latency of rows: trips of one round run side by side, rounds follow one another, and each waits for its trips."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import B1, F8
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.prices.costs import CostModel
from costframe.core.prices.visits import Visit, Visits


def latencies(asked: AskedRounds, costs: CostModel, names: tuple[str, ...]) -> F8:
    """Return the milliseconds that each row waits for its sources: float64 (n,).

    A round takes as long as its slowest fetch, and the trip time of each of its trips. A fetch takes its own time after
    the slowest of the resources that it needs. A resource takes its time in the first round that goes to it, and its
    round time in each further one; see `Visits`.

    Parameters
    ----------
    asked : AskedRounds
    costs : CostModel
        With times.
    names : tuple of str (d,)
        The model's columns.
    """
    needs = costs.select(names).direct_needs.restrict(asked.columns)
    own = {price.name: price.time for price in costs.features}
    time = np.array([own[names[f]] for f in asked.columns.tolist()], np.float64)
    visits = Visits(needs, np.array([price.stays for price in costs.resources], np.bool_))
    first = np.array([price.time for price in costs.resources], np.float64)
    again = np.array([price.further_time for price in costs.resources], np.float64)
    waited = np.zeros(len(asked.rounds))
    for visit in visits.rounds(asked.rounds):
        waited[visit.rows] += costs.trip_time * visit.trips.sum(axis=1)
        ready = _ready(visits, visit, np.where(visit.before, again, first))
        slowest = visits.by_group(np.where(visit.asked, time, 0.0), np.maximum)
        for g, group in enumerate(visits.groups):
            slowest[:, g] += ready[:, list(group)].max(axis=1, initial=0.0)
        waited[visit.rows] += np.where(visit.trips, slowest, 0.0).max(axis=1, initial=0.0)
    return waited


def _ready(visits: Visits, visit: Visit, time: F8 | B1) -> F8:
    """Return when each resource of a round is ready, given the time of each, (n, R): float64 (n, R)."""
    ready = np.zeros(visit.visited.shape)
    for r in visits.order:
        begins = ready[:, list(visits.further[r])].max(axis=1, initial=0.0)
        ready[:, r] = np.where(visit.visited[:, r], begins + time[:, r], 0.0)
    return ready
