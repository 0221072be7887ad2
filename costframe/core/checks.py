"""Checks of settings, which refuse a wrong value by name, and of installed libraries."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = sys.float_info.max
LARGEST_WHOLE = 2**63 - 1  # of an int64
MOST_ROUNDS = 10**6  # of an ensemble


def check_number(
    name: str, value: Any, *, low: float = 0.0, strict: bool = False, high: float = np.inf, whole: bool = False
) -> Any:
    """Return a setting that is a number in its range, as a plain int (`whole`) or float, or refuse it by name."""
    kind = "a whole number" if whole else "a number"
    right = isinstance(value, int | np.integer) if whole else isinstance(value, int | float | np.integer | np.floating)
    above = f"> {low}" if strict else f">= {low}"
    upto = "" if high == np.inf else f" and <= {high:,}" if whole else f" and <= {high}"
    if isinstance(value, bool) or not right or not (low < value if strict else low <= value) or not value <= high:
        raise ParameterError(f"{name}: expected {kind} {above}{upto}, got {shown(value)}")
    if value > (LARGEST_WHOLE if whole else LARGEST):  # infinity, or a whole number beyond all of its type
        raise ParameterError(
            f"{name}: expected {f'{kind} below 2^63' if whole else 'a finite number'}, got {shown(value)}"
        )
    return int(value) if whole else float(value)


def resolve(name: str, value: Any, default: Any, **limits: Any) -> Any:
    """Return the default for None, else the value after `check_number`, which takes the `limits`."""
    return default if value is None else check_number(name, value, **limits)


def check_flag(name: str, value: Any) -> bool:
    """Return a setting that is True or False, or refuse it by name."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}: expected True or False, got {shown(value)}")
    return bool(value)


def as_path(path: Any, name: str = "path") -> Path:
    """Return the path of a file, given as a text or path, or refuse it by name."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ParameterError(f"{name}: expected a text or path, got {shown(path)}")
    return Path(path)


def check_choice(name: str, value: Any, choices: Sequence[str | None]) -> Any:
    """Return a setting that is one of some texts, or None if that is one of them, or refuse it by name."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        *some, last = map(repr, choices)
        raise ParameterError(
            f"{name}: expected {' or '.join(filter(None, (', '.join(some), last)))}, got {shown(value)}"
        )
    return value


def needed(module: str, extra: str) -> Any:
    """Import a module that not everybody installs, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"this needs {module.partition('.')[0]}, which is not installed: pip install 'costframe[{extra}]'"
        ) from error
