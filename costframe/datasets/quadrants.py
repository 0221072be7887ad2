"""Synthetic rows of the paper on trees of classifiers: two cheap signs select the expensive feature with the label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.datasets.drawing import check_numbers, draw_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

__all__ = ["make_quadrants"]

_PRICES = {"sign_x": 1.0, "sign_z": 1.0, "y_pp": 10.0, "y_pm": 10.0, "y_mp": 10.0, "y_mm": 10.0}


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
    n_rows : int
        Training rows; at least one, as in the other parts.
    n_valid, n_test : int, optional
        Rows of the other parts; None means `n_rows`. No part depends on the size of another.
    means : sequence of float (4,)
        Mean label of the quadrants pp, pm, mp, mm.
    random_state : int or None
        Equal seeds give equal bytes; None draws other rows each time.

    Returns
    -------
    Dataset
        X float64 (n, 6) and y float64 (n,): the rows of train, then of valid, then of test.

    Raises
    ------
    ParameterError
        If a number of rows, a mean or the seed is invalid.
    """
    centers = check_numbers("means", means, 4, "four finite numbers, for the quadrants pp, pm, mp, mm")

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        signs = np.where(rng.uniform(-1.0, 1.0, (n, 2)) < 0, -1.0, 1.0)
        labels = rng.normal(centers, size=(n, 4))
        quadrant = 2 * (signs[:, 0] < 0) + (signs[:, 1] < 0)
        return np.hstack([signs, labels]), labels[np.arange(n), quadrant]

    sizes = (n_rows, n_valid, n_test)
    return draw_parts(draw, _PRICES, sizes, random_state, "regression", "quadrants", perfect_cost=12.0)
