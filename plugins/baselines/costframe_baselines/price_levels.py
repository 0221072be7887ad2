"""The columns below a price, for models that read all that costs at most so much."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.plugin import I8, TrainingData, resolve

_MOST_PRICES = 8  # to try


def sets_below_prices(data: TrainingData, columns: I8, max_price: Any, *, every: bool = False) -> list[list[int]]:
    """Return the columns of price at most `max_price`; if it is None, those below each of a few of the prices.

    The price of a column includes all resources that it needs and an equal share of its once-price. The last of several
    sets has all columns; without `every`, it is the only one at tradeoff 0, where prices have no effect.

    Parameters
    ----------
    data : TrainingData
    columns : int64 (columns,)
        To choose from.
    max_price : float or None
    every : bool

    Raises
    ------
    ParameterError
        If `max_price` is no number >= 0.
    """
    prices = data.prices.alone[columns] + data.prices.once[columns] / data.train.total_weight
    if max_price is not None:
        return [columns[prices <= resolve("max_price", max_price, None)].tolist()]
    levels = np.unique(prices)
    if not (data.tradeoff or every):
        levels = levels[-1:]
    chosen = np.unique(np.linspace(0, len(levels) - 1, _MOST_PRICES).round().astype(np.int64))
    return [columns[prices <= level].tolist() for level in levels[chosen]]
