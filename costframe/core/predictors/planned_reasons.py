"""Why a row of a plan buys a set, or stays: the expected gains that it compared at its last stop."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8, U8
from costframe.core.learners.bits import as_set, members
from costframe.core.predictors.grounds import NOTHING_PAYS, Ground, Grounds
from costframe.core.predictors.planned_terms import PaidSets, PlanTerms
from costframe.core.predictors.planned_walk import PlannedWalker
from costframe.core.prices.limits import COMPLETE, CUT, REASONS, UNAVAILABLE
from costframe.core.stages.stops import PlanLayout

_HAVE, _PAY = 1, 2  # of a later stop: the row can have it, and can pay it too


@frozen(eq=False)
class Choice:
    """The choice of a row at a stop, as `choose` of engine/plan.h makes it."""

    stop: int
    to: int  # itself where the row stays
    why: int  # bits, CUT and UNAVAILABLE, after the choice
    gains: F8  # (later stops,): expected decreases of the loss; of a planned rung net of later purchases
    total: F8  # (later stops,): what the row compares with 0
    reach: U8  # (later stops,): 0, _HAVE or _PAY
    planned: bool  # whether its plan chose
    fixed: bool  # whether the plan sends all rows to one stop, whatever the gains
    tradeoff: float

    @classmethod
    def at(cls, plan: PlanLayout, terms: PlanTerms, stop: int, paid: int, why: int, row: F8) -> Choice:
        """Choose for a row, float64 (1, d + K), scored at the stop, that has paid for some items.

        A row follows its plan as long as it can pay for its choice, and for what it would choose by its gains after
        that; else it chooses by its gains.
        """
        follows = terms.planned and plan.stops[stop].planned is not None and not why & CUT
        choice = cls._by(plan, terms, stop, paid, why, row, follows=follows)
        if not follows:
            return choice
        if not choice.why & CUT and (choice.to == stop or terms.cap == np.inf):
            return choice
        left = cls._by(plan, terms, stop, paid, choice.why | CUT, row, follows=False)
        if choice.why & CUT:
            return left
        kept = left.to == stop or terms.prices.kept(paid, terms.known, terms.cap)[choice.to, left.to]
        return choice if kept else left

    @classmethod
    def _by(
        cls, plan: PlanLayout, terms: PlanTerms, stop: int, paid: int, why: int, row: F8, *, follows: bool
    ) -> Choice:
        """Choose by the plan of the stop, or by its gains."""
        own = plan.stops[stop]
        decides = own.planned if follows else own.gains
        if decides is None:  # the last stop
            nothing = np.empty(0), np.empty(0), np.empty(0, np.uint8)
            return cls(stop, stop, why, *nothing, follows, fixed=False, tradeoff=terms.tradeoff)
        changes = plan.expected_gains(stop, row, planned=follows)[0]
        price, can_pay, can_have = PaidSets(terms, [paid]).offers(0, planned=follows)
        with np.errstate(over="ignore", invalid="ignore"):
            total = changes + price[stop + 1 :]
        reach = np.where(can_have[stop + 1 :], np.where(can_pay[stop + 1 :], _PAY, _HAVE), 0).astype(np.uint8)
        every, having, to = (_least(total, reach >= least, stop) for least in (0, _HAVE, _PAY))
        why |= CUT if to != having else COMPLETE
        why |= UNAVAILABLE if having != every else COMPLETE
        fixed = follows and not len(decides.learners) and own.gains is not None
        if fixed:  # constants of a plan that knows its stop; see what the set is expected to gain all the same
            changes = plan.expected_gains(stop, row, planned=False)[0]
        tradeoff = terms.tradeoff if follows else terms.tradeoff_left
        return cls(stop, to, why, -changes, total, reach, follows, fixed=bool(fixed), tradeoff=tradeoff)

    def can_go_to(self, stop: int) -> bool:
        """Return whether the row can have and pay a later stop."""
        return bool(self.reach[stop - self.stop - 1] == _PAY)

    def ranked(self) -> list[int]:
        """Return the later stops, the best first; those that the row can have and pay before the others."""
        order = np.lexsort((np.where(np.isnan(self.total), np.inf, self.total), -self.reach.astype(np.int64)))
        return [self.stop + 1 + j for j in order.tolist()]


def _least(total: F8, allowed: B1, stop: int) -> int:
    """Return the first later stop of the least total below zero among those allowed, else the stop itself."""
    totals = np.where(allowed & (total < 0.0), total, np.inf)
    return stop + 1 + int(totals.argmin()) if len(totals) and totals.min() < np.inf else stop


def last_choice(walker: PlannedWalker, known_values: Mapping[int, float]) -> Choice | None:
    """Return the last choice of a row that began with some values; None if it has made none yet."""
    way, state = walker.way, walker.state
    plan, terms = way.plan, way.terms
    stop, paid, why, _ = way.first_place(known_values)
    row = np.frombuffer(state.row, np.float64, way.width, 8 * way.n_place)[None].copy()
    choice = None
    while not plan.sets[stop] & ~state.have:
        plan.score(stop, row)
        choice = Choice.at(plan, terms, stop, paid, why, row)
        if choice.to == stop:
            break
        stop, paid, why = choice.to, terms.prices.after(paid, choice.to), choice.why
    return choice


def planned_grounds(
    walker: PlannedWalker, known_values: Mapping[int, float], unit: str, realised: tuple[float, float]
) -> Grounds:
    """Return why a row of a plan buys a set, or stays; gains are in `unit`.

    Of the gains that it compares it states the share that held-out rows `realised`, of gains and of planned ones: the
    largest of several estimates is too large in the mean.
    """
    choice, plan, have = last_choice(walker, known_values), walker.way.plan, walker.state.have
    tradeoff = walker.way.terms.tradeoff if choice is None else choice.tradeoff
    is_set = choice is None or (choice.fixed and choice.gains[choice.to - choice.stop - 1 :][:1] <= 0.0)
    if choice is None or (walker.needs and is_set):  # nothing was compared, or what it gains alone is not why
        return Grounds((Ground(walker.needs, purpose="every row reads it"),), tradeoff=tradeoff)

    def ground(stop: int) -> Ground:
        columns = tuple(members(plan.sets[stop] & ~have))
        gain = float(choice.gains[stop - choice.stop - 1]) * realised[choice.planned]
        return Ground(columns, gain + 0.0, unit)  # not -0

    best = dict[int, int]()  # the best stop for what the row would buy, the best first
    for stop in choice.ranked():
        best.setdefault(plan.sets[stop] & ~have, stop)
    best.pop(0, None)
    if walker.needs:
        best.pop(as_set(walker.needs), None)
        second = next((stop for stop in best.values() if choice.can_go_to(stop) and not choice.fixed), None)
        other = None if second is None else ground(second)
        return Grounds((evolve(ground(choice.to), runner_up=other),), tradeoff=tradeoff)
    cause = walker.reason
    if cause == REASONS[COMPLETE] and best and not choice.fixed:
        cause = NOTHING_PAYS
    return Grounds(cause=cause, further=tuple(map(ground, best.values())), tradeoff=tradeoff)
