"""Ways of rows from stop to stop, and their prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from attrs import field, frozen

from costframe import engine
from costframe.plugin import B1, F8, I8
from costframe.sets import SetPrices


@frozen(eq=False, slots=False)
class Routes:
    """Prices of the ways between stops."""

    prices: SetPrices
    sets: tuple[frozenset[int], ...]  # features of each stop
    _steps: dict[int, F8] = field(factory=dict, init=False, repr=False)

    @cached_property
    def _members(self) -> B1:
        """Features of each stop: bool (m, d)."""
        members = np.zeros((len(self.sets), len(self.prices.cost)), np.bool_)
        for is_member, features in zip(members, self.sets, strict=True):
            is_member[list(features)] = True
        return members

    def _bought(self, visited: I8) -> B1:
        """Return the features bought by rows that visited these stops, one bit each: bool (v, d)."""
        return (visited[:, np.newaxis] >> np.arange(len(self.sets)) & 1).astype(np.bool_) @ self._members

    def steps(self, visited: I8) -> F8:
        """Return the further price of each stop for rows that visited these stops: float64 (v, m)."""
        fresh = np.array([visit for visit in visited.tolist() if visit not in self._steps], np.int64)
        if len(fresh):
            have = self._bought(fresh)
            either = (have[:, np.newaxis] | self._members).reshape(-1, have.shape[1])
            further = self.prices.of_sets(either).reshape(len(fresh), -1) - self.prices.of_sets(have)[:, np.newaxis]
            if self.prices.arrays.has_rounds:
                had = [self._features(visit) for visit in fresh.tolist()]
                further = further + [[self.prices.of_round(new, before) for new in self.sets] for before in had]
            self._steps.update(zip(fresh.tolist(), further, strict=True))
        return np.stack([self._steps[visit] for visit in visited.tolist()])

    def worth(self, visited: I8, tradeoff: float) -> F8:
        """Return the further price of each stop times the tradeoff, in units of loss: float64 (v, m)."""
        with np.errstate(over="ignore"):  # rows never choose an infinite price
            return tradeoff * self.steps(visited)

    def cost(self, visited: I8) -> F8:
        """Return the price that each row has paid: float64 (n,)."""
        every, place = np.unique(visited, return_inverse=True)
        paid = self.prices.of_sets(self._bought(every))
        if self.prices.arrays.has_rounds:
            paid = paid + [self._rounds(visit) for visit in every.tolist()]
        return paid[place]

    def _features(self, visited: int) -> frozenset[int]:
        """Return the features bought by a row that visited these stops."""
        return frozenset().union(*(features for k, features in enumerate(self.sets) if visited >> k & 1))

    def _rounds(self, visited: int) -> float:
        """Return what a row paid for further rounds on its way through these stops, in their order."""
        stops = [k for k in range(len(self.sets)) if visited >> k & 1]
        return sum(self.prices.of_round(self.sets[k], self._features(visited & (1 << k) - 1)) for k in stops)


@frozen(eq=False)
class Step:
    """Rows that go from one stop to later ones, with numbers of each row, (rows,)."""

    stop: int
    rows: I8
    to: I8
    gain: F8  # expected, of the stop that the row goes to
    price: F8  # of that stop, in units of loss
    visited: I8  # all stops after the step, one bit each


def steps_on(routes: Routes, gains: Sequence[F8], tradeoff: float) -> Iterator[Step]:
    """Return the steps of the rows that `follow` sends from stop to stop, in the order of stops."""
    m, n = len(routes.sets), len(gains[0]) if gains else 0
    at, way, ways = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(1, np.int64)  # rows of a way are counted
    for k in range(m - 1):
        if not len(rows := np.flatnonzero(at == k)):
            continue
        every, place = _numbered(way[rows], len(ways))
        price, best = np.ascontiguousarray(routes.worth(ways[every], tradeoff)[:, k + 1 :]), np.empty_like(rows)
        engine.choose_next(gains[k], rows, place, price, best)
        go = np.flatnonzero(best >= 0)
        rows, place, best = rows[go], place[go], best[go]
        at[rows] = to = k + 1 + best
        fresh, number = _numbered(place * m + to, len(every) * m)
        way[rows] = number = len(ways) + number
        ways = np.concatenate([ways, ways[every[fresh // m]] | np.int64(1) << fresh % m])
        yield Step(k, rows, to, -gains[k][rows, best], price[place, best], ways[number])


def follow(routes: Routes, gains: Sequence[F8], tradeoff: float) -> tuple[I8, I8]:
    """Send rows from stop to stop, each time to the j with the least gains_kj + tradeoff * price.

    Parameters
    ----------
    routes : Routes
    gains : sequence of float64 (n, m - 1 - k)
        For each stop k except the last: expected loss at each later stop minus that at k.
    tradeoff : float

    Returns
    -------
    int64 (n,), int64 (n,)
        Stop that answers each row, and the stops it visited, one bit each.
    """
    n = len(gains[0]) if gains else 0
    at, visited = np.zeros(n, np.int64), np.ones(n, np.int64)
    for step in steps_on(routes, gains, tradeoff):
        at[step.rows], visited[step.rows] = step.to, step.visited
    return at, visited


def _numbered(values: I8, count: int) -> tuple[I8, I8]:
    """Return the distinct ones of numbers below a count, and the place of each there."""
    place = np.zeros(count, np.int64)
    place[values] = 1
    distinct = np.flatnonzero(place)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[values]
