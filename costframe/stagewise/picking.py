"""Settings picked by the results that they lead to on held-out rows."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from costframe.training.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["MOST_LEARNERS", "climb", "pick"]

MOST_LEARNERS = 1_000  # settings are picked on part of the rows and of the learners

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
    """Return the settings with the least total: the best of all combinations of starts, from which one number climbs.

    Parameters
    ----------
    settings : attrs class, hashable
    grid, starts : mapping of names to ascending numbers
        Values that may be set, and values to begin with.
    total : callable
        What is minimized; it is called once for each settings.
    turns : int
        How often each name has its turn.
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
        found: S = evolve(at, **changes)  # type: ignore[misc]
        return found

    if not grid:
        return settings
    tried = [changed(settings, dict(zip(grid, values, strict=True))) for values in product(*map(starts.get, grid))]  # type: ignore[arg-type]
    best = min(track(tried, label, verbose=verbose), key=known)
    for name in [*grid] * turns:
        at = best
        best = changed(at, {name: climb(grid[name], getattr(at, name), lambda v: known(changed(at, {name: v})))})  # noqa: B023
    return best


def climb(values: Sequence[float], start: float, total: Callable[[float], float]) -> float:
    """Return the value reached from a start by steps up, then down, ascending values while the total falls."""
    best, least = start, total(start)
    for way in ([v for v in values if v > start], [v for v in values[::-1] if v < start]):
        for value in way:
            if (now := total(value)) >= least:
                break
            best, least = value, now
    return best
