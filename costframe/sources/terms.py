"""What all rows of a call have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from attrs import field, frozen

from costframe.core.predictors.inquiry import Inquiry, Ledger
from costframe.core.predictors.predictor import Known, Predictor, RowRequest
from costframe.core.prices.costs import CostModel
from costframe.core.prices.exact_prices import left_of
from costframe.core.prices.price_arrays import as_cap, names_of


def read_known(known: Known) -> Known:
    """Return what rows have paid for, as every row reads it: a mapping, or a tuple of names."""
    return known if isinstance(known, Mapping) else names_of(known, "known", ", or these with values")


@frozen(eq=False)
class RowTerms:
    """What all rows of a call have in common; see `predict_one` for the arguments."""

    predictor: Predictor
    costs: CostModel
    acquisition: str = "path"
    known: Known = field(default=(), converter=read_known)
    max_cost: float | None = field(default=None, converter=as_cap)
    unavailable: tuple[str, ...] = field(default=(), converter=names_of)
    policies: Mapping[str, str] = field(factory=dict)  # what a row does without a feature that did not come

    ledger: Ledger = field(init=False)
    resource_names: tuple[str, ...] = field(init=False)
    columns: dict[str, int] = field(init=False)
    priced: tuple[str, ...] = field(init=False)  # prices of errors, which cannot be missing

    def __attrs_post_init__(self) -> None:
        request = RowRequest.of(self.predictor, self.costs, self.acquisition, self.known, None, ())
        object.__setattr__(self, "ledger", request.ledger)
        object.__setattr__(self, "resource_names", request.prices.resource_names)
        object.__setattr__(self, "columns", {name: f for f, name in enumerate(self.predictor.feature_names)})
        object.__setattr__(self, "priced", self.predictor.error_columns(self.costs))

    @classmethod
    def of(
        cls,
        predictor: Predictor,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        *,
        policies: Mapping[str, str],
    ) -> Self:
        """Check what a caller asks of all rows of a call: prices are resolved, iterables are read once."""
        prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
        return cls(predictor, prices, acquisition, known, max_cost, unavailable, policies)

    @property
    def asked(self) -> tuple[str, ...]:
        """Features that a row may ask for."""
        spared = {*self.known, *self.unavailable}
        return tuple(name for name in self.predictor.label_features(self.costs) if name not in spared)

    def inquire(self, known: Known, spent: float, unavailable: Iterable[str]) -> Inquiry:
        """Begin an inquiry that may still spend what is left of the cap."""
        cap = None if self.max_cost is None else left_of(self.max_cost, spent)
        return self.predictor.inquire(
            self.costs, self.acquisition, known, max_cost=cap, unavailable=(*self.unavailable, *unavailable)
        )
