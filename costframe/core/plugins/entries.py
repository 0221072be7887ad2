"""Checks of what plugins bring, and words for their faults."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any

from costframe.core.errors import shown
from costframe.hooks import Algorithm

TASKS = {"classification": "classifier", "regression": "regressor", "ranking": "ranker"}
NEEDED = ("fit", "predict", "get_params", "set_params")  # what every estimator class has


def check_algorithms(result: Iterable[Algorithm]) -> dict[str, Algorithm]:
    """Return a plugin's algorithms by name; a TypeError refuses what is no algorithm, or a name that stands twice."""
    entries: dict[str, Algorithm] = {}
    for algorithm in result:
        if not isinstance(algorithm, Algorithm):
            raise TypeError(f"expected Algorithm objects, got {type(algorithm).__name__}")
        if not isinstance(algorithm.name, str) or not algorithm.name or algorithm.name in entries:
            raise TypeError(f"expected algorithms with distinct names, got {shown(algorithm.name)}")
        _check_kinds(algorithm)
        entries[algorithm.name] = algorithm
    return entries


def _check_kinds(algorithm: Algorithm) -> None:
    if not algorithm.given:
        raise TypeError(f"algorithm {algorithm.name!r}: expected at least one of {', '.join(TASKS.values())}")
    for role, kind in algorithm.given.items():
        if not isinstance(kind, str):
            check_kind(algorithm.name, role, kind)


def check_kind(name: str, role: str, kind: Any) -> Any:
    """Return an estimator class; a TypeError refuses anything else, and a class that lacks methods."""
    if not isinstance(kind, type):
        raise TypeError(f"algorithm {name!r}: expected an estimator class as {role}, got {shown(kind)}")
    if lacking := [part for part in NEEDED if not callable(getattr(kind, part, None))]:
        raise TypeError(f"algorithm {name!r}: {role} {kind.__name__} lacks {', '.join(lacking)}")
    return kind


def check_named_functions(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plugin's functions by name; a TypeError refuses anything that cannot be called."""
    entries = dict(result)
    for name, function in entries.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"expected names, got {shown(name)}")
        if not (callable(function) or (isinstance(function, str) and ":" in function)):
            raise TypeError(f"{name!r}: expected a callable, got {type(function).__name__}")
    return entries


def class_name(kind: type | str) -> str:
    """Return the name of an estimator class, or of one that is not loaded yet."""
    return kind.rpartition(":")[2] if isinstance(kind, str) else kind.__name__


def plugin_title(point: EntryPoint) -> str:
    """Return a plugin as `name (distribution version)`."""
    distribution = f"{point.dist.name} {point.dist.version}" if point.dist else "no distribution"
    return f"{point.name} ({distribution})"


def one_line(error: BaseException) -> str:
    """Return the type and text of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def suggest(name: object, known: Iterable[str]) -> str:
    """Return a hint at the nearest known name, or an empty text."""
    near = difflib.get_close_matches(str(name), known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
