"""What rows are charged, and the totals of that: weighted sums, exact whatever the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, fields, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import ParameterError
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.sums import exact_digits, from_digits


@frozen(eq=False)
class Charges:
    """Charges of some rows, from which a report takes means. Sums over rows are weighted."""

    acquired: B1 | F8  # (rows, d): 0/1, or probabilities
    acquisition: F8  # (rows,): features and resources
    learners: F8 | None  # (rows,), like the next two; None if they cost nothing
    comparisons: F8 | None
    reuse: F8 | None
    feature_weight: F8  # (d,): weight of the rows that acquired each feature
    resource_weight: F8  # (R,)
    stage_weight: F8  # (stages,)
    predictions: F8 | None = None  # (rows, K); None with soft routing
    cut: B1 | None = None  # (rows,): answered early; None without limits
    rounds: I8 | None = None  # (rows,): trips to the sources; None where a replay must count them
    per_row: F8 | None = None  # (rows,): all of it, rounded up; None: the sum of the parts
    places: I8 | None = None  # (rows,): numbers of classes that predictions do not tell; see `Ends`
    round_weight: F8 | None = None  # (R,): weight of the further rounds that go to each resource; None: they are free

    @classmethod
    def join(cls, parts: Sequence[Charges], acquired: B1 | F8 | None = None) -> Charges:
        """Concatenate the charges of consecutive rows; `acquired` is that of all, if the parts have views of it."""

        def joined(name: str) -> Any:
            if name == "acquired" and acquired is not None:
                return acquired
            values = [getattr(part, name) for part in parts]
            if values[0] is None:
                return None
            return np.sum(values, axis=0) if name.endswith("_weight") else np.concatenate(values)

        return cls(*(joined(charge.name) for charge in fields(cls)))

    @property
    def row_costs(self) -> F8:
        """Cost of each row, (rows,)."""
        if self.per_row is not None:
            return self.per_row
        parts = (self.learners, self.comparisons, self.reuse)
        return sum((part for part in parts if part is not None), self.acquisition)


@frozen(eq=False)
class Totals:
    """Weighted sums over rows; exact sums do not depend on the order of rows, nor do sums of whole weights."""

    prices: PriceArrays
    # exact sums, (digits,): of the weights, of the costs of the rows, and of their parts
    weight: I8
    cost: I8
    learners: I8
    comparisons: I8
    reuse: I8
    feature_weight: F8  # (d,): of the rows that acquired each feature
    resource_weight: F8  # (R,)
    stage_weight: F8  # (stages,)
    round_weight: F8  # (R,): of further rounds to each resource
    # exact sums, (digits,): of the costs of errors, of the bills, and of their squares
    errors: I8
    bill: I8
    squared_bill: I8
    none_acquired: F8  # (d,): probability that no row acquired each feature, if some are priced once

    @classmethod
    def of(cls, prices: PriceArrays, charges: Charges, per_row: F8, weight: F8) -> Totals:
        """Add up the charges of rows."""

        def add(values: F8 | None) -> I8:
            return exact_digits(np.empty(0) if values is None else values * weight)

        none = _acquired_by_none(charges.acquired, weight) if prices.once.any() else np.ones(len(prices.once))
        return cls(
            prices,
            exact_digits(weight),
            add(per_row),
            add(charges.learners),
            add(charges.comparisons),
            add(charges.reuse),
            charges.feature_weight,
            charges.resource_weight,
            charges.stage_weight,
            np.zeros(len(prices.resource_cost)) if charges.round_weight is None else charges.round_weight,
            add(None),
            add(None),
            add(None),
            none,
        )

    @classmethod
    def merge(cls, parts: Sequence[Totals]) -> Totals:
        """Add up the sums of several reports, of one model at equal prices."""
        first = parts[0].prices
        for part in parts:
            if not _equal(part.prices, first) or part.stage_weight.shape != parts[0].stage_weight.shape:
                raise ParameterError("reports: expected reports of one model at equal prices, got different ones")
        sums = {kind.name: np.sum([getattr(part, kind.name) for part in parts], axis=0) for kind in fields(cls)[1:-1]}
        return cls(first, **sums, none_acquired=np.prod([part.none_acquired for part in parts], axis=0))

    def weightless(self) -> Totals:
        """Return the sums of the same rows, each of weight zero."""
        sums = {kind.name: np.zeros_like(getattr(self, kind.name)) for kind in fields(Totals)[1:-1]}
        return evolve(self, **sums, none_acquired=np.ones_like(self.none_acquired))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return from_digits(self.weight)


def _equal(arrays: PriceArrays, other: PriceArrays) -> bool:
    """Return whether prices are equal, as far as they show in a report."""
    if arrays is other:
        return True
    same = (arrays.names, arrays.resource_names, arrays.unit) == (other.names, other.resource_names, other.unit)
    pairs = (
        (getattr(arrays, name), getattr(other, name)) for name in ("cost", "once", "resource_cost", "resource_round")
    )
    return same and all(np.array_equal(a, b) for a, b in pairs)


def _acquired_by_none(acquired: B1 | F8, weight: F8) -> F8:
    """Return the probability that no row acquires each feature, for independent rows: float64 (d,)."""
    if acquired.dtype == np.bool_:
        return np.asarray(~acquired[weight > 0].any(axis=0), np.float64)
    return np.asarray(np.prod((1.0 - acquired) ** weight[:, None], axis=0))
