"""A predictor whose columns are made from raw columns: it asks for raw columns, and charges raw prices."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, evolve
from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.cost.totals import Charges
from costframe.core.errors import DataError, ParameterError
from costframe.core.gains import Gains
from costframe.core.learners.thresholds import Cuts
from costframe.core.predictors.grounds import Grounds
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import AnnotatedPredictor, Predictor
from costframe.core.predictors.replay import inquiry_of
from costframe.core.prices.costs import CostModel, ThroughPrices
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.class_shares import class_shares
from costframe.core.tables.preparation import Preparation
from costframe.core.terms.card import Card
from costframe.core.terms.terms import Known, Terms


@lru_cache(maxsize=64)  # every inquiry asks for it
def _through(costs: CostModel, preparation: Preparation) -> ThroughPrices:
    return costs.trace(preparation.made_from, paid_apart=True)


@define(eq=False, frozen=True, repr=False)
class PreparedPredictor(Predictor):
    """A predictor over columns that a preparation makes from raw columns.

    Its features are the raw columns. An inquiry asks for the raw columns behind each made column that the inner
    predictor needs, as far as they are not there yet; a row pays for each of them once. The inner predictor decides at
    the prices of `CostModel.through`.

    Parameters
    ----------
    inner : Predictor
        Its features are the made columns. It decides at prices that come from `costs`; its own have no effect.
    preparation : Preparation
    costs : CostModel or None
        Default prices of the raw columns.

    Raises
    ------
    DataError
        If the inner predictor reads other columns than the preparation makes.
    CostModelError
        If the prices do not fit the raw columns, or cannot be shared among made columns.
    """

    inner: Any
    preparation: Preparation
    costs: CostModel | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.inner, Predictor):
            raise ParameterError(f"inner: expected a predictor, got {type(self.inner).__name__}")
        if self.inner.feature_names != self.preparation.names:
            raise DataError(
                f"inner: expected a predictor of the made columns {self.preparation.names}, "
                f"got one of {self.inner.feature_names}"
            )
        _through(self.card.prices, self.preparation)

    @cached_property
    def card(self) -> Card:
        """What describes it: raw columns, their categories and prices; else, the card of the inner predictor."""
        own: Card = self.inner.card
        preparation = self.preparation
        facts = type(self.inner).__name__, *own.facts
        return evolve(
            own,
            feature_names=preparation.feature_names,
            categories=preparation.categories,
            costs=self.costs,
            facts=facts,
        )

    def with_card(self, card: Card) -> Predictor:
        """Return the same model with another card; see `Predictor.with_card`."""
        priced = evolve(self, costs=card.costs, inner=self.inner.with_classes(card.classes))
        return priced if card.categories == self.categories else AnnotatedPredictor(priced, card)

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Raw columns behind the made columns that the inner predictor reads in every row."""
        return self.preparation.read_by(map(self.inner.feature_names.index, self.inner.sure_features))

    @cached_property
    def priced(self) -> Any:
        """The inner predictor at the own prices."""
        return self.inner.with_costs(_through(self.card.prices, self.preparation).costs)

    @property
    def content(self) -> tuple[Any, ...]:
        """What decides its rows at the own prices; see `Digested.content`."""
        return self.priced.digest, self.preparation

    @property
    def functions(self) -> tuple[Any, ...]:
        """The opaque operations, and the functions of the inner predictor at the own prices."""
        return *self.preparation.opaques, *self.priced.functions

    @property
    def used_features(self) -> tuple[str, ...]:
        """Raw columns behind the made columns that the inner predictor reads, in column order."""
        return self.preparation.read_by(self._used)

    def with_fallbacks(
        self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> PreparedPredictor:
        """Return the same model whose inner predictor answers rows that limits cut, learned from raw rows."""
        rows = self.as_rows(X)
        shares = None if y is None else class_shares(y, self.classes, len(rows))
        made = self.preparation.fill(rows, self._used)
        return evolve(self, inner=self.priced.with_fallbacks(made, sample_weight, shares))

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return the predictor for rows of these queries; see `Predictor.of_queries`."""
        inner = self.inner.of_queries(qid)
        return self if inner is self.inner else evolve(self, inner=inner)

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict raw rows; see `Predictor.evaluate`. Made columns that the inner predictor does not read are NaN."""
        found: Ends = self.priced.evaluate(self._made(X, terms), self._inner_terms(terms))
        return found

    def begin(self, terms: Terms) -> PreparedWalker:
        """Return a walker for one raw row; see `Predictor.begin`."""
        columns = {f: np.array([value]) for f, value in terms.values.items()}
        return PreparedWalker(inquiry_of(self.priced, self._inner_terms(terms)), self.preparation, columns)

    def grounds(self, walker: PreparedWalker, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a walker asks: what the inner predictor says, of raw columns; see `Predictor.grounds`."""
        del terms, bought
        reads = self.preparation.reads

        def raw(made: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted({f for place in made for f in reads[place]} - walker.columns.keys()))

        return walker.inner.grounds().through(raw)

    def read_together(self, known: frozenset[int]) -> frozenset[int]:
        """Return the raw columns behind made ones that the inner predictor would not read alone; see `Predictor`."""
        reads = self.preparation.reads
        had = frozenset(place for place, of in enumerate(reads) if known.issuperset(of))
        return frozenset(f for place in self.inner.read_together(had) for f in reads[place]) - known

    @cached_property
    def cuts(self) -> Cuts:
        """Thresholds of raw columns that the inner predictor reads as they are; see `Predictor.cuts`."""
        outputs, reads, inner = self.preparation.outputs, self.preparation.reads, self.inner.cuts
        found = {f: inner[place] for place, f in enumerate(outputs) if f < len(self.feature_names) and place in inner}
        made = {f for place, of in enumerate(reads) for f in of if outputs[place] != f or outputs.count(f) > 1}
        return {f: cuts for f, cuts in found.items() if f not in made}

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge raw rows; see `Predictor.charges`."""
        terms.check_hard(
            "which raw columns a softened routing buys cannot be told; use routing='hard', or price the "
            "inner predictor over preparation.transform(X) at costs.through(preparation)"
        )
        made = self._made(X, terms)
        found: Charges = self.priced.charges(made, weight, self._inner_terms(terms))
        acquired = np.zeros(X.shape, np.bool_)
        for place in self._used:
            acquired[:, list(self.preparation.reads[place])] |= found.acquired[:, [place]].astype(np.bool_)
        return evolve(
            found,
            acquired=acquired,
            feature_weight=weight @ acquired,
            resource_weight=weight @ terms.prices.direct_needs.of_rows(acquired),
            rounds=None,
        )

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of raw columns; see `Predictor.gains`. Those behind a made column explain it together."""
        made = evolve(rows, X=self.preparation.fill(rows.X, self._used))
        found: dict[tuple[int, ...], float] = {}
        for columns, gain in self.priced.gains(made, _through(costs, self.preparation).costs).items():
            behind = tuple(sorted({f for place in columns for f in self.preparation.reads[place]}))
            found[behind] = found.get(behind, 0.0) + gain
        return found

    @cached_property
    def _used(self) -> list[int]:
        """Places of the made columns that the inner predictor reads."""
        used = set(self.inner.used_features)
        return [place for place, name in enumerate(self.preparation.names) if name in used]

    def _made(self, X: F8, terms: Terms) -> F8:
        """Make what the inner predictor reads, float64 (rows, m), as far as the raw columns are available; else NaN."""
        places, reads = self._used, self.preparation.reads
        return self.preparation.fill(X, [place for place in places if terms.barred.isdisjoint(reads[place])])

    @cached_property
    def _kept_terms(self) -> WeakKeyDictionary[Terms, Terms]:
        return WeakKeyDictionary()

    def _inner_terms(self, terms: Terms) -> Terms:
        """Return the terms of the inner predictor, at the prices of made columns; kept while the outer ones are."""
        if (known := self._kept_terms.get(terms)) is None:
            through = _through(terms.costs, self.preparation)
            paid, barred = self._inner_known(through, terms), self._inner_names(through, terms.barred)
            known = self._kept_terms[terms] = terms.within(self.inner.card, through.costs, paid, barred)
        return known

    def _inner_known(self, through: ThroughPrices, terms: Terms) -> Known:
        """Return what is paid for before an inquiry, with the made columns that follow from raw columns with values."""
        features, resources = terms.ledger.paid_before
        raw = [self.feature_names[f] for f in features] + [terms.prices.resource_names[r] for r in resources]
        names = [through.names[name] for name in raw if name in through.names]
        if not isinstance(terms.known, Mapping):
            return tuple(names)
        columns = {f: np.array([value]) for f, value in terms.values.items()}
        ready = [place for place in self._used if columns.keys() >= set(self.preparation.reads[place])]
        made = self.preparation.make(columns, ready)
        return dict.fromkeys(names, math.nan) | {self.preparation.names[p]: value for p, value in made.items()}

    def _inner_names(self, through: ThroughPrices, columns: Collection[int]) -> tuple[str, ...]:
        """Return the names of raw columns among the inner predictor's features and resources; unread ones have none.

        What bars raw columns is told of raw columns only: a resource may be barred, and a column that needs it known
        all the same.
        """
        names = (self.feature_names[f] for f in sorted(columns))
        return tuple(through.names[name] for name in names if name in through.names)


def behind_preparation(predictor: Predictor) -> Predictor:
    """Return the predictor within a prepared one, another as it is."""
    inner: Predictor = predictor.inner if isinstance(predictor, PreparedPredictor) else predictor
    return inner


class PreparedWalker:
    """The model side of an inquiry for raw columns, around the inquiry for made columns."""

    def __init__(self, inner: Inquiry, preparation: Preparation, columns: dict[int, F8]) -> None:
        inner, place = copy(inner), {name: place for place, name in enumerate(preparation.names)}
        while wanted := [place[name] for name in inner.needs]:
            missing = {f for made in wanted for f in preparation.reads[made]} - columns.keys()
            if missing:
                break
            found = preparation.make(columns, wanted)
            inner.supply({preparation.names[made]: value for made, value in found.items()})
        self.inner, self.columns, self.evaluated = inner, columns, inner.evaluated
        self._preparation = preparation
        self.needs = tuple(sorted(missing)) if wanted else ()

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit."""
        end = self.inner.answer
        return end.value, end.exit

    @property
    def place(self) -> int | None:
        """Number of the class, where the prediction does not tell it."""
        return self.inner.place

    @property
    def reason(self) -> str:
        """Why the walk ended; see `Prediction`."""
        return self.inner.answer.reason

    def after(self, values: Sequence[float]) -> PreparedWalker:
        """Return the walker with raw values too, and with made columns as long as their raw columns are there."""
        raw = {f: np.array([value]) for f, value in zip(self.needs, values, strict=True)}
        return PreparedWalker(self.inner, self._preparation, self.columns | raw)
