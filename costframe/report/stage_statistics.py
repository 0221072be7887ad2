"""What rows do in a model: at each stage of a tree or stop of a plan their number, scores and acquisitions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bits import bits_of, members
from costframe.core.machine import over_chunks
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.planned_walk import PlannedRows
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.stages import Answer, Route
from costframe.core.stages.stops import StopPrices


@frozen
class Acquired:
    """A feature or resource that a stage acquires first on its path."""

    name: str
    price: float  # per row
    share: float  # of the stage's rows that acquire it there; one without rows
    is_resource: bool


@frozen(eq=False)
class StageStatistics:
    """Statistics of one stage."""

    acquired: tuple[Acquired, ...]  # dearest first
    n_learners: int  # that it evaluates
    n_new: int  # of those, learners that no earlier stage evaluates
    rows: I8 | None = None  # (m,): rows that reach the stage
    values: F8 | None = None  # (m, K): their scores at a route (K = 1), predictions at an answer


def summarize_stages(tree: StageTree, prices: PriceArrays) -> list[StageStatistics]:
    """Return the statistics of each stage without rows: features that its learners, and no earlier ones, may read."""
    seen, read, needs = [], tree.bank.F, prices.direct_needs
    before = np.zeros((len(tree.stages), len(prices.names)), np.bool_)
    for number, stage in enumerate(tree.stages):
        mine, bought = np.diff(read[:, _learners(tree, number)].indptr) > 0, before[number]
        resources = needs.of_set(np.flatnonzero(mine)) & ~needs.of_set(np.flatnonzero(bought))
        shares = np.concatenate([mine & ~bought, resources]).astype(np.float64)
        seen.append(StageStatistics(by_price(prices, shares), *_counts(tree, number)))
        if isinstance(stage, Route):
            before[stage.below] = before[stage.above] = bought | mine
    return seen


def see_stages(
    tree: StageTree, prices: PriceArrays, X: F8, acquisition: str = "path", n_jobs: int | None = None
) -> list[StageStatistics]:
    """Send rows, float64 (n, d) with n > 0, through the stages, and return the statistics of each stage."""
    marks, layout = tree.marks(prices, acquisition), tree.layout
    used, needs = layout.used, tree.needs(prices)
    d, n_items = len(prices.cost), prices.n_items

    def chunk(part: slice) -> tuple[list[I8], list[F8], I8]:
        """Return rows and scores of each stage, and counts of rows that acquire each item first at each stage."""
        every, values, counts = [], [], np.zeros((len(tree.stages), n_items), np.int64)
        for stage, rows, scores, then, now in visit_stages(StageRunner(layout, X[part], marks)):
            counts[stage, used] = (now & ~then).sum(axis=0)
            counts[stage, d:] = (needs.of_rows(now) & ~needs.of_rows(then)).sum(axis=0)
            every.append(part.start + rows)
            values.append(scores)
        return every, values, counts

    by_stage, scores, counts = zip(*over_chunks(chunk, len(X), n_jobs), strict=True)
    seen = []
    for number, stage in enumerate(tree.stages):
        rows = np.concatenate([part[number] for part in by_stage])
        values = np.concatenate([part[number] for part in scores])
        shares = np.sum([part[number] for part in counts], axis=0) / max(len(rows), 1)
        values = stage.predictions(values) if isinstance(stage, Answer) else values
        seen.append(StageStatistics(by_price(prices, shares), *_counts(tree, number), rows=rows, values=values))
    return seen


def visit_stages(runner: StageRunner) -> Iterator[tuple[int, I8, F8, B1, B1]]:
    """Send rows through the stages; yield each stage, its rows, their scores, and the features held before and after.

    The features, bool (rows, U), are those that the tree uses.
    """
    before, n_used = runner.masks.copy(), len(runner.layout.used)
    for stage, rows, scores in runner.routed():
        yield stage, rows, scores, bits_of(before[rows], n_used), bits_of(runner.masks[rows], n_used)
        before[rows] = runner.masks[rows]


def _learners(tree: StageTree, number: int) -> I8:
    return tree.layout.learner[tree.layout.stage_first[number] : tree.layout.stage_first[number + 1]]


def _counts(tree: StageTree, number: int) -> tuple[int, int]:
    """Return the numbers of learners that a stage evaluates, and of those that no earlier stage evaluates."""
    part = slice(int(tree.layout.stage_first[number]), int(tree.layout.stage_first[number + 1]))
    return part.stop - part.start, int(tree.layout.fresh[part].sum())


def by_price(prices: PriceArrays, shares: F8) -> tuple[Acquired, ...]:
    """List the items, features and then resources, whose shares, float64 (d + R,), are not zero, dearest first."""
    names, price = (*prices.names, *prices.resource_names), np.concatenate([prices.cost, prices.resource_cost])
    items = [
        Acquired(names[i], float(price[i]), float(shares[i]), is_resource=bool(i >= len(prices.names)))
        for i in np.flatnonzero(shares)
    ]
    return tuple(sorted(items, key=lambda item: (-item.price, -item.share)))


def summarize_stops(predictor: PlannedPredictor, prices: StopPrices) -> list[StageStatistics]:
    """Return the statistics of stops without rows: the features of each that the stop before does not have."""
    seen, before = [], 0
    for stop, bundle in zip(predictor.stops, prices.bundles, strict=True):
        acquired = by_price(prices.prices, _items(bundle & ~before, prices.prices).astype(np.float64))
        seen.append(StageStatistics(acquired, len(stop.answer.learners), 0))
        before = bundle
    return seen


def see_stops(
    predictor: PlannedPredictor, prices: StopPrices, parts: list[PlannedRows]
) -> tuple[list[StageStatistics], I8]:
    """Return the statistics of stops from rows sent through a plan, given in parts, and the moves of the rows.

    The rows and values of a stop are those that it answers. The moves, int64 (stops, stops), are the numbers of rows
    that go from each stop to each; on the diagonal, rows that the stop answers.
    """
    m = len(predictor.stops)
    moves, bought = np.zeros((m, m), np.int64), np.zeros((m, prices.prices.n_items))
    for part in parts:
        _count_moves(part, prices, moves, bought)
    exits = np.concatenate([part.exits for part in parts])
    values = np.concatenate([part.linked([stop.answer for stop in predictor.stops]) for part in parts])
    came = moves.sum(axis=1)
    seen = []
    for number, stop in enumerate(predictor.stops):
        acquired = by_price(prices.prices, bought[number] / max(came[number], 1))
        rows = np.flatnonzero(exits == number)
        seen.append(StageStatistics(acquired, len(stop.answer.learners), 0, rows, values[rows]))
    return seen, moves


def _count_moves(part: PlannedRows, prices: StopPrices, moves: I8, bought: F8) -> None:
    """Add the moves and purchases of one part's rows."""
    bundles = np.stack([_items(bundle, prices.prices) for bundle in prices.bundles])
    paid = np.zeros((len(part.exits), bundles.shape[1]), np.bool_)
    paid[:] = bundles[0]
    bought[0] += paid.sum(axis=0)
    for number, next_stops in enumerate(part.to.T):
        for to in np.unique(next_stops[next_stops >= 0]):
            rows = np.flatnonzero(next_stops == to)
            moves[number, to] += len(rows)
            if to > number:
                bought[to] += (bundles[to] & ~paid[rows]).sum(axis=0)
                paid[rows] |= bundles[to]


def _items(items: int, prices: PriceArrays) -> B1:
    held = np.zeros(prices.n_items, np.bool_)
    held[list(members(items))] = True
    return held
