"""The resources that features need, directly or through other resources, in memory linear in the direct needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.arrays import B1, I8

_ROWS = 64  # at a time, in a table with all resources


@frozen(eq=False, slots=False)
class Needs:
    """Direct needs of d features and R resources, without circles.

    Feature f needs `need[first[f] : first[f + 1]]`, and resource r needs `further[further_first[r] :
    further_first[r + 1]]`. All that is needed through others is found on the way: listed, a chain would take quadratic
    memory.
    """

    first: I8  # (d + 1,)
    need: I8
    further_first: I8  # (R + 1,)
    further: I8

    @cached_property
    def packed(self) -> engine.Record:
        """The needs as the engine takes them."""
        return engine.Needs.of(self)

    @classmethod
    def of(cls, features: Sequence[Collection[int]], resources: Sequence[Collection[int]]) -> Needs:
        """Make needs from the resources that each feature and each resource needs directly."""
        return cls(*_join(features), *_join(resources))

    def restrict(self, columns: I8 | slice) -> Needs:
        """Keep some features, in the given order."""
        columns = np.arange(len(self.first) - 1)[columns]
        size = np.diff(self.first)[columns]
        first = np.concatenate([[0], np.cumsum(size)])
        need = self.need[np.repeat(self.first[columns] - first[:-1], size) + np.arange(first[-1])]
        return Needs(first, need, self.further_first, self.further)

    def of_rows(self, acquired: B1) -> B1:
        """Return the resources that rows need for the features that they acquire, bool (n, d): bool (n, R)."""
        needed = np.zeros((len(acquired), len(self.further_first) - 1), np.bool_)
        if len(self.need):
            engine.mark_needed(np.ascontiguousarray(acquired), self.packed, needed.view(np.uint8))
        return needed

    def count_rows(self, acquired: B1) -> I8:
        """Return the number of rows that need each resource for the features that they acquire: int64 (R,)."""
        counts = np.zeros(len(self.further_first) - 1, np.int64)
        for begin in range(0, len(acquired), _ROWS):
            counts += self.of_rows(acquired[begin : begin + _ROWS]).sum(axis=0)
        return counts

    def of_set(self, columns: Iterable[int]) -> B1:
        """Return the resources that any of these features needs: bool (R,)."""
        needed = np.zeros(len(self.further_first) - 1, np.bool_)
        if len(self.need):
            needed[list(self.of_features(columns))] = True
        return needed

    def of_features(self, columns: Iterable[int], paid: Collection[int] = ()) -> set[int]:
        """Return the resources that any of these features needs, without those `paid`, as `unpaid` does."""
        if not len(self.need):
            return set()
        needs = self.direct[0]
        return self._reach([r for f in columns for r in needs[f]], paid)

    def unpaid(self, feature: int, paid: Collection[int] = ()) -> set[int]:
        """Return the resources that a feature needs, without those `paid`; what these need is paid, too."""
        return self.of_features((feature,), paid)

    def of_resource(self, resource: int, paid: Collection[int] = ()) -> set[int]:
        """Return a resource and all that it needs, without those `paid`."""
        return self._reach([resource], paid)

    def visited(self, columns: Iterable[int], there: Collection[int], stays: B1) -> set[int]:
        """Return the resources that a round for features goes to; those `there` that stay spare it what they need."""
        needs, further = self.direct
        waiting, gone = [r for f in columns for r in needs[f]], set[int]()
        while waiting:
            r = waiting.pop()
            if r not in gone and not (r in there and stays[r]):
                gone.add(r)
                waiting += further[r]
        return gone

    @cached_property
    def direct(self) -> list[list[tuple[int, ...]]]:
        """What each feature, and each resource, needs directly."""
        pairs = (self.first, tuple(self.need.tolist())), (self.further_first, tuple(self.further.tolist()))
        return [[entries[a:b] for a, b in pairwise(first.tolist())] for first, entries in pairs]

    def _reach(self, waiting: list[int], paid: Collection[int]) -> set[int]:
        reached, further = set[int](), self.direct[1]
        while waiting:
            r = waiting.pop()
            if r not in reached and r not in paid:
                reached.add(r)
                waiting += further[r]
        return reached

    def listed(self) -> tuple[I8, I8]:
        """List all resources that each feature needs: the first place of each list, int64 (d + 1,), and all entries."""
        every = range(len(self.first) - 1)
        return _join([sorted(self.unpaid(f)) for f in every] if len(self.need) else [() for _ in every])

    def needing(self, resources: Iterable[int]) -> I8:
        """Return the features that need any of these resources: int64 (any,), ascending."""
        reached = np.zeros(len(self.further_first) - 1, np.bool_)
        reached[list(resources)] = True
        if len(self.further):
            needed, needing = self.further, np.repeat(np.arange(len(reached)), np.diff(self.further_first))
            order = np.argsort(needed, kind="stable")
            first = np.searchsorted(needed[order], np.arange(len(reached) + 1))
            reverse = Needs(self.first, self.need, first, needing[order])
            reached[list(reverse._reach(np.flatnonzero(reached).tolist(), ()))] = True
        return np.unique(np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))[reached[self.need]])


def _join(lists: Sequence[Collection[int]]) -> tuple[I8, I8]:
    """Return the first place of each list, int64 (lists + 1,), and all entries."""
    first = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return first, np.fromiter((entry for numbers in lists for entry in numbers), np.int64, int(first[-1]))
