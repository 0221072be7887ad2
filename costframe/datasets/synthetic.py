"""Drawn data sets whose labels follow from signs, so that the cost of a perfect model is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.datasets.dataset import Dataset
from costframe.datasets.drawing import check_numbers, draw_parts

_PARITY = {"sign_a": 2.0, "sign_b": 3.0}
_NOISE_PRICE = 1.0
_SELECTOR_PRICE = 1.0
_EXPECTED = f"two or more finite prices, none below the selector's {_SELECTOR_PRICE:g}"
_QUADRANTS = {"sign_x": 1.0, "sign_z": 1.0, "y_pp": 10.0, "y_pm": 10.0, "y_mp": 10.0, "y_mm": 10.0}


def make_parity(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    n_noise: int = 6,
    random_state: int | None = 0,
) -> Dataset:
    """Draw a classification whose label is the exclusive or of two signs, among cheaper signs that are noise.

    All features are -1 or 1 with probability 1/2, independent of each other. The label is 1 where sign_a and sign_b
    differ, else 0. The feature sign_a costs 2, sign_b costs 3, and each of noise_0, noise_1, ... costs 1.

    A set of features without sign_a or sign_b is independent of the label; both together give it exactly. So a perfect
    model pays 5 per row (`perfect_cost`), and a model that pays less for a row guesses its label.

    Parameters
    ----------
    n_rows : int
        Training rows; at least one, as in the other parts.
    n_valid, n_test : int, optional
        Rows of the other parts; None means `n_rows`. No part depends on the size of another.
    n_noise : int
        Number of noise features, zero or more.
    random_state : int or None
        Equal seeds give equal bytes; None draws other rows each time.

    Returns
    -------
    Dataset
        X float64 (n, 2 + n_noise) and y int64 (n,), 0 or 1: the rows of train, then of valid, then of test.

    Raises
    ------
    ParameterError
        If a number of rows or features, or the seed, is not a whole number in its range.
    DataError
        If a class has no training row.
    """
    n_features = len(_PARITY) + int(check_number("n_noise", n_noise, low=0, whole=True))
    prices = _PARITY | {f"noise_{i}": _NOISE_PRICE for i in range(n_features - len(_PARITY))}

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        signs = rng.choice([-1.0, 1.0], (n, n_features))
        return signs, (signs[:, 0] != signs[:, 1]).astype(np.int64)

    sizes, perfect = (n_rows, n_valid, n_test), sum(_PARITY.values())
    return draw_parts(draw, prices, sizes, random_state, "classification", "parity", perfect_cost=perfect)


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
    prices : sequence of float (blocks,)
        Price of each feature of a block, for two or more blocks; at least the selector's.
    block_size : int
        Features of a block, 1 to 8; there are 2**block_size classes.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 1 + blocks * block_size) and y int64 (n,): the rows of train, then of valid, then of test.
    """
    by_block = _check_prices(prices)
    size = int(check_number("block_size", block_size, low=1, high=8, whole=True))
    named = {"selector": _SELECTOR_PRICE} | {
        f"block{block}_{i}": float(price) for block, price in enumerate(by_block) for i in range(size)
    }

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        selected = rng.integers(len(by_block), size=n)
        signs = rng.choice([-1.0, 1.0], (n, len(by_block), size))
        digits = signs[np.arange(n), selected] > 0
        return np.column_stack([selected, signs.reshape(n, -1)]), digits @ (1 << np.arange(size))

    sizes, perfect = (n_rows, n_valid, n_test), _SELECTOR_PRICE + size * float(by_block.mean())
    name = "selector" if np.ptp(by_block) == 0 else "selector-unequal"
    return draw_parts(draw, named, sizes, random_state, "classification", name, perfect_cost=perfect)


def _check_prices(given: Any) -> F8:
    prices = check_numbers("prices", given, None, _EXPECTED)
    if len(prices) < 2 or prices.min() < _SELECTOR_PRICE:
        raise ParameterError(f"prices: expected {_EXPECTED}, got {shown(given)}")
    return prices


def make_quadrants(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    means: Sequence[float] = (3.0, 1.0, -1.0, -3.0),
    random_state: int | None = 0,
) -> Dataset:
    """Draw a regression whose perfect model pays 12 of 42 per row (Xu et al., ICML 2013, section 5.1).

    Points (x, z) are uniform on [-1, 1]². The features sign_x and sign_z, -1 or 1, cost 1 each. The features y_pp,
    y_pm, y_mp and y_mm cost 10 each; the first letter is the sign of x, the second that of z, p for plus and m for
    minus. Each is drawn from the normal distribution of its quadrant's mean and variance 1, in all rows, and the label
    is that of the row's own quadrant. So both signs and one expensive feature give the label exactly; the other three
    are independent of it.

    Parameters
    ----------
    means : sequence of float (4,)
        Mean label of the quadrants pp, pm, mp, mm.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 6) and y float64 (n,): the rows of train, then of valid, then of test.
    """
    centers = check_numbers("means", means, 4, "four finite numbers, for the quadrants pp, pm, mp, mm")

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, F8]:
        signs = np.where(rng.uniform(-1.0, 1.0, (n, 2)) < 0, -1.0, 1.0)
        labels = rng.normal(centers, size=(n, 4))
        quadrant = 2 * (signs[:, 0] < 0) + (signs[:, 1] < 0)
        return np.hstack([signs, labels]), labels[np.arange(n), quadrant]

    sizes = (n_rows, n_valid, n_test)
    return draw_parts(draw, _QUADRANTS, sizes, random_state, "regression", "quadrants", perfect_cost=12.0)
