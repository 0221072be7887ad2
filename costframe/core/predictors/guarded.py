"""Guards: in some regions of rows a predictor does without features, because nobody knows what they show there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8
from costframe.core.cost.totals import Charges
from costframe.core.errors import CostModelError, ParameterError, quote_names
from costframe.core.gains import Gains
from costframe.core.learners.thresholds import Cuts
from costframe.core.predictors.grounds import Ground, Grounds
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.parted import Parts
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.replay import inquiry_of
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import COMPLETE, CUT, REASONS, UNAVAILABLE
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.class_shares import class_shares
from costframe.core.tables.conditions import Condition, find_rows, in_words
from costframe.core.tables.rows import as_column_names
from costframe.core.terms.card import Card
from costframe.core.terms.terms import Terms

_CUTS = (REASONS[CUT], REASONS[UNAVAILABLE])


def _as_conditions(given: Iterable[Condition]) -> tuple[Condition, ...]:
    return tuple(given)


def _as_bars(given: Iterable[Bar]) -> tuple[Bar, ...]:
    return tuple(given)


@frozen
class Bar:
    """Features that rows do without where they meet all of some conditions."""

    features: tuple[str, ...] = field(converter=as_column_names)
    conditions: tuple[Condition, ...] = field(converter=_as_conditions)

    @property
    def tellers(self) -> tuple[str, ...]:
        """The features that tell whether a row meets the conditions."""
        return tuple(condition.feature for condition in self.conditions)


@define(eq=False, frozen=True, repr=False)
class GuardedPredictor(Predictor):
    """A predictor whose rows do without some features in some regions.

    A row acquires the features that tell its regions, which are free, and is then answered by the inner predictor as if
    the features that its regions bar were unavailable. That is the model's own choice: a row's reason to end, and
    `cut`, say only what the limits of the caller change.

    Parameters
    ----------
    inner : Predictor
    bars : sequence of Bar
        Each with features of the inner predictor, none of which tells a region.

    Raises
    ------
    ParameterError
        If a bar is of other features, or bars what tells a region.
    CostModelError
        If a feature that tells a region costs a row something.
    """

    inner: Any
    bars: tuple[Bar, ...] = field(converter=_as_bars)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.inner, Predictor) or isinstance(self.inner, GuardedPredictor):
            raise ParameterError(f"inner: expected a predictor without a guard, got a {type(self.inner).__name__}")
        known = self.inner.card.column.keys()
        barred = {name for bar in self.bars for name in bar.features}
        if not self.bars or not all(bar.conditions and bar.features for bar in self.bars):
            raise ParameterError("bars: expected at least one, each with features and conditions")
        if unknown := sorted((barred | {*self.tellers}) - known):
            raise ParameterError(f"bars: expected features of the predictor, got {quote_names(unknown)}")
        if both := sorted(barred & {*self.tellers}):
            raise ParameterError(f"bars: {quote_names(both)} tells a region, so no region can bar it")
        for condition in (each for bar in self.bars for each in bar.conditions):
            labels = self.inner.card.categories.get(condition.feature, ())
            if condition.texts and not isinstance(labels, tuple):
                raise ParameterError(f"bars: {condition.feature!r} has no list of labels, got {condition}")
        self._check_free(self.inner.card.prices)

    @property
    def tellers(self) -> tuple[str, ...]:
        """The features that tell the regions of a row."""
        return tuple(dict.fromkeys(name for bar in self.bars for name in bar.tellers))

    @cached_property
    def card(self) -> Card:
        """What describes it: the card of the inner predictor; of its facts, what it does without, and where."""
        own: Card = self.inner.card
        without = (f"without {quote_names(bar.features)} where {in_words(bar.conditions)}" for bar in self.bars)
        return evolve(own, facts=(*without, type(self.inner).__name__, *own.facts))

    def with_card(self, card: Card) -> GuardedPredictor:
        """Return the same model with another card; see `Predictor.with_card`."""
        return evolve(self, inner=self.inner.with_card(card))

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that it reads in every row: those that tell regions, and others that none bars."""
        barred = {name for bar in self.bars for name in bar.features}
        sure = {*self.tellers, *(name for name in self.inner.sure_features if name not in barred)}
        return tuple(name for name in self.feature_names if name in sure)

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Features that the inner predictor may read, and those that tell regions."""
        used = {*self.inner.used_features, *self.tellers}
        return tuple(name for name in self.feature_names if name in used)

    def with_fallbacks(
        self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> GuardedPredictor:
        """Return the same model, whose inner predictor answers rows that go without features; see `Predictor`."""
        rows = self.as_rows(X)
        shares = None if y is None else class_shares(y, self.classes, len(rows))
        return evolve(self, inner=self.inner.with_fallbacks(rows, sample_weight, shares))

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return itself; it refuses a predictor whose rows of a query depend on each other, as it parts them."""
        if self.inner.of_queries(qid) is not self.inner:
            raise ParameterError("qid: rows of a query depend on each other, and a guard parts them")
        return self

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        self._check_terms(terms)
        parts, barred = self._part(X, terms.barred)
        ends = [
            self.inner.evaluate(X[rows], self.inner_terms(terms, names))
            for rows, names in zip(parts.rows, barred, strict=True)
        ]
        return parts.join_ends(ends, self.card.half)

    def begin(self, terms: Terms) -> GuardedWalker:
        """Return a walker for one row; see `Predictor.begin`."""
        self._check_terms(terms)
        return GuardedWalker(self, terms, terms.values)

    def grounds(self, walker: GuardedWalker, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a walker asks: what the inner predictor says, once the regions are known; see `Predictor`."""
        del terms, bought
        if walker.begun is None:
            return Grounds((Ground(walker.needs, purpose="these tell which features the row does without"),))
        found = walker.begun[1].grounds().among(walker.needs)
        return found if found.asks or found.cause not in _CUTS else evolve(found, cause=walker.reason)

    def read_together(self, known: frozenset[int]) -> frozenset[int]:
        """Return the columns that the inner predictor would not read alone; see `Predictor.read_together`."""
        found: frozenset[int] = self.inner.read_together(known)
        return found

    @cached_property
    def cuts(self) -> Cuts:
        """Thresholds of columns that tell no region; see `Predictor.cuts`."""
        tellers = {self.card.column[name] for name in self.tellers}
        return {f: cuts for f, cuts in self.inner.cuts.items() if f not in tellers}

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows; see `Predictor.charges`. The stages are those of the inner predictor."""
        self._check_terms(terms)
        parts, barred = self._part(X, terms.barred)
        charged = [
            self._charges_of(X[rows], weight[rows], terms, names)
            for rows, names in zip(parts.rows, barred, strict=True)
        ]
        joined, told = parts.join_charges(charged, self.card.half), self.available_tellers(terms.barred)
        joined.acquired[:, told], joined.feature_weight[told] = True, weight.sum()
        joined.resource_weight[list(terms.prices.direct_needs.of_features(told))] = weight.sum()
        return joined if terms.limits is not None else evolve(joined, cut=None)

    def _charges_of(self, X: F8, weight: F8, terms: Terms, names: tuple[str, ...]) -> Charges:
        """Charge rows that do without some features; `cut` are those that the caller's limits change."""
        found: Charges = self.inner.charges(X, weight, self.inner_terms(terms, names))
        if not names or terms.limits is None or found.cut is None:
            return found
        free: Charges = self.inner.charges(X, weight, self.unlimited(terms, names))
        same = (found.acquired == free.acquired).all(axis=1) & (found.row_costs == free.row_costs)
        pairs = (np.asarray(each.predictions).reshape(len(X), -1) for each in (found, free))
        same &= _alike(*pairs)
        return evolve(found, cut=found.cut & ~same)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns on rows, of those that regions bar on other rows; see `Predictor.gains`."""
        parts, barred = self._part(rows.X)
        found, column = dict[tuple[int, ...], float](), self.card.column
        for mine, names in zip(parts.rows, barred, strict=True):
            gone = {column[name] for name in names}
            some = evolve(rows, X=rows.X[mine], weight=rows.weight[mine])
            for columns, gain in self.inner.gains(some, costs).items() if len(mine) else ():
                if gone.isdisjoint(columns):
                    found[columns] = found.get(columns, 0.0) + gain
        return found

    def barred_features(self, X: F8, gone: frozenset[int] = frozenset()) -> B1:
        """Return which bars hold for rows, float64 (n, d), in which columns in `gone` are missing: bool (n, bars)."""
        if gone:
            X = X.copy()
            X[:, list(gone)] = np.nan
        return np.column_stack([find_rows(bar.conditions, X, self.card.column, self._numbers) for bar in self.bars])

    def barred_by(self, held: B1) -> tuple[str, ...]:
        """Return the features that bars, bool (bars,), take from a row."""
        given = (bar.features for bar, holds in zip(self.bars, held.tolist(), strict=True) if holds)
        return tuple(dict.fromkeys(name for features in given for name in features))

    def available_tellers(self, gone: frozenset[int]) -> list[int]:
        """Return the columns that tell regions and are not in `gone`."""
        return [f for f in (self.card.column[name] for name in self.tellers) if f not in gone]

    def inner_terms(self, terms: Terms, names: tuple[str, ...]) -> Terms:
        """Return the terms of rows that do without some features, also if their values are known; kept as the outer."""
        kept = self._kept_terms.setdefault(terms, {})
        if names not in kept:
            known = terms.known
            if isinstance(known, Mapping):  # else a known value would make a feature available
                known = {name: value for name, value in known.items() if name not in names}
            kept[names] = terms.left(known, 0.0, names) if names else terms
        return kept[names]

    def unlimited(self, terms: Terms, names: tuple[str, ...]) -> Terms:
        """Return the same terms without the caller's limits."""
        return evolve(self.inner_terms(terms, names), max_cost=None, unavailable=names)

    @cached_property
    def _kept_terms(self) -> WeakKeyDictionary[Terms, dict[tuple[str, ...], Terms]]:
        return WeakKeyDictionary()

    @cached_property
    def _numbers(self) -> Mapping[str, Mapping[Any, float]]:
        """The numbers of labels that conditions name, by feature."""
        categories = self.inner.card.categories
        return {
            name: {label: float(number) for number, label in enumerate(categories[name])}
            for name in self.tellers
            if isinstance(categories.get(name), tuple)
        }

    def _part(self, X: F8, gone: frozenset[int] = frozenset()) -> tuple[Parts, list[tuple[str, ...]]]:
        """Part rows by what they do without; return that of each part."""
        held, which = np.unique(self.barred_features(X, gone), axis=0, return_inverse=True)
        if not len(held):
            held, which = np.zeros((1, len(self.bars)), np.bool_), np.empty(0, np.int64)
        rows = tuple(np.flatnonzero(which.reshape(-1) == place) for place in range(len(held)))
        return Parts(rows), [self.barred_by(one) for one in held]

    def _check_free(self, costs: CostModel) -> None:
        if paid := [name for name in self.tellers if costs.full_cost([name]) > 0]:
            raise CostModelError(
                f"{quote_names(paid)}: expected a price of 0, as a guard reads these features of each row, "
                f"got {costs.full_cost(paid):g}"
            )

    def _check_terms(self, terms: Terms) -> None:
        """Refuse terms that would not have their meaning."""
        terms.check_hard("a guard bars features in some rows, and a softened route has none; use routing='hard'")
        self._check_free(terms.costs)
        terms.check_read_first(self.tellers)


def _alike(one: F8, other: F8) -> B1:
    """Return which rows have equal values, NaN included: bool (n,)."""
    return np.asarray(((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1))


class GuardedWalker:
    """The model side of an inquiry: the features that tell regions, then the inquiry without what these bar."""

    def __init__(
        self,
        model: GuardedPredictor,
        terms: Terms,
        values: Mapping[int, float],
        begun: tuple[tuple[str, ...], Inquiry] | None = None,
    ) -> None:
        self._model, self._terms, self._values, self.begun = model, terms, values, begun
        self.evaluated: Fraction = ZERO
        wanted = {*model.available_tellers(terms.barred)} - values.keys()
        if not wanted:
            names, inquiry = self._begin() if begun is None else begun
            inquiry, wanted = _supply(inquiry, values, model.card.column)
            self.begun, self.evaluated = (names, inquiry), inquiry.evaluated
        self.needs = tuple(sorted(wanted))

    def after(self, values: Sequence[float]) -> GuardedWalker:
        """Return the walker with values too; it bars features, and goes on, once it knows the regions."""
        known = {**self._values, **dict(zip(self.needs, values, strict=True))}
        return GuardedWalker(self._model, self._terms, known, self.begun)

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit of the inner predictor."""
        end = self._end.answer
        return end.value, end.exit

    @property
    def place(self) -> int | None:
        """Number of the class, where the prediction does not tell it."""
        return self._end.place

    @property
    def reason(self) -> str:
        """Why the walk ended, beside the guard; see `Prediction`."""
        assert self.begun is not None  # noqa: S101 - needs is empty
        names, inquiry = self.begun
        end = inquiry.answer
        if not names or end.reason not in _CUTS:
            return end.reason
        if self._terms.limits is None:
            return REASONS[COMPLETE]
        free = inquiry_of(self._model.inner, self._model.unlimited(self._terms, names))
        free, wanted = _supply(free, self._values, self._model.card.column)
        if wanted or {*free.acquired} != {*inquiry.acquired} or free.evaluated != inquiry.evaluated:
            return end.reason
        values = (np.reshape(each.answer.value, (1, -1)) for each in (free, inquiry))
        return REASONS[COMPLETE] if _alike(*values)[0] else end.reason

    @property
    def _end(self) -> Inquiry:
        assert self.begun is not None  # noqa: S101 - needs is empty
        return self.begun[1]

    def _begin(self) -> tuple[tuple[str, ...], Inquiry]:
        """Begin the inquiry of the inner predictor, now that the regions are known."""
        model = self._model
        row = np.full((1, len(model.card.column)), np.nan)
        row[0, list(self._values)] = list(self._values.values())
        names = model.barred_by(model.barred_features(row, self._terms.barred)[0])
        return names, inquiry_of(model.inner, model.inner_terms(self._terms, names))


def _supply(inquiry: Inquiry, values: Mapping[int, float], column: Mapping[str, int]) -> tuple[Inquiry, set[int]]:
    """Return an inquiry that has the known values as far as it asks for them, and the columns that it lacks."""
    inquiry = copy(inquiry)
    while inquiry.needs:
        if wanted := {column[name] for name in inquiry.needs} - values.keys():
            return inquiry, wanted
        inquiry.supply({name: values[column[name]] for name in inquiry.needs})
    return inquiry, set()


def bars_of(inner: Predictor, bars: Sequence[Bar]) -> Iterator[Bar]:
    """Yield the bars that change a predictor: those of features that it reads, told by free features that it has."""
    used, column, prices = {*inner.used_features}, inner.card.column, inner.card.prices
    for bar in bars:
        known = column.keys() >= {*bar.tellers, *bar.features}
        if known and used.intersection(bar.features) and not prices.full_cost(bar.tellers):
            listed = (isinstance(inner.card.categories.get(each.feature, ()), tuple) for each in bar.conditions)
            if all(is_listed or not each.texts for is_listed, each in zip(listed, bar.conditions, strict=True)):
                yield bar
