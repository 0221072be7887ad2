"""Steps of one row through a stage tree without limits: the model side of its inquiry, around the engine's step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.learners.tree_table import TREE
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.layout import CALLED, KNOWN, N_ACCOUNT, StepState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.stage_model import StageModel


_NO_SPLIT = np.empty(0)  # for rows that do not spend on comparisons


class StageStepper:
    """One row on its way through a stage tree. All learners of a stage go on together.

    With `by_path`, trees acquire features split by split; else all of them before they are evaluated.
    """

    reason = "complete"

    def __init__(
        self, tree: StageModel, prices: PriceArrays, *, by_path: bool, known_values: Mapping[int, float]
    ) -> None:
        self._tree, self._prices, self._by_path, self._used = tree, prices, by_path, tree.layout.used
        split = prices.comparisons[1][self._used] if prices.spends else _NO_SPLIT
        self._fixed = tree.step_layout.packed, split, by_path, prices.spends
        begun = None if known_values else tree.begun.get(by_path)
        self._state, self.needs = begun or self._begin(known_values)

    def _begin(self, known_values: Mapping[int, float]) -> tuple[StepState, list[int]]:
        tree, layout, used = self._tree, self._tree.layout, self._used
        numbers = np.zeros(len(used) + N_ACCOUNT + layout.n_outputs + layout.n_opaque)
        places = np.zeros(tree.step_layout.n_learners + len(used) + 1, np.int64)
        is_tree = layout.kind == TREE
        places[tree.step_layout.use[is_tree, 0]] = layout.place[is_tree]
        marks = np.zeros(len(used), np.uint8)
        for u in np.flatnonzero(np.isin(used, list(known_values))) if known_values else ():
            numbers[u], marks[u] = known_values[int(used[u])], KNOWN
        begun = self._go_on(np.empty(0), StepState(numbers, places, marks))
        if not known_values and not layout.n_opaque:
            tree.begun[self._by_path] = begun
        return begun

    def __copy__(self) -> StageStepper:  # as `copy` makes one, in a fifth of the time
        other = StageStepper.__new__(StageStepper)
        other.__dict__.update(self.__dict__)
        return other

    def advance(self, values: Mapping[int, float]) -> None:
        """Add the values of all features in `needs`, and go on."""
        self._state, self.needs = self._go_on(np.array([values[f] for f in self.needs], np.float64), self._state.copy())

    def _go_on(self, supplied: NDArray[np.float64], state: StepState) -> tuple[StepState, list[int]]:
        """Change a state by the values needed, until it needs others; return it with its needs."""
        while (count := engine.step_row(supplied, *state, *self._fixed)) < 0:
            self._call_opaque(-1 - count, state)
            supplied = supplied[:0]
        begin = len(state.places) - 1 - len(self._used)
        return state, self._used[state.places[begin : begin + count]].tolist()

    def _call_opaque(self, use: int, state: StepState) -> None:
        """Call the learner of a use, whose features have values."""
        layout, width = self._tree.layout, int(self._tree.layout.width[use])
        learner = self._tree.bank.opaques[self._tree.bank.index[layout.learner[use]]]
        values = state.numbers[np.searchsorted(self._used, np.array(learner.features, np.int64))]
        first = len(self._used) + N_ACCOUNT + layout.n_outputs + int(layout.place[use])
        state.numbers[first : first + width] = learner(values[None])[0]
        state.places[self._tree.step_layout.use[use, 0]] = CALLED

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit."""
        stage, first = self._state.places[-1:], len(self._used) + N_ACCOUNT
        value = self._tree.linked(self._state.numbers[None, first : first + self._tree.n_outputs].copy(), stage)[0]
        return (float(value[0]) if len(value) == 1 else value), int(stage[0])

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far."""
        if not self._prices.spends:
            return ZERO
        weight, comparisons, uses, n_used = self._state.numbers[len(self._used) :][:N_ACCOUNT].tolist()
        return self._tree.price_evaluated(self._prices, weight, comparisons, uses - n_used)
