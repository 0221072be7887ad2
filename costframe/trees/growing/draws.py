"""Random shares of rows and columns to grow a tree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["draw_columns", "draw_rows"]


def draw_rows(
    random: np.random.Generator, n_rows: int, share: float
) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """Return the rows to grow on and those left out; none of either if all are drawn."""
    if share == 1:
        return None, None
    order = random.permutation(n_rows).astype(np.int32)
    count = max(1, round(share * n_rows))
    return np.sort(order[:count]), np.sort(order[count:])


def draw_columns(random: np.random.Generator, n_features: int, share: float) -> NDArray[np.bool_] | None:
    """Return which columns may be split on, bool (n_features,), at least one; None if all are drawn."""
    if share == 1:
        return None
    drawn = np.zeros(n_features, np.bool_)
    drawn[random.permutation(n_features)[: max(1, round(share * n_features))]] = True
    return drawn
