"""Steps of one row through a stage tree, and then through the spare trees, if its way needs what it does without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import F8
from costframe.core.prices.limits import LIMITS, Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.layout import KNOWN
from costframe.core.stages.stand_ins import StandIn
from costframe.core.stages.step import StageStepper


@frozen(eq=False)
class SparedStepper:
    """A walker of a row that has gone, or may have to go, to the spare trees."""

    own: StageStepper
    other: StandIn
    prices: PriceArrays
    values: Mapping[int, float]  # known before
    by_path: bool
    then: StageStepper | None = None  # through the spare trees

    @classmethod
    def around(
        cls, own: StageStepper, prices: PriceArrays, limits: Limits, values: Mapping[int, float], *, by_path: bool
    ) -> StageStepper | SparedStepper:
        """Return the walker of a row that has begun its own way; itself, where nothing stands in for it."""
        other = StandIn.of(own.tree, prices, limits)
        return own if other is None else cls._gone_on(own, cls(own, other, prices, values, by_path))

    @classmethod
    def _gone_on(cls, own: StageStepper, row: SparedStepper) -> SparedStepper:
        """Return a row that has come so far on its own way; at the spare trees, if that ended for want of a feature."""
        if own.needs or own.reason not in LIMITS:
            return evolve(row, own=own)
        numbers, _, marks = own.walk.arrays(own.state)
        used, had = own.walk.used, np.flatnonzero(marks[: len(own.walk.used)] & KNOWN)
        known = dict(row.values) | {used[u]: float(numbers[u]) for u in had.tolist()}
        known |= dict.fromkeys(row.other.barred, np.nan)
        return evolve(row, own=own, then=StageStepper.begin(row.other.spare, row.prices, row.by_path, known))

    @property
    def asking(self) -> StageStepper:
        """The walker that asks; at the end, that of the own way."""
        return self.own if self.then is None or not self.then.needs else self.then

    @property
    def needs(self) -> tuple[int, ...]:
        """Distinct features that are certainly needed, ascending."""
        return self.asking.needs

    def after(self, values: Sequence[float]) -> SparedStepper:
        """Return the row with the values of all features in `needs` too, gone on."""
        if self.then is not None:
            return evolve(self, then=self.then.after(values))
        return self._gone_on(self.own.after(values), self)

    @property
    def _scores(self) -> F8:
        """The scores of the spare trees, as those of the own answer: float64 (1, K)."""
        then, tree = self.then, self.other.spare
        assert then is not None  # noqa: S101 - the row is there
        return self.other.own_scores(np.frombuffer(then.state, np.float64, tree.n_outputs, then.walk.scores)[None])

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit."""
        return self.own.answer if self.then is None else (self.own.tree.prediction(self._scores, 0), 0)

    @property
    def place(self) -> int | None:
        """Number of the class, where the prediction does not tell it; else None."""
        if self.then is None or (decider := self.own.tree.own_classes) is None:
            return self.own.place
        return decider.place(self._scores[0].tolist(), lambda: np.empty((1, 0)), whole=False)

    @property
    def reason(self) -> str:
        """Why the row ended; see `Prediction`."""
        return self.own.reason

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far, nothing: where it costs something, nothing stands in."""
        return self.own.evaluated
