"""Checked numbers of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import StageError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_reals(values: object, name: str, ndim: int) -> NDArray[np.float64]:
    """Return finite numbers as a read-only array of `ndim` dimensions, one or two; refuse others."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StageError(f"{name}: expected numbers, got {shown(values)}") from None
    if ndim == 2 and array.ndim == 1:
        array = array.reshape(-1, 1)
    if ndim == 1 and array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != ndim:
        raise StageError(f"{name}: expected {ndim} dimension(s), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise StageError(f"{name}: expected finite numbers, got NaN or infinity")
    array.setflags(write=False)
    return array


def as_matrix(values: object) -> NDArray[np.float64]:
    """Return weights, float64 (C, K)."""
    return as_reals(values, "weights", 2)


def as_vector(values: object) -> NDArray[np.float64]:
    """Return an intercept, float64 (K,)."""
    return as_reals(values, "intercept", 1)


def as_finite(values: Any, name: str) -> float:
    """Return a finite number; refuse anything else."""
    if isinstance(values, bool) or not isinstance(values, int | float | np.integer | np.floating):
        raise StageError(f"{name}: expected a number, got {shown(values)}")
    try:
        number = float(values)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise StageError(f"{name}: expected a finite number, got {shown(values)}")
    return number


def as_temperature(values: Any) -> float:
    """Return a positive finite number; refuse anything else."""
    temperature = as_finite(values, "temperature")
    if temperature <= 0:
        raise StageError(f"temperature: expected a positive number, got {temperature:g}")
    return temperature
