"""The trained thing: predicts tables, steps through single rows, and prices both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field

from costframe.core.bank import WeakLearnerBank
from costframe.core.costs import CostModel
from costframe.core.errors import CostModelError, InquiryError, StageError
from costframe.core.inquiry import Inquiry, Ledger, number
from costframe.core.layout import lay_out
from costframe.core.links import log_odds
from costframe.core.plan import plan_stages
from costframe.core.reading import check_acquisition
from costframe.core.report import squeezed
from costframe.core.stages import Answer, Route, Stage, check_stages
from costframe.core.tables import as_rows
from costframe.core.walk import StageWalker

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.categories import Categories
    from costframe.core.expected import CostReport
    from costframe.core.layout import StageLayout
    from costframe.core.plan import StagePlan
    from costframe.core.price_arrays import PriceArrays

__all__ = ["Known", "Predictor", "StageTree", "open_ledger"]

Known = Mapping[str, Any] | Iterable[str]
"""What is paid for before an inquiry: names of features and resources, or features with their values."""


class Predictor(ABC):
    """Anything that predicts rows and can say, row by row, which features it needs."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""

    @property
    @abstractmethod
    def costs(self) -> CostModel | None:
        """Prices used where none are given; None prices every feature at one."""

    @property
    def categories(self) -> Categories:
        """The labels of each feature whose categories are texts, by its name; their numbers are their positions."""
        return {}

    @abstractmethod
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows: float64 (rows,), or (rows, K) for K > 1 outputs."""

    @abstractmethod
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score rows, before the link: float64 (rows,) or (rows, K)."""

    @abstractmethod
    def inquire(self, costs: object = None, acquisition: str = "path", known: Known = ()) -> Inquiry:
        """Begin the prediction of one row.

        Parameters
        ----------
        costs : CostModel, or what makes one
            None takes the predictor's own.
        acquisition : {"path", "learner"}
            Whether a tree acquires features split by split, or all of them before it is evaluated.
        known : iterable of str, or mapping of str to float or label
            Features and resources already paid for. Features that come with their values are not asked for again.
        """

    def cost(
        self,
        X: Any,
        costs: object = None,
        *,
        acquisition: str = "path",
        routing: str = "hard",
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
    ) -> CostReport:
        """Say exactly what predicting these rows costs; shorthand for `ExpectedCost`."""
        from costframe.core.expected import ExpectedCost

        evaluator = ExpectedCost(costs, routing=routing, acquisition=acquisition)
        return evaluator.evaluate(self, X, sample_weight=sample_weight, rounds=rounds)


def open_ledger(predictor: Predictor, costs: object, known: Known) -> tuple[PriceArrays, Ledger, dict[int, float]]:
    """Resolve prices and what is known: prices, an account for one row, and given values by column."""
    model = predictor.costs if costs is None else costs
    prices = CostModel.of(model, predictor.feature_names).select(predictor.feature_names)
    if not isinstance(known, Iterable):
        raise InquiryError(f"known: expected names, or names with values, got {known!r}")
    names = list(known)
    given: dict[int, float] = {}
    if isinstance(known, Mapping):
        column = {name: f for f, name in enumerate(predictor.feature_names)}
        given = {
            column[name]: number(name, known[name], predictor.categories.get(name)) for name in names if name in column
        }
    elif isinstance(known, str):
        names = [known]
    return prices, Ledger(prices, names), given


def _as_stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    if isinstance(stages, Answer | Route):
        raise StageError("stages: expected a list of stages, got one; put it in brackets")
    return tuple(stages)


@define(eq=False, frozen=True)
class StageTree(Predictor):
    """A tree of stages over a bank of weak learners; the form of every built-in model.

    Parameters
    ----------
    bank : WeakLearnerBank
    stages : tuple of Answer or Route
        The first is the root; children come after their parents.
    costs : CostModel or None
        Prices used where none are given.

    Raises
    ------
    StageError
        If the stages are no tree or do not fit the bank.
    """

    bank: WeakLearnerBank
    stages: tuple[Stage, ...] = field(converter=_as_stages)
    costs: CostModel | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.bank, WeakLearnerBank):
            raise StageError(f"bank: expected a WeakLearnerBank, got {type(self.bank).__name__}")
        check_stages(self.stages, self.bank.widths)
        if self.costs is not None:
            if not isinstance(self.costs, CostModel):
                raise CostModelError(f"costs: expected a CostModel, got {type(self.costs).__name__}; see CostModel.of")
            self.costs.select(self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.bank.feature_names

    @property
    def categories(self) -> Categories:
        """The labels of each feature whose categories are texts; see `WeakLearnerBank`."""
        return self.bank.categories

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return self.layout.n_outputs

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Distinct links of the answers."""
        return tuple(sorted({stage.link for stage in self.stages if isinstance(stage, Answer)}))

    @cached_property
    def layout(self) -> StageLayout:
        """The form that the kernels read."""
        return lay_out(self.bank, self.stages)

    @cached_property
    def plan(self) -> StagePlan:
        """The form that walkers read."""
        return plan_stages(self.bank, self.stages)

    def with_costs(self, costs: CostModel | None) -> StageTree:
        """Return the same model with other prices of its own."""
        return evolve(self, costs=costs)

    def with_categories(self, categories: Categories) -> StageTree:
        """Return the same model with other labels of its features."""
        return evolve(self, bank=evolve(self.bank, categories=categories))

    def predict(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Predict rows: the link applied to the score of the answer that each row ends at.

        Parameters
        ----------
        X : float64 (rows, d), or data frame
        n_jobs : int, optional
            Threads; None takes all there are. The result does not depend on it.

        Returns
        -------
        float64 (rows,), or (rows, K) for K > 1 outputs
        """
        scores, exits = self._scores(X, n_jobs)
        return squeezed(self.linked(scores, exits))

    def decision_function(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Score rows: float64 (rows,) or (rows, K); where links differ, the clipped log of the probabilities.

        Of ranked answers these are the predictions, as scores of different stages are in no order.
        """
        scores, exits = self._scores(X, n_jobs)
        if self.links == ("ranked",):
            return squeezed(self.linked(scores, exits))
        return squeezed(scores if len(self.links) == 1 else log_odds(self.linked(scores, exits)))

    def exits(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Tell at which stage each row is answered: int64 (rows,)."""
        return self._scores(X, n_jobs)[1]

    def inquire(self, costs: object = None, acquisition: str = "path", known: Known = ()) -> Inquiry:
        """Begin the prediction of one row; see `Predictor.inquire`."""
        check_acquisition(acquisition)
        prices, ledger, given = open_ledger(self, costs, known)
        walker = StageWalker(self.plan, prices.split.tolist(), by_path=acquisition == "path", given=given)
        return Inquiry(walker, self.feature_names, ledger, self.categories)

    def _scores(self, X: Any, n_jobs: int | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        from costframe.core.evaluate import predict_rows

        return predict_rows(self.bank, self.layout, as_rows(X, self.feature_names, self.categories), n_jobs)

    def linked(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Apply to scores, float64 (rows, K), the link of the answer that each row ended at."""
        answers = [stage for stage in self.stages if isinstance(stage, Answer)]
        if len(self.links) == 1 and len({answer.level for answer in answers}) == 1:
            return answers[0].predictions(scores)
        values = np.empty_like(scores)
        for stage in np.unique(exits):
            answer, rows = self.stages[stage], exits == stage
            assert isinstance(answer, Answer)  # noqa: S101 - rows end at answers only
            values[rows] = answer.predictions(scores[rows])
        return values
