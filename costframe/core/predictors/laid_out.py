"""A tree of stages over a bank, and what evaluators make of it once: arrays for kernels, lists for walkers."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from costframe.core.errors import StageError, format_count
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.predictors.classes import likeliest
from costframe.core.predictors.predictor import OverBank
from costframe.core.prices.exact_prices import as_multiples
from costframe.core.stages.layout import lay_out
from costframe.core.stages.plan import plan_stages, sum_evaluations
from costframe.core.stages.run_stages import check_acquisition, marks_for
from costframe.core.stages.stages import Answer, Route, Stage, apply_link, log_odds, squeeze
from costframe.core.stages.step_layout import lay_out_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from costframe.core.prices.exact_prices import ExactPrices
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.plan import StagePlan
    from costframe.core.stages.run_stages import ReadingMarks
    from costframe.core.stages.step import StepState
    from costframe.core.stages.step_layout import StepLayout


def _as_stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    if isinstance(stages, Answer | Route):
        raise StageError("stages: expected a list of stages, got one; put it in brackets")
    return tuple(stages)


@define(eq=False, frozen=True, repr=False)
class LaidOutStages(OverBank):
    """A tree of stages over a bank of weak learners, in all its forms; see `StageTree`."""

    stages: tuple[Stage, ...] = field(converter=_as_stages)

    @property
    def facts(self) -> tuple[str, ...]:
        """Its size and links, for its `repr`."""
        links = ", ".join(map(repr, self.links))
        return format_count(len(self.stages), "stage"), format_count(len(self.bank), "learner"), f"link {links}"

    @cached_property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that the first stage reads in every row: of its trees the first tests."""
        root, bank = self.stages[0], self.bank
        if not len(root.learners):
            return ()
        widths = bank.widths[root.learners]
        weighed = root.learners[np.logical_or.reduceat(root.weights.any(axis=1), np.cumsum(widths) - widths)]
        trees, columns, opaques = (bank.index[weighed[bank.kind[weighed] == kind]] for kind in (TREE, COLUMN, OPAQUE))
        tests = bank.trees.feature[bank.trees.first[trees]]
        read = {*tests[tests >= 0].tolist(), *bank.column_feature[columns].tolist()}
        read.update(*(bank.opaques[number].features for number in opaques))
        return tuple(self.feature_names[f] for f in sorted(read))

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return self.layout.n_outputs

    @property
    def n_predictions(self) -> int:
        """Number of columns of its predictions."""
        return next(stage.n_predictions for stage in self.stages if isinstance(stage, Answer))

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
        """The tree as arrays for the kernels."""
        return lay_out(self.bank, self.stages)

    @cached_property
    def step_layout(self) -> StepLayout:
        """The tree as arrays for steps of a row."""
        return lay_out_steps(self.bank, self.layout, self.weights[1])

    @cached_property
    def weights(self) -> tuple[Fraction, NDArray[np.float64]]:
        """A unit of e_t, and the e_t of each learner as its multiple."""
        return as_multiples(self.bank.evaluation)

    def exact(self, prices: PriceArrays) -> ExactPrices:
        """Return prices as whole numbers, with that of the unit of e_t."""
        return prices.exact(self.weights[0])

    def price_evaluated(self, prices: PriceArrays, weight: float, comparisons: float, again: float) -> Fraction:
        """Price learners and comparisons, counted in their units, and uses of features beyond the first."""
        own = self.exact(prices)
        return Fraction(own.evaluated(weight, comparisons, again), own.per_unit)

    @cached_property
    def begun(self) -> dict[bool, tuple[StepState, list[int]]]:
        """First states of rows without known values, and their needs, by whether trees acquire split by split."""
        return {}

    @cached_property
    def _free_marks(self) -> dict[str, ReadingMarks]:
        """Reading marks where comparisons and reuse cost nothing, by acquisition."""
        return {}

    def marks(self, prices: PriceArrays, acquisition: str) -> ReadingMarks:
        """Return what rows read at these prices, kept where that does not depend on them; see `marks_for`."""
        if prices.spends:
            return marks_for(self.bank, self.layout, prices, acquisition)
        check_acquisition(acquisition)
        if acquisition not in self._free_marks:
            self._free_marks[acquisition] = marks_for(self.bank, self.layout, prices, acquisition)
        return self._free_marks[acquisition]

    @cached_property
    def plan(self) -> StagePlan:
        """The tree as lists for walkers under limits."""
        return plan_stages(self.bank, self.stages)

    @cached_property
    def most_evaluated(self) -> tuple[int, int, int]:
        """Sums over all learners, the most that a row can evaluate; see `sum_evaluations`."""
        return sum_evaluations(self)

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

    def margins(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what `decision_function` gives rows with these scores, float64 (rows, K), and exits."""
        if self.links == ("ranked",):
            return squeeze(self.linked(scores, exits))
        if (answer := self.only_answer) is not None:
            return squeeze(scores[:, answer.class_scores :] if answer.by_scores else answer.blended(scores))
        return squeeze(scores if len(self.links) == 1 else log_odds(self.linked(scores, exits)))

    def labels_of(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[Any]:
        """Return the class, of those known, of rows with these scores, float64 (rows, K), and exits."""
        assert self.classes is not None  # noqa: S101 - callers look
        if (answer := self.only_answer) is not None and answer.class_scores:
            return likeliest(squeeze(scores[:, : answer.class_scores]), self.classes, 0.0)
        return likeliest(squeeze(self.linked(scores, exits)), self.classes, self.half)

    @cached_property
    def only_answer(self) -> Answer | None:
        """An answer with the link, level and temperature of all answers; None if these differ."""
        answers = [stage for stage in self.stages if isinstance(stage, Answer)]
        return answers[0] if len({(each.link, each.level, each.temperature) for each in answers}) == 1 else None
