"""Drawn points of a plane, as in the paper on adaptive approximation (Nan and Saligrama, NIPS 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.errors import ParameterError, shown
from costframe.datasets.dataset import Dataset
from costframe.datasets.drawing import check_numbers, draw_parts

_WEST = np.array([-2.0, -1.0, 1.0])  # where sea, coast and land begin
_EAST = np.array([-1.0, 1.0, 2.0])
_GAP = 0.1
_CENTERS = np.array([[0.0, 1.9], [1.0, 1.9], [1.0, 0.9], [1.0, 0.0]])
_LABELS = np.array([-1, 1, -1, 1])
_DEVIATION = 0.1


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
    shares : sequence of float (3,)
        Probability that a row is of the sea, the coast, the land; positive, summing to one.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 2) and y int64 (n,), -1 or 1: the rows of train, then of valid, then of test.
    """
    chances = _check_shares(shares, 3, "three positive numbers that sum to one, for the sea, the coast and the land")

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        strip = rng.choice(3, n, p=chances)
        x, y = rng.uniform(_WEST[strip], _EAST[strip]), rng.uniform(-2.0, 2.0, n)
        label = np.where(x > np.cos(np.pi * y), 1, -1)
        return np.column_stack([x + _GAP * label, y]), label

    sizes, prices = (n_rows, n_valid, n_test), {"x": 1.0, "y": 1.0}
    return draw_parts(draw, prices, sizes, random_state, "classification", "synthetic-1")


def make_islands(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    shares: Sequence[float] = (0.26, 0.26, 0.24, 0.24),
    random_state: int | None = 0,
) -> Dataset:
    """Draw Synthetic-2 of Nan and Saligrama (NIPS 2017, section 5): four clusters in the plane, two classes.

    Clusters 1 to 4 are normal around (0, 1.9), (1, 1.9), (1, .9) and (1, 0), with standard deviation .1 in both
    features, x and y, which cost 1 each; their labels are -1, 1, -1, 1. The numbers are ours; the paper has a picture
    only.

    With shares p1 to p4, each of these errs (almost) never:

    - A model that reads both features pays 2.
    - A gate on y that sends clusters 1 and 2 to that model, and answers clusters 3 and 4 by y alone, pays 1 + p1 + p2:
      the best, 1.5 at equal shares.
    - A gate on x, the feature that l1-regularized logistic regression chooses when clusters 1 and 2 have more rows,
      answers cluster 1 alone by x and pays 2 - p1: 1.75 at equal shares.

    Parameters
    ----------
    shares : sequence of float (4,)
        Probability that a row is of cluster 1, 2, 3, 4; positive, summing to one.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 2) and y int64 (n,), -1 or 1: the rows of train, then of valid, then of test.
    """
    chances = _check_shares(shares, 4, "four positive numbers that sum to one, for the clusters 1 to 4")

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        cluster = rng.choice(4, n, p=chances)
        return rng.normal(_CENTERS[cluster], _DEVIATION), _LABELS[cluster]

    sizes, prices = (n_rows, n_valid, n_test), {"x": 1.0, "y": 1.0}
    return draw_parts(draw, prices, sizes, random_state, "classification", "synthetic-2")


def _check_shares(given: Any, n: int, expected: str) -> F8:
    """Return n positive numbers that sum to one up to rounding."""
    shares = check_numbers("shares", given, n, expected)
    if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        raise ParameterError(f"shares: expected {expected}, got {shown(given)}")
    return np.asarray(shares / shares.sum())
