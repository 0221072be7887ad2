"""The rounds in which rows ask a growing ensemble for features, and what further rounds to resources cost."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.errors import CostModelError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.prices.visits import Visits
from costframe.core.workers import ALONE, Workers

_MOST = 64  # bits of a word
_WAYS = 4096  # of a set of needs


@frozen(eq=False)
class _Ways:
    """Ways from features to resources that have a price of rounds, or stay on the way to one.

    Attributes
    ----------
    price : float64 (V,)
        Of a further round to each of these resources.
    group : int64 (d,)
        Features of a group need the same resources.
    first : int64 (G + 1,)
        Of each group's ways in the next two.
    to : int64 (ways,)
        The resource, of V.
    past : uint64 (ways,)
        Resources of which one that is there ends the way, as bits.
    """

    price: F8
    group: I8
    first: I8
    to: I8
    past: NDArray[np.uint64]

    @classmethod
    def of(cls, prices: PriceArrays) -> _Ways:
        """Find all ways at some prices."""
        visits = Visits(prices.direct_needs, prices.resource_stays)
        stays, price = prices.resource_stays.tolist(), prices.resource_round.tolist()
        ways = [_list_ways(needs, visits.further, stays) for needs in visits.groups]
        ends = [sorted((r, past) for r, past in each if price[r] or stays[r]) for each in ways]
        told = sorted({r for each in ends for r, _ in each})
        if len(told) > _MOST:
            raise CostModelError(f"round: expected at most {_MOST} resources with such prices, got {len(told)}")
        place = {r: v for v, r in enumerate(told)}
        sizes = [len(each) for each in ends]
        return cls(
            prices.resource_round[told].copy(),
            visits.group,
            np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
            np.array([place[r] for each in ends for r, _ in each], np.int64),
            np.array([sum(1 << place[s] for s in past) for each in ends for _, past in each], np.uint64),
        )


def _list_ways(
    needs: Sequence[int], further: Sequence[Sequence[int]], stays: Sequence[bool]
) -> set[tuple[int, frozenset[int]]]:
    """Return the resources that features with these direct needs go to, each with those that stay on the way."""
    found, waiting = set[tuple[int, frozenset[int]]](), [(r, frozenset[int]()) for r in needs]
    while waiting:
        r, past = waiting.pop()
        way = r, past | {r} if stays[r] else past
        if way not in found:
            found.add(way)
            waiting += [(need, way[1]) for need in further[r]]
        if len(found) > _WAYS:
            raise CostModelError("round: resources need each other in too many ways to count rounds in training")
    return found


class GrowingRounds:
    """The rounds of some rows to resources, exact after each tree of an ensemble of one stage.

    In each round all trees ask together for what they certainly read. So a new tree may let features come earlier, and
    with them those of other trees.

    Attributes
    ----------
    record : engine.Record
        For the engine, which lets rows ask for features while a tree grows.
    per_row : float64 (n,)
        What each row has paid for going again to resources.

    Parameters
    ----------
    prices : PriceArrays
        In the order of the columns.
    X : float64 (n, d)
    """

    def __init__(self, prices: PriceArrays, X: F8) -> None:
        self._ways, self._X, n_rows = _Ways.of(prices), np.ascontiguousarray(X), len(X)
        shape = n_rows, len(prices.cost)
        self._asked, self._visited = np.zeros(shape, np.uint8), np.zeros((n_rows, len(self._ways.price)), np.uint64)
        self._ready, self._moved = np.zeros(n_rows, np.uint8), np.zeros(n_rows, np.bool_)
        self._trees: list[engine.Record] = []
        self._everyone = np.arange(n_rows, dtype=np.int32)
        self.per_row = np.zeros(n_rows)
        self.record = self._make_record()

    @classmethod
    def of(cls, prices: PriceArrays, X: F8, workers: Workers = ALONE) -> GrowingRounds:
        """Begin with no tree; a CostModelError refuses rows of several workers."""
        if workers.count > 1:
            raise CostModelError("round: further rounds are counted in training on one machine only, not over workers")
        return cls(prices, X)

    def _make_record(self) -> engine.Record:
        ways = self._ways
        state = self._asked, self._visited, self._ready, self._moved
        return engine.Visits(ways.price, *state, ways.group, ways.first, ways.to, ways.past)

    def fork(self) -> GrowingRounds:
        """Return an independent copy, between trees."""
        other = copy(self)
        for name in ("_asked", "_visited", "_ready", "_moved", "per_row"):
            setattr(other, name, getattr(self, name).copy())
        other._trees = self._trees.copy()  # noqa: SLF001
        other.record = other._make_record()  # noqa: SLF001 - the copy's own
        return other

    def add(self, table: TreeTable) -> None:
        """Let all rows pass through a tree, which may have grown on them."""
        if len(table.feature) == 1:
            return
        self._trees.append(engine.Tree.of(table))
        engine.follow_tree(self.record, self._trees[-1], self._X, self._everyone)
        while self._moved.any():
            rows = np.flatnonzero(self._moved).astype(np.int32)
            self._moved[:] = False
            for tree in self._trees:
                engine.follow_tree(self.record, tree, self._X, rows)
        engine.recount_rounds(self.record, self._everyone, self.per_row)
