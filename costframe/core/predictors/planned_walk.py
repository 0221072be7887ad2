"""Walks through a plan, stop by stop: of one row in an inquiry, and of a table of rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import or_
from struct import pack, unpack_from
from typing import NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.totals import Charges
from costframe.core.learners.bits import as_set, as_words, members, word_count
from costframe.core.machine import over_chunks
from costframe.core.predictors.planned_terms import PaidSets, Place, PlanTerms
from costframe.core.prices.limits import COMPLETE, REASONS, UNAVAILABLE
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.rest_of_plan import RestOfPlan
from costframe.core.stages.stages import Answer
from costframe.core.stages.stops import PlanLayout

_listed = functools.lru_cache(1024)(lambda features: tuple(members(features)))
_NONE, _NO_OPAQUE, _NO_WAYS = np.empty(0), np.empty((0, 0)), np.empty((0, 0), np.int32)
MOST_STEPS = 1024  # sets of paid items whose steps are kept


class PlannedState(NamedTuple):
    """A row on its way from stop to stop."""

    # as the engine takes it: the place, int64 (5 + W,); values, NaN if unknown, and scores at the last stop, float64
    # (d + K,); the stop whose opaque learners were called, -1 for none; room for their outputs
    row: bytes
    paid: int  # items
    have: int  # features with values, one bit a column
    stop: int  # the row's stop, or its next one while it waits for features
    why: int  # bits: CUT, UNAVAILABLE
    needs: tuple[int, ...]

    @classmethod
    def of(cls, plan: PlanLayout, row: bytes, paid: int, have: int) -> PlannedState:
        """Read the row's place."""
        stop, _, why, _, status = unpack_from("5q", row)
        missing = plan.sets[stop] & ~have if status in (Place.PAYS, Place.WAITS) else 0
        return cls(row, paid, have, stop, why, _listed(missing))


class PlannedWay:
    """What single rows through a plan on the same terms have in common: their first state, and the engine's steps."""

    def __init__(self, rest: RestOfPlan, terms: PlanTerms) -> None:
        self.rest, self.plan, self.terms = rest, rest.layout, terms
        self.own, self.stands_in = rest.own.tolist(), rest.stands_in.tolist()
        plan = rest.layout
        self.n_place, self.width = Place.KNOWN + word_count(plan.shape[0]), sum(plan.shape)  # words of a row's parts
        self.begun: PlannedState | None = None  # of rows without known values, once there is one
        self._steps: dict[int, engine.Step] = {}

    def first_place(self, known_values: Mapping[int, float]) -> tuple[int, int, int, int]:
        """Return where a row begins: its stop, the items paid for, why it may be cut, and the features it has."""
        terms, have = self.terms, as_set(known_values)
        sets = self.plan.sets
        stop = next((k for k in self.rest.best_first if sets[k] and not sets[k] & ~have), 0)
        if stop > 0:
            return stop, terms.known, COMPLETE, have
        return stop, terms.first_paid, terms.first_reason, have | as_set(terms.first_missing)  # no row asks for these

    def step(self, paid: int) -> engine.Step:
        """Return the engine's step of a row that has paid for these items."""
        if (step := self._steps.get(paid)) is None:
            if len(self._steps) == MOST_STEPS:
                self._steps.clear()
            size, sets = 8 * (self.n_place + self.width + 1 + self.plan.n_opaque), PaidSets(self.terms, [paid])
            step = self._steps[paid] = engine.step_plan_row(size, self.plan.packed, sets.packed)
        return step


class PlannedWalker:
    """One row on its way from stop to stop: the model side of an inquiry."""

    __slots__ = ("needs", "state", "way")

    def __init__(self, way: PlannedWay, state: PlannedState) -> None:
        self.way, self.state, self.needs = way, state, state.needs

    @classmethod
    def begin(cls, way: PlannedWay, known_values: Mapping[int, float]) -> PlannedWalker:
        """Begin a row at the last stop whose features are all known, else at stop 0."""
        if way.begun is not None and not known_values:
            return cls(way, way.begun)
        plan, (stop, paid, why, have) = way.plan, way.first_place(known_values)
        row = np.full(way.width, np.nan)
        row[list(known_values)] = list(known_values.values())
        known = as_words([have], way.n_place - Place.KNOWN).view(np.int64)[0]
        place = np.array([stop, 0, why, 0, Place.WAITS, *known], np.int64)
        room = np.full(1 + plan.n_opaque, -1, np.int64)
        state = _carry(way, place.tobytes() + row.tobytes() + room.tobytes(), paid, have, None)
        if not (known_values or plan.bank.opaques):
            way.begun = state
        return cls(way, state)

    def after(self, values: Sequence[float]) -> PlannedWalker:
        """Return the row with the values of all features in `needs` too, gone on until others are needed."""
        (row, paid, have, stop, _, _), way = self.state, self.way
        supplied = pack(f"{len(values)}d", *values)
        return PlannedWalker(way, _carry(way, row, paid, have | way.plan.sets[stop], supplied))

    @staticmethod
    def after_together(walkers: Sequence[PlannedWalker], values: Sequence[Sequence[float]]) -> list[PlannedWalker]:
        """Return rows of one model after their values; those on the same terms go on as one table."""
        ends: dict[int, PlannedWalker] = {}
        for way in dict.fromkeys(walker.way for walker in walkers):
            some = [i for i, walker in enumerate(walkers) if walker.way is way]
            plan, states = way.plan, [walkers[i].state for i in some]
            table = np.frombuffer(b"".join([state.row for state in states]), np.int64).reshape(len(some), -1)
            parts = np.split(table, [way.n_place, way.n_place + way.width], axis=1)
            places, rows = parts[0].copy(), parts[1].copy().view(np.float64)
            paid = PaidSets(way.terms, [state.paid for state in states])
            places[:, Place.PAID] = [paid.place_of(state.paid) for state in states]
            _carry_rows(plan, paid, np.array([value for i in some for value in values[i]]), rows, places, _NO_WAYS)
            after = np.hstack([places, rows.view(np.int64), parts[2]])
            for i, state, row, place in zip(some, states, after, places[:, Place.PAID].tolist(), strict=True):
                have = state.have | plan.sets[state.stop]
                ends[i] = PlannedWalker(way, PlannedState.of(plan, row.tobytes(), paid.sets[place], have))
        return [ends[i] for i in range(len(walkers))]

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and stop."""
        way, state = self.way, self.state
        d, k = way.plan.shape
        scores = np.frombuffer(state.row, np.float64, k, 8 * (way.n_place + d))
        value = way.plan.stops[state.stop].answer.predictions(scores[None])[0]
        return (float(value[0]) if len(value) == 1 else value), way.own[state.stop]

    place = None  # predictions tell the class

    @property
    def evaluated(self) -> Fraction:
        """Always zero: a plan prices acquisitions only."""
        return ZERO

    @property
    def reason(self) -> str:
        """Why the row ended; see `Prediction`."""
        stands_in = self.way.stands_in[self.state.stop]
        why = self.state.why | (self.way.terms.stand_in_reason if stands_in else COMPLETE)
        return REASONS[UNAVAILABLE if why & UNAVAILABLE else why]


def _carry(way: PlannedWay, row: bytes, paid: int, have: int, supplied: bytes | None) -> PlannedState:
    """Carry a row on by the values supplied, until it misses features or stays."""
    while True:
        row, asks = way.step(paid)(row, supplied)
        if asks == engine.ADD_SETS:  # of this row
            paid = way.terms.prices.after(paid, unpack_from("q", row)[0])
        state = PlannedState.of(way.plan, row, paid, have)
        if asks == engine.CALL_OPAQUES:
            values = np.frombuffer(row, np.float64, way.width, 8 * way.n_place)[None]
            called = np.int64(state.stop).tobytes() + way.plan.call_opaques(state.stop, values).tobytes()
            row = (row[: 8 * (way.n_place + way.width)] + called).ljust(len(row), b"\0")
        elif state.needs or not asks:
            return state
        supplied = None


@frozen(eq=False)
class PlannedRows:
    """Ends of rows sent through a plan, and their purchases."""

    scores: F8  # (n, K)
    exits: I8  # (n,): stop that answers each row
    paid: list[int]  # distinct sets of items that rows paid for
    account: I8  # (n,): place of each row's set in `paid`
    why: I8  # (n,): bits, CUT and UNAVAILABLE
    rounds: I8  # (n,): visits that bought something
    to: NDArray[np.int32]  # (n, m): where rows go from each stop, -1 from stops that they do not visit

    def linked(self, answers: Sequence[Answer]) -> F8:
        """Apply the link of each row's answer, given those of the stops, to its scores: float64 (n, K)."""
        if answers[0].link != "ranked":
            return answers[0].predictions(self.scores)
        values = np.empty_like(self.scores)
        for stop in np.unique(self.exits):
            rows = self.exits == stop
            values[rows] = answers[stop].predictions(self.scores[rows])
        return values


def walk_table(rest: RestOfPlan, terms: PlanTerms, X: F8, n_jobs: int | None = None) -> list[PlannedRows]:
    """Send rows, float64 (n, d), from stop to stop; return the results of parts of the table, at least one."""
    if len(X) == 0:
        return [_walk(rest, terms, X)]
    return over_chunks(lambda part: _walk(rest, terms, X[part]), len(X), n_jobs)


def _walk(rest: RestOfPlan, terms: PlanTerms, X: F8) -> PlannedRows:
    plan = rest.layout
    n, d = X.shape
    first = [0, 0, terms.first_reason, bool(terms.first_features), Place.ARRIVES, *[-1] * word_count(d)]
    rows, places = np.empty((n, sum(plan.shape))), np.tile(np.array(first, np.int64), (n, 1))
    rows[:, :d] = X
    rows[:, terms.first_missing] = np.nan
    paid, to = PaidSets(terms, [terms.first_paid]), np.full((n, len(plan.sets)), -1, np.int32)
    _carry_rows(plan, paid, _NONE, rows, places, to)
    exits, account, why, rounds = places.T[: Place.STATUS].copy()
    why |= np.where(rest.stands_in[exits], terms.stand_in_reason, COMPLETE)
    return PlannedRows(rows[:, d:].copy(), exits, paid.sets, account, why, rounds, to)


def _carry_rows(plan: PlanLayout, paid: PaidSets, supplied: F8, rows: F8, places: I8, to: NDArray[np.int32]) -> None:
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
    parts: Sequence[PlannedRows], terms: PlanTerms, weight: F8, linked: Callable[[PlannedRows], F8], own: I8
) -> Charges:
    """Charge rows after their walk through a plan, part by part; `linked` converts scores to predictions.

    `own`, int64 (stops,), are the numbers of the plan's own stops.
    """
    ends = np.cumsum([len(part.exits) for part in parts])
    return Charges.join([
        _charge(part, terms, weight[end - len(part.exits) : end], linked(part), own)
        for part, end in zip(parts, ends, strict=True)
    ])  # fmt: skip


def planned_rounds(plan: PlanLayout, parts: Sequence[PlannedRows], terms: PlanTerms) -> AskedRounds:
    """Return the rounds in which rows ask for features, after their walk through a plan: as each comes to a stop."""
    columns = np.array([*members(functools.reduce(or_, plan.sets))], np.int64)
    place = {f: at for at, f in enumerate(columns.tolist())}
    ways, way = np.unique(np.concatenate([part.to for part in parts]), axis=0, return_inverse=True)
    rounds = np.zeros((len(ways), len(columns)), np.int32)
    for asked, to in zip(rounds, ways.tolist(), strict=True):
        have, missing, stop, number = as_set(terms.first_missing), as_set(terms.first_features), 0, 1
        while True:
            asked[[place[f] for f in members(missing)]] = number
            number, have = number + bool(missing), have | missing
            if to[stop] in {stop, -1}:
                break
            stop = to[stop]
            missing = plan.sets[stop] & ~have
    return AskedRounds(columns, rounds[way.ravel()])


def _charge(part: PlannedRows, terms: PlanTerms, weight: F8, predictions: F8, own: I8) -> Charges:
    d = len(terms.prices.prices.cost)
    bought, every = np.zeros((len(part.paid), terms.prices.prices.n_items)), (1 << terms.prices.prices.n_items) - 1
    for account, items in enumerate(part.paid):
        bought[account, list(members(items & every))] = True
    cost = np.array([terms.prices.total(items & every) for items in part.paid])  # evaluators add that of rounds
    of_account = np.bincount(part.account, weights=weight, minlength=len(part.paid)) @ bought
    return Charges(
        acquired=bought[part.account, :d] > 0,
        acquisition=cost[part.account],
        learners=None,
        comparisons=None,
        reuse=None,
        feature_weight=of_account[:d],
        resource_weight=of_account[d:],
        stage_weight=_stage_weight(part.to, weight, own),
        predictions=predictions,
        rounds=part.rounds,
        cut=part.why != COMPLETE if terms.limited else None,
    )


def _stage_weight(to: NDArray[np.int32], weight: F8, own: I8) -> F8:
    """Return the weight of rows that come to each own stop of a plan, or to its stand-in: float64 (m,)."""
    return np.array([weight[(to[:, own == k] >= 0).any(axis=1)].sum() for k in range(int(own[-1]) + 1)])
