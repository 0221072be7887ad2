"""Rows of an additive model that end as soon as their answer is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.learners.bits import word_count
from costframe.core.stages.certain_layout import CertainRows
from costframe.core.stages.layout import N_ACCOUNT
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.step import RowWalk
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.certain_layout import Goal
    from costframe.core.stages.layout import StageLayout, StepLayout

_ROWS = 256  # that one thread takes at a time: they take longer than whole evaluations


def lay_out_bounds(steps: StepLayout) -> engine.Record:
    """Find the bounds of what trees add below each node, once a model."""
    unknown = np.isnan(steps.payload)  # infinities of both signs met in one leaf
    lowest, highest = np.where(unknown, -np.inf, steps.payload), np.where(unknown, np.inf, steps.payload)
    engine.raise_bounds(steps.packed, lowest, highest)
    return engine.Bounds(lowest, highest)


def certain_walk(layout: StageLayout, bounds: engine.Record, goal: Goal, prices: PriceArrays) -> RowWalk:
    """Return what rows to a goal have in common at some prices."""
    used, n_pairs, n_resources = layout.used, len(layout.target), len(prices.resource_cost)
    dues = engine.Dues.of(
        prices.direct_needs.restrict(used),
        prices,
        cost=np.array(prices.cost[used]),
        split=np.array(prices.comparisons[1][used]),
    )
    own = 2 * (layout.n_outputs + n_pairs) + len(used), layout.steps.n_learners + n_resources, layout.n_outputs
    return RowWalk(
        layout, engine.step_certain_row, bounds, dues, engine.Goal.of(goal), own=own, n_resources=n_resources
    )


def certain_rows(walk: RowWalk, X: NDArray[np.float64], n_jobs: int | None) -> CertainRows:
    """Step through rows, float64 (rows, d), each to its goal."""
    layout, n, begin = walk.layout, len(X), np.frombuffer(walk.begin(True, {}), np.uint64)
    found = CertainRows(
        np.zeros((n, layout.n_outputs)),
        np.zeros((n, word_count(len(layout.used))), np.uint64),
        np.zeros((n, N_ACCOUNT)),
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
    )
    X = np.ascontiguousarray(X, np.float64)

    def chunk(part: slice) -> None:
        opaque = np.zeros((part.stop - part.start, 0))
        if layout.n_opaque:
            opaque = StageRunner(layout, X[part]).opaque_outputs()
        engine.run_certain_rows(X[part], opaque, begin, *walk.structs, *found.rows(part))

    over_chunks(chunk, n, n_jobs, _ROWS)
    return found
