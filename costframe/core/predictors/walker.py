"""The model side of an inquiry: what walks through one row, and what also asks for the prices of its errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from costframe.core.arrays import F8
from costframe.core.errors import InquiryError
from costframe.core.predictors.grounds import Ground, Grounds
from costframe.core.tables.as_given import as_doubles
from costframe.core.terms.card import Card
from costframe.core.terms.terms import Terms


class Walker(Protocol):
    """A model on its way through one row; features are column numbers.

    It does not change: a step makes another walker, and an error leaves things as they were.
    """

    @property
    def needs(self) -> tuple[int, ...]:
        """Distinct features that are certainly needed, ascending; empty when the model can answer."""

    def after(self, values: Sequence[float]) -> Walker:
        """Return the walker that has the values of all features in `needs` too, and went on as far as possible."""

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit, when `needs` is empty."""

    @property
    def place(self) -> int | None:
        """Number of the class, when `needs` is empty, where the prediction does not tell it; else None."""

    @property
    def reason(self) -> str:
        """Why the walk ended; see `Prediction`."""

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far: of learners, comparisons, and uses of features beyond the first."""


class Walked(Protocol):
    """What can be predicted row by row; see `Predictor`."""

    @property
    def card(self) -> Card:
        """What describes it."""

    @property
    def digest(self) -> str:
        """What tells it from other models."""

    @property
    def functions(self) -> Sequence[Any]:
        """The foreign functions that it may call, in a fixed order."""

    @property
    def function_places(self) -> Mapping[Any, int]:
        """The places of these functions."""

    def begin(self, terms: Terms) -> Walker:
        """Return a walker for one row."""

    def grounds(self, walker: Walker, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a walker asks, or why it ended; `bought` are the columns paid for so far."""


class DecidingWalker:
    """A walker that asks for further features, prices of errors, with its first needs, and keeps all values."""

    def __init__(
        self,
        walker: Walker,
        further: Iterable[int],
        values: Mapping[int, float],
        names: Sequence[str],
        reason: str | None = None,
    ) -> None:
        self._further, self.values, self._names, self._reason = frozenset(further), dict(values), names, reason
        for f in self._further & values.keys():
            price = float(as_doubles(np.array([values[f]]))[0])
            if not 0.0 <= price < math.inf:
                raise InquiryError(
                    f"value of {names[f]!r}: expected a finite number >= 0, as it is the price of an error, "
                    f"got {price:g}"
                )
        while (needs := walker.needs) and values.keys() >= set(needs):
            walker = walker.after([values[f] for f in needs])
        self._walker, self.needs = walker, tuple(sorted({*walker.needs, *self._further} - values.keys()))

    def after(self, values: Sequence[float]) -> DecidingWalker:
        """Return the walker after the values of all features in `needs`, and those known."""
        known = self.values | dict(zip(self.needs, values, strict=True))
        return DecidingWalker(self._walker, self._further, known, self._names, self._reason)

    @property
    def reason(self) -> str:
        """Why the walk ended."""
        return self._reason or self._walker.reason

    def grounds(self, predictor: Walked, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why it asks: what the predictor says of the walker within, and for prices of errors."""
        found = predictor.grounds(self._walker, terms, bought)
        if not self.needs:
            return found
        prices = tuple(f for f in self.needs if f not in self._walker.needs)
        own = (Ground(prices, purpose="what an error costs"),) if prices else ()
        return Grounds((*found.among(self.needs).asks, *own), tradeoff=found.tradeoff)

    def __getattr__(self, name: str) -> Any:
        if name not in {"answer", "evaluated", "place"}:  # nor does it go on together with others
            raise AttributeError(name)
        return getattr(self._walker, name)
