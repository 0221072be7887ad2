"""Rows of an additive model that end as soon as their answer is certain: tables of them, steps of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe import engine
from costframe.core.learners.bits import word_count
from costframe.core.learners.tree_table import OPAQUE
from costframe.core.stages.certain_layout import PAID, Certain, CertainRow, CertainRows, RowPrices
from costframe.core.stages.layout import CALLED, COMPARISONS, KNOWN, N_ACCOUNT, N_USED, USES, WEIGHT
from costframe.core.stages.run_stages import StageRunner
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.certain_layout import Goal
    from costframe.core.stages.layout import StepLayout
    from costframe.core.stages.stage_model import StageModel

_ROWS = 256  # that one thread takes at a time: they take longer than whole evaluations
_NONE = np.empty(0)


def lay_out_certain(steps: StepLayout) -> Certain:
    """Find the bounds below each node, once a model."""
    unknown = np.isnan(steps.payload)  # infinities of both signs met in one leaf
    lowest, highest = np.where(unknown, -np.inf, steps.payload), np.where(unknown, np.inf, steps.payload)
    engine.raise_bounds(steps.packed, lowest, highest)
    return Certain(steps, lowest, highest)


def certain_rows(
    tree: StageModel, goal: Goal, model: Certain, prices: PriceArrays, X: NDArray[np.float64], n_jobs: int | None
) -> CertainRows:
    """Step through rows, float64 (rows, d), each to its goal."""
    layout, n = tree.layout, len(X)
    found = CertainRows(
        np.zeros((n, layout.n_outputs)),
        np.zeros((n, word_count(len(layout.used))), np.uint64),
        np.zeros((n, N_ACCOUNT)),
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
    )
    X, own = np.ascontiguousarray(X, np.float64), RowPrices.of(prices, layout.used)

    def chunk(part: slice) -> None:
        opaque = np.zeros((part.stop - part.start, 0))
        if layout.n_opaque:
            opaque = StageRunner(layout, X[part]).opaque_outputs()
        engine.run_certain_rows(X[part], opaque, *_begin_row(model, own, goal, layout.n_opaque)[1], *found.rows(part))

    over_chunks(chunk, n, n_jobs, _ROWS)
    return found


def _begin_row(
    model: Certain, prices: RowPrices, goal: Goal, n_opaque: int
) -> tuple[CertainRow, tuple[engine.Record, ...]]:
    """Return a row without values, and the arguments of the engine for it."""
    steps, n_used = model.steps, len(prices.cost)
    n_resources, n_outputs = len(prices.resource_cost), steps.stage_value.shape[1] - 1
    row = CertainRow.empty(n_used, steps.n_learners, n_opaque, len(steps.target), n_outputs, n_resources)
    packed = *model.packed, engine.Dues.of(prices, prices.needs), engine.Goal.of(goal), engine.CertainRow.of(row)
    engine.begin_certain_row(*packed)
    return row, packed


class CertainWalker:
    """One row on its way through an additive model, until its answer is certain."""

    def __init__(
        self,
        tree: StageModel,
        goal: Goal,
        model: Certain,
        prices: PriceArrays,
        known_values: Mapping[int, float],
        paid: tuple[Collection[int], Collection[int]],
    ) -> None:
        self._tree, self._own = tree, prices
        self._used = tree.layout.used
        self._prices = RowPrices.of(prices, self._used)
        features, resources = paid
        self._prices.cost[np.isin(self._used, list(features))] = 0.0
        row, (*self._fixed, _) = _begin_row(model, self._prices, goal, tree.layout.n_opaque)
        row.paid[list(resources)] = PAID
        steps = tree.step_layout
        row.at[steps.use[tree.layout.kind == OPAQUE, 0]] = 0  # not called
        for u in np.flatnonzero(np.isin(self._used, list(known_values))) if known_values else ():
            row.x[u], row.marks[u] = known_values[int(self._used[u])], KNOWN
        self._row, self.needs = self._go_on(_NONE, row)

    def advance(self, values: Mapping[int, float]) -> None:
        """Add the values of all features in `needs`, and go on."""
        supplied = np.array([values[f] for f in self.needs], np.float64)
        copies: list[Any] = [each.copy() for each in self._row]
        self._row, self.needs = self._go_on(supplied, type(self._row)(*copies))

    def _go_on(self, supplied: NDArray[np.float64], row: CertainRow) -> tuple[CertainRow, list[int]]:
        """Change a row by the values needed, until it needs others; return it with its needs."""
        packed = engine.CertainRow.of(row)
        while (count := engine.advance_certain_row(supplied, *self._fixed, packed)) < 0:
            self._call_opaque(-1 - count, row)
            supplied = _NONE
        return row, self._used[row.needed[:count]].tolist()

    def _call_opaque(self, use: int, row: CertainRow) -> None:
        """Call the learner of a use, whose features have values."""
        layout = self._tree.layout
        learner, first = layout.opaque(use), int(layout.place[use])
        values = row.x[np.searchsorted(self._used, np.array(learner.features, np.int64))]
        row.opaque[first : first + learner.width] = learner(values[None])[0]
        row.at[self._tree.step_layout.use[use, 0]] = CALLED

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit, always 0."""
        value = self._tree.linked(self._row.scores[None].copy(), np.zeros(1, np.int64))[0]
        return (float(value[0]) if len(value) == 1 else value), 0

    @property
    def reason(self) -> str:
        """Whether some learner was left unfinished."""
        return "certain" if (self._row.at >= 0).any() else "complete"

    @property
    def evaluated(self) -> Fraction:
        """Price of the learners finished, of comparisons made, and of further uses of features."""
        weight, comparisons, uses, n_used = self._row.account[[WEIGHT, COMPARISONS, USES, N_USED]].tolist()
        return self._tree.price_evaluated(self._own, weight, comparisons, uses - n_used)
