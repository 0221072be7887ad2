"""A tree of stages over a bank with its prices and fallbacks: all that its walkers and evaluators need of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from struct import unpack
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.checks import as_items
from costframe.core.errors import StageError, shown
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TREE
from costframe.core.prices.basket import price_exactly
from costframe.core.prices.costs import CostModel
from costframe.core.prices.exact_prices import ExactPrices
from costframe.core.prices.limits import Limits
from costframe.core.prices.needs import Needs
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.cap_ranks import CapRanks, Wares, rank_features
from costframe.core.stages.capped_layout import Bill, CappedLayout, lay_out_bill, lay_out_capped
from costframe.core.stages.ends import Ends, OwnClasses
from costframe.core.stages.fallbacks import FallbackRows, Fallbacks
from costframe.core.stages.layout import BARRED, BOUGHT, CALLED, HELD, KNOWN, N_ACCOUNT, PAID, StageLayout, lay_out
from costframe.core.stages.left_out import left_out, may_stand_in
from costframe.core.stages.links import apply_link
from costframe.core.stages.run_stages import check_acquisition, marks_for
from costframe.core.stages.set_losses import SetLosses
from costframe.core.stages.split_losses import losses_by_splits
from costframe.core.stages.stages import Answer, Route, Stage

MOST_ASKED = 1024  # sets of features needed that are kept
_MOST_LIMITS = 256  # limits that are kept


class RowWalk:
    """What rows on the same way through a tree have in common: the engine's step, its structs, and their states.

    A state, bytes that do not change, has numbers (value of each of U features; account; K scores of the last stage;
    outputs of opaque learners), places (node of each of S learners, ~node at its end; U features needed, of which the
    first are valid; stage; whether trees acquire split by split; number of the reason; how many features are needed),
    and marks (of each feature). Each of the three goes on with as many as `own` tells for the kind of walk, and marks
    with those of resources.
    """

    def __init__(
        self,
        layout: StageLayout,
        exact: ExactPrices,
        step: Callable[..., engine.Step],
        *structs: engine.Record,
        own: tuple[int, int, int] = (0, 0, 0),
        n_resources: int = 0,
        limited: bool = False,
    ) -> None:
        self.layout, self.used, self.structs = layout, layout.used.tolist(), (layout.packed, *structs)
        self._place = {f: u for u, f in enumerate(self.used)}
        # prices of what is evaluated; None if that costs nothing
        self.exact = exact if exact.learner or exact.split or exact.reuse else None
        n_used, self.n_learners = len(self.used), layout.slots[0]
        self._counts = (
            n_used + N_ACCOUNT + layout.n_outputs + layout.n_opaque + own[0],
            self.n_learners + n_used + 4 + own[1],
            n_used + own[2] + n_resources,
        )
        self.account = 8 * n_used  # where it begins, like the next three
        # of the answer: under limits the last numbers
        self.scores = 8 * (n_used + N_ACCOUNT if not limited else self._counts[0] - layout.n_outputs)
        self._n_resources = n_resources
        self.size = 8 * (sum(self._counts[:2]) + -(-self._counts[2] // 8))
        self._needed = 8 * (self._counts[0] + self.n_learners)
        self.stage = self._needed + 8 * n_used
        self.step = step(self.size, *self.structs)
        self.begun: dict[tuple[bool, Limits | None], tuple[bytes, tuple[int, ...]]] = {}
        self._asked: dict[bytes, tuple[int, ...]] = {}  # columns by features needed, as rows ask for the same again

    def arrays(self, state: bytes | bytearray) -> tuple[F8, I8, U8]:
        """Return the numbers, places and marks of a state."""
        numbers, places, marks = self._counts
        return (
            np.frombuffer(state, np.float64, numbers),
            np.frombuffer(state, np.int64, places, 8 * numbers),
            np.frombuffer(state, np.uint8, marks, 8 * (numbers + places)),
        )

    def begin(
        self,
        by_path: bool,
        known_values: Mapping[int, float],
        barred: Collection[int] = (),
        paid: tuple[Collection[int], Collection[int]] = ((), ()),
        limit: NDArray[np.uint64] | None = None,
        ranks: U8 | None = None,
        left_out: Collection[int] = (),
    ) -> bytearray:
        """Return the state of a row that has not begun; columns and resources `paid` cost nothing.

        `ranks`, (U,), are those of features, under a cap; see `rank_features`. Columns `left_out` have none, so that
        they are held back for good.
        """
        layout, n_used, state = self.layout, len(self.used), bytearray(self.size)
        numbers, places, marks = self.arrays(state)
        is_tree = layout.kind == TREE
        places[layout.slots[1][is_tree]] = layout.place[is_tree]
        places[self.n_learners + n_used + 1] = by_path
        first = self.size - 8 * -(-self._counts[2] // 8)  # of the marks
        for columns, mark in ((known_values, KNOWN), (paid[0], BOUGHT), (barred, BARRED), (left_out, HELD)):
            for f in columns:
                if (u := self._place.get(f)) is not None:
                    state[first + u] |= mark
        for f, value in known_values.items():
            if (u := self._place.get(f)) is not None:
                numbers[u] = value
        for r in paid[1] if self._n_resources else ():
            marks[r - self._n_resources] = PAID
        if ranks is not None:
            marks[:n_used] |= HELD * ((ranks > 0) & (marks[:n_used] & BOUGHT == 0))
            marks[n_used + self.n_learners :][:n_used] = ranks
        if limit is not None:
            places[-len(limit) :] = limit.view(np.int64)
        return state

    def go_on(self, state: bytes, supplied: bytes = b"") -> tuple[bytes, tuple[int, ...]]:
        """Change a state by the values needed, until it needs others; return it with its needs."""
        state, count = self.step(state, supplied)
        while count > len(self.used):
            state, count = self.step(self._call_opaque(count - len(self.used) - 1, state), b"")
        asked = state[self._needed : self._needed + 8 * count]
        if (columns := self._asked.get(asked)) is None:
            if len(self._asked) == MOST_ASKED:
                self._asked.clear()
            columns = tuple(map(self.used.__getitem__, unpack(f"{count}q", asked)))
            self._asked[asked] = columns
        return state, columns

    def _call_opaque(self, use: int, state: bytes) -> bytes:
        """Call the learner of a use, whose features have values."""
        layout, changed = self.layout, bytearray(state)
        (numbers, places, _), learner = self.arrays(changed), layout.opaque(use)
        values = numbers[np.searchsorted(layout.used, np.array(learner.features, np.int64))]
        first = len(self.used) + N_ACCOUNT + layout.n_outputs + int(layout.place[use])
        numbers[first : first + learner.width] = learner(values[None])[0]
        places[layout.slots[1][use]] = CALLED
        return bytes(changed)


def _as_stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    if isinstance(stages, Answer | Route):
        raise StageError("stages: expected a list of stages, got one; put it in brackets")
    items = as_items(stages)
    if items is None:
        raise StageError(f"stages: expected a list of stages, got {shown(stages)}")
    return items


@define(eq=False, frozen=True, repr=False)
class StageModel(ABC):
    """A tree of stages over a bank, laid out for the engine and walkers at their first use; see `StageTree`."""

    bank: WeakLearnerBank
    stages: tuple[Stage, ...] = field(converter=_as_stages)
    costs: CostModel | None = None
    _fallbacks: Fallbacks | FallbackRows | None = field(default=None, kw_only=True, alias="fallbacks")
    _set_losses: SetLosses | None = field(default=None, kw_only=True, alias="set_losses")

    @property
    @abstractmethod
    def fallbacks(self) -> Fallbacks | None:
        """Fallbacks for rows that limits cut, or None."""

    @property
    @abstractmethod
    def spare(self) -> StageModel | None:
        """Spare trees that stand in where features are unavailable, or None; see `StandIn`."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.bank.feature_names

    @cached_property
    def capped_model(self) -> CappedLayout:
        """The tree as arrays for rows under limits."""
        return lay_out_capped(self.layout, self.fallbacks)

    @cached_property
    def cut_layouts(self) -> dict[bytes, StageLayout]:
        """Its trees cut where they test features that are held back; see `FirstSet`."""
        return {}

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return self.layout.n_outputs

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that learners with weights other than zero may read."""
        return tuple(self.feature_names[f] for f in self.layout.used)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Distinct links of the answers."""
        return tuple(sorted({stage.link for stage in self.stages if isinstance(stage, Answer)}))

    @cached_property
    def layout(self) -> StageLayout:
        """The tree as arrays for the engine."""
        return lay_out(self.bank, self.stages)

    @property
    def weights(self) -> tuple[Fraction, F8]:
        """A unit of e_t, and the e_t of each learner as its multiple."""
        return self.layout.weights

    def exact(self, prices: PriceArrays) -> ExactPrices:
        """Return prices as whole numbers, with that of the unit of e_t."""
        return prices.exact(self.weights[0])

    @cached_property
    def _walks(self) -> WeakKeyDictionary[PriceArrays, dict[bool, RowWalk]]:
        return WeakKeyDictionary()

    def walk(self, prices: PriceArrays, *, limited: bool) -> RowWalk:
        """Return what rows at some prices, under limits or without, have in common."""
        if (walks := self._walks.get(prices)) is None:
            walks = self._walks[prices] = {}
        if (walk := walks.get(limited)) is not None:
            return walk
        exact = self.exact(prices)
        if limited:
            model, bill = self.capped_model, self.bill(prices)
            sizes = 2 + self.n_outputs, 1 + 2 * bill.n_words, model.layout.slots[0] + len(self.layout.used)
            structs, n_resources = (model.expected, bill.packed), len(prices.resource_cost)
            step = engine.step_capped_row
            walk = RowWalk(model.layout, exact, step, *structs, own=sizes, n_resources=n_resources, limited=True)
        else:
            split = prices.comparisons[1][self.layout.used] if prices.spends else np.empty(0)
            walk = RowWalk(self.layout, exact, engine.step_row, engine.StepPrices(split, prices.spends))
        walks[limited] = walk
        return walk

    @cached_property
    def _free_marks(self) -> dict[str, engine.Record]:
        """Reading marks where comparisons and reuse cost nothing, by acquisition."""
        return {}

    def marks(self, prices: PriceArrays, acquisition: str) -> engine.Record:
        """Return what rows read at these prices, kept where that does not depend on them; see `marks_for`."""
        if prices.spends:
            return marks_for(self.layout, prices, acquisition)
        check_acquisition(acquisition)
        if acquisition not in self._free_marks:
            self._free_marks[acquisition] = marks_for(self.layout, prices, acquisition)
        return self._free_marks[acquisition]

    @cached_property
    def _bills(self) -> WeakKeyDictionary[PriceArrays, Bill]:
        return WeakKeyDictionary()

    def bill(self, prices: PriceArrays) -> Bill:
        """Return prices for rows under limits."""
        if prices not in self._bills:
            self._bills[prices] = lay_out_bill(self.layout, prices)
        return self._bills[prices]

    @cached_property
    def _needs(self) -> WeakKeyDictionary[PriceArrays, Needs]:
        return WeakKeyDictionary()

    def needs(self, prices: PriceArrays) -> Needs:
        """Return the resources that the features that it uses need."""
        if (needs := self._needs.get(prices)) is None:
            needs = self._needs[prices] = prices.direct_needs.restrict(self.layout.used)
        return needs

    @cached_property
    def set_losses(self) -> SetLosses:
        """Expected losses by the set of features, of the U features that it uses, that a row has."""
        found = self._set_losses if self.fallbacks is None else self.fallbacks.set_losses
        if found is None:
            return losses_by_splits(self.bank, self.layout)
        n_used = len(self.layout.used)
        if found.sets.shape[1] != n_used:
            raise StageError(f"set_losses: expected sets of {n_used} features, got {found.sets.shape[1]}")
        return found

    @cached_property
    def _cap_ranks(self) -> WeakKeyDictionary[PriceArrays, CapRanks]:
        return WeakKeyDictionary()

    def cap_ranks(self, prices: PriceArrays) -> CapRanks:
        """Return the ranks of the features that it uses under caps, less what is kept for computing."""
        if (
            found := self._cap_ranks.get(prices)
        ) is None and prices.has_rounds:  # rows ask for all that they can together
            found = self._cap_ranks[prices] = CapRanks(np.zeros(1), np.zeros((1, len(self.layout.used)), np.uint8))
        if found is None:
            known = self.fallbacks
            ways = (np.zeros(1), np.ones(1)) if known is None else (known.cap_shares, known.cap_factors)
            found = self._cap_ranks[prices] = rank_features(self.set_losses, Wares.of(self.layout.used, prices), *ways)
        return found

    def ranks(self, prices: PriceArrays, limits: Limits) -> U8 | None:
        """Return the ranks of the features that it uses, (U,), under a cap; None without one."""
        if np.isinf(limits.cap):
            return None
        return self.cap_ranks(prices).of(self.bill(prices).for_features(limits.cap))

    def binding(
        self, limits: Limits | None, prices: PriceArrays, paid: tuple[Collection[int], Collection[int]] = ((), ())
    ) -> Limits | None:
        """Return limits without a cap that pays for all that a row may still buy; None if rows stay within them.

        Rows never pay for what they cannot have, nor again for columns and resources `paid` before. Where all else is
        within the cap, they go on as without one. Where it is not, and spare trees stand in for what is unavailable,
        rows do without some of it too, and the cap pays for the rest; see `left_out`.
        """
        return None if limits is None else self._bindings(limits, prices, frozenset(paid[0]), frozenset(paid[1]))

    @cached_property
    def _bindings(self) -> Callable[[Limits, PriceArrays, frozenset[int], frozenset[int]], Limits | None]:
        """Return what `binding` does; kept for many rows."""
        return lru_cache(_MOST_LIMITS)(self._find_binding)

    def _find_binding(
        self, limits: Limits, prices: PriceArrays, had: frozenset[int], paid: frozenset[int]
    ) -> Limits | None:
        used, bill = self.layout.used.tolist(), self.bill(prices)
        barred, most = limits.barred.intersection(used), bill.total
        if np.isfinite(limits.cap) and (barred or had or paid):
            left = [f for f in used if f not in barred and f not in had]
            most -= price_exactly(bill.exact, prices.direct_needs, used)
            most += price_exactly(bill.exact, prices.direct_needs, left, paid)
        if most <= bill.exact.limit(limits.cap):
            return Limits(barred=limits.barred) if barred else None
        if not barred or not may_stand_in(prices) or (spare := self.spare) is None:
            return limits
        others = left_out(self.layout.used, spare.layout.used, spare.set_losses, prices, limits, (had, paid))
        return Limits(barred=limits.barred, left_out=others)

    @cached_property
    def only_answer(self) -> Answer | None:
        """An answer with the link, level and temperature of all answers; None if these differ."""
        answers = [stage for stage in self.stages if isinstance(stage, Answer)]
        return answers[0] if len({(answer.link, answer.level, answer.temperature) for answer in answers}) == 1 else None

    @cached_property
    def own_classes(self) -> OwnClasses | None:
        """The rule that tells classes which predictions do not, None if these do."""
        return OwnClasses.of(self.bank, self.only_answer)

    def ends_of(self, scores: F8, exits: I8, X: F8, cut: B1 | None = None) -> Ends:
        """Return the ends of rows, float64 (rows, d), with predictions (rows, K); `cut` ones gave up learners."""
        return Ends(lambda: self.linked(scores, exits), self.places_of(scores, X, cut))

    def places_of(self, scores: F8, X: F8, cut: B1 | None = None) -> Callable[[], I8] | None:
        """Return what tells the classes of rows; None where predictions do. Arguments as for `ends_of`."""
        if (decider := self.own_classes) is None:
            return None
        return lambda: decider.places(scores, X, None if cut is None else ~cut)

    def linked(self, scores: F8, exits: I8) -> F8:
        """Apply the link of each row's answer to its scores, float64 (rows, K).

        If links or levels differ, a row that ended at a route has a final score; see `Fallbacks`.
        """
        if (answer := self.only_answer) is not None:
            return answer.predictions(scores)
        values = np.empty_like(scores)
        for number in np.unique(exits):
            stage, rows = self.stages[number], exits == number
            if isinstance(stage, Answer):
                values[rows] = stage.predictions(scores[rows])
            elif self.links == ("ranked",):
                values[rows] = scores[rows]
            else:
                values[rows] = apply_link("sigmoid" if self.n_outputs == 1 else "softmax", scores[rows])
        return values

    def prediction(self, scores: F8, stage: int) -> float | F8:
        """Return the prediction of a row with scores, float64 (1, K), that ended at a stage; several are (M,)."""
        answer = self.only_answer
        values = self.linked(scores, np.array([stage])) if answer is None else answer.predictions(scores)
        return values.item() if values.size == 1 else values[0].copy()
