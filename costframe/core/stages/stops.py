"""Stops of a plan: sets of features, the models that answer there, and expected gains of later stops."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Literal

import numpy as np
from attrs import evolve, field, frozen

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import check_number
from costframe.core.errors import CostModelError, StageError, brief, format_count
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import as_set, as_words, members, word_count
from costframe.core.learners.tree_table import OPAQUE
from costframe.core.prices.basket import price_round
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.layout import StageLayout, lay_out
from costframe.core.stages.run_stages import StageRunner, predict_rows
from costframe.core.stages.stages import Answer, as_indices, check_stages


def _columns(features: object) -> I8:
    return as_indices(features, "features of a stop", "columns")


@frozen(eq=False, repr=False)
class Stop:
    """A set of features that is bought whole, the model that answers there, and the expected gains of later stops.

    Parameters
    ----------
    features : int64 (s,)
        Ascending columns.
    answer : Answer
        Over the predictor's `bank`; it reads these features only.
    gains : Answer or None
        Over the predictor's `gains_bank`: for each later stop j, in order, the expected loss there minus that here,
        without prices. It reads these features and the scores of `answer`. None at the last stop.
    planned : Answer or None
        The same at the predictor's own prices and the tradeoff of a rung: the expected loss from each later stop on,
        with the price of all purchases from there on. It replaces `gains` on planned rungs, where the plan goes on with
        what is known and without what is barred; with a cap, as long as the row can pay for its choice, and then still
        for what it would choose by `gains`.
    """

    features: I8 = field(converter=_columns)
    answer: Answer
    gains: Answer | None = None
    planned: Answer | None = None

    def __repr__(self) -> str:
        return brief(self, format_count(len(self.features), "feature"), repr(self.answer))


@frozen
class Rung:
    """The tradeoff at which rows decide if a tradeoff of at least `least` is asked for, at the predictor's own prices.

    A plan that looks one step ahead may buy more at a larger tradeoff. A ladder of rungs, those of least estimated
    loss + tradeoff * cost among the same few plans, never does.

    Parameters
    ----------
    least, tradeoff : float
    planned : bool
        Whether the stops' `planned` gains decide, for which alone the tradeoff is then: where they do not, rows decide
        at the one asked for.
    """

    least: float
    tradeoff: float
    planned: bool = False


def as_ladder(rungs: Iterable[Rung]) -> tuple[Rung, ...]:
    """Return rungs as a tuple."""
    return tuple(rungs)


def check_ladder(ladder: tuple[Rung, ...], *, has_plans: bool) -> None:
    """Refuse rungs out of order, and plans that no rung uses."""
    for number, rung in enumerate(ladder):
        if not isinstance(rung, Rung):
            raise StageError(f"ladder: rung {number}: expected a Rung, got {type(rung).__name__}")
        check_number(f"ladder: rung {number}: least", rung.least)
        check_number(f"ladder: rung {number}: tradeoff", rung.tradeoff)
    least = [rung.least for rung in ladder]
    if least and (least[0] != 0 or any(b <= a for a, b in pairwise(least))):
        raise StageError(f"ladder: expected rungs from 0 on, ascending, got {least}")
    if has_plans != any(rung.planned for rung in ladder):
        raise StageError("ladder: expected a planned rung if stops have plans, and none otherwise")


def as_stops(stops: Iterable[Stop]) -> tuple[Stop, ...]:
    """Return stops as a tuple."""
    if isinstance(stops, Stop):
        raise StageError("stops: expected a list of stops, got one; put it in brackets")
    return tuple(stops)


def check_stops(stops: tuple[Stop, ...], bank: WeakLearnerBank, gains_bank: WeakLearnerBank) -> None:
    """Refuse stops that do not fit the banks or one another."""
    if not stops:
        raise StageError("stops: expected at least one, got none")
    for number, stop in enumerate(stops):
        if not isinstance(stop, Stop):
            raise StageError(f"stop {number}: expected a Stop, got {type(stop).__name__}")
        if not isinstance(stop.answer, Answer):
            raise StageError(f"stop {number}: answer: expected an Answer, got {type(stop.answer).__name__}")
        if len(stop.features) and stop.features[-1] >= len(bank.feature_names):
            raise StageError(f"stop {number}: buys column {stop.features[-1]}, there are {len(bank.feature_names)}")
    answers = [stop.answer for stop in stops]
    kinds = {(answer.link, len(answer.intercept)) for answer in answers}
    if len(kinds) > 1:
        raise StageError(f"stops: expected answers of one link and number of outputs, got {sorted(kinds)}")
    d, width = len(bank.feature_names), len(bank.feature_names) + len(answers[0].intercept)
    if len(gains_bank.feature_names) != width or gains_bank.feature_names[:d] != bank.feature_names:
        raise StageError(
            f"gains_bank: expected the columns of bank and {width - d} scores, got {gains_bank.feature_names}"
        )
    if (gains_bank.kind == OPAQUE).any():
        raise StageError("gains_bank: expected trees and columns, got opaque learners")
    for number, stop in enumerate(stops):
        _check_answer(f"stop {number}: answer", stop.answer, bank, stop.features)
        _check_gains(number, stop, len(stops) - 1 - number, gains_bank, [*stop.features, *range(d, width)])


def _check_gains(number: int, stop: Stop, later: int, bank: WeakLearnerBank, columns: Sequence[int]) -> None:
    if stop.gains is None and later:
        raise StageError(f"stop {number}: gains: expected those of {later} later stops, got None")
    for name, gains in (("gains", stop.gains), ("planned", stop.planned)):
        if gains is None:
            continue
        if not isinstance(gains, Answer) or gains.link != "identity" or len(gains.intercept) != later:
            raise StageError(
                f"stop {number}: {name}: expected an Answer with the link identity and {later} outputs, one for each "
                "later stop" + ("" if later else "; the last stop has none")
            )
        _check_answer(f"stop {number}: {name}", gains, bank, columns)


def _check_answer(title: str, answer: Answer, bank: WeakLearnerBank, columns: Sequence[int] | I8) -> None:
    """Refuse an answer that does not fit its bank, reads other columns, or has blends."""
    if answer.blends:
        raise StageError(f"{title}: expected one without blends")
    try:
        check_stages((answer,), bank.widths)
    except StageError as error:
        raise StageError(f"{title}: {error}") from None
    features, learners = bank.reads
    read = np.unique(features[np.isin(learners, answer.learners)])
    if len(other := np.setdiff1d(read, columns)):
        raise StageError(f"{title}: reads {bank.feature_names[other[0]]!r}, which is not bought there")


class StopPrices:
    """The prices of m stops; no sum depends on the order, and a lower price never raises one."""

    def __init__(self, prices: PriceArrays, sets: Sequence[int], batch: float | None = None) -> None:
        self.prices = prices
        self._exact = prices.exact()
        self._amounts = [*self._exact.cost, *self._exact.resource_cost]
        shares = prices.cost if batch is None else prices.cost + prices.once / batch
        self.weighed: list[float] = [*shares.tolist(), *prices.resource_cost.tolist()]
        # items of each stop: its features, and all resources that they need
        self.bundles = tuple(self.items(members(features)) for features in sets)
        self.total = lru_cache(4096)(self._total)
        self.to_stops = lru_cache(4096)(self._to_stops)
        self.rounds_to = lru_cache(4096)(self._rounds_to)
        self.kept = lru_cache(4096)(self._kept)

    def items(self, features: Iterable[int]) -> int:
        """Return the items of features, given as columns: themselves and all resources that they need."""
        columns = list(features)
        return as_set(columns) | as_set(self.prices.direct_needs.of_features(columns)) << len(self.prices.cost)

    def buying(self, paid: int, features: Collection[int]) -> int:
        """Return what a row has paid for, see `after`, once it bought features, given as columns, in one round."""
        d = len(self.prices.cost)
        fresh = [f for f in features if not paid >> f & 1]
        there = frozenset(members(paid >> d & (1 << len(self.prices.resource_cost)) - 1))
        again = price_round(self._exact, self.prices, fresh, there)
        return (paid | self.items(features)) + (again << self.prices.n_items)

    def after(self, paid: int, stop: int) -> int:
        """Return what a row has paid for once it went on to a stop: items, and above these units for rounds."""
        items = paid | self.bundles[stop]
        return items + (self.rounds_to(paid)[stop] << self.prices.n_items) if self.prices.has_rounds else items

    def is_within(self, cap: float, known: int, paid: int) -> bool:
        """Return whether a cap pays for what a row has paid for, see `after`, but for `known` items, paid before."""
        return self.total(paid & ~known) <= cap

    def _total(self, paid: int) -> float:
        """Return the price of items, and of further rounds, for one row; see `after`."""
        rounds, items = divmod(paid, 1 << self.prices.n_items)
        return self._exact.money(rounds + sum([self._amounts[i] for i in members(items)]))

    def _kept(self, paid: int, known: int, cap: float) -> B1:
        """Return whether a row could still pay for each stop after each other one: bool (m, m), first ones in rows.

        What it has paid for is `paid`, see `after`, and `known` items were paid for before. It is True of stops that
        the row cannot pay for even now.
        """
        m, fits = len(self.bundles), partial(self.is_within, cap, known)
        kept = np.ones((m, m), np.bool_)
        can_pay = [fits(self.after(paid, stop)) for stop in range(m)]
        for j in np.flatnonzero(can_pay).tolist():
            then = self.after(paid, j)
            for i in np.flatnonzero(can_pay).tolist():
                kept[j, i] = not self.bundles[i] & ~then or fits(self.after(then, i))
        return kept

    def _rounds_to(self, paid: int) -> tuple[int, ...]:
        """Return the price of going again to resources on the way to each stop, in whole units."""
        if not self.prices.has_rounds:
            return (0,) * len(self.bundles)
        d = len(self.prices.cost)
        there = frozenset(members(paid >> d & (1 << len(self.prices.resource_cost)) - 1))
        fresh = (list(members(bundle & ~paid & (1 << d) - 1)) for bundle in self.bundles)
        return tuple(price_round(self._exact, self.prices, features, there) for features in fresh)

    def _to_stops(self, paid: int) -> F8:
        """Return the price of what each stop adds to the items `paid`: float64 (m,).

        It includes a row's share of once-per-batch prices, and is compared with gains.
        """
        further = [bundle & ~paid for bundle in self.bundles]
        added = np.array([math.fsum(self.weighed[i] for i in members(items)) for items in further], np.float64)
        if self.prices.has_rounds:
            added += np.array([self._exact.money(units) for units in self.rounds_to(paid)])
        return added


def read_by(stops: tuple[Stop, ...], bank: WeakLearnerBank, gains_bank: WeakLearnerBank) -> list[int]:
    """Return the features that stops buy or their learners read, in order."""
    used = np.concatenate([bank.read, gains_bank.read, *(stop.features for stop in stops)])
    return [f for f in np.unique(used).tolist() if f < len(bank.feature_names)]


@lru_cache(maxsize=64)  # for every inquiry; prices compare by identity, and CostModel.select returns the same
def stop_prices(prices: PriceArrays, sets: tuple[int, ...], batch: float | None = None) -> StopPrices:
    """Prepare the prices of stops whose features are `sets`, one bit a column; `batch` rows share once-prices.

    A CostModelError refuses prices of learners, comparisons and reuse.
    """
    for name, price in (("learner", prices.learner), ("split", prices.split.any()), ("reuse", prices.reuse)):
        if price:
            raise CostModelError(f"{name}: planner prices what it acquires: features, resources and once-prices")
    return StopPrices(prices, sets, batch)


@frozen(eq=False, slots=False)
class PlanLayout:
    """Checked stops, m in all, over d features, W words of 64, and K outputs; models are laid out at their first use.

    Rows for its functions are C-contiguous float64 (n, d + K): values, and scores at their stop.
    """

    stops: Sequence[Stop]
    bank: WeakLearnerBank
    gains_bank: WeakLearnerBank

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Numbers of features and outputs: d, K."""
        return len(self.bank.feature_names), len(self.stops[0].answer.intercept)

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """Features of each stop, one bit a column."""
        return tuple(as_set(stop.features.tolist()) for stop in self.stops)

    @cached_property
    def n_opaque(self) -> int:
        """The most outputs of opaque learners that an answer has."""
        return max(self.answer(stop).n_opaque for stop in range(len(self.stops))) if self.bank.opaques else 0

    @cached_property
    def _models(self) -> dict[tuple[int, str], StageLayout | None]:
        return {}

    def model(self, stop: int, kind: Literal["answer", "gains", "planned"]) -> StageLayout | None:
        """Return a model of a stop laid out; None if it has none of the kind, as the last stop has no gains."""
        if (stop, kind) not in self._models:  # two threads may both make it, and it is the same
            model, bank = getattr(self.stops[stop], kind), self.bank if kind == "answer" else self.gains_bank
            has_outputs = model is not None and len(model.intercept) > 0
            self._models[stop, kind] = lay_out(bank, (model,)) if has_outputs else None
        return self._models[stop, kind]

    def answer(self, stop: int) -> StageLayout:
        """Return the answer of a stop laid out."""
        model = self.model(stop, "answer")
        assert model is not None  # noqa: S101 - each stop has one
        return model

    @cached_property
    def packed(self) -> engine.Record:
        """The layout as the engine takes it."""
        kinds: tuple[Literal["answer", "gains", "planned"], ...] = ("answer", "gains", "planned")
        models = [[self.model(stop, kind) for kind in kinds] for stop in range(len(self.stops))]
        laid_out = [model for by_kind in models for model in by_kind if model]
        number = {id(model): i for i, model in enumerate(laid_out)}
        stop = np.array([[number.get(id(model), -1) for model in by_kind] for by_kind in models], np.int64)
        words, structs = as_words(self.sets, word_count(self.shape[0])), [model.packed for model in laid_out]
        table = np.frombuffer(b"".join(struct.words for struct in structs), np.int64).reshape(len(laid_out), -1)
        plan = engine.Plan(words, sum(self.shape), stop, table)
        return evolve(plan, arrays=(*plan.arrays, structs))  # to which the table points

    def score(self, stop: int, rows: F8) -> F8:
        """Score rows at a stop: float64 (n, K), which it also writes to their last K columns."""
        scores = predict_rows(self.answer(stop), rows, 1)[0]
        rows[:, self.shape[0] :] = scores
        return scores

    def expected_gains(self, stop: int, rows: F8, *, planned: bool) -> F8:
        """Return the expected gains of rows scored at a stop, or those of its plan: float64 (n, later stops)."""
        model = self.model(stop, "planned" if planned else "gains")
        assert model is not None  # noqa: S101 - callers know
        return predict_rows(model, rows, 1)[0]

    def call_opaques(self, stop: int, rows: F8) -> F8:
        """Return the outputs of the opaque learners of a stop's answer: float64 (n, any)."""
        return StageRunner(self.answer(stop), rows).opaque_outputs()
