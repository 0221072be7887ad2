"""What rows cost where the price of a feature differs by row, such as that of a model's answer by its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8
from costframe.core.checks import check_mapping
from costframe.core.errors import ParameterError, quote_names, shown
from costframe.core.prices.exact_prices import exact, rounded_up
from costframe.core.prices.price_arrays import PriceArrays


def reprice(per_row: F8, acquired: B1 | F8, prices: PriceArrays, row_prices: Mapping[str, ArrayLike]) -> F8:
    """Put prices of rows, float64 (rows,) by feature, in place of constant ones where rows acquired them: (rows,)."""
    if acquired.dtype != np.bool_:
        raise ParameterError(
            "prices: by row need rows that acquire a feature or not; these have probabilities or means"
        )
    changes = [Fraction(0)] * len(per_row)
    for name, given in (check_mapping("prices", row_prices) or {}).items():
        if name in prices.resource_names:
            raise ParameterError(f"prices: {shown(name)} is a resource; prices by row are those of features")
        if name not in prices.names:
            raise ParameterError(f"prices: expected features of {quote_names(prices.names)}, got {shown(name)}")
        column, values = prices.names.index(name), _amounts(name, given, len(per_row))
        before = exact(float(prices.cost[column]))
        for row in np.flatnonzero(acquired[:, column]):
            changes[row] += exact(values[row]) - before
    money = (exact(cost) + change for cost, change in zip(per_row.tolist(), changes, strict=True))
    return np.array([rounded_up(*amount.as_integer_ratio()) for amount in money], np.float64)


def _amounts(name: str, given: Any, n: int) -> list[float]:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape != (n,) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise ParameterError(f"prices, {shown(name)}: expected {n} finite numbers >= 0, one a row, got {shown(given)}")
    return values.tolist()  # type: ignore[no-any-return]
