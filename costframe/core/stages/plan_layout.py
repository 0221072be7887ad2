"""The stops of a plan laid out for the engine."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.learners.bits import as_set, word_count
from costframe.core.stages.layout import lay_out
from costframe.core.stages.run_stages import StageRunner, predict_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.stops import Stop


@frozen(eq=False, slots=False)
class PlanLayout:
    """The models of m stops over d features, W words of 64, and K outputs; `layouts` has those of all stops.

    Rows for its functions are C-contiguous float64 (n, d + K): values, and scores at their stop.
    """

    n_features: int
    n_outputs: int
    sets: tuple[int, ...]  # features of each stop, one bit a column
    words: NDArray[np.uint64]  # (m, W): the same
    stop: NDArray[np.int64]  # (m, 4): layouts of its answer, gains, and plan, or -1; outputs of opaque learners
    layouts: tuple[StageLayout, ...]

    @classmethod
    def of(cls, stops: Sequence[Stop], bank: WeakLearnerBank, gains_bank: WeakLearnerBank) -> PlanLayout:
        """Lay out checked stops."""
        layouts: list[StageLayout] = []
        places: list[list[int]] = []
        for stop in stops:
            place: list[int] = []
            for answer in (stop.answer, stop.gains, stop.planned):
                place.append(-1 if answer is None or not len(answer.intercept) else len(layouts))
                if place[-1] >= 0:
                    layouts.append(lay_out(bank if answer is stop.answer else gains_bank, (answer,)))
            places.append([*place, layouts[place[0]].n_opaque])
        sets = tuple(as_set(stop.features.tolist()) for stop in stops)
        words = np.stack([as_words(each, len(bank.feature_names)) for each in sets])
        return cls(
            len(bank.feature_names), len(stops[0].answer.intercept), sets, words, np.array(places), tuple(layouts)
        )

    @property
    def has_opaques(self) -> bool:
        """Whether answers have opaque learners."""
        return bool(self.stop[:, 3].any())

    @cached_property
    def no_rows(self) -> NDArray[np.int32]:
        """What the engine takes of single rows for the ways of a table's rows: int32 (0, m)."""
        return np.empty((0, len(self.sets)), np.int32)

    @cached_property
    def packed(self) -> engine.Record:
        """The layout as the engine takes it; each model is there for single rows and for tables."""
        kinds = zip(*((each.steps.packed, each.nodes.packed, each.packed) for each in self.layouts), strict=True)
        tables = (np.frombuffer(b"".join(one.words for one in kind), np.int64) for kind in kinds)
        return engine.Plan(self.words, self.stop, *(table.reshape(len(self.layouts), -1) for table in tables))

    def score(self, stop: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score rows at a stop: float64 (n, K), which it also writes to their last K columns."""
        scores = predict_rows(self.layouts[self.stop[stop, 0]], rows, 1)[0]
        rows[:, -self.n_outputs :] = scores
        return scores

    def expected_gains(self, stop: int, rows: NDArray[np.float64], *, planned: bool) -> NDArray[np.float64]:
        """Return the expected gains of rows scored at a stop, or those of its plan: float64 (n, later stops)."""
        return predict_rows(self.layouts[self.stop[stop, 2 if planned else 1]], rows, 1)[0]

    def call_opaques(self, stop: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs of the opaque learners of a stop's answer: float64 (n, any)."""
        return StageRunner(self.layouts[self.stop[stop, 0]], rows).opaque_outputs()


def as_words(numbers: int, n_things: int) -> NDArray[np.uint64]:
    """Return a set of numbers below `n_things`, given as one integer, as words of 64 bits: uint64 (W,)."""
    n_words = word_count(n_things)
    return np.frombuffer(numbers.to_bytes(8 * n_words, "little"), "<u8").astype(np.uint64)
