"""The stops of a plan laid out for the engine."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import evolve, frozen

from costframe import engine
from costframe.core.learners.bits import as_set, word_count
from costframe.core.stages.layout import lay_out
from costframe.core.stages.run_stages import StageRunner, predict_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.stages import Answer
    from costframe.core.stages.stops import Stop


class StopModels(NamedTuple):
    """The models of a stop laid out; the last stop has no gains."""

    answer: StageLayout
    gains: StageLayout | None
    planned: StageLayout | None


@frozen(eq=False, slots=False)
class PlanLayout:
    """Checked stops, m in all, over d features, W words of 64, and K outputs; models are laid out at their first use.

    Rows for its functions are C-contiguous float64 (n, d + K): values, and scores at their stop.
    """

    stops: Sequence[Stop]
    bank: WeakLearnerBank
    gains_bank: WeakLearnerBank

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Numbers of features and outputs: d, K."""
        return len(self.bank.feature_names), len(self.stops[0].answer.intercept)

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """Features of each stop, one bit a column."""
        return tuple(as_set(stop.features.tolist()) for stop in self.stops)

    @cached_property
    def models(self) -> tuple[StopModels, ...]:
        """The models of each stop."""

        def lay_out_gains(gains: Answer | None) -> StageLayout | None:
            return lay_out(self.gains_bank, (gains,)) if gains is not None and len(gains.intercept) else None

        return tuple(
            StopModels(lay_out(self.bank, (stop.answer,)), lay_out_gains(stop.gains), lay_out_gains(stop.planned))
            for stop in self.stops
        )

    @cached_property
    def packed(self) -> engine.Record:
        """The layout as the engine takes it; each model is there for single rows and for tables."""
        there = [model for models in self.models for model in models if model]
        number = {id(model): i for i, model in enumerate(there)}
        stop = [[*(number.get(id(each), -1) for each in models), models.answer.n_opaque] for models in self.models]
        words = np.stack([as_words(each, self.shape[0]) for each in self.sets])
        structs = [(each.steps.packed, each.nodes.packed, each.packed) for each in there]
        tables = (np.frombuffer(b"".join(one.words for one in kind), np.int64) for kind in zip(*structs, strict=True))
        plan = engine.Plan(words, np.array(stop, np.int64), *(table.reshape(len(there), -1) for table in tables))
        return evolve(plan, arrays=(*plan.arrays, structs))  # to which the tables point

    def score(self, stop: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score rows at a stop: float64 (n, K), which it also writes to their last K columns."""
        scores = predict_rows(self.models[stop].answer, rows, 1)[0]
        rows[:, self.shape[0] :] = scores
        return scores

    def expected_gains(self, stop: int, rows: NDArray[np.float64], *, planned: bool) -> NDArray[np.float64]:
        """Return the expected gains of rows scored at a stop, or those of its plan: float64 (n, later stops)."""
        model = self.models[stop].planned if planned else self.models[stop].gains
        assert model is not None  # noqa: S101 - callers know
        return predict_rows(model, rows, 1)[0]

    def call_opaques(self, stop: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs of the opaque learners of a stop's answer: float64 (n, any)."""
        return StageRunner(self.models[stop].answer, rows).opaque_outputs()


def as_words(numbers: int, n_things: int) -> NDArray[np.uint64]:
    """Return a set of numbers below `n_things`, given as one integer, as words of 64 bits: uint64 (W,)."""
    n_words = word_count(n_things)
    return np.frombuffer(numbers.to_bytes(8 * n_words, "little"), "<u8").astype(np.uint64)
