"""Checks of settings, which refuse a wrong value by name, and of installed libraries."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import numpy as np

from costframe.core.errors import CostframeError, ParameterError, quote_names, shown, suggestion

LARGEST = sys.float_info.max
LARGEST_WHOLE = 2**63 - 1  # of an int64
MOST_ROUNDS = 10**6  # of an ensemble


def check_number(
    name: str, value: Any, *, low: float = 0.0, strict: bool = False, high: float = np.inf, whole: bool = False
) -> Any:
    """Return a setting that is a number in its range, as a plain int (`whole`) or float, or refuse it by name."""
    kind = "a whole number" if whole else "a number"
    if isinstance(value, np.floating):
        value = float(value)  # else bounds would become numbers of its type, where they may be infinite
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


def check_known(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse a value that is none of some names, by name, with those that are close."""
    if value not in known:
        raise ParameterError(f"{name}: expected one of {quote_names(known)}, got {value!r}{suggestion(value, known)}")


def as_items(values: Any, *, ordered: bool = True) -> tuple[Any, ...] | None:
    """Return the items of a list, array or other iterable; None for one text, a mapping, a number or other value.

    If their order counts, also for a set, whose order may be another one in the next process.
    """
    alone = isinstance(values, str | bytes | bytearray | Mapping | type) or getattr(values, "ndim", 1) != 1
    if alone or not isinstance(values, Iterable) or (ordered and isinstance(values, AbstractSet)):
        return None
    return tuple(values)


def check_name_list(
    name: str, values: Any, *, ordered: bool = True, error: type[CostframeError] = ParameterError
) -> tuple[str, ...]:
    """Return a list of names as a tuple of texts, or refuse it by name: one text, a set if the order counts."""
    names = as_items(values, ordered=ordered)
    if names is None:
        what = " in order, not a set" if isinstance(values, AbstractSet) else ""
        raise error(f"{name}: expected a list of names{what}, got {shown(values)}")
    for entry in names:
        if not isinstance(entry, str):
            raise error(f"{name}: expected names that are texts, got {shown(entry)}")
    return tuple(map(str, names))  # also texts of NumPy


def check_functions(**given: Any) -> None:
    """Refuse settings by name that are neither functions nor None."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise ParameterError(f"{name}: expected a function, got {shown(value)}")


def check_mapping(name: str, value: Any) -> Any:
    """Return a setting that is a mapping of names, or None, or refuse it by name."""
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise ParameterError(f"{name}: expected a mapping of names, got {shown(value)}")
    return value


def needed(module: str, extra: str) -> Any:
    """Import a module that not everybody installs, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"this needs {module.partition('.')[0]}, which is not installed: pip install 'costframe[{extra}]'"
        ) from error
