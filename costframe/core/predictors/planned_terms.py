"""Terms as a plan uses them: prices of sets, tradeoff, cap and reachable stops; and what rows paid for on them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bits import members
from costframe.core.prices.limits import COMPLETE, CUT, UNAVAILABLE, Limits
from costframe.core.stages.stops import StopPrices

_NO_KEEPS = np.empty((0, 0), np.bool_)


class Place:
    """Columns of rows' places, int64 (n, 5 + W), and statuses of rows on their way; see engine/plan.h."""

    STOP, PAID, WHY, ROUNDS, STATUS, KNOWN = engine.constants(  # from the last on, features that have values as bits
        "PlanRow.stop", "PlanRow.paid", "PlanRow.why", "PlanRow.rounds", "PlanRow.status", "PlanRow"
    )
    ARRIVES, PAYS, WAITS = engine.constants("arrives", "pays", "waits")


@frozen(eq=False)
class PlanTerms:
    """Terms that decide, with the models' gains, the next stops of rows; items are features and resources."""

    prices: StopPrices
    tradeoff: float  # loss accepted per unit of cost
    tradeoff_left: float  # the same for rows that the cap keeps from their plan: what was asked for
    limited: bool  # whether there are limits
    cap: float  # cap on the cost of one row, infinite without one
    known: int  # items paid for before the first stop
    reachable: B1  # (m,): stops whose features are all available
    first_features: frozenset[int]  # that a row has at stop 0: those of its set that are available and affordable
    first_missing: tuple[int, ...]  # the other features of its set
    first_paid: int  # items that a row has paid for at stop 0, known ones included
    first_reason: int  # why features of stop 0 are missing: bits, CUT and UNAVAILABLE
    stand_in_reason: int  # why rows are answered by stand-ins, if there are any: CUT or UNAVAILABLE
    planned: bool  # whether stops have plans for these terms, apart from the cap

    @staticmethod
    @lru_cache(maxsize=256)  # for every inquiry
    def of(
        prices: StopPrices,
        tradeoff: float,
        limits: Limits | None = None,
        *,
        known: int = 0,
        planned: bool = False,
        asked: float | None = None,
        left_out: frozenset[int] = frozenset(),
    ) -> PlanTerms:
        """Make terms from prices, tradeoff and limits; `known` are items paid for, and `left_out` as of `PartOfPlan`.

        Rows that the cap keeps from their plan have the tradeoff that was `asked` for, not that of the plan.
        """
        d, begun = len(prices.prices.cost), COMPLETE
        limited, limits = limits is not None, limits or Limits()
        first = list[int]()
        sets = [set(members(bundle & (1 << d) - 1)) for bundle in prices.bundles]
        for f in sorted(sets[0]):
            if f in limits.barred:
                begun |= UNAVAILABLE
            elif f in left_out or not prices.is_within(limits.cap, known, prices.buying(known, [*first, f])):
                begun |= CUT
            else:
                first.append(f)
        paid = prices.buying(known, first)
        reachable = np.array([not each & limits.barred for each in sets])
        return PlanTerms(
            prices,
            tradeoff,
            asked if planned and asked is not None else tradeoff,
            limited,
            limits.cap,
            known,
            reachable=reachable,
            first_features=frozenset(first),
            first_missing=tuple(sorted(sets[0].difference(first))),
            first_paid=paid,
            first_reason=begun,
            stand_in_reason=CUT if reachable.all() else UNAVAILABLE,
            planned=planned,
        )


class PaidSets:
    """What rows have paid for, items and rounds, in the order in which stops and rows come to it; see `StopPrices`."""

    def __init__(self, terms: PlanTerms, first: Iterable[int]) -> None:
        self._terms, self.sets, self._place = terms, list[int](), dict[int, int]()
        self._after: list[list[int]] = []  # the place of each set with the items of each stop, -1 if it is not there
        for paid in first:
            self.place_of(paid)
        self.packed = self._pack()

    def _pack(self) -> engine.Record:
        terms, prices = self._terms, self._terms.prices
        can_pay, keeps = np.ones((len(self.sets), len(prices.bundles)), np.bool_), _NO_KEEPS
        if terms.cap < np.inf:
            owed = (
                [prices.after(had, stop) & ~terms.known for stop in range(len(prices.bundles))] for had in self.sets
            )
            can_pay[:] = [[prices.total(paid) <= terms.cap for paid in each] for each in owed]
            if terms.planned:
                keeps = np.stack([prices.kept(had, terms.known, terms.cap).ravel() for had in self.sets])
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.stack([prices.to_stops(had) for had in self.sets])
            price, left = terms.tradeoff * steps, terms.tradeoff_left * steps
        after = np.array(self._after, np.int64)
        return engine.PaidSets(after, price, left, can_pay, keeps, terms.reachable, terms.planned)

    def offers(self, place: int, *, planned: bool) -> tuple[F8, B1, B1]:
        """Return what each stop costs a set of paid items, in loss, and if it can be paid and had: (m,) each."""
        _, price, left, can_pay, _, can_have, _ = self.packed.arrays
        return (price if planned else left)[place], can_pay[place], can_have

    def place_of(self, paid: int) -> int:
        """Return the place of a set, which it adds."""
        if paid not in self._place:
            place = self._place[paid] = len(self.sets)
            self.sets.append(paid)
            self._after.append([-1 if bundle & ~paid else place for bundle in self._terms.prices.bundles])
        return self._place[paid]

    def add(self, places: I8) -> None:
        """Add the new sets of rows that pay, and set the rows' places, int64 (n, 5 + W)."""
        bundles, rows = self._terms.prices.bundles, np.flatnonzero(places[:, Place.STATUS] == Place.PAYS)
        way = places[rows, Place.PAID] * len(bundles) + places[rows, Place.STOP]
        for each in np.unique(way).tolist():
            place, j = divmod(each, len(bundles))
            self._after[place][j] = self.place_of(self._terms.prices.after(self.sets[place], j))
        places[rows, Place.PAID] = np.array(self._after, np.int64).ravel()[way]
        places[rows, Place.ROUNDS] += 1
        self.packed = self._pack()
