"""Prices of a predictor's columns as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import InquiryError, shown
from costframe.core.prices.exact_prices import ExactPrices, as_multiples, exact
from costframe.core.prices.needs import Needs

ZERO, ONE = Fraction(0), Fraction(1)
_CELLS = 1 << 24  # of a table of rows and resources
_BLOCK = 1 << 22  # cells of needs at a time


@frozen(eq=False)
class PriceArrays:
    """Prices in the order of a predictor's d columns; arrays are read-only.

    Attributes
    ----------
    names : tuple of str
        The d features.
    cost, once, split : ndarray of float64, shape (d,)
        Per row, per batch, and per comparison; features without a `split` of their own have the model's.
    resource_names : tuple of str
        All R resources of the model.
    resource_cost : ndarray of float64, shape (R,)
        Per row.
    direct_needs : Needs
        The resources that features and resources need directly.
    learner, reuse : float
        Per evaluation of a weak learner with e_t = 1, and per further use of an acquired feature.
    unit : str
        Unit of all prices.
    resource_round : ndarray of float64, shape (R,)
        Per row and further round that goes to the resource.
    resource_stays : ndarray of bool, shape (R,)
        Whether no further round goes to the resource; see `ResourcePrice`.
    """

    names: tuple[str, ...]
    cost: F8
    once: F8
    split: F8
    resource_names: tuple[str, ...]
    resource_cost: F8
    direct_needs: Needs
    learner: float
    reuse: float
    unit: str
    resource_round: F8
    resource_stays: B1

    def __attrs_post_init__(self) -> None:
        for array in (self.cost, self.once, self.split, self.resource_cost, self.resource_round, self.resource_stays):
            array.setflags(write=False)

    @cached_property
    def has_rounds(self) -> bool:
        """Whether further rounds to a resource cost anything."""
        return bool(self.resource_round.any())

    @property
    def n_items(self) -> int:
        """Number of features and resources, d + R."""
        return len(self.cost) + len(self.resource_cost)

    def of_set(self, features: I8) -> float:
        """Return the price of features, int64 (any,), without once-self."""
        needed = self.direct_needs.of_set(features)
        return float(self.cost[features].sum() + self.resource_cost[needed].sum())

    def of_rows(self, acquired: B1, *, reuse: float = 0.0) -> F8:
        """Return the price of what each row acquires, bool (n, d), without once-prices: float64 (n,).

        It takes `reuse` off each feature, for callers that count the first use of a feature as one more use.
        """
        paid = weigh_flags(acquired, self.cost - reuse)
        if len(self.resource_cost):
            step = max(64, _CELLS // len(self.resource_cost))
            parts = [acquired[begin : begin + step] for begin in range(0, len(acquired), step)]
            resources = [weigh_flags(self.direct_needs.of_rows(part), self.resource_cost) for part in parts]
            paid = paid + np.concatenate([np.empty(0), *resources])
        return np.asarray(paid)

    @cached_property
    def spends(self) -> bool:
        """Whether comparisons, or further uses of a feature, cost anything."""
        return bool(self.reuse or self.split.any())

    @cached_property
    def comparisons(self) -> tuple[Fraction, F8]:
        """A unit of comparisons, and the price of a comparison of each feature as its multiple: float64 (d,)."""
        return as_multiples(self.split)

    @cached_property
    def _exact(self) -> dict[tuple[int, int], ExactPrices]:
        return {}

    def exact(self, weight_unit: Fraction = ONE) -> ExactPrices:
        """Return the prices as whole numbers, with that of a unit of e_t."""
        key = weight_unit.as_integer_ratio()  # a Fraction takes long to hash
        if key not in self._exact:
            learner, split = exact(self.learner) * weight_unit, self.comparisons[0] if self.split.any() else ZERO
            prices = ExactPrices.of(self.cost, self.resource_cost, learner, split, self.reuse, self.resource_round)
            self._exact[key] = prices
        return self._exact[key]

    @cached_property
    def needs(self) -> B1:
        """Whether a feature needs a resource, directly or through other resources: bool (d, R).

        It takes d R bytes, and suits training; what predicts and prices uses `direct_needs`.
        """
        needed = self._needs_of(slice(0, len(self.names)))
        needed.setflags(write=False)
        return needed

    @cached_property
    def needed(self) -> tuple[I8, I8]:
        """All resources that each feature needs: the first place of each list, int64 (d + 1,), and all entries."""
        return self.direct_needs.listed()

    @cached_property
    def alone(self) -> F8:
        """Price of each feature with all resources that it needs: float64 (d,)."""
        step = max(1, _BLOCK // max(1, len(self.resource_cost)))
        blocks = [slice(begin, begin + step) for begin in range(0, len(self.names), step)]
        resources = [self._needs_of(block) @ self.resource_cost for block in blocks]
        return np.asarray(self.cost + np.concatenate([np.empty(0), *resources]))

    def _needs_of(self, columns: slice) -> B1:
        """Return the resources that some features need: bool (columns, R)."""
        numbers = range(*columns.indices(len(self.names)))
        needed = np.zeros((len(numbers), len(self.resource_cost)), np.bool_)
        for row, f in zip(needed, numbers, strict=True) if needed.size else ():
            row[list(self.direct_needs.unpaid(f))] = True
        return needed

    def locate(self, names: Iterable[str], what: str) -> tuple[set[int], set[int]]:
        """Return the columns and the resources with these names; an `InquiryError` about `what` refuses others."""
        wanted, features, resources = list(names), set[int](), set[int]()
        column = {name: f for f, name in enumerate(self.names)} if wanted else {}
        place = {name: r for r, name in enumerate(self.resource_names)} if wanted else {}
        for name in wanted:
            if not isinstance(name, str):  # perhaps not hashable
                raise InquiryError(f"{what}: expected names of features and resources, got {shown(name)}")
            if name in column:
                features.add(column[name])
            elif name in place:
                resources.add(place[name])
            else:
                raise InquiryError(f"{what}: {name!r} is neither a feature of the model nor a priced resource")
        return features, resources

    def columns_of(self, names: Iterable[str], what: str) -> set[int]:
        """Return the columns with these names, and those that need a resource with one of them; see `locate`."""
        columns, resources = self.locate(names, what)
        if resources:
            columns.update(self.direct_needs.needing(resources).tolist())
        return columns


def weigh_flags(flags: B1, price: F8) -> F8:
    """Add up the prices of flags, bool (n, F), in their order: float64 (n,), each the same among any other rows."""
    found = np.zeros(len(flags))
    for f in np.flatnonzero(price):
        found += np.where(flags[:, f], price[f], 0.0)
    return found
