"""Checks of settings, which refuse a wrong value by name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from costframe.core.errors import ParameterError

LARGEST = sys.float_info.max


def check_number(
    name: str, value: Any, *, low: float = 0.0, strict: bool = False, high: float = np.inf, whole: bool = False
) -> Any:
    """Return a setting that is a number in its range, or refuse it by name."""
    kind = "a whole number" if whole else "a number"
    right = isinstance(value, int | np.integer) if whole else isinstance(value, int | float | np.integer | np.floating)
    above = f"> {low}" if strict else f">= {low}"
    upto = "" if high == np.inf else f" and <= {high}"
    if isinstance(value, bool) or not right or not (low < value if strict else low <= value) or not value <= high:
        raise ParameterError(f"{name}: expected {kind} {above}{upto}, got {value!r}")
    if not whole and value > LARGEST:  # infinity, or a whole number beyond all doubles
        raise ParameterError(f"{name}: expected a finite number, got {value!r}")
    return value


def resolve(name: str, value: Any, default: Any, **limits: Any) -> Any:
    """Return the default for None, else the value after `check_number`, which takes the `limits`."""
    return default if value is None else check_number(name, value, **limits)


def check_flag(name: str, value: Any) -> bool:
    """Return a setting that is True or False, or refuse it by name."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}: expected True or False, got {value!r}")
    return bool(value)
