"""What rows on the same terms have in common: the terms, how they get their classes, how their inquiries begin."""

from __future__ import annotations

from typing import Any, Protocol

from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.walker import DecidingWalker, Walker
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import REASONS, UNAVAILABLE
from costframe.core.terms.card import Card
from costframe.core.terms.decision import Decision, error_columns
from costframe.core.terms.terms import ASKED, Terms

MOST_KEPT = 16  # rules of a predictor
_ASKED = (*ASKED, "tradeoff")
_NUMBERS, _COSTS = {float, type(None)}, {CostModel, type(None)}


class RowRule:
    """The terms of rows, and the rule by which they get their classes."""

    __slots__ = ("card", "decision", "further", "terms")

    def __init__(self, card: Card, terms: Terms) -> None:
        self.card, self.terms = card, terms
        self.decision: Decision | None = None
        self.further: tuple[int, ...] | None = None  # columns that are prices of errors, None if none can be asked for
        errors = terms.costs.errors
        if card.classes is not None:
            self.decision = Decision.of(card, errors, terms.unavailable)
            if errors is not None and errors.columns:
                self.further = tuple(card.column[name] for name in error_columns(card, errors, terms.unavailable))

    def inquiry(self, walker: Walker) -> Inquiry:
        """Return the inquiry of a row with a walker, which asks for prices of errors too."""
        card, terms, decision = self.card, self.terms, self.decision
        if self.further is not None and decision is not None:
            reason = REASONS[UNAVAILABLE] if decision.prices is None else None
            walker = DecidingWalker(walker, self.further, terms.values, card.feature_names, reason)
        return Inquiry(walker, card.feature_names, terms.ledger, card.categories, decision)


class Asked(Protocol):
    """What rows are asked of; see `Predictor`."""

    @property
    def card(self) -> Card:
        """What describes it."""

    def terms(self, costs: object = None, **asked: Any) -> Terms:
        """Make and check what is asked of rows."""


class RowRules:
    """Rules of a predictor's rows, kept where many rows ask alike."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], RowRule] = {}

    def rule(self, predictor: Asked, asked: tuple[Any, ...]) -> RowRule:
        """Return the rule for prices, acquisition, what is known, a cap, what is unavailable, and a tradeoff."""
        costs, acquisition, known, cap, barred, tradeoff = asked
        # equal caps of other types may be refused, and few rows have known values
        is_plain = type(known) is type(barred) is tuple and not known and not barred
        is_plain = is_plain and type(cap) in _NUMBERS and type(tradeoff) in _NUMBERS
        is_plain = is_plain and type(costs) in _COSTS and type(acquisition) is str
        if (rule := self._kept.get(asked) if is_plain else None) is None:
            rule = RowRule(predictor.card, predictor.terms(costs, **dict(zip(_ASKED, asked[1:], strict=True))))
            if is_plain:
                if len(self._kept) == MOST_KEPT:
                    self._kept.clear()
                self._kept[asked] = rule
        return rule
