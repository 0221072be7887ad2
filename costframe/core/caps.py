"""Rows under limits on their walks through a stage tree, as a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8
from costframe.core.machine import over_chunks
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.first_set import FEWEST, FirstSet
from costframe.core.stages.layout import KNOWN
from costframe.core.stages.stage_model import StageModel

_UNTOLD = np.empty((0, 0), np.int32)


def walk_under_limits(
    tree: StageModel,
    prices: PriceArrays,
    limits: Limits,
    X: F8,
    *,
    by_path: bool,
    n_jobs: int | None = None,
    asked: NDArray[np.int32] | None = None,
) -> CappedRows:
    """Walk rows, float64 (rows, d), through a stage tree under limits.

    `asked`, zeros (rows, U), gets the round in which each row asks for each feature that the tree uses. Else features
    come at once, unless further rounds cost something.
    """
    X, layout, bill = np.ascontiguousarray(X, np.float64), tree.layout, tree.bill(prices)
    walk, limit = tree.walk(prices, limited=True), bill.limit(limits.cap)
    ranks = tree.ranks(prices, limits)
    state = walk.begin(by_path, {}, limits.barred, limit=limit, ranks=ranks, left_out=limits.left_out)
    if asked is None and not prices.has_rounds:
        walk.arrays(state)[2][: len(layout.used)] |= KNOWN
    begin = np.frombuffer(state, np.uint64)
    capped = CappedRows.empty(layout, len(X))
    first = None
    if by_path and asked is None and len(X) * len(layout.learner) >= FEWEST:
        first = FirstSet.of(tree, prices, limits)

    def chunk(part: slice) -> None:
        if first is None:
            walk_on(X[part], capped.rows(part), _UNTOLD if asked is None else asked[part])
            return
        found, holds = first.walk(X[part])
        if len(others := np.flatnonzero(~holds)):
            left = CappedRows.empty(layout, len(others))
            walk_on(X[part][others], left, _UNTOLD)
            found.put(others, left)
        capped.put(part, found)

    def walk_on(values: F8, ends: CappedRows, told: NDArray[np.int32]) -> None:
        rows, waits = np.arange(len(values)), np.zeros(len(values), np.int64)
        opaque, called = np.zeros((len(values), layout.n_opaque)), np.zeros((len(values), layout.n_opaque), np.bool_)
        while len(rows):
            engine.walk_capped(values, rows, opaque, called, begin, *walk.structs, waits, *ends, told)
            rows = np.flatnonzero(waits)
            for use in np.unique(-1 - waits[rows]).tolist():
                waiting = np.flatnonzero(waits == -1 - use)
                learner = layout.opaque(use)
                outputs = slice(int(layout.place[use]), int(layout.place[use]) + learner.width)
                opaque[waiting, outputs] = learner(values[np.ix_(waiting, np.array(learner.features, np.int64))])
                called[waiting, outputs] = True

    over_chunks(chunk, len(X), n_jobs)
    return capped
