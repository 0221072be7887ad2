"""Scales by powers of two, which change no digit, and checks of sizes."""

from __future__ import annotations

from math import frexp, ldexp
from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import DataError
from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows

_LEAST, _MOST = 1e-75, 1e75  # sums of weights times squared labels over any number of rows are still doubles


def power_of_two(exponent: int) -> float:
    """Return 2**exponent, or the nearest ordinary double."""
    return ldexp(1.0, min(max(exponent, -1022), 1023))


def round_to_float32(values: NDArray[np.float64], workers: Workers = ALONE) -> NDArray[np.float64]:
    """Round to the digits of single precision, but not to the range of floats, in place, in one unit on all workers.

    Products with small whole weights, and sums of these, are then exact: a weight of two equals a row given twice.
    """
    largest = workers.largest(max(values.max(initial=0), -values.min(initial=0)))
    unit = power_of_two(frexp(largest)[1])
    single = np.multiply(values, 1 / unit, out=np.empty(values.shape, np.float32), casting="same_kind")
    return np.multiply(single, unit, out=values, dtype=np.float64)


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
