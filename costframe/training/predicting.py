"""The half of the scikit-learn shell that predicts: what a fitted estimator answers, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from costframe.core.arrays import F8
from costframe.core.cost.asked import tell_apart
from costframe.core.cost.partition_costs import cost_by_partition
from costframe.core.cost.report import CostReport
from costframe.core.errors import ParameterError, shown
from costframe.core.machine import limit_threads
from costframe.core.predictors.importances import gains
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import behind_preparation
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import LIMITS, names_of
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.partitions import by_partition
from costframe.core.terms.terms import OF_PLANS, Terms
from costframe.records.made import align_mask
from costframe.training.row_reader import RowReader


class LazyImportances:
    """Importances by gain, computed at their first use; pickles hold them, and no rows."""

    def __init__(self, predictor: Predictor, rows: FallbackRows) -> None:
        self.rows: FallbackRows | None = rows
        self._predictor = predictor

    @cached_property
    def values(self) -> F8:
        """The importances, in the order of columns: float64 (d,)."""
        assert self.rows is not None  # noqa: S101 - without rows, there are values
        return gains(self._predictor, self.rows.few)

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": None, "values": self.values}


class Predicting(RowReader):
    """The part of an estimator that asks its predictor, for rows in memory or of a dask collection."""

    predictor_: Predictor
    costs_: CostModel
    _gains: LazyImportances | None = None

    @property
    def feature_importances_(self) -> F8:
        """Importances by gain on at most a thousand training rows, summing to one: float64 (d,).

        See `costframe.importances`, which also gives those by money, and of other rows.
        """
        check_is_fitted(self, "predictor_")
        if self._gains is None:
            raise AttributeError("feature_importances_: the training rows are gone; see costframe.importances")
        return self._gains.values.copy()

    @property
    def bank_(self) -> Any:
        """The weak learners of the fitted predictor; parts of dates are columns to them."""
        check_is_fitted(self, "predictor_")
        predictor: Any = behind_preparation(self.predictor_)
        return predictor.bank

    @cost_by_partition
    def cost(
        self,
        X: Any,
        y_or_costs: Any = None,
        *,
        y: ArrayLike | None = None,
        costs: object = None,
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        latency: bool = False,
        made: Any = None,
        **asked: Any,
    ) -> CostReport:
        """Return the exact cost of predicting rows, with labels also that of errors; see `Predictor.cost`.

        Labels may be given by position, and so may prices that name their features. No row pays more than `max_cost` or
        buys `unavailable` features and resources; the report marks rows answered early as `cut`. `costs` replace the
        estimator's prices; `acquisition` is as for `Predictor.cost`, and a plan also accepts another `tradeoff`. Rows
        that lack a test, by the prices or the mask `made` of X's cells, are completed by their labels.
        """
        check_is_fitted(self, "predictor_")
        y, costs = tell_apart(y_or_costs, y, costs, self.predictor_.feature_names)
        asked = self._check(asked, "acquisition")
        prices = self.costs_ if costs is None else costs
        asked, terms = self._terms(asked, prices)
        rows = self._read(X, () if terms is None else terms.unread_columns(X, labelled=y is not None))
        asked["made"] = align_mask(made, X, self.predictor_.feature_names)
        with self._own_threads():
            return self.predictor_.cost(
                rows, y=y, costs=prices, sample_weight=sample_weight, rounds=rounds, latency=latency, **asked
            )

    def inquire(self, *arguments: Any, **terms: Any) -> Inquiry:
        """Begin the prediction of one row; see `Predictor.inquire`."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.inquire(*arguments, **terms)

    def resume(self, text: str, costs: object = None) -> Inquiry:
        """Go on with an inquiry that `Inquiry.to_json` has put away; see `Predictor.resume`."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.resume(text, costs)

    @by_partition
    def predict(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **of_plan: Any
    ) -> NDArray[Any]:
        """Return predictions, or scores of a ranking: float64 (rows,).

        Parameters
        ----------
        X : float64 (rows, d), or data frame
        max_cost : float, optional
            Hard cap on the cost of each row; see `Predictor.inquire`.
        unavailable : iterable of str
            Unavailable features and resources.
        costs, tradeoff : optional
            Prices, and loss accepted per unit of cost, in place of its own, for a plan.
        """
        return self._ask("predict", X, max_cost=max_cost, unavailable=unavailable, **of_plan)

    def _ask(self, method: str, X: Any, **asked: Any) -> F8:
        """Call a method of the predictor for checked rows; any model decides its labels by other prices of errors.

        Public methods name the limits in their signatures: scikit-learn routes no metadata to keywords without a name.
        """
        asked, terms = self._terms(asked)
        rows, decide = self._read(X, () if terms is None else terms.unread_columns(X)), {}
        if method == "labels" and (costs := asked.get("costs")) is not None:
            prices = CostModel.of(costs, self.predictor_.feature_names)
            if self.costs_.errors != prices.errors:
                decide = {"costs": prices}
        if asked:
            asked = self._check({name: value for name, value in asked.items() if name not in decide}) | decide
        with self._own_threads():
            answers: F8 = getattr(self.predictor_, method)(rows, **asked)
        return answers

    def _terms(self, asked: dict[str, Any], prices: object = None) -> tuple[dict[str, Any], Terms | None]:
        """Return what is asked of rows with the unavailable names read once, and terms, None if all is available.

        By default the terms are at the prices that decide what rows acquire.
        """
        names = names_of(asked.get("unavailable", ()))
        if not names:
            return asked, None
        check_is_fitted(self, "predictor_")
        if prices is None and self.predictor_.card.plans:
            prices = asked.get("costs")
        return asked | {"unavailable": names}, self.predictor_.row_terms(prices, unavailable=names)

    def _own_threads(self) -> AbstractContextManager[None]:
        """Limit the threads to those that the estimator's `n_jobs` allows."""
        return limit_threads(getattr(self, "n_jobs", None))

    def _check(self, asked: dict[str, Any], *further: str) -> dict[str, Any]:
        """Return what is asked of rows; refuse unknown names, and what only a plan takes."""
        known = (*LIMITS, *further, *OF_PLANS)
        for name, value in asked.items():
            if name not in known:
                raise ParameterError(f"{name}: expected {', '.join(known[:-1])} or {known[-1]}, got {shown(name)}")
            if value is not None and name in OF_PLANS and not self.predictor_.card.plans:
                raise ParameterError(
                    f"{name}: expected None, for {type(self).__name__} was trained for its own prices and tradeoff and "
                    f"only a plan takes others when it predicts; got {shown(value)}"
                )
        return {name: value for name, value in asked.items() if value is not None or name not in OF_PLANS}
