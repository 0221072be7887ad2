"""Steps of one row through a stage tree: the model side of its inquiry, around the engine's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.learners.tree_table import TREE
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.layout import BARRED, BOUGHT, CALLED, KNOWN, N_ACCOUNT, PAID, StepState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from fractions import Fraction
    from typing import Any

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import Limits, PriceArrays
    from costframe.core.stages.stage_model import StageModel


_NONE = np.empty(0)
REASONS = ("complete", "max_cost", "unavailable")
MOST_BEGUN = 16  # limits whose first state is kept


class StageStepper:
    """One row on its way through a stage tree.

    All learners of a stage go on together; under limits they follow one another, because what one buys is no longer
    there for the next. With `by_path`, trees acquire features split by split; else all of them before they are
    evaluated. Columns and resources `paid` cost nothing.
    """

    def __init__(
        self,
        tree: StageModel,
        prices: PriceArrays,
        by_path: bool,
        known_values: Mapping[int, float],
        limits: Limits | None = None,
        paid: tuple[Collection[int], Collection[int]] = ((), ()),
    ) -> None:
        self._tree, self._prices, self._used, self._is_capped = tree, prices, tree.layout.used, limits is not None
        self._fixed: tuple[Any, ...]
        if limits is None:
            split, begun = prices.comparisons[1][self._used] if prices.spends else _NONE, tree.begun
            self._fixed = tree.step_layout.packed, split, by_path, prices.spends
        else:
            bill, model = tree.bill(prices), tree.capped_model
            self._fixed, begun = (bill.limit(limits.max_cost), *model.packed, bill.packed, by_path), bill.begun
        key, is_plain = (by_path, limits), not known_values and (limits is None or not any(paid))
        now = begun.get(key) if is_plain else None
        if now is None:
            now = self._go_on(_NONE, begin_row(tree, prices, known_values, limits, paid))
            if is_plain and not tree.layout.n_opaque:
                if len(begun) == MOST_BEGUN:
                    begun.clear()
                begun[key] = now
        self._state, self.needs = now

    def __copy__(self) -> StageStepper:  # as `copy` makes one, in a fifth of the time
        other = StageStepper.__new__(StageStepper)
        other.__dict__.update(self.__dict__)
        return other

    def advance(self, values: Mapping[int, float]) -> None:
        """Add the values of all features in `needs`, and go on."""
        self._state, self.needs = self._go_on(np.array([values[f] for f in self.needs], np.float64), self._state.copy())

    def _go_on(self, supplied: NDArray[np.float64], state: StepState) -> tuple[StepState, list[int]]:
        """Change a state by the values needed, until it needs others; return it with its needs."""
        step = engine.step_capped_row if self._is_capped else engine.step_row
        while (count := step(supplied, *state, *self._fixed)) < 0:
            self._call_opaque(-1 - count, state)
            supplied = supplied[:0]
        begin = self._tree.step_layout.n_learners
        return state, self._used[state.places[begin : begin + count]].tolist()

    def _call_opaque(self, use: int, state: StepState) -> None:
        """Call the learner of a use, whose features have values."""
        layout, width = self._tree.layout, int(self._tree.layout.width[use])
        learner = layout.opaque(use)
        values = state.numbers[np.searchsorted(self._used, np.array(learner.features, np.int64))]
        first = len(self._used) + N_ACCOUNT + layout.n_outputs + int(layout.place[use])
        state.numbers[first : first + width] = learner(values[None])[0]
        state.places[self._tree.step_layout.use[use, 0]] = CALLED

    @property
    def reason(self) -> str:
        """Why learners were given up; "complete" if not one was."""
        return REASONS[self._state.places[self._at_stage + 1]] if self._is_capped else REASONS[0]

    @property
    def _at_stage(self) -> int:
        return self._tree.step_layout.n_learners + len(self._used)

    @property
    def end(self) -> CappedRows:
        """The end of a row under limits, as that of a table of one."""
        layout, n_used, (numbers, places, marks) = self._tree.layout, len(self._used), self._state
        found = CappedRows.empty(layout, 1)
        found.exits[0], found.cut[0] = places[self._at_stage : self._at_stage + 2]
        found.scores[0] = numbers[n_used + N_ACCOUNT :][: layout.n_outputs]
        found.route_scores[0], found.share[0] = numbers[-2:]
        for u in np.flatnonzero(marks[:n_used] & BOUGHT).tolist():
            found.masks[0, u >> 6] |= np.uint64(1 << (u & 63))
        found.spent[0] = numbers[n_used:][:3]
        return found

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit."""
        tree, stage, first = self._tree, self._state.places[self._at_stage :][:1], len(self._used) + N_ACCOUNT
        scores = self._state.numbers[None, first : first + tree.n_outputs].copy()
        if self.reason != REASONS[0]:
            scores = self.end.final_scores(tree.layout, tree.fallbacks)
        value = tree.linked(scores, stage)[0]
        return (float(value[0]) if len(value) == 1 else value), int(stage[0])

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far."""
        weight, comparisons, uses, n_used = self._state.numbers[len(self._used) :][:N_ACCOUNT].tolist()
        return self._tree.price_evaluated(self._prices, weight, comparisons, uses - n_used)


def begin_row(
    tree: StageModel,
    prices: PriceArrays,
    known_values: Mapping[int, float],
    limits: Limits | None,
    paid: tuple[Collection[int], Collection[int]] = ((), ()),
) -> StepState:
    """Return a row that has not begun.

    Under limits its arrays have more at their ends: numbers the score of the route before, and the share of the last
    stage's learners that are finished; places the number of the reason, and the money spent, in words; marks those of
    the S learners given up, and of the R resources paid.
    """
    layout, steps, used = tree.layout, tree.step_layout, tree.layout.used
    more = (0, 0, 0)
    if limits is not None:
        more = 2, 1 + tree.bill(prices).n_words, steps.n_learners + len(prices.resource_cost)
    numbers = np.zeros(len(used) + N_ACCOUNT + layout.n_outputs + layout.n_opaque + more[0])
    places = np.zeros(steps.n_learners + len(used) + 1 + more[1], np.int64)
    marks = np.zeros(len(used) + more[2], np.uint8)
    is_tree = layout.kind == TREE
    places[steps.use[is_tree, 0]] = layout.place[is_tree]
    for u in np.flatnonzero(np.isin(used, list(known_values))) if known_values else ():
        numbers[u], marks[u] = known_values[int(used[u])], KNOWN
    if limits is not None:
        for columns, mark in ((paid[0], BOUGHT), (limits.unavailable, BARRED)):
            marks[: len(used)] |= mark * np.isin(used, list(columns))
        marks[len(used) + steps.n_learners :][list(paid[1])] = PAID
    return StepState(numbers, places, marks)
