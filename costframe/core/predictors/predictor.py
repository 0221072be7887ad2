"""What every trained thing offers: it predicts tables, steps through single rows, and prices both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from costframe.core.errors import InquiryError, ParameterError
from costframe.core.predictors.inquiry import Inquiry, Ledger, number
from costframe.core.prices.costs import CostModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.cost.expected import CostReport
    from costframe.core.cost.report import Charges
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.tables.categories import Categories

__all__ = ["Known", "Predictor", "open_ledger"]

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
    def predict(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> NDArray[np.float64]:
        """Predict rows: float64 (rows,), or (rows, K) for K > 1 outputs.

        `max_cost` and `unavailable` mean what they mean to `inquire`, for each row, at the predictor's own prices.
        """

    @abstractmethod
    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> NDArray[np.float64]:
        """Score rows, before the link: float64 (rows,) or (rows, K); limits as for `predict`."""

    @abstractmethod
    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> Inquiry:
        """Begin the prediction of one row.

        There is always an answer: the best that the limits allow; its `reason` says whether they cut the row.

        Parameters
        ----------
        costs : CostModel, or what makes one
            None takes the predictor's own.
        acquisition : {"path", "learner"}
            Whether a tree acquires features split by split, or all of them before it is evaluated.
        known : iterable of str, or mapping of str to float or label
            Features and resources already paid for. Features that come with their values are not asked for again.
        max_cost : float, optional
            Hard cap of what the row may be charged for features, resources, comparisons, learners and reuse together.
        unavailable : iterable of str
            Features and resources that cannot be had; with a resource, all features that need it. None of them is asked
            for. A feature that is known with its value is available all the same.
        """

    def charges(
        self,
        X: NDArray[np.float64],
        costs: CostModel,
        weight: NDArray[np.float64],
        *,
        acquisition: str = "path",
        routing: str = "hard",
        steepness: float | None = None,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        n_jobs: int | None = None,
    ) -> Charges:
        """Charge rows: the one method by which evaluators price a predictor. By default it replays them one by one.

        Parameters
        ----------
        X : float64 (rows, d)
        costs : CostModel
        weight : float64 (rows,)
        acquisition, max_cost, unavailable
            As for `inquire`.
        routing, steepness
            As for `ExpectedCost`.
        n_jobs : int, optional
            Threads.

        Raises
        ------
        ParameterError
            If the routing is soft and there is nothing to soften.
        """
        from costframe.core.cost.replay import replay_charges

        del steepness, n_jobs
        if routing == "soft":
            raise ParameterError("routing: only a stage tree has thresholds to soften; use routing='hard'")
        return replay_charges(self, X, costs, weight, acquisition, max_cost, unavailable)

    def cost(
        self,
        X: Any,
        costs: object = None,
        *,
        acquisition: str = "path",
        routing: str = "hard",
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> CostReport:
        """Say exactly what predicting these rows costs; shorthand for `ExpectedCost`."""
        from costframe.core.cost.expected import ExpectedCost

        evaluator = ExpectedCost(
            costs, routing=routing, acquisition=acquisition, max_cost=max_cost, unavailable=unavailable
        )
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
