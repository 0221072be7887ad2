"""A predictor that plans for each row which set of features to buy next, at prices given at prediction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property, lru_cache, partial, reduce
from itertools import pairwise
from operator import or_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.checks import check_choice, check_number
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.totals import Charges
from costframe.core.errors import StageError, format_count, shown
from costframe.core.gains import Gains, gains_of_answers
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import as_set, members
from costframe.core.learners.thresholds import Cuts, cuts_of
from costframe.core.predictors.grounds import Grounds
from costframe.core.predictors.planned_reasons import planned_grounds
from costframe.core.predictors.planned_terms import PlanTerms
from costframe.core.predictors.planned_walk import (
    PlannedRows,
    PlannedWalker,
    PlannedWay,
    planned_charges,
    planned_rounds,
    walk_table,
)
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.links import squeeze
from costframe.core.stages.part_of_plan import PartOfPlan, pays_for_a_set
from costframe.core.stages.relied import relied_on
from costframe.core.stages.rest_of_plan import RestOfPlan, rest_of_plan
from costframe.core.stages.spares import LaterSpare, Spare
from costframe.core.stages.stops import (
    PlanLayout,
    Rung,
    Stop,
    StopPrices,
    as_ladder,
    as_stops,
    check_ladder,
    check_stops,
    read_by,
    stop_prices,
)
from costframe.core.terms.card import Card
from costframe.core.terms.classes import as_classes, check_classes
from costframe.core.terms.terms import Terms

GAIN_UNITS = ("loss", "money")
_MOST_RESTS = 16  # outages whose stops are kept
_MOST_CAPS = 256  # limits of which it is kept what rows do without


@define(eq=False, frozen=True, repr=False)
class PlannedPredictor(Predictor):
    """A list of m stops, each with a set of features; prediction chooses for each row the next stop to go to.

    A row begins at stop 0, or, if values are known, at the last stop whose features are all known. At stop k, with A
    acquired, it goes on to the stop j >= k with the least

        G_kj(x) + tradeoff * price(A -> A + S_j),    G_kk = 0, without a price for j = k;

    of equal ones, with the first. There it chooses again with more features known. A row that stays gets its answer
    there. The models do not depend on prices: prices, tradeoff and limits are given at prediction.
    A row chooses among the stops that its cap allows and whose features are all available. It leaves a plan that its
    cap does not pay, and one whose next stop would put the one that it would choose by G_kj out of the cap's reach.
    Unavailable features of stop 0 are missing (NaN) there. With a `spare` ensemble, stops whose features are not all
    available have stand-ins that it answers from the rest of their features; see `rest_of_plan`. A plan by values goes
    on with these, if they leave at least half of what all features gain, and where values are known; one that sends all
    rows to one stop goes on where nothing is known and its features are available, see `relied_on`.
    Where a cap pays for no stop's features, a row buys the part of them that the ensemble is expected to lose least
    with, and the others count as unavailable; see `PartOfPlan`.

    Parameters
    ----------
    bank : WeakLearnerBank
        Learners of all answers.
    gains_bank : WeakLearnerBank
        Learners of all gains, over the same d features followed by the K scores of the answer at the row's stop. It
        has no opaque learners.
    stops : tuple of Stop
    tradeoff : float
        Default loss accepted per unit of cost.
    costs : CostModel or None
        Default prices.
    batch : float or None
        Rows that share once-per-batch prices in the choice of the next stop; None ignores these prices there.
    ladder : tuple of Rung
        At its own prices, the last rung that a tradeoff reaches decides; see `Rung`. Without any, the tradeoff itself.
    classes : (M,), optional
        Labels of the classes whose probabilities the answers give.
    gain_unit : {"loss", "money"}
        Unit of gains: that of losses, or that of prices, of a plan for the least cost of features and errors.
    realised : (float, float)
        Shares of the expected gains of stops, and of those of their plans, that held-out rows realised, from 0 to 1:
        reasons state these shares of them, and no decision depends on them.
    spare : Spare or LaterSpare, optional
        What answers where stops need unavailable features, or such as no cap pays for; learned already or at first
        need.

    Raises
    ------
    StageError
        If stops do not fit the banks or each other.
    CostModelError
        If the prices do not fit its features.
    """

    bank: WeakLearnerBank
    gains_bank: WeakLearnerBank
    stops: tuple[Stop, ...] = field(converter=as_stops)
    tradeoff: float = 0.0
    costs: CostModel | None = None
    batch: float | None = None
    ladder: tuple[Rung, ...] = field(default=(), kw_only=True, converter=as_ladder)
    classes: NDArray[Any] | None = field(default=None, kw_only=True, converter=as_classes)
    gain_unit: str = field(default="loss", kw_only=True)
    realised: tuple[float, float] = field(default=(1.0, 1.0), kw_only=True)
    _spare: Spare | LaterSpare | None = field(default=None, kw_only=True, alias="spare")

    def __attrs_post_init__(self) -> None:
        check_number("tradeoff", self.tradeoff)
        check_choice("gain_unit", self.gain_unit, GAIN_UNITS)
        if not isinstance(self.realised, tuple) or len(self.realised) != 2:
            raise StageError(f"realised: expected two shares, of gains and of planned ones, got {shown(self.realised)}")
        for share in self.realised:
            check_number("realised", share, high=1.0)
        if self.batch is not None:
            check_number("batch", self.batch, strict=True)
        for name in ("bank", "gains_bank"):
            if not isinstance(bank := getattr(self, name), WeakLearnerBank):
                raise StageError(f"{name}: expected a WeakLearnerBank, got {type(bank).__name__}")
        check_stops(self.stops, self.bank, self.gains_bank)
        check_ladder(self.ladder, has_plans=self._has_plans)
        check_classes(self.classes, self.n_outputs)
        if isinstance(self._spare, Spare):
            self._check_spare(self._spare)
        self.card  # noqa: B018 - refuses prices that do not fit

    @cached_property
    def card(self) -> Card:
        """What describes it; of its facts, its size and tradeoff."""
        counts = format_count(len(self.stops), "stop"), format_count(len(self.bank), "learner")
        facts = *counts, f"link {self.stops[0].answer.link!r}", f"tradeoff {self.tradeoff:g}"
        bank = self.bank
        return Card(bank.feature_names, self.costs, bank.categories, self.classes, plans=True, facts=facts)

    def with_card(self, card: Card) -> PlannedPredictor:
        """Return the same model with another card, without plans and ladder for other prices of its own.

        A model without prices, as during training, keeps them: they were made for the new prices.
        """
        bank = self.bank if card.categories == self.bank.categories else evolve(self.bank, categories=card.categories)
        changes: dict[str, Any] = {"bank": bank, "costs": card.costs, "classes": card.classes}
        if self._spare is not None and card.categories != self.bank.categories:
            changes["spare"] = self._spare.with_categories(card.categories)
        if self.costs is not None and card.prices != self.card.prices:
            changes |= {"stops": tuple(evolve(stop, planned=None) for stop in self.stops), "ladder": ()}
        return self._evolve(**changes)

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of the features of the first stop."""
        return tuple(self.feature_names[f] for f in self.stops[0].features)

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read or buy."""
        return tuple(self.feature_names[f] for f in read_by(self.stops, self.bank, self.gains_bank))

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return len(self.stops[0].answer.intercept)

    @property
    def grows(self) -> bool:
        """Whether each stop has all features of the one before and more, and nothing is for fixed prices."""
        chain = all(a & ~b == 0 and a != b for a, b in pairwise(self.layout.sets))
        return chain and not self.ladder

    @cached_property
    def spare(self) -> Spare | None:
        """What answers where stops need unavailable features, or None."""
        if self._spare is None:
            return None
        learned = self._spare.learned()
        self._check_spare(learned)
        return learned

    @property
    def content(self) -> tuple[Any, ...]:
        """What decides its rows, with the spare ensemble, which is learned then; see `Digested.content`."""
        decides = self.bank, self.gains_bank, self.stops, self.tradeoff, self.batch, self.ladder, self.realised
        return *decides, self.classes, self.gain_unit, self.spare

    def _check_spare(self, spare: Spare) -> None:
        spare.check(self.bank, tuple(stop.answer for stop in self.stops))

    @cached_property
    def layout(self) -> PlanLayout:
        """The stops as arrays for the engine."""
        return PlanLayout(self.stops, self.bank, self.gains_bank)

    def with_tradeoff(self, tradeoff: float) -> PlannedPredictor:
        """Return the same model with another default tradeoff."""
        return self._evolve(tradeoff=tradeoff)

    def exits(self, X: Any, **asked: Any) -> I8:
        """Return the stop that answers each row, with arguments as for `predict`: int64 (rows,)."""
        terms = self.terms(**asked)
        exits = np.concatenate([part.exits for part in self.walk(self.as_rows(X, terms=terms), terms)])
        own: I8 = self.rest(terms).own[exits]
        return own

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        parts = self.walk(X, terms)

        def predictions() -> F8:
            return squeeze(np.concatenate([self.linked(part, terms) for part in parts]))

        if self.stops[0].answer.link == "ranked":
            return Ends(predictions)
        return Ends(predictions, scores=lambda: squeeze(np.concatenate([part.scores for part in parts])))

    def begin(self, terms: Terms) -> PlannedWalker:
        """Return a walker for one row; see `Predictor.begin`. It buys whole sets for any `acquisition`."""
        return PlannedWalker.begin(self._way(self.rest(terms), self.plan_terms(terms)), terms.values)

    def grounds(self, walker: PlannedWalker, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a row buys a set or stays: the expected gains that it compares; see `Predictor.grounds`."""
        del bought
        return planned_grounds(walker, terms.values, self.gain_unit, self.realised)

    def read_together(self, known: frozenset[int]) -> frozenset[int]:
        """Return the columns that are new in no stop alone; see `Predictor.read_together`."""
        first, had = self.layout.sets[0], as_set(known)
        lacks = [missing for wanted in self.layout.sets if (missing := wanted & ~had)]
        alone = reduce(or_, (missing for missing in lacks if not missing & missing - 1), first)
        return frozenset(members(reduce(or_, lacks, 0) & ~alone))

    @cached_property
    def cuts(self) -> Cuts:
        """Thresholds of columns, of answers, gains and the spare ensemble; see `Predictor.cuts`."""
        banks = [self.bank, self.gains_bank]
        banks += [] if self.spare is None else [self.spare.bank]
        return cuts_of(banks, len(self.feature_names))

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows; see `Predictor.charges`."""
        terms.check_hard("a plan has no thresholds to soften; use routing='hard'")
        rest = self.rest(terms)
        return planned_charges(
            self.walk(X, terms), self.plan_terms(terms), weight, lambda part: self.linked(part, terms), rest.own
        )

    def asked_rounds(self, X: F8, terms: Terms) -> AskedRounds:
        """Return the rounds in which rows ask for features; see `Predictor.asked_rounds`."""
        if terms.known:
            return super().asked_rounds(X, terms)
        return planned_rounds(self.rest(terms).layout, self.walk(X, terms), self.plan_terms(terms))

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns, at the stops where rows end; see `Predictor.gains`."""
        exits, answers = self.exits(rows.X, costs=costs), dict(enumerate(stop.answer for stop in self.stops))
        return gains_of_answers(self.bank, answers, exits, rows)

    def linked(self, walked: PlannedRows, terms: Terms) -> F8:
        """Apply the link of each row's answer to its scores: float64 (rows, K)."""
        return walked.linked([stop.answer for stop in self.rest(terms).layout.stops])

    def rest(self, terms: Terms) -> RestOfPlan:
        """Return the stops that rows go through: its own, and stand-ins of those that need what is unavailable."""
        if self._spare is None or terms.limits is None:  # as of most rows
            return self._whole
        barred = as_set(terms.barred) | as_set(self._without(terms))
        return self._rest(barred) if self.relied(terms) & barred else self._whole

    def relied(self, terms: Terms) -> int:
        """Return the columns without which rows go on otherwise, one bit each: all of its sets, or see `relied_on`.

        A cap, and what is known before, may change where rows go, so there all sets count.
        """
        sets, limits = self.layout.sets, terms.limits
        if self.ladder and not _items_paid(terms) and (limits is None or limits.cap == np.inf):
            rung = self._rung(terms.costs, self._asked(terms))
            if rung.planned:
                return self._relied(stop_prices(terms.prices, sets, self.batch), rung.tradeoff)
        return reduce(or_, sets)

    @cached_property
    def _relied(self) -> Callable[[StopPrices, float], int]:
        """Return what the plan of a rung relies on; kept for many rows."""
        return lru_cache(_MOST_RESTS)(partial(relied_on, self.stops, self.layout.sets))

    @cached_property
    def _whole(self) -> RestOfPlan:
        return RestOfPlan.whole(self.layout)

    @cached_property
    def _rest(self) -> Callable[[int], RestOfPlan]:
        """Return the stops without some columns, given as one bit each; kept for many rows."""
        assert self.spare is not None  # noqa: S101 - callers know
        return lru_cache(_MOST_RESTS)(partial(rest_of_plan, self.layout, self.spare))

    def _without(self, terms: Terms) -> frozenset[int]:
        """Return the columns that rows do without because of their cap; see `PartOfPlan`."""
        if self._spare is None or terms.limits is None or terms.limits.cap == np.inf:
            return frozenset()
        prices = stop_prices(terms.prices, self.layout.sets, self.batch)
        return self._left_out(prices, terms.limits, _items_paid(terms))

    @cached_property
    def _left_out(self) -> Callable[[StopPrices, Limits, int], frozenset[int]]:
        """Return what rows under limits do without; kept for many rows."""
        sets, part = self.layout.sets, self.part

        def left_out(prices: StopPrices, limits: Limits, known: int) -> frozenset[int]:
            if pays_for_a_set(sets, prices, limits, known):
                return frozenset()
            return part(prices.prices).left_out(prices, limits, known)

        return lru_cache(_MOST_CAPS)(left_out)

    @cached_property
    def part(self) -> Callable[[PriceArrays], PartOfPlan]:
        """Return what a cap buys that pays for no stop's features, at some prices; for plans with a spare ensemble."""
        assert self._spare is not None  # noqa: S101 - callers know
        return lru_cache(_MOST_RESTS)(partial(PartOfPlan.of, self.layout.sets, self._spare))

    def plan_terms(self, terms: Terms) -> PlanTerms:
        """Return terms as the stops use them; kept while the terms are."""
        if (known := self._plan_terms.get(terms)) is None:
            known = self._plan_terms[terms] = self._make_terms(terms)
        return known

    @cached_property
    def _plan_terms(self) -> WeakKeyDictionary[Terms, PlanTerms]:
        return WeakKeyDictionary()

    def _make_terms(self, terms: Terms) -> PlanTerms:
        prices, limits, known = terms.prices, terms.limits, _items_paid(terms)
        asked, left_out = self._asked(terms), self._without(terms)
        rung = self._rung(terms.costs, asked)
        planned = rung.planned and not left_out and self._goes_on(terms)
        return PlanTerms.of(
            stop_prices(prices, self.rest(terms).layout.sets, self.batch),
            rung.tradeoff if planned or not rung.planned else asked,  # that of a plan is for its gains alone
            limits,
            known=known,
            planned=planned,
            asked=asked,
            left_out=left_out,
        )

    def _goes_on(self, terms: Terms) -> bool:
        """Return whether plans do so with what is known before, and without what is unavailable."""
        barred = as_set(terms.barred)
        lacks = barred and barred & self.relied(terms)
        if not self.decides_by_values:
            return not lacks and not _items_paid(terms)
        return not lacks or (self._spare is not None and self.rest(terms).keeps_plan)

    def walk(self, X: F8, terms: Terms) -> list[PlannedRows]:
        """Send rows, float64 (n, d), from stop to stop; return the results of parts of the table, at least one."""
        return walk_table(self.rest(terms), self.plan_terms(terms), X, terms.n_jobs)

    @cached_property
    def _way(self) -> Callable[[RestOfPlan, PlanTerms], PlannedWay]:
        """Return what single rows on some terms have in common; kept for many inquiries."""
        return lru_cache(64)(PlannedWay)

    def _asked(self, terms: Terms) -> float:
        """Return the tradeoff that is asked for."""
        return float(self.tradeoff if terms.tradeoff is None else terms.tradeoff)

    def _rung(self, model: CostModel, tradeoff: float) -> Rung:
        """Return how rows decide at some prices and a tradeoff."""
        own = self.card.prices
        if not self.ladder or not (model is own or model == own):  # equality compares every price
            return Rung(0.0, tradeoff)
        return self.ladder[bisect_right(self.ladder, tradeoff, key=lambda rung: rung.least) - 1]

    @cached_property
    def decides_by_values(self) -> bool:
        """Whether values decide where rows of its plan go."""
        return any(stop.planned is not None and len(stop.planned.learners) > 0 for stop in self.stops)

    @cached_property
    def _has_plans(self) -> bool:
        return any(stop.planned is not None for stop in self.stops)

    def _evolve(self, **changes: Any) -> PlannedPredictor:
        """Return a predictor with the same answers and gains; it shares their layouts."""
        other = evolve(self, **changes)
        object.__setattr__(other, "layout", self.layout)
        return other


def _items_paid(terms: Terms) -> int:
    """Return the features and resources paid for before, one bit an item."""
    features, resources = terms.ledger.paid_before
    return as_set(features) | as_set(resources) << len(terms.prices.cost)
