"""Sums of a cost report over its rows: those of several reports add up to the sums of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, fields, frozen

from costframe.core.errors import ParameterError
from costframe.core.exact_sums import exact_digits, from_digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.cost.report import Charges
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["Totals"]


@frozen(eq=False)
class Totals:
    """Weighted sums over rows; exact sums do not depend on the order of rows, nor do sums of whole weights.

    Attributes
    ----------
    prices : PriceArrays
    weight, cost, learners, comparisons, reuse : int64 (digits,)
        Exact sums: of the weights, the costs of the rows, and their parts.
    feature_weight : float64 (d,)
        Of the rows that acquired each feature; likewise for resources and stages.
    resource_weight : float64 (R,)
    stage_weight : float64 (stages,)
    none_acquired : float64 (d,)
        Probability that no row acquired each feature, if some are priced once.
    """

    prices: PriceArrays
    weight: NDArray[np.int64]
    cost: NDArray[np.int64]
    learners: NDArray[np.int64]
    comparisons: NDArray[np.int64]
    reuse: NDArray[np.int64]
    feature_weight: NDArray[np.float64]
    resource_weight: NDArray[np.float64]
    stage_weight: NDArray[np.float64]
    none_acquired: NDArray[np.float64]

    @classmethod
    def of(
        cls, prices: PriceArrays, charges: Charges, per_row: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> Totals:
        """Add up the charges of rows."""

        def add(values: NDArray[np.float64] | None) -> NDArray[np.int64]:
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
            none,
        )

    @classmethod
    def merge(cls, parts: Sequence[Totals]) -> Totals:
        """Add up the sums of several reports, of one model at equal prices."""
        first = parts[0].prices
        for part in parts:
            if not _equal(part.prices, first) or part.stage_weight.shape != parts[0].stage_weight.shape:
                raise ParameterError("reports: expected reports of one model at equal prices, got different ones")
        sums = {each.name: np.sum([getattr(part, each.name) for part in parts], axis=0) for each in fields(cls)[1:-1]}
        return cls(first, **sums, none_acquired=np.prod([part.none_acquired for part in parts], axis=0))

    def weightless(self) -> Totals:
        """Return the sums of the same rows, each of weight zero."""
        sums = {each.name: np.zeros_like(getattr(self, each.name)) for each in fields(Totals)[1:-1]}
        return evolve(self, **sums, none_acquired=np.ones_like(self.none_acquired))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return from_digits(self.weight)


def _equal(one: PriceArrays, other: PriceArrays) -> bool:
    """Return whether prices are equal, as far as they show in a report."""
    if one is other:
        return True
    same = (one.names, one.resource_names, one.unit) == (other.names, other.resource_names, other.unit)
    pairs = ((getattr(one, name), getattr(other, name)) for name in ("cost", "once", "resource_cost"))
    return same and all(np.array_equal(a, b) for a, b in pairs)


def _acquired_by_none(
    acquired: NDArray[np.bool_] | NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability that no row acquires each feature, for independent rows: float64 (d,)."""
    if acquired.dtype == np.bool_:
        return np.asarray(~acquired[weight > 0].any(axis=0), np.float64)
    return np.asarray(np.prod((1.0 - acquired) ** weight[:, None], axis=0))
