"""Statistics of stops: the features that each acquires, its rows, and their next stops."""

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

__all__ = ["StopsSeen", "see_stops", "summarize_stops"]


@frozen(eq=False)
class StopsSeen:
    """Statistics of the stops of a plan.

    Attributes
    ----------
    seen : tuple of StageSeen (m,)
        One for each stop; `rows` and `values` are those that it answers.
    moves : int64 (m, m) or None
        Number of rows that go from each stop to each; on the diagonal, rows that the stop answers.
    """

    seen: tuple[StageSeen, ...]
    moves: NDArray[np.int64] | None


def summarize_stops(predictor: PlannedPredictor, prices: StopPrices) -> StopsSeen:
    """Return the statistics of stops without rows: the features of each that the stop before does not have."""
    seen, before = [], 0
    for stop, bundle in zip(predictor.stops, prices.bundles, strict=True):
        acquired = by_price(prices.prices, *_split(_items(bundle & ~before, prices.prices), prices.prices))
        seen.append(StageSeen(acquired, len(stop.answer.learners), 0))
        before = bundle
    return StopsSeen(tuple(seen), None)


def see_stops(predictor: PlannedPredictor, prices: StopPrices, parts: list[PlannedRows]) -> StopsSeen:
    """Return the statistics of stops from rows sent through a plan, given in parts."""
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
    """Add the moves and purchases of one part's rows."""
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
    """Split items into features and resources."""
    whole = shares.astype(np.float64)
    return whole[: len(prices.cost)], whole[len(prices.cost) :]
