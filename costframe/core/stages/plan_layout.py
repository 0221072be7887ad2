"""The stops of a plan laid out for the engine."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from attrs import evolve, frozen

from costframe import engine
from costframe.core.learners.bits import as_set, as_words, word_count
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
    def _models(self) -> dict[tuple[int, str], StageLayout | None]:
        return {}

    def model(self, stop: int, kind: Literal["answer", "gains", "planned"]) -> StageLayout | None:
        """Return a model of a stop laid out; None if it has none of the kind, as the last stop has no gains."""
        if (stop, kind) not in self._models:  # two threads may both make it, and it is the same
            model, bank = getattr(self.stops[stop], kind), self.bank if kind == "answer" else self.gains_bank
            there = model is not None and len(model.intercept) > 0
            self._models[stop, kind] = lay_out(bank, (model,)) if there else None
        return self._models[stop, kind]

    def answer(self, stop: int) -> StageLayout:
        """Return the answer of a stop laid out."""
        model = self.model(stop, "answer")
        assert model is not None  # noqa: S101 - each stop has one
        return model

    @cached_property
    def packed(self) -> engine.Record:
        """The layout as the engine takes it; each model is there for single rows and for tables."""
        kinds: tuple[Literal["answer", "gains", "planned"], ...] = ("answer", "gains", "planned")
        models = [[self.model(stop, kind) for kind in kinds] for stop in range(len(self.stops))]
        there = [model for own in models for model in own if model]
        number = {id(model): i for i, model in enumerate(there)}
        stop = [[*(number.get(id(each), -1) for each in own), self.answer(i).n_opaque] for i, own in enumerate(models)]
        words = as_words(self.sets, word_count(self.shape[0]))
        structs = [(each.steps.packed, each.nodes.packed, each.packed) for each in there]
        tables = (np.frombuffer(b"".join(one.words for one in kind), np.int64) for kind in zip(*structs, strict=True))
        plan = engine.Plan(words, np.array(stop, np.int64), *(table.reshape(len(there), -1) for table in tables))
        return evolve(plan, arrays=(*plan.arrays, structs))  # to which the tables point

    def score(self, stop: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score rows at a stop: float64 (n, K), which it also writes to their last K columns."""
        scores = predict_rows(self.answer(stop), rows, 1)[0]
        rows[:, self.shape[0] :] = scores
        return scores

    def expected_gains(self, stop: int, rows: NDArray[np.float64], *, planned: bool) -> NDArray[np.float64]:
        """Return the expected gains of rows scored at a stop, or those of its plan: float64 (n, later stops)."""
        model = self.model(stop, "planned" if planned else "gains")
        assert model is not None  # noqa: S101 - callers know
        return predict_rows(model, rows, 1)[0]

    def call_opaques(self, stop: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs of the opaque learners of a stop's answer: float64 (n, any)."""
        return StageRunner(self.answer(stop), rows).opaque_outputs()
