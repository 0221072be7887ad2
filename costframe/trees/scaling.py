"""Scales by powers of two, which change no digit, and checks of sizes."""

from __future__ import annotations

from math import ldexp

import numpy as np

from costframe.core.errors import DataError
from costframe.training.data import Rows

_LEAST, _MOST = 1e-75, 1e75  # sums of weights times squared labels over any number of rows are still doubles


def power_of_two(exponent: int) -> float:
    """Return 2**exponent, or the nearest ordinary double."""
    return ldexp(1.0, min(max(exponent, -1022), 1023))


def check_sizes(rows: Rows, suffix: str = "") -> None:
    """Refuse labels and weights whose squares are not doubles.

    Parameters
    ----------
    rows : Rows
    suffix : str
        Suffix of the names `y` and `sample_weight`, for example "_val".

    Raises
    ------
    DataError
        If the largest label or weight of all workers is neither zero nor between 1e-75 and 1e75.
    """
    for name, values in (("y", rows.y), ("sample_weight", rows.weight)):
        largest = rows.workers.largest(float(np.abs(values).max(initial=0)))
        if largest and not _LEAST <= largest <= _MOST:
            raise DataError(
                f"{name}{suffix}: expected numbers of a size between {_LEAST:g} and {_MOST:g}, "
                f"the largest is {largest:g}; change their unit"
            )
