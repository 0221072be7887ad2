"""Prices of a predictor's columns as arrays for kernels, and the limits of one row: a cap, and unavailable columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.checks import check_number
from costframe.core.errors import InquiryError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray


@frozen(eq=False)
class PriceArrays:
    """Prices in the order of a predictor's d columns; every array is read-only.

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
    needs : ndarray of bool, shape (d, R)
        Whether a feature needs a resource, directly or through other resources.
    resource_needs : ndarray of bool, shape (R, R)
        Whether a resource needs another; each needs itself.
    learner, reuse : float
        Per evaluation of a weak learner with e_t = 1, and per further use of an acquired feature.
    unit : str
        Unit of all prices.
    """

    names: tuple[str, ...]
    cost: NDArray[np.float64]
    once: NDArray[np.float64]
    split: NDArray[np.float64]
    resource_names: tuple[str, ...]
    resource_cost: NDArray[np.float64]
    needs: NDArray[np.bool_]
    resource_needs: NDArray[np.bool_]
    learner: float
    reuse: float
    unit: str

    def __attrs_post_init__(self) -> None:
        for array in (self.cost, self.once, self.split, self.resource_cost, self.needs, self.resource_needs):
            array.setflags(write=False)

    @cached_property
    def needed(self) -> tuple[frozenset[int], ...]:
        """For each feature, the resources that it needs, directly or through other resources."""
        return tuple(frozenset(np.flatnonzero(row).tolist()) for row in self.needs)

    def locate(self, names: Iterable[str], what: str) -> tuple[set[int], set[int]]:
        """Return the columns and the resources with these names; an `InquiryError` about `what` refuses others."""
        wanted, features, resources = list(names), set[int](), set[int]()
        column = {name: f for f, name in enumerate(self.names)} if wanted else {}
        for name in wanted:
            if name in column:
                features.add(column[name])
            elif name in self.resource_names:
                resources.add(self.resource_names.index(name))
            else:
                raise InquiryError(f"{what}: {name!r} is neither a feature of the model nor a priced resource")
        return features, resources


ROUNDING = 1e-9  # a sum above the cap by at most this fraction of it differs by rounding only


def names_of(unavailable: Iterable[str]) -> tuple[str, ...]:
    """Return names of features and resources as a tuple; one text is one name."""
    if not isinstance(unavailable, Iterable):
        raise InquiryError(f"unavailable: expected names of features and resources, got {unavailable!r}")
    return (unavailable,) if isinstance(unavailable, str) else tuple(unavailable)


@frozen
class Limits:
    """A hard cap, and unavailable columns.

    Attributes
    ----------
    max_cost : float
        Cap on the row's cost, in the cost model's unit; infinite without a cap.
    unavailable : frozenset of int
        Unavailable columns.
    """

    max_cost: float = math.inf
    unavailable: frozenset[int] = frozenset()

    @property
    def threshold(self) -> float:
        """The cap, raised by the rounding error of a sum."""
        return self.max_cost * (1.0 + ROUNDING)

    @classmethod
    def of(
        cls, max_cost: float | None, unavailable: Iterable[str], prices: PriceArrays, known_values: Collection[int] = ()
    ) -> Limits | None:
        """Make limits from a cap and names of features and resources; return None if there are neither.

        Columns in `known_values`, whose values are known, are always available.

        Raises
        ------
        ParameterError
            If `max_cost` is not a finite number >= 0.
        InquiryError
            If a name is neither a feature of the model nor a priced resource.
        """
        if max_cost is not None:
            check_number("max_cost", max_cost)
        names = names_of(unavailable)
        if max_cost is None and not names:
            return None
        columns, resources = prices.locate(names, "unavailable")
        for r in resources:
            columns.update(np.flatnonzero(prices.needs[:, r]).tolist())
        return cls(math.inf if max_cost is None else float(max_cost), frozenset(columns.difference(known_values)))
