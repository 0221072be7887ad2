"""One prediction under way: a state machine without I/O that asks for features until it can answer.

A *walker* steps through a model: it names the features needed next, and takes their values. The *ledger* keeps the
charges. The inquiry joins the two; every driver, and every replay of a cost, is a loop over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from costframe.core.errors import InquiryError, brief, format_count, quote_names
from costframe.core.predictors.grounds import Grounds
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.reasons import Why
from costframe.core.predictors.walker import DecidingWalker, Walked, Walker
from costframe.core.prices.limits import REASONS, UNAVAILABLE
from costframe.core.terms.decision import Decision
from costframe.core.terms.terms import Terms
from costframe.core.terms.values import as_floats

_DOUBLES = {float, np.float64}


class Inquiry:
    """One prediction under way: it asks for features until it can answer.

    `walker` is the model's side of it, which `predictor` began on `terms`. While `needs` is not empty, supply exactly
    the features it names; then read `answer`. A value may be NaN: the feature is acquired, but missing. A refused call
    raises `InquiryError` and changes nothing. `why` tells what an ask is for.
    """

    __slots__ = (
        "_acquired", "_categories", "_columns", "_decision", "_ledger", "_names", "_needs", "_rounds", "predictor",
        "terms", "walker",
    )  # fmt: skip

    def __init__(self, predictor: Walked, terms: Terms, walker: Walker, decision: Decision | None = None) -> None:
        card = predictor.card
        self.predictor, self.terms, self._ledger, self._decision = predictor, terms, terms.ledger, decision
        self._names, self._categories = card.feature_names, card.categories
        self._columns: tuple[int, ...] = ()
        self._acquired: tuple[int, ...] = ()
        self._rounds = -1
        self.go_on(walker)

    @classmethod
    def on(cls, terms: Terms, predictor: Walked) -> Inquiry:
        """Begin the inquiry of a row on some terms; it asks for prices of errors too, and its answer has a label."""
        card, decision, walker = terms.card, terms.decision, predictor.begin(terms)
        if decision is not None and decision.columns:
            reason, further = REASONS[UNAVAILABLE] if decision.barred else None, set(decision.columns) - decision.barred
            walker = DecidingWalker(walker, further, terms.values, card.feature_names, reason)
        return cls(predictor, terms, walker, decision)

    def go_on(self, walker: Walker) -> None:
        """Charge what was needed, and go on with the walker that took it."""
        columns, bought, paid = walker.needs, self._columns, self._ledger.features
        if paid and bought:
            bought = tuple([f for f in bought if f not in paid])
        needs, acquired = tuple(map(self._names.__getitem__, columns)), self._acquired + bought
        # all at once: an error before changes nothing
        self.walker, self._acquired, self._columns, self._needs = walker, acquired, columns, needs
        self._rounds += 1

    def __repr__(self) -> str:
        """Name what it needs next, and what the row paid so far."""
        needs = f"needs {quote_names(self.needs)}" if self.needs else "answered"
        return brief(self, needs, f"cost {self.cost:g}", f"{format_count(self._rounds, 'round')} so far")

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the features that are certainly needed, in column order; empty when there is an answer."""
        return self._needs

    @property
    def acquired(self) -> tuple[str, ...]:
        """Names of the features paid for so far, in order."""
        return tuple(map(self._names.__getitem__, self._acquired))

    @property
    def cost(self) -> float:
        """Cost of the row so far."""
        return self._ledger.total(self._acquired, self.walker.evaluated)

    @property
    def evaluated(self) -> Fraction:
        """Price of what the model has evaluated so far; see `Walker`."""
        return self.walker.evaluated

    @property
    def place(self) -> int | None:
        """Number of the class of the row, where its prediction does not tell it; see `Walker`."""
        return self.walker.place

    def why(self) -> Why:
        """Return why it asks for what it needs, or why it stopped: data, and sentences as its text."""
        paid = self._acquired
        return Why.of(
            self.grounds(), self._names, lambda columns: self._ledger.quote(columns, paid), self.terms.costs.unit
        )

    def grounds(self) -> Grounds:
        """Return why it asks, or why it stopped, before names and prices."""
        walker = self.walker
        if isinstance(walker, DecidingWalker):
            return walker.grounds(self.predictor, self.terms, self._acquired)
        return self.predictor.grounds(walker, self.terms, self._acquired)

    def supply(self, values: Mapping[str, Any]) -> None:
        """Supply the values of exactly the features in `needs`: numbers, or labels where categories are texts.

        An unknown label goes the missing way.

        Raises
        ------
        InquiryError
            If the inquiry has ended, a name is missing or not in `needs`, or a value is not a number.
        """
        self.go_on(self.walker.after(self.read(values)))

    def read(self, values: Mapping[str, Any]) -> list[float]:
        """Return the values of exactly the features in `needs`, in their order."""
        needs = self._needs
        if not needs:
            raise InquiryError("supply: the inquiry has ended, it needs nothing more")
        if type(values) is not dict:
            if not isinstance(values, Mapping):
                raise InquiryError(f"supply: expected a mapping of names to values, got {type(values).__name__}")
            values = dict(values)
        if len(values) == len(needs):
            try:
                given = list(map(values.__getitem__, needs))
            except KeyError:
                pass
            else:
                is_plain = not self._categories and _DOUBLES.issuperset(map(type, given))
                return given if is_plain else as_floats(values, needs, self._categories)
        missing = [name for name in needs if name not in values]
        surplus = [name for name in values if name not in needs]
        raise InquiryError(f"supply: expected exactly {needs}; missing {missing}, not asked for {surplus}")

    @property
    def answer(self) -> Prediction:
        """The prediction.

        Raises
        ------
        InquiryError
            If features are still needed.
        """
        if self._needs:
            raise InquiryError(f"answer: the inquiry still needs {self._needs}")
        value, leaf = self.walker.answer
        walker, label = self.walker, None
        if self._decision is not None:
            label = self._decision.label(value, walker.place, getattr(walker, "values", {}))
        return Prediction(value, self.cost, self.acquired, self._rounds, leaf, walker.reason, label=label)


def supply_inquiries(inquiries: Sequence[Inquiry], values: Sequence[Mapping[str, Any]]) -> list[Exception | None]:
    """Supply inquiries of one model as `Inquiry.supply` does, together where the model can; return their errors."""
    together = getattr(inquiries[0].walker, "after_together", None)
    if together is not None and len(inquiries) > 16:  # fewer are quicker one by one
        try:
            numbers = [inquiry.read(given) for inquiry, given in zip(inquiries, values, strict=True)]
            walkers = together([inquiry.walker for inquiry in inquiries], numbers)
        except Exception:  # noqa: BLE001, S110 - nothing has changed; one by one tells which rows fail
            pass
        else:
            for inquiry, walker in zip(inquiries, walkers, strict=True):
                inquiry.go_on(walker)
            return [None] * len(inquiries)
    return [_supply(inquiry, given) for inquiry, given in zip(inquiries, values, strict=True)]


def _supply(inquiry: Inquiry, values: Mapping[str, Any]) -> Exception | None:
    try:
        inquiry.supply(values)
    except Exception as error:  # noqa: BLE001 - the caller's to tell
        return error
    return None
