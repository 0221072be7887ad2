"""What rows on the same way through a tree of stages have in common: the engine's step for them, and their states."""

from __future__ import annotations

from struct import unpack_from
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.learners.tree_table import TREE
from costframe.core.stages.layout import BARRED, BOUGHT, CALLED, KNOWN, N_ACCOUNT, PAID

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from costframe import engine
    from costframe.core.prices.price_arrays import Limits
    from costframe.core.stages.layout import StageLayout


class RowWalk:
    """What rows on the same way through a tree have in common: the engine's step, its structs, and their states.

    A state, bytes that do not change, has numbers (value of each of U features; account; K scores of the last stage;
    outputs of opaque learners), places (node of each of S learners, ~node at its end; U features needed, of which the
    first are valid; stage; whether trees acquire split by split; number of the reason), and marks (of each feature).
    Each of the three goes on with as many as `own` tells for the kind of walk, and marks with those of resources.
    """

    def __init__(
        self,
        layout: StageLayout,
        step: Callable[..., engine.Step],
        *structs: engine.Record,
        own: tuple[int, int, int] = (0, 0, 0),
        n_resources: int = 0,
    ) -> None:
        self.layout, self.used, self.structs = layout, layout.used.tolist(), (layout.steps.packed, *structs)
        n_used, self.n_learners = len(self.used), layout.steps.n_learners
        self._counts = (
            n_used + N_ACCOUNT + layout.n_outputs + layout.n_opaque + own[0],
            self.n_learners + n_used + 3 + own[1],
            n_used + own[2] + n_resources,
        )
        self.account, self.scores = 8 * n_used, 8 * (n_used + N_ACCOUNT)  # where they begin, like the next two
        self._n_resources = n_resources
        self.size = 8 * (sum(self._counts[:2]) + -(-self._counts[2] // 8))
        self._needed = 8 * (self._counts[0] + self.n_learners)
        self.stage = self._needed + 8 * n_used
        self.step = step(self.size, *self.structs)
        self.begun: dict[tuple[bool, Limits | None], tuple[bytes, list[int]]] = {}

    def arrays(self, state: bytes | bytearray) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]]:
        """Return the numbers, places and marks of a state."""
        numbers, places, marks = self._counts
        return (
            np.frombuffer(state, np.float64, numbers),
            np.frombuffer(state, np.int64, places, 8 * numbers),
            np.frombuffer(state, np.uint8, marks, 8 * (numbers + places)),
        )

    def begin(
        self,
        by_path: bool,
        known_values: Mapping[int, float],
        unavailable: Collection[int] = (),
        paid: tuple[Collection[int], Collection[int]] = ((), ()),
        limit: NDArray[np.uint64] | None = None,
    ) -> bytearray:
        """Return the state of a row that has not begun; columns and resources `paid` cost nothing."""
        layout, used, n_used = self.layout, self.layout.used, len(self.used)
        state = bytearray(self.size)
        numbers, places, marks = self.arrays(state)
        is_tree = layout.kind == TREE
        places[layout.steps.use[is_tree, 0]] = layout.place[is_tree]
        places[self.n_learners + n_used + 1] = by_path
        for columns, mark in ((known_values, KNOWN), (paid[0], BOUGHT), (unavailable, BARRED)):
            if columns:
                marks[:n_used] |= mark * np.isin(used, list(columns))
        for u in np.flatnonzero(marks[:n_used] & KNOWN).tolist():
            numbers[u] = known_values[self.used[u]]
        for r in paid[1] if self._n_resources else ():
            marks[r - self._n_resources] = PAID
        if limit is not None:
            places[-len(limit) :] = limit.view(np.int64)
        return state

    def go_on(self, state: bytes, supplied: bytes = b"") -> tuple[bytes, list[int]]:
        """Change a state by the values needed, until it needs others; return it with its needs."""
        state, count = self.step(state, supplied)
        while count > len(self.used):
            state, count = self.step(self._call_opaque(count - len(self.used) - 1, state), b"")
        needed = unpack_from(f"{count}q", state, self._needed)
        return state, list(map(self.used.__getitem__, needed))

    def _call_opaque(self, use: int, state: bytes) -> bytes:
        """Call the learner of a use, whose features have values."""
        layout, changed = self.layout, bytearray(state)
        (numbers, places, _), learner = self.arrays(changed), layout.opaque(use)
        values = numbers[np.searchsorted(layout.used, np.array(learner.features, np.int64))]
        first = len(self.used) + N_ACCOUNT + layout.n_outputs + int(layout.place[use])
        numbers[first : first + learner.width] = learner(values[None])[0]
        places[layout.steps.use[use, 0]] = CALLED
        return bytes(changed)
