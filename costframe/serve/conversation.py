"""The conversation about one row: what is told, what the model asks next, and all that goes on from call to call.

A conversation is an inquiry that also takes a part of what it asked for, and the word that something cannot be had.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, Self

from attrs import evolve, field, frozen

from costframe.core.errors import InquiryError, quote_names
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.inquiry_state import read_round, write_values
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.resumed import resume_inquiry
from costframe.core.prices.costs import CostModel
from costframe.core.strict_json import parse_strictly
from costframe.serve.values import as_row


@frozen(eq=False)
class Conversation:
    """The conversation about one row at one moment.

    Attributes
    ----------
    predictor : Predictor
    prices : CostModel
    inquiry : Inquiry
        It is never changed: what is told goes to a copy.
    told : dict of str to float
        Values of some of the features that the inquiry needs, until the others are told too.
    """

    predictor: Predictor
    prices: CostModel
    inquiry: Inquiry
    told: dict[str, float] = field(factory=dict)

    @classmethod
    def begin(cls, predictor: Predictor, prices: CostModel, **asked: Any) -> Self:
        """Begin a conversation; what is asked is that of `Predictor.inquire`."""
        return cls(predictor, prices, predictor.inquire(prices, **asked))

    @classmethod
    def resume(cls, predictor: Predictor, prices: CostModel, state: str) -> Self:
        """Go on from the text of `state`.

        Raises
        ------
        InquiryError
            If the text is no state, or one of another model; see `Predictor.resume`.
        """
        first, _, text = state.partition("\n")
        try:
            content = parse_strictly(first)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise InquiryError("state: expected one that this service gave, got another text")
        inquiry = resume_inquiry(predictor, text, prices, at_other_prices=False)
        if content and not content.keys() < set(inquiry.needs):
            raise InquiryError("state: expected one that this service gave, got values that it does not ask for")
        return cls(predictor, prices, inquiry, read_round(inquiry.rounds + 1, content, predictor.categories))

    def state(self) -> str:
        """Return all that goes on, without the model and the prices: lines of JSON of what was told, and the rest."""
        told = write_values(tuple(self.told), tuple(self.told.values()), self.predictor.categories)
        return f"{json.dumps(told)}\n{self.inquiry.to_json()}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Features that are certainly needed and not yet told; none at the end."""
        return tuple(name for name in self.inquiry.needs if name not in self.told)

    @property
    def cost(self) -> float:
        """Cost of the row so far."""
        return self.inquiry.cost_with(tuple(self.told))

    def quotes(self) -> tuple[list[float], float]:
        """Return the price now of each feature in `needs`, and of all of them together."""
        needs, came, bought = map(self._columns, (self.needs, self.told, self.inquiry.acquired))
        quote = self.inquiry.ledger.quote
        return [quote((f,), bought, came) for f in needs], quote(needs, bought, came)

    def tell(self, values: Mapping[str, Any], unavailable: Iterable[str] = ()) -> Self:
        """Return the conversation that has been told values, and what cannot be had.

        Values are numbers, labels of categories, or None or NaN for missing ones.

        Raises
        ------
        InquiryError
            If a value was not asked for, or is none, or a name is unknown.
        """
        read, barred = self.read(values), tuple(unavailable)
        if both := read.keys() & set(barred):
            raise InquiryError(f"{quote_names(sorted(both))}: told as values, and as unavailable")
        told = self.told | read
        if barred:
            return evolve(self, inquiry=self.inquiry.without(barred, told), told={})
        if len(told) < len(self.inquiry.needs):
            return evolve(self, told=told)
        inquiry = copy(self.inquiry)
        if told:
            inquiry.supply(told)
        return evolve(self, inquiry=inquiry, told={})

    def read(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Return values as floats; refuse those that were not asked for."""
        needs = self.needs
        if surplus := [name for name in values if name not in needs]:
            asked = quote_names(needs) or "nothing more"
            raise InquiryError(
                f"values: expected those of {asked}, got {quote_names(surplus)}; begin again to tell more"
            )
        return as_row(values, self.predictor)

    def values(self) -> dict[str, float]:
        """Return the values that are there, by feature."""
        return self.inquiry.values() | self.told

    def _columns(self, names: Iterable[str]) -> list[int]:
        return list(map(self.predictor.card.column.__getitem__, names))
