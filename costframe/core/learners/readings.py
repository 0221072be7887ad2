"""Readings of a value before a node tests it, as foreign libraries do; see `TreeTable.reading`."""

import numpy as np

PLAIN, ZERO_MISSING, WHOLE, WHOLE_FLOAT32 = 0, 1, 2, 3
TINY = 1.0000000180025095e-35  # float32(1e-35): LightGBM takes numbers up to here for zero
_HUGE = 2.0**127  # no category is as large, and float32 holds all numbers below


def read_value(value: float, reading: int) -> float:
    """Return a value as a node with this reading tests it."""
    if reading == ZERO_MISSING:
        return np.nan if abs(value) <= TINY else value
    if reading == WHOLE:
        return float(np.trunc(value))
    if reading == WHOLE_FLOAT32:
        rounded = float(np.float32(value)) if abs(value) < _HUGE else float(value)
        return -np.inf if rounded < 0.0 else float(np.trunc(rounded))  # infinity is no category
    return value
