"""Rows whose label needs two features together: a trap for methods that look one step ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.checks import check_number
from costframe.datasets.drawing import draw_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

__all__ = ["make_parity"]

_PRICES = {"sign_a": 2.0, "sign_b": 3.0}
_NOISE_PRICE = 1.0


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
    n_features = len(_PRICES) + int(check_number("n_noise", n_noise, low=0, whole=True))
    prices = _PRICES | {f"noise_{i}": _NOISE_PRICE for i in range(n_features - len(_PRICES))}

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        signs = rng.choice([-1.0, 1.0], (n, n_features))
        return signs, (signs[:, 0] != signs[:, 1]).astype(np.int64)

    sizes, perfect = (n_rows, n_valid, n_test), sum(_PRICES.values())
    return draw_parts(draw, prices, sizes, random_state, "classification", "parity", perfect_cost=perfect)
