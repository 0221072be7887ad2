"""The model with early exits for rankings: the rows of a query leave together."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve

from costframe.core.errors import ParameterError
from costframe.core.stages.stages import apply_link
from costframe.core.tables.rows import as_rows, check_queries
from costframe_baselines.exit_predictors import ExitPredictor, refuse_limits
from costframe_baselines.proximity import drop_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.cost.report import Charges, CostReport
    from costframe.core.predictors.inquiry import Inquiry
    from costframe.core.predictors.predictor import Known
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.costs import CostModel

__all__ = ["ProximityExits", "rank_by_exit"]

_NO_LIMITS = "is for rows without queries; leave out qid"


@define(eq=False, frozen=True, slots=False, repr=False)
class ProximityExits(ExitPredictor):
    """Rows of a query leave when their score is too far below the query's fifth best; see `drop_rows`.

    Without queries, every row is a query of its own, and stays: the model is that of all learners. A score s is
    predicted as level + s / (2 (1 + |s|)), with level 0 for rows that stay to the end, and a lower level for each exit
    before: rows rank below all that left later.

    Parameters
    ----------
    queries : int64 (rows,), optional
        Numbers of the queries of the rows to predict, from 0; see `of_queries`.
    """

    queries: NDArray[np.int64] | None = None

    def of_queries(self, qid: ArrayLike | None) -> ProximityExits:
        """Return the model for rows of these queries, for evaluators that know no queries."""
        return self if qid is None else evolve(self, queries=check_queries(qid, len(np.asarray(qid)), "qid"))

    @cached_property
    def whole(self) -> StageTree:
        """The model of a row alone."""
        return self.exits.prefix(len(self.exits.ends) - 1, "ranked").with_costs(self.costs)

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> NDArray[np.float64]:
        """Return the ranks of rows within queries as scores: float64 (rows,); limits are for rows without queries."""
        model = self.of_queries(qid)
        if model.queries is None:
            return self.whole.predict(X, max_cost=max_cost, unavailable=unavailable)
        refuse_limits(max_cost, unavailable, _NO_LIMITS)
        return model._ranked(*model._walk(as_rows(X, self.feature_names, self.categories)))  # noqa: SLF001 - its own

    def decision_function(
        self, X: Any, *, qid: ArrayLike | None = None, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> NDArray[np.float64]:
        """Return the predictions."""
        return self.predict(X, qid=qid, max_cost=max_cost, unavailable=unavailable)

    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> Inquiry:
        """Begin the prediction of one row without others of its query, which evaluates all learners."""
        if self.queries is not None:
            raise ParameterError("qid: an inquiry is for one row, and rows of a query leave together")
        return self.whole.inquire(costs, acquisition, known, max_cost=max_cost, unavailable=unavailable)

    def cost(self, X: Any, costs: object = None, *, qid: ArrayLike | None = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows of queries; see `Predictor.cost`."""
        return super(ProximityExits, self.of_queries(qid)).cost(X, costs, **how)

    def charges(
        self,
        X: NDArray[np.float64],
        costs: CostModel,
        weight: NDArray[np.float64],
        how: ExpectedCost,
        n_jobs: int | None = None,
    ) -> Charges:
        """Charge rows with the kernels; see `Predictor.charges`."""
        if self.queries is None:
            return self.whole.charges(X, costs, weight, how, n_jobs)
        refuse_limits(how.max_cost, how.unavailable, _NO_LIMITS)
        scores, exits = self._walk(X)
        return self._charges_at(exits, self._ranked(scores, exits), X, costs, weight, how, n_jobs)

    def _walk(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        check_queries(self.queries, len(X), "qid")  # type: ignore[arg-type] # only walks of queries come here
        return super()._walk(X)

    def _leave(self, number: int, scores: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        assert self.queries is not None  # noqa: S101 - `_walk` has checked them
        return drop_rows(scores[:, 0], self.queries[rows], number, len(self.exits.ends) - 1, self.threshold)

    def _ranked(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        return rank_by_exit(scores[:, 0], exits, len(self.exits.ends) - 1)


def rank_by_exit(scores: NDArray[np.float64], exits: NDArray[np.int64], last: int) -> NDArray[np.float64]:
    """Rank rows by their exit, then by their score: level + s / (2 (1 + |s|)), float64 (n,)."""
    return np.asarray((exits - last) + apply_link("ranked", scores))
