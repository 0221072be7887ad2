"""Models with early exits that no stage tree can hold, and the one for several classes."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve

from costframe.core.caps.expected_outputs import expect_everywhere
from costframe.core.cost.report import sum_charges
from costframe.core.errors import ParameterError, format_count
from costframe.core.gains import gains_of_answers
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import Known, Predictor, open_ledger
from costframe.core.prices.price_arrays import as_cap, names_of
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.stages.stages import apply_link
from costframe.core.stages.step import StageStepper
from costframe.core.tables.rows import as_rows
from costframe_baselines.exits import Exits, confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.caps.fallbacks import FallbackRows
    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.cost.report import Charges
    from costframe.core.gains import Gains
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.costs import CostModel
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.tables.categories import Categories

__all__ = ["ConfidenceExits", "ExitPredictor", "refuse_limits"]

_NO_LIMITS = "a model with early exits for more than two classes has no limits"


@define(eq=False, frozen=True, slots=False, repr=False)
class ExitPredictor(Predictor):
    """The common part: rows leave at exits, and each pays for the learners before its exit.

    Parameters
    ----------
    exits : Exits
        Its tree has the default prices.
    threshold : float
    """

    exits: Exits
    threshold: float

    @property
    def facts(self) -> tuple[str, ...]:
        """Its size, for its `repr`."""
        return format_count(len(self.exits.ends), "exit"), format_count(len(self.bank), "learner")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.exits.tree.feature_names

    @property
    def costs(self) -> CostModel | None:
        """Default prices."""
        return self.exits.tree.costs

    @property
    def categories(self) -> Categories:
        """Labels of each feature whose categories are texts."""
        return self.exits.tree.categories

    @property
    def bank(self) -> Any:
        """The weak learners."""
        return self.exits.tree.bank

    def with_costs(self, costs: CostModel | None) -> Any:
        """Return the same model with other prices of its own."""
        return evolve(self, exits=evolve(self.exits, tree=self.exits.tree.with_costs(costs)))

    @cached_property
    def prefixes(self) -> tuple[StageTree, ...]:
        """The model of each exit; predictions are scores."""
        return tuple(self.exits.prefix(number) for number in range(len(self.exits.ends)))

    @abstractmethod
    def _leave(self, number: int, scores: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the remaining rows, int64 (m,), with scores (m, K), leave at an exit."""

    def _walk(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the scores and the exit of each row: float64 (n, K), int64 (n,)."""
        last, rows = len(self.exits.ends) - 1, np.arange(len(X))
        scores, exits = np.zeros((len(X), self.exits.tree.n_outputs)), np.full(len(X), last)
        for number in range(1, last + 1):
            if not len(rows):
                break
            scores[rows] = now = self.prefixes[number].predict(X[rows]).reshape(len(rows), -1)
            if number < last:
                leaves = self._leave(number, now, rows)
                exits[rows[leaves]] = number
                rows = rows[~leaves]
        return scores, exits

    def _charges_at(
        self,
        exits: NDArray[np.int64],
        predictions: NDArray[np.float64],
        X: NDArray[np.float64],
        costs: CostModel,
        weight: NDArray[np.float64],
        how: ExpectedCost,
        n_jobs: int | None,
    ) -> Charges:
        """Charge the rows of each exit for the learners before it; `stage_weight` is that of rows at each exit."""
        if how.routing == "soft":
            raise ParameterError("routing: only a stage tree has thresholds to soften; use routing='hard'")
        order, numbers = np.argsort(exits, kind="stable"), np.unique(exits).tolist() or [0]
        parts = []
        for number in numbers:
            rows = order[exits[order] == number]
            parts.append(self.prefixes[number].charges(X[rows], costs, weight[rows], how, n_jobs))
        together, back = sum_charges(parts), np.argsort(order)
        names = ("acquired", "acquisition", "learners", "comparisons", "reuse", "per_row")
        by_row = {name: value[back] for name in names if (value := getattr(together, name)) is not None}
        at = np.bincount(exits, weights=weight, minlength=len(self.prefixes))
        stage_weight = np.cumsum(at[:0:-1])[::-1].astype(np.float64)
        return evolve(together, **by_row, stage_weight=stage_weight, predictions=predictions.reshape(len(X), -1))


@define(eq=False, frozen=True, slots=False, repr=False)
class ConfidenceExits(ExitPredictor):
    """Rows of more than two classes leave when the log odds of their likeliest class exceed the threshold.

    It refuses hard caps and unavailable features.
    """

    def predict(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> NDArray[np.float64]:
        """Return class probabilities: float64 (rows, K)."""
        return apply_link(self.exits.answer.link, self.decision_function(X, max_cost=max_cost, unavailable=unavailable))

    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> NDArray[np.float64]:
        """Return the scores of each row at its exit: float64 (rows, K)."""
        refuse_limits(max_cost, unavailable, _NO_LIMITS)
        return self._walk(as_rows(X, self.feature_names, self.categories))[0]

    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> Inquiry:
        """Begin the prediction of one row; see `Predictor.inquire`."""
        check_acquisition(acquisition)
        refuse_limits(max_cost, unavailable, _NO_LIMITS)
        prices, ledger, known_values = open_ledger(self, costs, known)
        walker = _ExitWalker(self, prices, known_values, by_path=acquisition == "path")
        return Inquiry(walker, self.feature_names, ledger, self.categories)

    def charges(
        self,
        X: NDArray[np.float64],
        costs: CostModel,
        weight: NDArray[np.float64],
        how: ExpectedCost,
        n_jobs: int | None = None,
    ) -> Charges:
        """Charge rows with the kernels; see `Predictor.charges`."""
        refuse_limits(how.max_cost, how.unavailable, _NO_LIMITS)
        scores, exits = self._walk(X)
        predictions = apply_link(self.exits.answer.link, scores)
        return self._charges_at(exits, predictions, X, costs, weight, how, n_jobs)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns, at the exits of rows; see `Predictor.gains`."""
        del costs
        answers = {number: self.exits.prefix_answer(number, "identity") for number in range(len(self.prefixes))}
        exits = self._walk(rows.X)[1]
        return gains_of_answers(self.bank, answers, exits, rows, expect_everywhere(self.bank, rows))

    def leaves(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which rows with these scores, (m, K), leave: bool (m,)."""
        return confidence(scores) > self.threshold

    def _leave(self, number: int, scores: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        del number, rows
        return self.leaves(scores)


def refuse_limits(max_cost: float | None, unavailable: Iterable[str], reason: str) -> None:
    """Refuse a hard cap and unavailable features."""
    for name, given in (("max_cost", as_cap(max_cost) is not None), ("unavailable", bool(names_of(unavailable)))):
        if given:
            raise ParameterError(f"{name}: {reason}")


class _ExitWalker:
    """One row on its way from exit to exit; later learners know the values of features acquired before."""

    reason = "complete"

    def __init__(
        self, model: ConfidenceExits, prices: PriceArrays, known: Mapping[int, float], *, by_path: bool
    ) -> None:
        self._model, self._prices, self._by_path = model, prices, by_path
        self._number, self._values = 1, dict(known)
        self._stepper = self._begin(1, self._values)
        self._go_on()

    @property
    def needs(self) -> Sequence[int]:
        """Features needed for the learners before the next exit."""
        return self._stepper.needs

    @property
    def answer(self) -> tuple[NDArray[np.float64], int]:
        """Probabilities, and the number of the exit."""
        return apply_link(self._model.exits.answer.link, self._scores())[0], self._number - 1

    @property
    def evaluated(self) -> Fraction:
        """As of the stepper of the last exit, which evaluated all learners before it."""
        return self._stepper.evaluated

    def advance(self, values: Mapping[int, float]) -> None:
        """Add the values of all features in `needs`, and go on to the next exit that needs others."""
        self._stepper, self._values = copy(self._stepper), {**self._values, **values}
        self._stepper.advance(values)
        self._go_on()

    def _begin(self, number: int, values: Mapping[int, float]) -> StageStepper:
        return StageStepper(self._model.prefixes[number], self._prices, by_path=self._by_path, known_values=values)

    def _go_on(self) -> None:
        last = len(self._model.prefixes) - 1
        while not self._stepper.needs and self._number < last and not self._model.leaves(self._scores())[0]:
            self._stepper = self._begin(self._number + 1, self._values)
            self._number += 1

    def _scores(self) -> NDArray[np.float64]:
        return np.reshape(self._stepper.answer[0], (1, -1))
