"""Rows with a cheap feature that selects an expensive block: a trap for methods that look one step ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError
from costframe.datasets.drawing import draw_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

__all__ = ["make_selector"]

_SELECTOR_PRICE = 1.0
_EXPECTED = f"two or more finite prices, none below the selector's {_SELECTOR_PRICE:g}"


def make_selector(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    prices: Sequence[float] = (10.0, 10.0, 10.0, 10.0),
    block_size: int = 1,
    random_state: int | None = 0,
) -> Dataset:
    """Draw a classification with a cheap feature, independent of the label, that selects the block with the label.

    The feature selector is the number of a block, 0 to len(prices) - 1, each with the same probability; it costs 1.
    Block b has the features block{b}_0, block{b}_1, ... They are -1 or 1 with probability 1/2, independent of each
    other and of the selector, and each costs prices[b]. The label is the number whose binary digits, the lowest first,
    are the features of the selected block, with -1 for 0; so it is 0 or 1 for blocks of one feature.

    The selector alone is independent of the label, and a block that may not be the selected one says little about it.
    But the selector and its block give the label exactly, so a perfect model pays 1 + block_size * mean(prices) per row
    (`perfect_cost`): 11 of 41 by default, 19.75 of 76 at the prices 5, 10, 20, 40 (data set `selector-unequal`).
    It is akin to CUBE-NM of AFABench (arXiv 2508.14734), without noise; `make_quadrants` is a regression of this kind.

    Parameters
    ----------
    n_rows : int
        Training rows; at least one, as in the other parts.
    n_valid, n_test : int, optional
        Rows of the other parts; None means `n_rows`. No part depends on the size of another.
    prices : sequence of float (blocks,)
        Price of each feature of a block, for two or more blocks; at least the selector's.
    block_size : int
        Features of a block, 1 to 8; there are 2**block_size classes.
    random_state : int or None
        Equal seeds give equal bytes; None draws other rows each time.

    Returns
    -------
    Dataset
        X float64 (n, 1 + blocks * block_size) and y int64 (n,): the rows of train, then of valid, then of test.

    Raises
    ------
    ParameterError
        If a number of rows or features, the prices or the seed are invalid.
    DataError
        If a class has no training row.
    """
    by_block = _check_prices(prices)
    size = int(check_number("block_size", block_size, low=1, high=8, whole=True))
    named = {"selector": _SELECTOR_PRICE} | {
        f"block{block}_{i}": float(price) for block, price in enumerate(by_block) for i in range(size)
    }

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        selected = rng.integers(len(by_block), size=n)
        signs = rng.choice([-1.0, 1.0], (n, len(by_block), size))
        digits = signs[np.arange(n), selected] > 0
        return np.column_stack([selected, signs.reshape(n, -1)]), digits @ (1 << np.arange(size))

    sizes, perfect = (n_rows, n_valid, n_test), _SELECTOR_PRICE + size * float(by_block.mean())
    name = "selector" if np.ptp(by_block) == 0 else "selector-unequal"
    return draw_parts(draw, named, sizes, random_state, "classification", name, perfect_cost=perfect)


def _check_prices(given: Any) -> NDArray[np.float64]:
    try:
        prices = np.array(given, np.float64)
    except (TypeError, ValueError):
        prices = np.empty(0)
    if prices.ndim != 1 or len(prices) < 2 or not np.isfinite(prices).all() or prices.min() < _SELECTOR_PRICE:
        raise ParameterError(f"prices: expected {_EXPECTED}, got {given!r}")
    return prices
