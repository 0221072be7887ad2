"""A tree of stages over a bank with its prices and fallbacks: all that its walkers and evaluators need of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, field

from costframe import engine
from costframe.core.errors import StageError
from costframe.core.stages.capped_layout import lay_out_bill, lay_out_capped
from costframe.core.stages.layout import lay_out
from costframe.core.stages.mean_outputs import LeftOutputs
from costframe.core.stages.row_walk import RowWalk
from costframe.core.stages.run_stages import check_acquisition, marks_for
from costframe.core.stages.stages import Answer, Route, apply_link

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.prices.costs import CostModel
    from costframe.core.prices.exact_prices import ExactPrices
    from costframe.core.prices.price_arrays import Limits, PriceArrays
    from costframe.core.stages.capped_layout import Bill, CappedLayout
    from costframe.core.stages.fallbacks import FallbackRows, Fallbacks
    from costframe.core.stages.layout import ReadingMarks, StageLayout
    from costframe.core.stages.stages import Stage


def _as_stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    if isinstance(stages, Answer | Route):
        raise StageError("stages: expected a list of stages, got one; put it in brackets")
    return tuple(stages)


@define(eq=False, frozen=True, repr=False)
class StageModel(ABC):
    """A tree of stages over a bank, laid out for the engine and walkers at their first use; see `StageTree`."""

    bank: WeakLearnerBank
    stages: tuple[Stage, ...] = field(converter=_as_stages)
    costs: CostModel | None = None
    _fallbacks: Fallbacks | FallbackRows | None = field(default=None, kw_only=True, alias="fallbacks")

    @property
    @abstractmethod
    def fallbacks(self) -> Fallbacks | None:
        """Fallbacks for rows that limits cut, or None."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.bank.feature_names

    @cached_property
    def capped_model(self) -> CappedLayout:
        """The tree as arrays for rows under limits."""
        return lay_out_capped(self.bank, self.stages, self.layout, self.expected_outputs)

    @cached_property
    def expected_outputs(self) -> LeftOutputs | None:
        """Expected outputs of learners given up, from `fallbacks`."""
        return None if self.fallbacks is None else LeftOutputs(self.bank, self.fallbacks)

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return self.layout.n_outputs

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that learners with weights other than zero may read."""
        return tuple(self.feature_names[f] for f in self.layout.used)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Distinct links of the answers."""
        return tuple(sorted({stage.link for stage in self.stages if isinstance(stage, Answer)}))

    @cached_property
    def layout(self) -> StageLayout:
        """The tree as arrays for the engine."""
        return lay_out(self.bank, self.stages)

    @property
    def weights(self) -> tuple[Fraction, NDArray[np.float64]]:
        """A unit of e_t, and the e_t of each learner as its multiple."""
        return self.layout.weights

    def exact(self, prices: PriceArrays) -> ExactPrices:
        """Return prices as whole numbers, with that of the unit of e_t."""
        return prices.exact(self.weights[0])

    @cached_property
    def _free_walk(self) -> RowWalk:
        """That of rows without limits where comparisons and reuse cost nothing."""
        return RowWalk(self.layout, engine.step_row, engine.StepPrices(np.empty(0), False))

    @cached_property
    def _walks(self) -> WeakKeyDictionary[PriceArrays, dict[bool, RowWalk]]:
        return WeakKeyDictionary()

    def walk(self, prices: PriceArrays, *, limited: bool) -> RowWalk:
        """Return what rows at some prices, under limits or without, have in common."""
        if not (limited or prices.spends):
            return self._free_walk
        walks = self._walks.setdefault(prices, {})
        if limited not in walks:
            if limited:
                model, bill = self.capped_model, self.bill(prices)
                own = 2, 2 * bill.n_words, model.layout.steps.n_learners
                structs, n_resources = (model.expected, bill.packed), len(prices.resource_cost)
                found = RowWalk(model.layout, engine.step_capped_row, *structs, own=own, n_resources=n_resources)
            else:
                split = prices.comparisons[1][self.layout.used]
                found = RowWalk(self.layout, engine.step_row, engine.StepPrices(split, True))
            walks[limited] = found
        return walks[limited]

    @cached_property
    def _free_marks(self) -> dict[str, ReadingMarks]:
        """Reading marks where comparisons and reuse cost nothing, by acquisition."""
        return {}

    def marks(self, prices: PriceArrays, acquisition: str) -> ReadingMarks:
        """Return what rows read at these prices, kept where that does not depend on them; see `marks_for`."""
        if prices.spends:
            return marks_for(self.layout, prices, acquisition)
        check_acquisition(acquisition)
        if acquisition not in self._free_marks:
            self._free_marks[acquisition] = marks_for(self.layout, prices, acquisition)
        return self._free_marks[acquisition]

    @cached_property
    def _bills(self) -> WeakKeyDictionary[PriceArrays, Bill]:
        return WeakKeyDictionary()

    def bill(self, prices: PriceArrays) -> Bill:
        """Return prices for rows under limits."""
        if prices not in self._bills:
            self._bills[prices] = lay_out_bill(self.layout, prices)
        return self._bills[prices]

    def cannot_bind(self, limits: Limits, prices: PriceArrays) -> bool:
        """Return whether every row stays within the limits, for any values, so that it needs no limits."""
        if limits.unavailable and limits.unavailable.intersection(self.layout.used.tolist()):
            return False
        bill = self.bill(prices)
        return bool(bill.total <= bill.exact.limit(limits.max_cost))

    @cached_property
    def only_answer(self) -> Answer | None:
        """An answer with the link, level and temperature of all answers; None if these differ."""
        answers = [stage for stage in self.stages if isinstance(stage, Answer)]
        return answers[0] if len({(each.link, each.level, each.temperature) for each in answers}) == 1 else None

    def linked(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Apply the link of each row's answer to its scores, float64 (rows, K).

        If links or levels differ, a row that ended at a route has a final score; see `Fallbacks`.
        """
        if (answer := self.only_answer) is not None:
            return answer.predictions(scores)
        values = np.empty_like(scores)
        for number in np.unique(exits):
            stage, rows = self.stages[number], exits == number
            if isinstance(stage, Answer):
                values[rows] = stage.predictions(scores[rows])
            elif self.links == ("ranked",):
                values[rows] = scores[rows]
            else:
                values[rows] = apply_link("sigmoid" if self.n_outputs == 1 else "softmax", scores[rows])
        return values

    def prediction(self, scores: NDArray[np.float64], stage: int) -> float | NDArray[np.float64]:
        """Return the prediction of a row with scores, float64 (1, K), that ended at a stage; several are (M,)."""
        answer = self.only_answer
        values = self.linked(scores, np.array([stage])) if answer is None else answer.predictions(scores)
        return values.item() if values.size == 1 else values[0].copy()
