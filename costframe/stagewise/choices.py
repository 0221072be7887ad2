"""The choice of settings by totals on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from attrs import evolve

from costframe.training.progress import track

S = TypeVar("S")


def pick(
    settings: S,
    grid: Mapping[str, Sequence[float]],
    starts: Mapping[str, Sequence[float]],
    total: Callable[[S], float],
    turns: int,
    label: str,
    verbose: int,
) -> S:
    """Minimize a total over settings: begin with the best combination of starts, then climb one setting at a time.

    Parameters
    ----------
    settings : attrs class, hashable
    grid, starts : mapping of names to ascending numbers
        Allowed values of each setting, and values to begin with.
    total : callable
        Returns the number to minimize; called once for each settings.
    turns : int
        Climbs of each setting.
    label, verbose
        Of the progress bar.
    """
    seen: dict[S, float] = {}

    def known(at: S) -> float:
        if at not in seen:
            seen[at] = total(at)
        return seen[at]

    def changed(at: S, values: Mapping[str, float]) -> S:
        changes: dict[str, Any] = dict(values)
        moved: S = evolve(at, **changes)  # type: ignore[misc]
        return moved

    if not grid:
        return settings
    tried = [changed(settings, dict(zip(grid, values, strict=True))) for values in product(*map(starts.get, grid))]  # type: ignore[arg-type]
    best = min(track(tried, label, verbose=verbose), key=known)
    for name in [*grid] * turns:
        at = best
        best = changed(at, {name: climb(grid[name], getattr(at, name), lambda v: known(changed(at, {name: v})))})  # noqa: B023
    return best


def climb(values: Sequence[float], start: float, total: Callable[[float], float]) -> float:
    """Step from a start up, then down, through ascending values while the total falls; return the last value."""
    best, least = start, total(start)
    for way in ([v for v in values if v > start], [v for v in values[::-1] if v < start]):
        for value in way:
            if (now := total(value)) >= least:
                break
            best, least = value, now
    return best
