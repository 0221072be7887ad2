"""Walks of a stage tree's rows under limits: a hard cap, and unavailable features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.layout import KNOWN
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import Limits, PriceArrays
    from costframe.core.stages.stage_model import StageModel


def capped_scores(
    tree: StageModel, prices: PriceArrays, limits: Limits, X: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores, float64 (rows, K), and exits, int64 (rows,), under limits, with path acquisition."""
    rows = walk_under_limits(tree, prices, limits, X, by_path=True, n_jobs=n_jobs)
    return rows.final_scores(tree.layout, tree.fallbacks), rows.exits


def walk_under_limits(
    tree: StageModel,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    *,
    by_path: bool,
    n_jobs: int | None = None,
    caps: NDArray[np.float64] | None = None,
) -> CappedRows:
    """Walk rows, float64 (rows, d), through a stage tree under limits; `caps`, (rows,), gives each row its own cap."""
    X, caps = np.ascontiguousarray(X, np.float64), np.full(len(X), limits.max_cost) if caps is None else caps
    layout, bill = tree.layout, tree.bill(prices)
    distinct, place = np.unique(caps, return_inverse=True)
    limit = np.array([bill.limit(cap) for cap in distinct.tolist()], np.uint64).reshape(-1, bill.n_words)[place]
    walk = tree.walk(prices, limited=True)
    state = walk.begin(by_path, {}, limits.unavailable)
    walk.arrays(state)[2][: len(layout.used)] |= KNOWN
    begin = np.frombuffer(state, np.uint64)
    found = CappedRows.empty(layout, len(X))

    def chunk(part: slice) -> None:
        own, rows, waits = X[part], np.arange(part.stop - part.start), np.zeros(part.stop - part.start, np.int64)
        opaque, called = np.zeros((len(own), layout.n_opaque)), np.zeros((len(own), layout.n_opaque), np.bool_)
        while len(rows):
            engine.walk_capped(own, rows, opaque, called, limit[part], begin, *walk.structs, waits, *found.rows(part))
            rows = np.flatnonzero(waits)
            for use in np.unique(-1 - waits[rows]).tolist():
                waiting = np.flatnonzero(waits == -1 - use)
                learner = layout.opaque(use)
                outputs = slice(int(layout.place[use]), int(layout.place[use]) + learner.width)
                opaque[waiting, outputs] = learner(own[np.ix_(waiting, np.array(learner.features, np.int64))])
                called[waiting, outputs] = True

    over_chunks(chunk, len(X), n_jobs)
    return found
