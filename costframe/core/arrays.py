"""Arrays in annotations: float64, int64, bool and uint8, of any shape; and read-only copies, for fields."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]
B1 = NDArray[np.bool_]
U8 = NDArray[np.uint8]


def frozen_array(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return values as a read-only array of a dtype."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def frozen_floats(values: ArrayLike) -> F8:
    """Return values as a read-only array of float64."""
    return frozen_array(values, np.float64)


def frozen_flags(values: ArrayLike) -> B1:
    """Return values as a read-only array of bool."""
    return frozen_array(values, np.bool_)
