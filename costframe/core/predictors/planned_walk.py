"""Walks through a plan, stop by stop: of one row in an inquiry, and of a table of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.core.cost.report import Charges, sum_charges
from costframe.core.learners.bits import as_set, members
from costframe.core.predictors.planned_terms import COMPLETE, REASONS
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.layout import lay_out
from costframe.core.stages.run_stages import predict_rows
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.planned_terms import Terms
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.stages import Answer


@define(eq=False, frozen=True)
class StopModels:
    """The models of a stop, laid out for the engine at their first use."""

    bank: WeakLearnerBank
    gains_bank: WeakLearnerBank
    answer: Answer
    gains: Answer | None
    planned: Answer | None

    _layouts: dict[str, StageLayout] = field(factory=dict, init=False)

    def score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score rows, C-contiguous float64 (n, d + K): float64 (n, K), which it also writes to the last K columns."""
        scores = self._evaluate("answer", rows)
        rows[:, -scores.shape[1] :] = scores
        return scores

    def expected_gains(self, rows: NDArray[np.float64], *, planned: bool) -> NDArray[np.float64]:
        """Return the expected gains of scored rows, or those of the plan: float64 (n, later stops)."""
        return self._evaluate("planned" if planned else "gains", rows)

    def _evaluate(self, name: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        bank = self.bank if name == "answer" else self.gains_bank
        if name not in self._layouts:  # two threads may both make it, and it is the same
            self._layouts[name] = lay_out(bank, (getattr(self, name),))
        return predict_rows(self._layouts[name], rows, 1)[0]

    def choose(
        self,
        terms: Terms,
        stop: int,
        rows: NDArray[np.float64],
        paid: Sequence[int],
        account: NDArray[np.int64],
        why: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Choose the next stops of scored rows by the plan as long as they can pay for it; else by expected gains.

        Parameters
        ----------
        terms : Terms
        stop : int
            Stop of the rows.
        rows : float64 (n, d + K)
        paid : sequence of int
            Sets of items.
        account, why : int64 (n,)
            Place in `paid` of each row's set, and the reason why it was cut, which may change.
        """
        to = np.full(len(rows), stop)

        def choose_for(some: NDArray[np.int64], *, planned: bool) -> None:
            if not len(some):
                return
            gains = self.expected_gains(rows if len(some) == len(rows) else rows[some], planned=planned)
            for number in np.unique(account[some]) if len(paid) > 1 else (0,):
                mine = account[some] == number
                to[some[mine]], reason = terms.choose(stop, paid[number], gains[mine])
                why[some[mine]] = np.maximum(why[some[mine]], reason)

        if self.gains is None:
            return to
        left = np.arange(len(rows))
        if terms.planned and self.planned is not None:
            choose_for(np.flatnonzero(why == COMPLETE), planned=True)
            left = np.flatnonzero(why != COMPLETE)
        choose_for(left, planned=False)
        return to

    def choose_one(self, terms: Terms, stop: int, row: NDArray[np.float64], paid: int, why: int) -> tuple[int, int]:
        """Choose the next stop of one scored row, (1, d + K), as `choose` does; return it, and why it was cut."""
        if self.gains is None:
            return stop, why
        if why == COMPLETE and terms.planned and self.planned is not None:
            to, reason = terms.choose(stop, paid, self.expected_gains(row, planned=True))
            if (why := int(reason[0])) == COMPLETE:
                return int(to[0]), why
        to, reason = terms.choose(stop, paid, self.expected_gains(row, planned=False))
        return int(to[0]), max(why, int(reason[0]))


@frozen(eq=False)
class PlannedState:
    """A row on its way from stop to stop; it does not change once it is made."""

    row: NDArray[np.float64]  # (1, d + K): values, NaN if unknown, and scores at the last stop
    have: int  # features with values, one bit a column
    stop: int  # the row's stop, or its next one while it waits for features
    paid: int  # items
    why: int  # COMPLETE, CUT or UNAVAILABLE
    needs: frozenset[int] = frozenset()


class PlannedWalker:
    """One row on its way from stop to stop: the model side of an inquiry.

    Parameters
    ----------
    models : sequence of StopModels
    sets : sequence of int
        Features of each stop, one bit a column.
    terms : Terms
    known_values : mapping of int to float
        Known values. The row begins at the last stop whose features are all known, else at stop 0.
    begun : mapping of Terms to PlannedState
        First states of rows without known values, to which the walker adds its own.
    """

    def __init__(
        self,
        models: Sequence[StopModels],
        sets: Sequence[int],
        terms: Terms,
        known_values: Mapping[int, float],
        begun: MutableMapping[Terms, PlannedState],
    ) -> None:
        self._models, self._sets, self.terms = models, sets, terms
        known_state = None if known_values else begun.get(terms)
        self.state = known_state or self._begin(known_values)
        if not known_values and not models[0].bank.opaques:
            begun[terms] = self.state

    def _begin(self, known_values: Mapping[int, float]) -> PlannedState:
        terms, sets, have = self.terms, self._sets, as_set(known_values)
        row = np.full((1, len(terms.prices.prices.cost) + len(self._models[0].answer.intercept)), np.nan)
        row[0, list(known_values)] = list(known_values.values())
        stop = max((k for k, wanted in enumerate(sets) if wanted and not wanted & ~have), default=0)
        if stop > 0:
            return self.go_on([PlannedState(row, have, stop, terms.known, COMPLETE)])[0]
        needs = terms.first_features - known_values.keys()
        state = PlannedState(row, have, 0, terms.first_paid, terms.first_reason, needs)
        return state if needs else self.go_on([state])[0]

    @property
    def needs(self) -> frozenset[int]:
        """Features of the next stop that are not yet known."""
        return self.state.needs

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and stop."""
        answer = self._models[self.state.stop].answer
        value = answer.predictions(self.state.row[:, -len(answer.intercept) :].copy())[0]
        return (float(value[0]) if len(value) == 1 else value), self.state.stop

    @property
    def evaluated(self) -> Fraction:
        """Always zero: a plan prices acquisitions only."""
        return ZERO

    @property
    def reason(self) -> str:
        """Why the row ended; see `Prediction`."""
        return REASONS[self.state.why]

    def advance(self, values: Mapping[int, float]) -> None:
        """Add values and go on until a feature is needed."""
        self.state = self.go_on([self.with_values(values)])[0]

    @staticmethod
    def advance_together(walkers: Sequence[PlannedWalker], values: Sequence[Mapping[int, float]]) -> None:
        """Advance rows of one model; those on the same terms and at the same stop go on as one table."""
        ends: list[tuple[PlannedWalker, PlannedState]] = []
        for terms in dict.fromkeys(walker.terms for walker in walkers):
            mine = [(walker, given) for walker, given in zip(walkers, values, strict=True) if walker.terms is terms]
            states = mine[0][0].go_on([walker.with_values(given) for walker, given in mine])
            ends += zip((walker for walker, _ in mine), states, strict=True)
        for walker, state in ends:
            walker.state = state

    def with_values(self, values: Mapping[int, float]) -> PlannedState:
        """Return the row's state with further values."""
        state, row = self.state, self.state.row.copy()
        row[0, list(values)] = list(values.values())
        return PlannedState(row, state.have | as_set(values), state.stop, state.paid, state.why)

    def go_on(self, states: list[PlannedState]) -> list[PlannedState]:
        """Send rows from stop to stop until each misses features, or stays; this sets scores in the rows."""
        done = states.copy()
        at: dict[int, list[int]] = {}
        for i, state in enumerate(states):
            at.setdefault(state.stop, []).append(i)
        while at:
            stop = min(at)  # rows never go back
            here, models = at.pop(stop), self._models[stop]
            rows = done[here[0]].row if len(here) == 1 else np.concatenate([done[i].row for i in here])
            models.score(rows)
            if len(here) == 1:  # spares what tables need
                ends = [models.choose_one(self.terms, stop, rows, done[here[0]].paid, done[here[0]].why)]
            else:
                sets: dict[int, int] = {}
                account = np.array([sets.setdefault(done[i].paid, len(sets)) for i in here])
                why = np.array([done[i].why for i in here])
                to = models.choose(self.terms, stop, rows, list(sets), account, why)
                ends = list(zip(to.tolist(), why.tolist(), strict=True))
            for k, (i, (j, reason)) in enumerate(zip(here, ends, strict=True)):
                have, paid = done[i].have, done[i].paid | (self.terms.prices.bundles[j] if j > stop else 0)
                missing = self._sets[j] & ~have if j > stop else 0
                done[i] = PlannedState(rows[k : k + 1], have, j, paid, reason, frozenset(members(missing)))
                if j > stop and not missing:
                    at.setdefault(j, []).append(i)
        return done


@frozen(eq=False)
class Visit:
    """The rows at a stop, int64 (n,), and their next stops, int64 (n,); the same stop means to answer there."""

    rows: NDArray[np.int64]
    to: NDArray[np.int64]


@frozen(eq=False)
class PlannedRows:
    """Ends of rows sent through a plan, and their purchases."""

    scores: NDArray[np.float64]  # (n, K)
    exits: NDArray[np.int64]  # (n,): stop that answers each row
    paid: list[int]  # distinct sets of items that rows paid for
    account: NDArray[np.int64]  # (n,): place of each row's set in `paid`
    why: NDArray[np.int64]  # (n,): COMPLETE, CUT or UNAVAILABLE
    rounds: NDArray[np.int64]  # (n,): visits that bought something
    visits: tuple[Visit, ...]  # one for each stop

    def linked(self, answers: Sequence[Answer]) -> NDArray[np.float64]:
        """Apply the link of each row's answer, given those of the stops, to its scores: float64 (n, K)."""
        if answers[0].link != "ranked":
            return answers[0].predictions(self.scores)
        values = np.empty_like(self.scores)
        for stop in np.unique(self.exits):
            rows = self.exits == stop
            values[rows] = answers[stop].predictions(self.scores[rows])
        return values


def walk_table(
    models: Sequence[StopModels], terms: Terms, X: NDArray[np.float64], n_jobs: int | None = None
) -> list[PlannedRows]:
    """Send rows, float64 (n, d), from stop to stop; return the results of parts of the table, at least one."""
    if len(X) == 0:
        return [_Walk(models, terms, X).follow()]
    return over_chunks(lambda part: _Walk(models, terms, X[part]).follow(), len(X), n_jobs)


class _Walk:
    """A walk of one part of a table; rows that paid for the same items share an account."""

    def __init__(self, models: Sequence[StopModels], terms: Terms, X: NDArray[np.float64]) -> None:
        n, n_outputs = len(X), len(models[0].answer.intercept)
        self._models, self.terms = models, terms
        self._rows = np.empty((n, X.shape[1] + n_outputs))
        self._rows[:, : X.shape[1]] = X
        self._rows[:, terms.first_missing] = np.nan
        self._scores = np.empty((n, n_outputs))
        self._paid, self._number = [terms.first_paid], {terms.first_paid: 0}
        self._at, self._account = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._why = np.full(n, terms.first_reason)
        self._rounds = np.full(n, int(bool(terms.first_features)))

    def follow(self) -> PlannedRows:
        """Visit all stops in order; rows never go back."""
        visits = tuple(self._visit(stop) for stop in range(len(self._models)))
        return PlannedRows(self._scores, self._at, self._paid, self._account, self._why, self._rounds, visits)

    def _visit(self, stop: int) -> Visit:
        rows = np.flatnonzero(self._at == stop)
        if not len(rows):
            return Visit(rows, rows)
        block = self._rows if len(rows) == len(self._at) else self._rows[rows]
        scores = self._models[stop].score(block)
        why = self._why[rows]
        to = self._models[stop].choose(self.terms, stop, block, self._paid, self._account[rows], why)
        self._why[rows] = why
        self._pay(rows, stop, to)
        stay = to == stop
        self._scores[rows[stay]] = scores[stay]
        self._at[rows] = to
        return Visit(rows, to)

    def _pay(self, rows: NDArray[np.int64], stop: int, to: NDArray[np.int64]) -> None:
        """Charge rows, account by account, for their purchases at their next stops."""
        way = self._account[rows] * len(self._models) + to
        for each in np.unique(way).tolist():
            number, j = divmod(each, len(self._models))
            before = self._paid[number]
            after = before | self.terms.prices.bundles[j]
            if j == stop or after == before:
                continue
            if after not in self._number:
                self._number[after] = len(self._paid)
                self._paid.append(after)
            going = rows[way == each]
            self._account[going] = self._number[after]
            self._rounds[going] += 1


def planned_charges(
    parts: Sequence[PlannedRows],
    terms: Terms,
    weight: NDArray[np.float64],
    linked: Callable[[PlannedRows], NDArray[np.float64]],
) -> Charges:
    """Charge rows after their walk through a plan, part by part; `linked` converts scores to predictions."""
    ends = np.cumsum([len(part.exits) for part in parts])
    return sum_charges([
        _charge(part, terms, weight[end - len(part.exits) : end], linked(part))
        for part, end in zip(parts, ends, strict=True)
    ])  # fmt: skip


def _charge(part: PlannedRows, terms: Terms, weight: NDArray[np.float64], predictions: NDArray[np.float64]) -> Charges:
    d = len(terms.prices.prices.cost)
    bought = np.zeros((len(part.paid), terms.prices.prices.n_items))
    for account, items in enumerate(part.paid):
        bought[account, list(members(items))] = True
    cost = np.array([terms.prices.total(items) for items in part.paid])
    of_account = np.bincount(part.account, weights=weight, minlength=len(part.paid)) @ bought
    return Charges(
        acquired=bought[part.account, :d] > 0,
        acquisition=cost[part.account],
        learners=None,
        comparisons=None,
        reuse=None,
        feature_weight=of_account[:d],
        resource_weight=of_account[d:],
        stage_weight=np.array([weight[visit.rows].sum() for visit in part.visits]),
        predictions=predictions,
        rounds=part.rounds,
        cut=part.why != COMPLETE if terms.limited else None,
    )
