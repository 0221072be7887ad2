"""Rows of a query leave by their distance to its fifth best."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from attrs import define, evolve
from numpy.typing import ArrayLike

from costframe import CostReport, Predictor, StageTree
from costframe.plugin import B1, F8, I8, Charges, Ends, ParameterError, Terms, apply_link, check_queries
from costframe_baselines.exits import EVERY_ROW, ExitPredictor

_PLACE = 5  # of the row to which all others of a query are compared


@define(eq=False, frozen=True, slots=False, repr=False)
class ProximityExits(ExitPredictor):
    """Rows of a query leave when their score is too far below the fifth best among those of the query still there.

    At exit i of E, these are at least (E - i) s / (E - 1) below it, with s the threshold; in a query of fewer rows all
    stay. Without queries, every row is a query of its own, and stays: the model is that of all learners. A score f is
    predicted as level + f / (2 (1 + |f|)), with level 0 for rows that stay to the end, and a lower level for each exit
    before: rows rank below all that left later. Sample weights have no effect, as predictions know none.
    """

    # (rows,): numbers of the queries of the rows to predict, from 0; see `of_queries`
    queries: I8 | None = None

    _no_limits = "is for rows without queries; leave out qid"

    def of_queries(self, qid: ArrayLike | None) -> ProximityExits:
        """Return the model for rows of these queries, for evaluators that know no queries."""
        return self if qid is None else evolve(self, queries=check_queries(qid, len(np.asarray(qid)), "qid"))

    def leave(self, number: int, scores: F8, rows: I8) -> B1:
        """Return which rows leave."""
        assert self.queries is not None  # noqa: S101 - only rows of queries leave
        gap, last = _below_fifth_best(scores[:, 0], self.queries[rows]), len(self.ends) - 1
        return (gap > 0) & (gap >= (last - number) / (last - 1) * self.threshold)

    def simplest(self) -> Predictor:
        """Return a constant, if all rows leave before the first learner."""
        return self.prefix(0) if self.threshold == EVERY_ROW else self

    def thresholds(self, scores: F8) -> F8:
        """Return each s at which a row of the queries would be the first to leave at an exit."""
        assert self.queries is not None  # noqa: S101 - only rows of queries leave
        last, cuts = len(scores) - 1, [np.empty(0)]
        for number in range(1, last):
            gap = _below_fifth_best(scores[number, :, 0], self.queries)
            cuts.append(gap[(gap > 0) & (gap < np.inf)] * (last - 1) / (last - number))
        return np.unique(np.concatenate(cuts))

    def answers(self, scores: F8, exits: I8) -> F8:
        """Rank rows by their exit, then by their score: float64 (n,)."""
        return np.asarray((exits - (len(self.ends) - 1)) + apply_link("ranked", scores[:, 0]))

    def walk_rows(self, X: F8) -> tuple[F8, I8]:
        """Return the scores and the exit of each row of a table."""
        check_queries(self.queries, len(X), "qid")  # type: ignore[arg-type] # only walks of queries come here
        return super().walk_rows(X)

    @cached_property
    def whole(self) -> StageTree:
        """The model of a row alone."""
        return self.prefix(len(self.ends) - 1, "ranked")

    def margins(self, scores: F8, exits: I8) -> F8:
        """Return the ranks, as `answers`."""
        return self.answers(scores, exits)

    def predict(self, X: Any, *, qid: ArrayLike | None = None, **asked: Any) -> F8:
        """Return the ranks of rows within queries as scores: float64 (rows,); limits are for rows without queries."""
        return self.of_queries(qid).predict_ends(X, **asked).predictions

    def decision_function(self, X: Any, *, qid: ArrayLike | None = None, **asked: Any) -> F8:
        """Return the ranks, as `predict`."""
        return self.predict(X, qid=qid, **asked)

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        if self.queries is None:
            ends = self.whole.evaluate(X, terms)
            return Ends(lambda: ends.predictions)
        return super().evaluate(X, terms)

    def begin(self, terms: Terms) -> Any:
        """Return a walker for one row without others of its query, which evaluates all learners."""
        if self.queries is not None:
            raise ParameterError("qid: an inquiry is for one row, and rows of a query leave together")
        return self.whole.begin(terms)

    def cost(self, X: Any, y_or_costs: Any = None, *, qid: ArrayLike | None = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows of queries; see `Predictor.cost`."""
        return super(ProximityExits, self.of_queries(qid)).cost(X, y_or_costs, **how)

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows with the engine; see `Predictor.charges`."""
        if self.queries is None:
            return self.whole.charges(X, weight, terms)
        return super().charges(X, weight, terms)


def _below_fifth_best(scores: F8, qid: I8) -> F8:
    """Return how far each score is below the fifth best of its query, minus infinity in queries of fewer rows.

    Queries are numbers from 0; some may have no row.
    """
    size = np.bincount(qid)
    best = scores[np.lexsort((-scores, qid))]
    fifth, enough = np.full(len(size), -np.inf), size >= _PLACE
    fifth[enough] = best[(np.cumsum(size) - size)[enough] + _PLACE - 1]
    return np.asarray(fifth[qid] - scores)
