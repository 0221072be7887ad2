"""A stage tree and its prices laid out for rows under limits, and the ends of these rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bits import as_words
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.prices.basket import price_exactly
from costframe.core.prices.exact_prices import ExactPrices
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.fallbacks import Fallbacks
from costframe.core.stages.layout import StageLayout
from costframe.core.stages.run_stages import LeftOutputs

_WORD, _SPARE = 64, 2  # bits of a word, and those that a sum of four totals takes beyond those of one
_NO_MAPS = np.empty(0), np.empty((0, 0)), np.empty((0, 0))


@frozen(eq=False)
class Bill:
    """Prices of a model's steps as whole numbers of W words, the lowest first."""

    exact: ExactPrices
    total: int  # the most that a row can spend, in the unit of `exact`
    computing: int  # of it, the most that is not for features and resources
    n_words: int
    packed: engine.Record

    def limit(self, cap: float) -> NDArray[np.uint64]:
        """Return the largest sum within a cap, or all bits, which no sum exceeds: uint64 (W,)."""
        most = (1 << _WORD * self.n_words) - 1
        return as_words([int(min(most, self.exact.limit(cap)))], self.n_words).reshape(-1)

    def for_features(self, cap: float) -> float:
        """Return what is left of a cap for features and resources beside computing, or half of it if that is more."""
        return max(cap - self.exact.money(self.computing), 0.5 * cap)


def lay_out_bill(layout: StageLayout, prices: PriceArrays) -> Bill:
    """Lay out prices for the steps of a model, once for both."""
    exact, used = prices.exact(layout.weights[0]), layout.used
    first, weights = layout.reads[0], layout.weights[1][layout.learner].tolist()
    depth = np.where(layout.kind == TREE, np.append(layout.nodes.depth, 0)[layout.tree], 0)
    dearest, reads = int(prices.comparisons[1].max(initial=0.0)), np.diff(first)
    uses = zip(weights, depth.tolist(), reads.tolist(), strict=True)
    most = [exact.evaluated(weight, dearest * longest, count) for weight, longest, count in uses]
    needed = prices.direct_needs.of_features(used.tolist())
    computing = sum(dict(zip(layout.learner.tolist(), most, strict=True)).values())
    total = price_exactly(exact, prices.direct_needs, used.tolist()) + computing
    # Each round buys a feature, and the first is a further one too of a resource that was paid for before.
    total += len(used) * sum(exact.resource_round[r] for r in needed)
    n_words = -(-(total.bit_length() + _SPARE) // _WORD)
    comparisons = prices.comparisons[1][used]

    def words(amounts: Iterable[int]) -> NDArray[np.uint64]:
        most = (1 << _WORD * n_words) - 1  # more than this no row comes to pay
        return as_words([min(amount, most) for amount in amounts], n_words)

    packed = engine.Bill.of(
        needs=prices.direct_needs.restrict(used).packed,
        cost=words(exact.cost[f] for f in used.tolist()),
        split=words(exact.split * int(count) for count in comparisons.tolist()),
        comparisons=comparisons,
        resource_cost=words(price if r in needed else 0 for r, price in enumerate(exact.resource_cost)),
        round=words(exact.resource_round if prices.has_rounds else ()),
        stays=prices.resource_stays,
        reuse=words([exact.reuse])[0],
        own=words(exact.learner * int(weight) for weight in weights),
        most=words(most),
    )
    return Bill(exact, total, computing, n_words, packed)


class CappedLayout(NamedTuple):
    """A stage tree, whose payload has expected outputs of inner nodes too, for learners given up."""

    layout: StageLayout
    expected: engine.Record  # of columns and opaque learners


def lay_out_capped(layout: StageLayout, fallbacks: Fallbacks | None) -> CappedLayout:
    """Lay out a stage tree for rows under limits, once a model."""
    column, opaque, maps = np.zeros(len(layout.learner)), np.zeros(layout.n_opaque), _NO_MAPS
    if fallbacks is not None:
        known = LeftOutputs(layout.bank, fallbacks)
        curves = np.concatenate([fallbacks.offset, fallbacks.slope, fallbacks.carry])
        maps = fallbacks.knots, curves, np.concatenate([fallbacks.mean, fallbacks.low, fallbacks.high])
        layout = evolve(layout, value=known.value, values=known.values)
        for use in np.flatnonzero(layout.kind == COLUMN):
            column[use] = known.of(int(layout.learner[use]), -1)[0]
        for use in np.flatnonzero(layout.kind == OPAQUE):
            place = int(layout.place[use])
            opaque[place : place + layout.width[use]] = known.of(int(layout.learner[use]), -1)
    return CappedLayout(layout, engine.Expected(column, opaque, *maps))


class CappedRows(NamedTuple):
    """Ends of rows under limits, and their purchases."""

    exits: I8  # (rows,): the answer reached, or the stage at which the row was cut
    cut: B1  # (rows,): whether the row gave up a learner
    share: F8  # (rows,): share of the last stage's learners that are finished
    # (rows, K): of the last stage, with expected outputs of learners given up; a route's is in the first column
    scores: F8
    final: F8  # (rows, K): scores of the answers, expected ones for rows that were cut
    route_scores: F8  # (rows,): of the route before
    masks: NDArray[np.uint64]  # (rows, W): features acquired, of those that the tree uses
    # (rows, 3): sum of e_t of evaluated learners, price of comparisons, uses of features beyond the first
    spent: F8

    @classmethod
    def empty(cls, layout: StageLayout, count: int) -> CappedRows:
        """Make empty arrays for `count` rows."""
        return cls(
            np.zeros(count, np.int64),
            np.zeros(count, np.bool_),
            np.ones(count),
            np.zeros((count, layout.n_outputs)),
            np.zeros((count, layout.n_outputs)),
            np.zeros(count),
            np.zeros((count, layout.n_words), np.uint64),
            np.zeros((count, 3)),
        )

    @classmethod
    def join(cls, parts: list[CappedRows]) -> CappedRows:
        """Join the rows of parts, at least one."""
        every: list[Any] = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        return cls(*every)

    def put(self, part: slice | I8, ends: CappedRows) -> None:
        """Set some rows."""
        for array, values in zip(self, ends, strict=True):
            array[part] = values

    def rows(self, part: slice | I8) -> CappedRows:
        """Return some rows; a view for a slice."""
        some: list[Any] = [array[part] for array in self]
        return CappedRows(*some)
