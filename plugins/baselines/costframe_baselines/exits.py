"""Early exit: the model of rows that leave a sum of learners before its end, by one of two rules.

Classes leave by confidence, rows of a query by their distance to its fifth best. All pay for the learners before their
exit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from attrs import define, evolve
from numpy.typing import ArrayLike

from costframe.plugin import (
    B1,
    F8,
    I8,
    Alike,
    Answer,
    Categories,
    Charges,
    CostModel,
    CostReport,
    ExpectedCost,
    FallbackRows,
    Gains,
    ParameterError,
    Predictor,
    PriceArrays,
    Route,
    RowRequest,
    Stage,
    StageStepper,
    StageTree,
    apply_link,
    as_cap,
    as_rows,
    check_queries,
    format_count,
    gains_of_answers,
    mean_outputs,
    names_of,
    squeeze,
    sum_charges,
)

ScoresAt = Callable[[int, I8], F8]

EVERY_ROW = -np.inf  # a threshold: rows leave before the first learner
_PLACE = 5  # of the row to which all others of a query are compared


@define(eq=False, frozen=True, slots=False, repr=False)
class ExitPredictor(Alike):
    """What both rules share: the exits, the walk from one to the next, and the price of the learners before."""

    tree: StageTree  # the model of all learners, of one answer, with the default prices
    # learners evaluated at each exit: 0 first, which only `EVERY_ROW` takes, and all of them last
    ends: tuple[int, ...] = (0, 0)
    threshold: float = np.inf

    _no_limits = ""  # why rows have none

    @classmethod
    def of(cls, tree: StageTree, every: int) -> Self:
        """Place an exit after every so many trees; a round of one tree for each of several outputs counts as one."""
        found = cls(tree)
        count, width = len(found.answer.learners), found.answer.weights.shape[1]
        feeds = np.add.reduceat(found.answer.weights != 0, found._first_outputs, axis=0) if count else np.ones((1, 2))
        step = every * (width if width > 1 and (feeds.sum(axis=1) <= 1).all() else 1)
        return evolve(found, ends=(*range(0, count, step), count) if count else (0, 0))

    @property
    def facts(self) -> tuple[str, ...]:
        """Its size, for its `repr`."""
        return format_count(len(self.ends), "exit"), format_count(len(self.tree.bank), "learner")

    @property
    def like(self) -> StageTree:
        """The model of all learners, whose features, prices and labels are its own."""
        return self.tree

    @property
    def bank(self) -> Any:
        """The weak learners."""
        return self.tree.bank

    def with_costs(self, costs: CostModel | None) -> Self:
        """Return the same model with other prices of its own."""
        return evolve(self, tree=self.tree.with_costs(costs))

    def with_classes(self, classes: ArrayLike | None) -> Self:
        """Return the same model with labels of its classes."""
        return evolve(self, tree=self.tree.with_classes(classes))

    def with_categories(self, categories: Categories) -> Self:
        """Return the same model with other labels of its features."""
        return evolve(self, tree=self.tree.with_categories(categories))

    @property
    def answer(self) -> Answer:
        """The answer of all learners."""
        answer = self.tree.stages[0]
        assert isinstance(answer, Answer)  # noqa: S101 - a tree of one stage
        return answer

    @property
    def _first_outputs(self) -> I8:
        """The first row of weights of each learner of the answer: int64 (L,)."""
        widths = self.tree.bank.widths[self.answer.learners].astype(np.int64)
        return np.cumsum(widths) - widths

    def prefix(self, number: int, link: str = "identity") -> StageTree:
        """Return the model of the learners before an exit; its prediction is the score by default."""
        return StageTree(self.tree.bank, (self.prefix_answer(number, link),), costs=self.costs)

    def prefix_answer(self, number: int, link: str) -> Answer:
        """Return the answer of the learners before an exit."""
        count, first = self.ends[number], np.append(self._first_outputs, len(self.answer.weights))
        learners, weights = self.answer.learners[:count], self.answer.weights[: first[count]]
        return evolve(self.answer.by_predictions(), learners=learners, weights=weights, link=link)

    @cached_property
    def prefixes(self) -> tuple[StageTree, ...]:
        """The model of each exit; predictions are scores."""
        return tuple(self.prefix(number) for number in range(len(self.ends)))

    @abstractmethod
    def simplest(self) -> Predictor:
        """Return the same model as a stage tree, if one can hold it."""

    @abstractmethod
    def thresholds(self, scores: F8) -> F8:
        """Return thresholds at which some row leaves at an exit, from scores (exits, n, K): float64, ascending."""

    @abstractmethod
    def leave(self, number: int, scores: F8, rows: I8) -> B1:
        """Return which of the remaining rows, int64 (m,), with scores (m, K), leave at an exit: bool (m,)."""

    @abstractmethod
    def answers(self, scores: F8, exits: I8) -> F8:
        """Return the predictions of rows that leave at these exits with these scores, (n, K)."""

    def walk(self, scores_at: ScoresAt, n_rows: int) -> tuple[F8, I8]:
        """Return the scores and the exit of each row, float64 (n, K), int64 (n,), by the scores of rows at exits."""
        last, rows = len(self.ends) - 1, np.arange(n_rows)
        if self.threshold == EVERY_ROW:
            return scores_at(0, rows), np.zeros(n_rows, np.int64)
        scores, exits = np.zeros((n_rows, self.tree.n_outputs)), np.full(n_rows, last)
        for number in range(1 if self.threshold < np.inf else last, last + 1):
            if not len(rows):
                break
            scores[rows] = now = scores_at(number, rows)
            if number < last:
                leaves = self.leave(number, now, rows)
                exits[rows[leaves]] = number
                rows = rows[~leaves]
        return scores, exits

    def walk_rows(self, X: F8) -> tuple[F8, I8]:
        """Return the scores and the exit of each row of a table."""
        return self.walk(lambda number, rows: self.prefixes[number].predict(X[rows]).reshape(len(rows), -1), len(X))

    def predict(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> F8:
        """Predict rows: float64 (rows,) or (rows, K)."""
        self._refuse_limits(max_cost, unavailable)
        return self.answers(*self.walk_rows(as_rows(X, self.feature_names, self.categories)))

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge the rows of each exit for the learners before it; `stage_weight` is that of rows at each exit."""
        self._refuse_limits(how.max_cost, how.unavailable)
        if how.routing == "soft":
            raise ParameterError("routing: only a stage tree has thresholds to soften; use routing='hard'")
        scores, exits = self.walk_rows(X)
        order, parts = np.argsort(exits, kind="stable"), []
        for number in np.unique(exits).tolist() or [0]:
            rows = order[exits[order] == number]
            parts.append(self.prefixes[number].charges(X[rows], costs, weight[rows], how, n_jobs))
        together, back = sum_charges(parts), np.argsort(order)
        names = ("acquired", "acquisition", "learners", "comparisons", "reuse", "per_row")
        by_row = {name: value[back] for name in names if (value := getattr(together, name)) is not None}
        at = np.bincount(exits, weights=weight, minlength=len(self.prefixes))
        stage_weight = np.cumsum(at[:0:-1])[::-1].astype(np.float64)
        predictions = self.answers(scores, exits).reshape(len(X), -1)
        return evolve(together, **by_row, stage_weight=stage_weight, predictions=predictions)

    def _refuse_limits(self, max_cost: float | None, unavailable: Iterable[str]) -> None:
        for name, given in (("max_cost", as_cap(max_cost) is not None), ("unavailable", bool(names_of(unavailable)))):
            if given:
                raise ParameterError(f"{name}: {self._no_limits}")


@define(eq=False, frozen=True, slots=False, repr=False)
class ConfidenceExits(ExitPredictor):
    """Rows leave when the log odds of their likeliest class exceed the threshold; it has no limits."""

    _no_limits = "a model with early exits for more than two classes has no limits"

    def leave(self, number: int, scores: F8, rows: I8) -> B1:
        """Return which rows leave."""
        del number, rows
        return self.confidence(scores) > self.threshold

    @staticmethod
    def confidence(scores: F8) -> F8:
        """Return the log odds of the likeliest class: float64 (..., n) for scores (..., n, K), K = 1 for two."""
        if scores.shape[-1] == 1:
            return np.abs(scores[..., 0])
        best = np.sort(scores, axis=-1)
        return np.asarray(best[..., -1] - np.logaddexp.reduce(best[..., :-1], axis=-1))

    def thresholds(self, scores: F8) -> F8:
        """Return the confidences of all rows at exits, and 0."""
        found = self.confidence(scores[1:-1])
        return np.unique(np.append(found[np.isfinite(found)], 0.0))

    def answers(self, scores: F8, exits: I8) -> F8:
        """Return probabilities: float64 (n,) of the second of two classes, or (n, K)."""
        del exits
        return squeeze(apply_link(self.answer.link, scores))

    def decision_function(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> F8:
        """Return the scores of each row at its exit: float64 (rows, K)."""
        self._refuse_limits(max_cost, unavailable)
        return self.walk_rows(as_rows(X, self.feature_names, self.categories))[0]

    def begin(self, request: RowRequest) -> _ExitWalker:
        """Return a walker for one row; see `Predictor.begin`."""
        self._refuse_limits(request.max_cost, request.unavailable)
        return _ExitWalker(self, request.prices, request.values, by_path=request.by_path)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns, at the exits of rows; see `Predictor.gains`."""
        del costs
        answers = {number: self.prefix_answer(number, "identity") for number in range(len(self.prefixes))}
        exits = self.walk_rows(rows.X)[1]
        return gains_of_answers(self.bank, answers, exits, rows, mean_outputs(self.bank, rows.X, rows.weight))

    def simplest(self) -> Predictor:
        """Return a stage tree for two classes, or if all rows take one exit: a chain with two sides.

        The second route of an exit has the learners of the first one, which are free by then.
        """
        link, last = self.answer.link, len(self.ends) - 1
        if self.threshold == EVERY_ROW:
            return self.prefix(0, link)
        if len(self.answer.intercept) > 1 and self.threshold < np.inf:
            return self
        stages: list[Stage] = []
        for number in range(1, last) if self.threshold < np.inf else ():
            answer = self.prefix_answer(number, link)
            for sign in (1.0, -1.0):
                place, weights, constant = len(stages), sign * answer.weights, sign * answer.intercept
                route = Route(answer.learners, weights, constant, self.threshold, 1.0, place + 2, place + 1)
                stages += [route, answer]
        return StageTree(self.bank, (*stages, self.prefix_answer(last, link)), costs=self.costs)


class _ExitWalker:
    """One row on its way from exit to exit; later learners know the values of features acquired before."""

    reason = "complete"

    def __init__(
        self,
        model: ConfidenceExits,
        prices: PriceArrays,
        values: Mapping[int, float],
        *,
        by_path: bool,
        number: int = 1,
        stepper: StageStepper | None = None,
    ) -> None:
        self._model, self._prices, self._values, self._by_path = model, prices, values, by_path
        nobody = np.zeros(0, np.int64)
        self._stepper = self._begin(number) if stepper is None else stepper
        while not self._stepper.needs and number < len(model.prefixes) - 1:
            if model.leave(number, self._scores(), nobody)[0]:
                break
            number += 1
            self._stepper = self._begin(number)
        self._number = number

    @property
    def needs(self) -> tuple[int, ...]:
        """Features needed for the learners before the next exit."""
        return self._stepper.needs

    @property
    def answer(self) -> tuple[F8, int]:
        """Probabilities, and the number of the exit."""
        return apply_link(self._model.answer.link, self._scores())[0], self._number - 1

    place = None  # predictions tell the class

    @property
    def evaluated(self) -> Fraction:
        """As of the stepper of the last exit, which evaluated all learners before it."""
        return self._stepper.evaluated

    def after(self, values: Sequence[float]) -> _ExitWalker:
        """Return the row with the values of all features in `needs` too, at the next exit that needs others."""
        known, stepper = {**self._values, **dict(zip(self.needs, values, strict=True))}, self._stepper.after(values)
        return _ExitWalker(
            self._model, self._prices, known, by_path=self._by_path, number=self._number, stepper=stepper
        )

    def _begin(self, number: int) -> StageStepper:
        tree = self._model.prefixes[number]
        return StageStepper.begin(tree, self._prices, by_path=self._by_path, known_values=self._values)

    def _scores(self) -> F8:
        return np.reshape(self._stepper.answer[0], (1, -1))


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
        last, found = len(scores) - 1, [np.empty(0)]
        for number in range(1, last):
            gap = _below_fifth_best(scores[number, :, 0], self.queries)
            found.append(gap[(gap > 0) & (gap < np.inf)] * (last - 1) / (last - number))
        return np.unique(np.concatenate(found))

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

    def predict(self, X: Any, *, qid: ArrayLike | None = None, **limits: Any) -> F8:
        """Return the ranks of rows within queries as scores: float64 (rows,); limits are for rows without queries."""
        model = self.of_queries(qid)
        if model.queries is None:
            return self.whole.predict(X, **limits)
        return super(ProximityExits, model).predict(X, **limits)

    decision_function = predict

    def begin(self, request: RowRequest) -> Any:
        """Return a walker for one row without others of its query, which evaluates all learners."""
        if self.queries is not None:
            raise ParameterError("qid: an inquiry is for one row, and rows of a query leave together")
        return self.whole.begin(request)

    def cost(self, X: Any, y_or_costs: Any = None, *, qid: ArrayLike | None = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows of queries; see `Predictor.cost`."""
        return super(ProximityExits, self.of_queries(qid)).cost(X, y_or_costs, **how)

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge rows with the engine; see `Predictor.charges`."""
        if self.queries is None:
            return self.whole.charges(X, costs, weight, how, n_jobs)
        return super().charges(X, costs, weight, how, n_jobs)


def _below_fifth_best(scores: F8, qid: I8) -> F8:
    """Return how far each score is below the fifth best of its query, minus infinity in queries of fewer rows.

    Queries are numbers from 0; some may have no row.
    """
    size = np.bincount(qid)
    best = scores[np.lexsort((-scores, qid))]
    fifth, enough = np.full(len(size), -np.inf), size >= _PLACE
    fifth[enough] = best[(np.cumsum(size) - size)[enough] + _PLACE - 1]
    return np.asarray(fifth[qid] - scores)
