"""Synthetic-1 of the paper on adaptive approximation: a border that is simple except in the middle of the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.datasets.drawing import check_shares, draw_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

__all__ = ["make_coast"]

_WEST = np.array([-2.0, -1.0, 1.0])  # where sea, coast and land begin
_EAST = np.array([-1.0, 1.0, 2.0])
_GAP = 0.1
_EXPECTED = "three positive numbers that sum to one, for the sea, the coast and the land"


def make_coast(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    shares: Sequence[float] = (0.4, 0.45, 0.15),
    random_state: int | None = 0,
) -> Dataset:
    """Draw a table like Synthetic-1 of Nan and Saligrama (NIPS 2017, section 5): only the middle needs a strong model.

    A winding coast, x = cos(pi y), parts the sea in the west, label -1, from the land in the east, label 1. Three
    strips are uniform in x and in y from -2 to 2: open sea, x from -2 to -1; the coast, x from -1 to 1, where bays
    and headlands lie between each other; inner land, x from 1 to 2. Then each row is moved by .1 along x, away from
    the border. The features x and y cost 1 each. The paper has a picture only; the numbers and costs are ours.

    At the default shares an RBF-SVM (C = 10) is right for more than 99 % of the rows, logistic regression for 88 %.
    Beyond the coast, |x| > 1.1, the sign of x is the label. So these gates keep the accuracy of the SVM, and answer
    from x alone where they do not use it:

    - A gate that sends it the coast, 45 % of the rows, pays 1.45 on average.
    - A linear gate, which sends it all but the open sea, 60 % of the rows, pays 1.6.

    Parameters
    ----------
    n_rows : int
        Training rows; at least one, as in the other parts.
    n_valid, n_test : int, optional
        Rows of the other parts; None means `n_rows`. No part depends on the size of another.
    shares : sequence of float (3,)
        Probability that a row is of the sea, the coast, the land; positive, summing to one.
    random_state : int or None
        Equal seeds give equal bytes; None draws other rows each time.

    Returns
    -------
    Dataset
        X float64 (n, 2) and y int64 (n,), -1 or 1: the rows of train, then of valid, then of test.

    Raises
    ------
    ParameterError
        If a number of rows, the shares or the seed are invalid.
    DataError
        If a class has no training row.
    """
    chances = check_shares(shares, 3, _EXPECTED)

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        strip = rng.choice(3, n, p=chances)
        x, y = rng.uniform(_WEST[strip], _EAST[strip]), rng.uniform(-2.0, 2.0, n)
        label = np.where(x > np.cos(np.pi * y), 1, -1)
        return np.column_stack([x + _GAP * label, y]), label

    sizes, prices = (n_rows, n_valid, n_test), {"x": 1.0, "y": 1.0}
    return draw_parts(draw, prices, sizes, random_state, "classification", "synthetic-1")
