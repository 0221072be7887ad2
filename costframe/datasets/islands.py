"""Synthetic-2 of the paper on adaptive approximation: half of the rows need only one of two features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.datasets.drawing import check_shares, draw_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

__all__ = ["make_islands"]

_CENTERS = np.array([[0.0, 1.9], [1.0, 1.9], [1.0, 0.9], [1.0, 0.0]])
_LABELS = np.array([-1, 1, -1, 1])
_DEVIATION = 0.1
_EXPECTED = "four positive numbers that sum to one, for the clusters 1 to 4"


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
    n_rows : int
        Training rows; at least one, as in the other parts.
    n_valid, n_test : int, optional
        Rows of the other parts; None means `n_rows`. No part depends on the size of another.
    shares : sequence of float (4,)
        Probability that a row is of cluster 1, 2, 3, 4; positive, summing to one.
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
    chances = check_shares(shares, 4, _EXPECTED)

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        cluster = rng.choice(4, n, p=chances)
        return rng.normal(_CENTERS[cluster], _DEVIATION), _LABELS[cluster]

    sizes, prices = (n_rows, n_valid, n_test), {"x": 1.0, "y": 1.0}
    return draw_parts(draw, prices, sizes, random_state, "classification", "synthetic-2")
