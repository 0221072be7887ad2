"""A plan followed stop by stop: by one row that asks for features as it goes, and by a table of rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, frozen

from costframe.core.learners.bits import members
from costframe.core.predictors.planned_terms import COMPLETE, REASONS
from costframe.core.stages.layout import lay_out
from costframe.core.stages.run_stages import predict_rows
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.planned_terms import Terms
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.stages import Answer

__all__ = ["PlannedWalker", "StopModels", "Visit", "Walked", "walk_table"]


@define(eq=False, frozen=True)
class StopModels:
    """What is evaluated at a stop, laid out for the kernels when it is first used."""

    bank: WeakLearnerBank
    gains_bank: WeakLearnerBank
    answer: Answer
    gains: Answer | None
    planned: Answer | None

    @cached_property
    def _answer_layout(self) -> StageLayout:
        return lay_out(self.bank, (self.answer,))

    @cached_property
    def _gains_layout(self) -> StageLayout:
        assert self.gains is not None  # noqa: S101 - whoever stands at the last stop stays
        return lay_out(self.gains_bank, (self.gains,))

    @cached_property
    def _planned_layout(self) -> StageLayout:
        assert self.planned is not None  # noqa: S101 - asked before
        return lay_out(self.gains_bank, (self.planned,))

    def score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score rows, float64 (n, d + K), C-contiguous: float64 (n, K), which are also written behind the features."""
        scores = predict_rows(self.bank, self._answer_layout, rows, 1)[0]
        rows[:, -scores.shape[1] :] = scores
        return scores

    def expected_gains(self, rows: NDArray[np.float64], *, planned: bool) -> NDArray[np.float64]:
        """Say what scored rows may gain, or what was planned for them: float64 (n, later stops)."""
        layout = self._planned_layout if planned else self._gains_layout
        return predict_rows(self.gains_bank, layout, rows, 1)[0]


class PlannedWalker:
    """One row on its way from stop to stop: the model side of an inquiry.

    Parameters
    ----------
    models : sequence of StopModels
    sets : sequence of int
        Features of each stop, one bit a column.
    terms : Terms
    given : mapping of int to float
        Values that are known before. The row begins at the last stop that some of them make up, else at stop 0.
    """

    def __init__(
        self, models: Sequence[StopModels], sets: Sequence[int], terms: Terms, given: Mapping[int, float]
    ) -> None:
        self._models, self._sets, self._terms = models, sets, terms
        width = len(terms.prices.prices.cost) + len(models[0].answer.intercept)
        self._row = np.full((1, width), np.nan)
        self._have = 0
        self._take(given)
        self._scores: NDArray[np.float64] | None = None
        # where the row stands, or goes as soon as it has what it needs
        self._stop = max((k for k, wanted in enumerate(sets) if wanted and not wanted & ~self._have), default=0)
        self._paid, self._why, self._needs = terms.known, COMPLETE, frozenset[int]()
        if self._stop == 0:
            self._paid, self._why, self._needs = terms.begins_with, terms.begun, terms.first - given.keys()
        if not self._needs:
            self.advance({})

    @property
    def needs(self) -> frozenset[int]:
        """Features of the next stop that are not yet known."""
        return self._needs

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and stop."""
        assert self._scores is not None  # noqa: S101 - nothing is needed only once there is an answer
        value = self._models[self._stop].answer.predictions(self._scores)[0]
        return (float(value[0]) if len(value) == 1 else value), self._stop

    @property
    def evaluated(self) -> tuple[float, float, int]:
        """A plan prices what it acquires, and nothing that it computes."""
        return 0.0, 0.0, 0

    @property
    def reason(self) -> str:
        """Why the row ends where it does; see `Prediction`."""
        return REASONS[self._why]

    def advance(self, values: Mapping[int, float]) -> None:
        """Arrive with the values, and go on until something is needed; if an opaque learner raises, nothing changes."""
        before = self._row, self._have, self._paid, self._stop, self._why
        self._row = self._row.copy()
        try:
            self._take(values)
            self._needs = frozenset(members(self._go_on()))
        except BaseException:
            self._row, self._have, self._paid, self._stop, self._why = before
            raise

    def _take(self, values: Mapping[int, float]) -> None:
        for f, value in values.items():
            self._row[0, f] = value
            self._have |= 1 << f

    def _go_on(self) -> int:
        """Go from stop to stop until features are missing, which are returned, or the row stays."""
        while True:
            models = self._models[self._stop]
            scores = models.score(self._row)
            if models.gains is None or (to := self._next_stop(models)) == self._stop:
                break
            self._stop = to
            self._paid |= self._terms.prices.bundles[to]
            if missing := self._sets[to] & ~self._have:
                return missing
        self._scores = scores
        return 0

    def _next_stop(self, models: StopModels) -> int:
        """Choose as planned, for as long as that could be paid; else by what may be gained."""
        terms = self._terms
        if terms.planned and models.planned is not None and self._why == COMPLETE:
            gains = models.expected_gains(self._row, planned=True)
            to, self._why = terms.choose_for_one(self._stop, self._paid, gains)
            if self._why == COMPLETE:
                return to
        gains = models.expected_gains(self._row, planned=False)
        to, why = terms.choose_for_one(self._stop, self._paid, gains)
        self._why = max(self._why, why)
        return to


@frozen(eq=False)
class Visit:
    """The rows that come to a stop: int64 (n,), and where each goes on, int64 (n,): to the stop itself to answer."""

    rows: NDArray[np.int64]
    to: NDArray[np.int64]


@frozen(eq=False)
class Walked:
    """Where rows went.

    Attributes
    ----------
    scores : float64 (n, K)
    exits : int64 (n,)
        The stop that answers.
    paid : list of int
        Each set of items that some row paid for.
    account : int64 (n,)
        Which of them each row did.
    why : int64 (n,)
        COMPLETE, CUT or UNAVAILABLE.
    rounds : int64 (n,)
        Visits that bought something.
    visits : tuple of Visit (m,)
        Of each stop.
    """

    scores: NDArray[np.float64]
    exits: NDArray[np.int64]
    paid: list[int]
    account: NDArray[np.int64]
    why: NDArray[np.int64]
    rounds: NDArray[np.int64]
    visits: tuple[Visit, ...]


def walk_table(
    models: Sequence[StopModels], terms: Terms, X: NDArray[np.float64], n_jobs: int | None = None
) -> list[Walked]:
    """Send rows, float64 (n, d), from stop to stop: part by part, at least one."""
    if len(X) == 0:
        return [_Walk(models, terms, X).follow()]
    return over_chunks(lambda part: _Walk(models, terms, X[part]).follow(), len(X), n_jobs)


class _Walk:
    """One part of a table under way: rows that have paid for the same items share an account."""

    def __init__(self, models: Sequence[StopModels], terms: Terms, X: NDArray[np.float64]) -> None:
        n, n_outputs = len(X), len(models[0].answer.intercept)
        self._models, self._terms = models, terms
        self._rows = np.empty((n, X.shape[1] + n_outputs))
        self._rows[:, : X.shape[1]] = X
        self._rows[:, terms.missing] = np.nan
        self._scores = np.empty((n, n_outputs))
        self._paid, self._number = [terms.begins_with], {terms.begins_with: 0}
        self._at, self._account = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._why = np.full(n, terms.begun)
        self._rounds = np.full(n, int(bool(terms.first)))

    def follow(self) -> Walked:
        """Visit all stops in order: no row goes back."""
        visits = tuple(self._visit(stop) for stop in range(len(self._models)))
        return Walked(self._scores, self._at, self._paid, self._account, self._why, self._rounds, visits)

    def _visit(self, stop: int) -> Visit:
        rows = np.flatnonzero(self._at == stop)
        if not len(rows):
            return Visit(rows, rows)
        block = self._rows if len(rows) == len(self._at) else self._rows[rows]
        scores = self._models[stop].score(block)
        to = self._choose(stop, rows, block)
        self._pay(rows, stop, to)
        stay = to == stop
        self._scores[rows[stay]] = scores[stay]
        self._at[rows] = to
        return Visit(rows, to)

    def _choose(self, stop: int, rows: NDArray[np.int64], block: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose where rows go on, as planned, for as long as that could be paid; else by what may be gained."""
        models, to = self._models[stop], np.full(len(rows), stop)
        left = np.arange(len(rows) if models.gains is not None else 0)
        if self._terms.planned and models.planned is not None:
            follow = self._why[rows] == COMPLETE
            self._choose_for(np.flatnonzero(follow), stop, rows, block, to, planned=True)
            left = np.flatnonzero(self._why[rows] != COMPLETE)
        self._choose_for(left, stop, rows, block, to, planned=False)
        return to

    def _choose_for(
        self,
        some: NDArray[np.int64],
        stop: int,
        rows: NDArray[np.int64],
        block: NDArray[np.float64],
        to: NDArray[np.int64],
        *,
        planned: bool,
    ) -> None:
        """Choose for some of the rows at a stop, and note why, account by account."""
        if not len(some):
            return
        gains = self._models[stop].expected_gains(block if len(some) == len(block) else block[some], planned=planned)
        account = self._account[rows[some]]
        for number in np.unique(account):
            mine = np.flatnonzero(account == number)
            to[some[mine]], why = self._terms.choose(stop, self._paid[number], gains[mine])
            at = rows[some[mine]]
            self._why[at] = np.maximum(self._why[at], why)

    def _pay(self, rows: NDArray[np.int64], stop: int, to: NDArray[np.int64]) -> None:
        """Charge rows, account by account, for what each buys at the stop it goes to."""
        way = self._account[rows] * len(self._models) + to
        for each in np.unique(way).tolist():
            number, j = divmod(each, len(self._models))
            before = self._paid[number]
            after = before | self._terms.prices.bundles[j]
            if j == stop or after == before:
                continue
            if after not in self._number:
                self._number[after] = len(self._paid)
                self._paid.append(after)
            going = rows[way == each]
            self._account[going] = self._number[after]
            self._rounds[going] += 1
