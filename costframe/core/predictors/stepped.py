"""A predictor over any model that can be stepped, given as a generator function."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from attrs import define, evolve, field
from attrs.converters import optional
from attrs.validators import instance_of
from attrs.validators import optional as optional_validator
from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.cost.expected import stack_values
from costframe.core.errors import CostModelError, DataError, InquiryError
from costframe.core.predictors.predictor import AnnotatedPredictor, Predictor
from costframe.core.predictors.replay import ends_by_steps
from costframe.core.prices.costs import CostModel
from costframe.core.prices.ledger import Ledger
from costframe.core.prices.limits import COMPLETE, CUT, REASONS, UNAVAILABLE, Limits
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.categories import Categories, as_categories
from costframe.core.tables.frames import check_names
from costframe.core.tables.row_labels import check_weights
from costframe.core.tables.rows import as_feature_names
from costframe.core.terms.card import Card
from costframe.core.terms.terms import Terms

MOST_REPEATS = 10_000  # requests without a new feature, after which a model counts as endless

Steps = Generator[Iterable[str], Mapping[str, float], "ArrayLike"]
"""Yields the names of the features it needs next, is sent their values, and returns the prediction."""


def _prediction(value: object) -> float | F8:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = None
    if array is None or array.ndim > 1 or value is None:
        raise DataError(f"the model returned {value!r}, expected a number or a vector of numbers")
    return float(array) if array.ndim == 0 else array


@define(eq=False, frozen=True, repr=False)
class SteppedPredictor(Predictor):
    """A model given as a generator function, `steps() -> Generator[names, values, prediction]`.

    Only features and resources have prices: it refuses a cost model with prices for learners, comparisons or reuse,
    because it cannot see the model's computations.

    Parameters
    ----------
    feature_names : tuple of str
    steps : callable
        Called once a row. The generator may ask for a feature again; the row buys it once.
    costs : CostModel or None
        Default prices.
    categories : mapping of str to tuple of str
        Labels of the features whose categories are texts; the generator receives the position of a label.
    fallback : float, or float64 (K,), optional
        Answer of a row that cannot have or pay for the features that the model asks for; `with_fallbacks` takes the
        mean of its predictions. Without one, limits are refused.
    version : str, optional
        A text that tells this function from others: without it, inquiries cannot be put away by `Inquiry.to_json`.
    """

    feature_names: tuple[str, ...] = field(converter=as_feature_names)
    steps: Callable[[], Steps]
    costs: CostModel | None = None
    categories: Categories = field(factory=dict, converter=as_categories)
    fallback: float | F8 | None = field(default=None, converter=optional(_prediction), kw_only=True)
    version: str | None = field(default=None, kw_only=True, validator=optional_validator(instance_of(str)))

    @property
    def content(self) -> tuple[Any, ...]:
        """What decides its rows, of which its function is told by the `version`; see `Digested.content`."""
        if self.version is None:
            raise InquiryError(
                "digest: a SteppedPredictor has a function, which has no digest; give it "
                "SteppedPredictor(version=...), a text that tells the function from others"
            )
        return self.feature_names, self.version, self.categories, self.fallback

    @cached_property
    def card(self) -> Card:
        """What describes it."""
        return Card(self.feature_names, self.costs, self.categories)

    def with_card(self, card: Card) -> Predictor:
        """Return the same model with another card; see `Predictor.with_card`."""
        priced = evolve(self, costs=card.costs, categories=card.categories)
        return priced if card.classes is None else AnnotatedPredictor(priced, card)

    def with_fallbacks(
        self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> SteppedPredictor:
        """Return the same model that answers rows that limits cut with the mean of rows; itself if it has an answer."""
        del y
        if self.fallback is not None:
            return self
        rows = self.as_rows(X)
        weight = None if sample_weight is None else check_weights(sample_weight, len(rows), "sample_weight")
        some = FallbackRows.of(rows, weight)
        return evolve(self, fallback=np.average(self.predict(some.X), axis=0, weights=some.weight))

    def __attrs_post_init__(self) -> None:
        check_names(self.feature_names, "features")
        self.card  # noqa: B018 - refuses categories and prices that do not fit

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows one by one; see `Predictor.evaluate`. A stepped model has no link."""
        if terms.limits is not None:
            return ends_by_steps(self, X, terms)
        return Ends(stack_values([self._predict_row(row) for row in X]))

    def begin(self, terms: Terms) -> StepWalker:
        """Return a walker for one row; see `Predictor.begin`. `acquisition` has no effect here.

        The row buys all features of one request, or it buys none of them and the answer is `fallback`.

        Raises
        ------
        ParameterError
            If there are limits and no `fallback`.
        """
        prices, limits = terms.prices, terms.limits
        if prices.learner or prices.reuse or prices.split.any():
            raise CostModelError("prices for learners, comparisons or reuse: a stepped predictor does not tell of them")
        if limits is not None and self.fallback is None:
            terms.check_unlimited(
                "a stepped model cannot answer before its end; give it SteppedPredictor(fallback=...)"
            )
        return StepWalker(self, terms.values, limits, terms.ledger)

    def _predict_row(self, row: F8) -> float | F8:
        walker = StepWalker(self, {})
        while walker.needs:
            walker = walker.after([float(row[f]) for f in walker.needs])
        return walker.answer[0]


class StepWalker:
    """The model side of an inquiry, for a generator. After an error it begins anew, with the values that it has."""

    def __init__(
        self,
        predictor: SteppedPredictor,
        known_values: Mapping[int, float],
        limits: Limits | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._predictor, self._limits, self._ledger = predictor, limits, ledger
        self._names = predictor.feature_names
        self._column = {name: f for f, name in enumerate(self._names)}
        self._running: list[Steps] = []  # the generator, unless it failed; copies of the walker share the list
        self._requested: tuple[int, ...] = ()
        self._came: tuple[tuple[int, ...], ...] = ()  # features of each round
        self._answer: float | F8 | None = None
        self.reason = "complete"
        self._go_on(dict(known_values))

    @property
    def needs(self) -> tuple[int, ...]:
        """Features of the last request that are not known."""
        return tuple(sorted(f for f in self._requested if f not in self._values))

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit, always 0."""
        assert self._answer is not None  # noqa: S101 - needs is empty when the generator returned
        return self._answer, 0

    place = None  # predictions tell the class

    @property
    def evaluated(self) -> Fraction:
        """Always zero: the model's computations have no price."""
        return ZERO

    def after(self, values: Sequence[float]) -> StepWalker:
        """Return the walker with values too, whose generator has requested a new feature, or ended."""
        other = copy(self)
        other._came = (*self._came, self.needs)  # noqa: SLF001 - its own class
        other._go_on({**self._values, **dict(zip(self.needs, values, strict=True))})  # noqa: SLF001 - its own class
        return other

    def _go_on(self, known: Mapping[int, float]) -> None:
        """Send known values to the generator, as often as it asks, until it requests a new feature."""
        sent, answer = None, None
        if self._running:
            steps, sent = self._running.pop(), {self._names[f]: known[f] for f in self._requested}
        elif not isinstance(steps := self._predictor.steps(), Generator):
            raise DataError(f"steps: expected a generator function, its call returned {type(steps).__name__}")
        try:
            requested = self._next_request(steps, sent, known)
        except StopIteration as end:
            requested, answer = (), _prediction(end.value)
        reason = self._refusal(requested, known)
        if reason != REASONS[COMPLETE]:
            requested, answer = (), self._predictor.fallback
            steps.close()
        self._running, self._values, self._requested = [steps], known, requested
        self._answer, self.reason = answer, reason

    def _refusal(self, requested: tuple[int, ...], known: Mapping[int, float]) -> str:
        """Return why the row cannot have the requested features, or "complete" if it can."""
        wanted = [f for f in requested if f not in known]
        if self._limits is None or self._ledger is None or not wanted:
            return REASONS[COMPLETE]
        if self._limits.barred.intersection(wanted):
            return REASONS[UNAVAILABLE]
        bought = sorted({*known, *wanted} - self._ledger.features)
        total = self._ledger.total(bought, self._ledger.rounds((*self._came, wanted)))
        return REASONS[COMPLETE if total <= self._limits.cap else CUT]

    def _next_request(
        self, steps: Steps, values: dict[str, float] | None, known: Mapping[int, float]
    ) -> tuple[int, ...]:
        """Run the generator until it requests a feature that is not known."""
        seen, repeats = set[int](), 0
        while repeats < MOST_REPEATS:
            asked = self._columns(next(steps) if values is None else steps.send(values))
            values = {self._names[f]: known[f] for f in asked if f in known}
            if len(values) < len(asked):
                return asked
            repeats = repeats + 1 if seen.issuperset(asked) else 0
            seen.update(asked)
        raise InquiryError(f"the model asked {MOST_REPEATS} times in a row for nothing but what it has")

    def _columns(self, asked: object) -> tuple[int, ...]:
        if not isinstance(asked, Iterable):
            raise InquiryError(f"the model asks for {asked!r}, expected names of features")
        names = [asked] if isinstance(asked, str) else list(asked)
        for name in names:
            if name not in self._column:
                raise InquiryError(f"the model asks for {name!r}, which is none of its features {self._names}")
        return tuple(dict.fromkeys(self._column[name] for name in names))
