"""What all rows of a call have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from attrs import frozen

from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.ledger import Ledger
from costframe.core.terms.terms import Known, Terms


def read_once(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked of rows with lists in place of iterables that can be read only once."""
    return {
        name: value
        if isinstance(value, str) or hasattr(value, "__len__") or not hasattr(value, "__iter__")
        else [*value]
        for name, value in asked.items()
    }


@frozen(eq=False)
class RowTerms:
    """What all rows of a call have in common; see `predict_one` for what is asked."""

    predictor: Predictor
    terms: Terms
    policies: Mapping[str, str]  # what a row does without a feature that did not come

    @classmethod
    def of(cls, predictor: Predictor, costs: object = None, *, policies: Mapping[str, str], **asked: Any) -> Self:
        """Check what a caller asks of all rows of a call: prices are resolved, iterables are read once."""
        return cls(predictor, predictor.row_terms(costs, **asked), policies)

    @property
    def costs(self) -> CostModel:
        """The prices."""
        return self.terms.costs

    @property
    def known(self) -> Known:
        """What rows have paid for before, as a mapping or a tuple of names."""
        return self.terms.known

    @property
    def ledger(self) -> Ledger:
        """Prices for a row, and what it has paid for before."""
        return self.terms.ledger

    @property
    def resource_names(self) -> tuple[str, ...]:
        """Names of all resources."""
        return self.terms.prices.resource_names

    @property
    def columns(self) -> dict[str, int]:
        """Column of each feature."""
        return self.predictor.card.column

    @property
    def priced(self) -> tuple[str, ...]:
        """Names of columns that are prices of errors, which cannot be missing."""
        return self.terms.error_columns

    @property
    def asked(self) -> tuple[str, ...]:
        """Features that a row may ask for."""
        return self.terms.may_ask(self.predictor.used_with(self.priced))

    def begin(self) -> Inquiry:
        """Begin the inquiry of a row."""
        return Inquiry.on(self.terms, self.predictor)

    def begin_again(self, known: Known, spent: float, without: Iterable[str]) -> Inquiry:
        """Begin the inquiry of a row that has spent something, with what it knows by now, without some features."""
        terms = self.terms.left(known, spent, without)
        return Inquiry.on(terms, self.predictor)
