"""Visits to resources: a round goes to those that its features need, again and again unless they stay there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import pairwise

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.prices.needs import Needs


@frozen(eq=False)
class Visit:
    """One round of some rows, n of them.

    Attributes
    ----------
    rows : int64 (n,)
    asked : bool (n, F)
        Features that the round asks for.
    trips : bool (n, G)
        Sets of direct needs, in the order of `Visits.groups`, whose features it asks for: each is a trip.
    visited, before : bool (n, R)
        Resources that the round goes to, and those that the row went to in an earlier one.
    """

    rows: I8
    asked: B1
    trips: B1
    visited: B1
    before: B1


@frozen(eq=False, slots=False)
class Visits:
    """The way from features to resources: F features by the G sets of resources that they need directly.

    A round goes to each resource that its features need, directly or through others. A resource that stays once it is
    there, like a sample, is not gone to again, nor is what only it needs.
    """

    needs: Needs  # of the F features
    stays: B1  # (R,)

    @cached_property
    def further(self) -> list[tuple[int, ...]]:
        """Resources that each resource needs directly."""
        return self._lists(self.needs.further_first, self.needs.further)

    @cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """Distinct sets of resources that features need directly, ascending."""
        return sorted(set(self._direct))

    @cached_property
    def group(self) -> I8:
        """The place of each feature's set in `groups`: int64 (F,)."""
        place = {each: g for g, each in enumerate(self.groups)}
        return np.array([place[each] for each in self._direct], np.int64)

    @cached_property
    def order(self) -> list[int]:
        """The resources, each after all that it needs."""
        return list(TopologicalSorter(dict(enumerate(self.further))).static_order())

    def rounds(self, rounds: NDArray[np.int32]) -> Iterator[Visit]:
        """Yield the rounds of rows, int32 (n, F) as in `AskedRounds`, the first rounds of all rows first."""
        before = np.zeros((len(rounds), len(self.stays)), np.bool_)
        rows = np.arange(len(rounds))
        for number in range(1, int(rounds.max(initial=0)) + 1):
            rows = rows[rounds[rows].max(axis=1, initial=0) >= number]
            asked = rounds[rows] == number
            trips = self.by_group(asked, np.logical_or).astype(np.bool_)
            visited = self._visited(trips, before[rows])
            yield Visit(rows, asked, trips, visited, before[rows])
            before[rows] |= visited

    def count_again(self, rounds: NDArray[np.int32]) -> I8:
        """Return how often rows, int32 (n, F), go to each resource again, after their first time: int64 (n, R)."""
        again = np.zeros((len(rounds), len(self.stays)), np.int64)
        for visit in self.rounds(rounds):
            again[visit.rows] += visit.visited & visit.before
        return again

    def by_group(self, values: B1 | F8, over: np.ufunc) -> F8 | B1:
        """Reduce the values of features, (n, F), to those of sets of needs, (n, G)."""
        if not self.groups:
            return values[:, :0]
        order = np.argsort(self.group, kind="stable")
        first = np.searchsorted(self.group[order], np.arange(len(self.groups)))
        reduced: B1 | F8 = over.reduceat(values[:, order], first, axis=1)
        return reduced

    def _visited(self, trips: B1, before: B1) -> B1:
        """Return the resources that a round goes to: bool (n, R)."""
        visited = np.zeros(before.shape, np.bool_)
        for g, needs in enumerate(self.groups):
            for r in needs:
                visited[:, r] |= trips[:, g]
        for r in reversed(self.order):
            if self.stays[r]:
                visited[:, r] &= ~before[:, r]
            for need in self.further[r]:
                visited[:, need] |= visited[:, r]
        return visited

    @cached_property
    def _direct(self) -> list[tuple[int, ...]]:
        return self._lists(self.needs.first, self.needs.need)

    @staticmethod
    def _lists(first: I8, entries: I8) -> list[tuple[int, ...]]:
        listed = entries.tolist()
        return [tuple(sorted(listed[a:b])) for a, b in pairwise(first.tolist())]
