"""The limits of a row: a hard cap on its cost, and columns that it cannot have."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import numpy as np
from attrs import frozen

from costframe.core.checks import as_items, check_number
from costframe.core.errors import InquiryError, shown
from costframe.core.prices.price_arrays import PriceArrays
from costframe.engine import constants

COMPLETE, CUT, UNAVAILABLE, CERTAIN = constants("complete", "by_cap", "by_absence", "by_certainty")
# why rows end; a row that both limits cut is "unavailable"
REASONS = {COMPLETE: "complete", CUT: "max_cost", UNAVAILABLE: "unavailable", CERTAIN: "certain"}
LIMITS = (REASONS[CUT], REASONS[UNAVAILABLE])


def as_cap(max_cost: float | None) -> float | None:
    """Return a cap on the cost of each row as a float, or refuse it by name; infinity is no cap, None."""
    if max_cost is None or (isinstance(max_cost, float | np.floating) and max_cost == math.inf):
        return None
    return float(check_number("max_cost", max_cost))


def names_of(names: Iterable[str], what: str = "unavailable", expected: str = "") -> tuple[str, ...]:
    """Return names of features and resources as a tuple; one text is one name."""
    if type(names) is tuple:  # as in most inquiries
        return names
    if isinstance(names, str):
        return (names,)
    items = as_items(names.keys() if isinstance(names, Mapping) else names, ordered=False)
    if items is None or not all(isinstance(name, str) for name in items):
        raise InquiryError(f"{what}: expected names of features and resources{expected}, got {shown(names)}")
    return items


@frozen
class Limits:
    """A hard cap, and columns that a row cannot have, or does without as its cap pays for others."""

    cap: float = math.inf  # on the row's cost, in the cost model's unit; infinite without one
    barred: frozenset[int] = frozenset()  # columns
    left_out: frozenset[int] = frozenset()  # other columns, in place of a cap; see `left_out`

    @classmethod
    def of(
        cls, cap: float | None, names: tuple[str, ...], prices: PriceArrays, known_values: Collection[int] = ()
    ) -> Limits | None:
        """Make limits from a cap and names of unavailable features and resources; return None if there are neither.

        Both are as `as_cap` and `names_of` return them. Columns in `known_values`, whose values are known, are always
        available.

        Raises
        ------
        InquiryError
            If a name is neither a feature of the model nor a priced resource.
        """
        if cap is None and not names:
            return None
        columns = prices.columns_of(names, "unavailable")
        return cls(math.inf if cap is None else cap, frozenset(columns.difference(known_values)))
