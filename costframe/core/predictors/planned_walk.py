"""Walks through a plan, stop by stop: of one row in an inquiry, and of a table of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.cost.report import Charges, sum_charges
from costframe.core.learners.bits import as_set, as_words, members, word_count
from costframe.core.machine import over_chunks
from costframe.core.predictors.planned_terms import COMPLETE, PaidSets, Place
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.step import REASONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from costframe.core.predictors.planned_terms import Terms
    from costframe.core.stages.stages import Answer
    from costframe.core.stages.stops import PlanLayout


class PlannedState(NamedTuple):
    """A row on its way from stop to stop; it does not change once it is made."""

    row: NDArray[np.float64]  # (1, d + K): values, NaN if unknown, and scores at the last stop
    place: NDArray[np.int64]  # (1, 5 + W)
    paid: int  # items
    have: int  # features with values, one bit a column
    stop: int  # the row's stop, or its next one while it waits for features
    why: int  # COMPLETE, CUT or UNAVAILABLE
    needs: tuple[int, ...]

    @classmethod
    def of(
        cls, plan: PlanLayout, row: NDArray[np.float64], place: NDArray[np.int64], paid: int, have: int
    ) -> PlannedState:
        """Read the row's place."""
        stop, _, why, _, status = place[0, : Place.KNOWN].tolist()
        missing = plan.sets[stop] & ~have if status in (Place.PAYS, Place.WAITS) else 0
        return cls(row, place, paid, have, stop, why, tuple(members(missing)))


_NONE, _NO_OPAQUE, _NO_WAYS = np.empty(0), np.empty((0, 0)), np.empty((0, 0), np.int32)


class PlannedWalker:
    """One row on its way from stop to stop: the model side of an inquiry.

    Parameters
    ----------
    plan : PlanLayout
    terms : Terms
    known_values : mapping of int to float
        Known values. The row begins at the last stop whose features are all known, else at stop 0.
    begun : mapping of Terms to PlannedState
        First states of rows without known values, to which the walker adds its own.
    """

    __slots__ = ("plan", "state", "terms")

    def __init__(
        self,
        plan: PlanLayout,
        terms: Terms,
        known_values: Mapping[int, float],
        begun: MutableMapping[Terms, PlannedState],
    ) -> None:
        self.plan, self.terms = plan, terms
        known_state = None if known_values else begun.get(terms)
        self.state = known_state or self._begin(known_values)
        if not known_values and not plan.bank.opaques:
            begun[terms] = self.state

    def _begin(self, known_values: Mapping[int, float]) -> PlannedState:
        terms, plan, have = self.terms, self.plan, as_set(known_values)
        row = np.full((1, sum(plan.shape)), np.nan)
        row[0, list(known_values)] = list(known_values.values())
        stop = max((k for k, wanted in enumerate(plan.sets) if wanted and not wanted & ~have), default=0)
        paid, why = (terms.known, COMPLETE) if stop > 0 else (terms.first_paid, terms.first_reason)
        if stop == 0:
            have |= as_set(terms.first_missing)  # no row asks for them
        known = as_words([have], word_count(plan.shape[0])).view(np.int64)[0]
        place = np.array([[stop, 0, why, 0, Place.WAITS, *known]], np.int64)
        return self._carry(row, place, paid, have, _NONE)

    def __copy__(self) -> PlannedWalker:  # as `copy` makes one, in a fifth of the time
        other = PlannedWalker.__new__(PlannedWalker)
        other.plan, other.terms, other.state = self.plan, self.terms, self.state
        return other

    def advance(self, values: Mapping[int, float]) -> None:
        """Add values and go on until a feature is needed."""
        row, place, paid, have, stop, _, needs = self.state
        supplied = np.array(list(map(values.__getitem__, needs)), np.float64)
        self.state = self._carry(row.copy(), place.copy(), paid, have | self.plan.sets[stop], supplied)

    @staticmethod
    def advance_together(walkers: Sequence[PlannedWalker], values: Sequence[Mapping[int, float]]) -> None:
        """Advance rows of one model; those on the same terms go on as one table."""
        ends: list[tuple[PlannedWalker, PlannedState]] = []
        for terms in dict.fromkeys(walker.terms for walker in walkers):
            some = [(each, given) for each, given in zip(walkers, values, strict=True) if each.terms is terms]
            plan, states = some[0][0].plan, [each.state for each, _ in some]
            rows, places = (np.concatenate(each) for each in zip(*((s.row, s.place) for s in states), strict=True))
            paid = PaidSets(terms, [state.paid for state in states])
            places[:, Place.PAID] = [paid.place_of(state.paid) for state in states]
            supplied = np.array([given[f] for each, given in some for f in each.needs], np.float64)
            _carry_rows(plan, paid, supplied, rows, places, _NO_WAYS)
            for i, (each, _) in enumerate(some):
                have, part = states[i].have | plan.sets[states[i].stop], slice(i, i + 1)
                items = paid.sets[places[i, Place.PAID]]
                ends.append((each, PlannedState.of(plan, rows[part], places[part], items, have)))
        for walker, state in ends:
            walker.state = state

    def _carry(
        self, row: NDArray[np.float64], place: NDArray[np.int64], paid: int, have: int, supplied: NDArray[np.float64]
    ) -> PlannedState:
        """Change a row by the values supplied, until it misses features or stays."""
        plan, terms, opaque, called = self.plan, self.terms, _NO_OPAQUE, -1
        while True:
            asks = engine.carry_rows(plan.packed, terms.alone(paid), supplied, row, place, opaque, _NO_WAYS, called)
            if asks == engine.ADD_SETS:  # of this row
                paid |= terms.prices.bundles[place[0, Place.STOP]]
            state = PlannedState.of(plan, row, place, paid, have)
            if asks == engine.CALL_OPAQUES:
                opaque, called = plan.call_opaques(state.stop, row), state.stop
            elif state.needs or not asks:
                return state
            supplied = _NONE

    @property
    def needs(self) -> tuple[int, ...]:
        """Features of the next stop that are not yet known."""
        return self.state.needs

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and stop."""
        state = self.state
        value = self.plan.stops[state.stop].answer.predictions(state.row[:, self.plan.shape[0] :].copy())[0]
        return (float(value[0]) if len(value) == 1 else value), state.stop

    @property
    def evaluated(self) -> Fraction:
        """Always zero: a plan prices acquisitions only."""
        return ZERO

    @property
    def reason(self) -> str:
        """Why the row ended; see `Prediction`."""
        return REASONS[self.state.why]


@frozen(eq=False)
class PlannedRows:
    """Ends of rows sent through a plan, and their purchases."""

    scores: NDArray[np.float64]  # (n, K)
    exits: NDArray[np.int64]  # (n,): stop that answers each row
    paid: list[int]  # distinct sets of items that rows paid for
    account: NDArray[np.int64]  # (n,): place of each row's set in `paid`
    why: NDArray[np.int64]  # (n,): COMPLETE, CUT or UNAVAILABLE
    rounds: NDArray[np.int64]  # (n,): visits that bought something
    to: NDArray[np.int32]  # (n, m): where rows go from each stop, -1 from stops that they do not visit

    def linked(self, answers: Sequence[Answer]) -> NDArray[np.float64]:
        """Apply the link of each row's answer, given those of the stops, to its scores: float64 (n, K)."""
        if answers[0].link != "ranked":
            return answers[0].predictions(self.scores)
        values = np.empty_like(self.scores)
        for stop in np.unique(self.exits):
            rows = self.exits == stop
            values[rows] = answers[stop].predictions(self.scores[rows])
        return values


def walk_table(plan: PlanLayout, terms: Terms, X: NDArray[np.float64], n_jobs: int | None = None) -> list[PlannedRows]:
    """Send rows, float64 (n, d), from stop to stop; return the results of parts of the table, at least one."""
    if len(X) == 0:
        return [_walk(plan, terms, X)]
    return over_chunks(lambda part: _walk(plan, terms, X[part]), len(X), n_jobs)


def _walk(plan: PlanLayout, terms: Terms, X: NDArray[np.float64]) -> PlannedRows:
    n, d = X.shape
    first = [0, 0, terms.first_reason, bool(terms.first_features), Place.ARRIVES, *[-1] * word_count(d)]
    rows, places = np.empty((n, sum(plan.shape))), np.tile(np.array(first, np.int64), (n, 1))
    rows[:, :d] = X
    rows[:, terms.first_missing] = np.nan
    paid, to = PaidSets(terms, [terms.first_paid]), np.full((n, len(plan.sets)), -1, np.int32)
    _carry_rows(plan, paid, _NONE, rows, places, to)
    exits, account, why, rounds = places.T[: Place.STATUS].copy()
    return PlannedRows(rows[:, d:].copy(), exits, paid.sets, account, why, rounds, to)


def _carry_rows(
    plan: PlanLayout,
    paid: PaidSets,
    supplied: NDArray[np.float64],
    rows: NDArray[np.float64],
    places: NDArray[np.int64],
    to: NDArray[np.int32],
) -> None:
    """Change rows by the values supplied, until each misses features or stays."""
    opaque, called = _NO_OPAQUE, -1
    while asks := engine.carry_rows(plan.packed, paid.packed, supplied, rows, places, opaque, to, called):
        if asks == engine.ADD_SETS:
            paid.add(places)
        else:
            arrive = places[:, Place.STATUS] == Place.ARRIVES
            called = int(places[arrive, Place.STOP].min())
            opaque = plan.call_opaques(called, rows[arrive & (places[:, Place.STOP] == called)])
        supplied = _NONE


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
        stage_weight=np.array([weight[to >= 0].sum() for to in part.to.T]),
        predictions=predictions,
        rounds=part.rounds,
        cut=part.why != COMPLETE if terms.limited else None,
    )
