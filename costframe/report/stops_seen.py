"""What the stops of a plan acquire, how many rows come to each, and where they go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.bits import members
from costframe.report.stages_seen import StageSeen, by_price

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.planned import PlannedPredictor
    from costframe.core.predictors.planned_walk import PlannedRows
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.stops import StopPrices

__all__ = ["StopsSeen", "see_stops", "stops_without_rows"]


@frozen(eq=False)
class StopsSeen:
    """The stops of a plan, and rows on their way through them.

    Attributes
    ----------
    seen : tuple of StageSeen (m,)
        Of each stop; `rows` and `values` are those that it answers.
    moves : int64 (m, m) or None
        How many rows go from each stop to each: to the stop itself, those that it answers.
    """

    seen: tuple[StageSeen, ...]
    moves: NDArray[np.int64] | None


def stops_without_rows(predictor: PlannedPredictor, prices: StopPrices) -> StopsSeen:
    """Say of each stop what belongs to it and not to the one before."""
    seen, before = [], 0
    for stop, bundle in zip(predictor.stops, prices.bundles, strict=True):
        acquired = by_price(prices.prices, *_split(_items(bundle & ~before, prices.prices), prices.prices))
        seen.append(StageSeen(acquired, len(stop.answer.learners), 0))
        before = bundle
    return StopsSeen(tuple(seen), None)


def see_stops(predictor: PlannedPredictor, prices: StopPrices, parts: list[PlannedRows]) -> StopsSeen:
    """Count what rows acquired that were sent through a plan, part by part, and where they went."""
    m = len(predictor.stops)
    moves, bought = np.zeros((m, m), np.int64), np.zeros((m, sum(prices.prices.needs.shape)))
    for part in parts:
        _follow(part, prices, moves, bought)
    exits = np.concatenate([part.exits for part in parts])
    values = np.concatenate([predictor.linked(part) for part in parts])
    came = moves.sum(axis=1)
    seen = []
    for number, stop in enumerate(predictor.stops):
        acquired = by_price(prices.prices, *_split(bought[number] / max(came[number], 1), prices.prices))
        rows = np.flatnonzero(exits == number)
        seen.append(StageSeen(acquired, len(stop.answer.learners), 0, rows, values[rows]))
    return StopsSeen(tuple(seen), moves)


def _follow(part: PlannedRows, prices: StopPrices, moves: NDArray[np.int64], bought: NDArray[np.float64]) -> None:
    """Add what the rows of one part do."""
    bundles = np.stack([_items(bundle, prices.prices) for bundle in prices.bundles])
    paid = np.zeros((len(part.exits), bundles.shape[1]), np.bool_)
    paid[:] = bundles[0]
    bought[0] += paid.sum(axis=0)
    for number, visit in enumerate(part.visits):
        for to in np.unique(visit.to):
            rows = visit.rows[visit.to == to]
            moves[number, to] += len(rows)
            if to > number:
                bought[to] += (bundles[to] & ~paid[rows]).sum(axis=0)
                paid[rows] |= bundles[to]


def _items(items: int, prices: PriceArrays) -> NDArray[np.bool_]:
    held = np.zeros(sum(prices.needs.shape), np.bool_)
    held[list(members(items))] = True
    return held


def _split(shares: NDArray[np.generic], prices: PriceArrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Part items into features and resources."""
    whole = shares.astype(np.float64)
    return whole[: len(prices.cost)], whole[len(prices.cost) :]
