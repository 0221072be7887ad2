"""Inquiries that go on from a text of `Inquiry.to_json`, if the model and the prices are those that it had."""

from __future__ import annotations

from typing import Any

from costframe.core.errors import InquiryError
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.inquiry_state import InquiryState, read_asked
from costframe.core.prices.digest import prices_digest
from costframe.core.terms.terms import Terms


def resume_inquiry(model: Any, text: str, costs: object = None, *, at_other_prices: bool = True) -> Inquiry:
    """Go on with an inquiry of a predictor; see `Predictor.resume`.

    Without `at_other_prices`, `costs` have to be those that it had.
    """
    state, card = InquiryState.from_json(text), model.card
    terms: Terms = model.row_terms(costs, **read_asked(state.asked, card.categories))
    is_same_model, is_same_price = state.model == model.digest, state.prices == prices_digest(terms.costs)
    if not is_same_model or not (is_same_price or (at_other_prices and costs is not None)):
        others = " and ".join(["the model"] * (not is_same_model) + ["the prices"] * (not is_same_price))
        way = "give costs= those it had, or new ones" if at_other_prices else "begin again"
        way = way if is_same_model else "go on with the model that asked"
        changed = "have" if " and " in others or is_same_model else "has"
        raise InquiryError(f"resume: {others} {changed} changed since the inquiry was put away; {way}")
    return Inquiry.go_on_from(state, model, terms, is_same_price=is_same_price)
