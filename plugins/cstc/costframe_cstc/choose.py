"""Settings chosen on validation rows by what the initialization makes of them, on some of the rows and learners."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import evolve

from costframe.core.progress import track
from costframe_cstc.answers import Fitter
from costframe_cstc.grow import grow
from costframe_cstc.prune import prune

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from costframe_cstc.judge import Judge
    from costframe_cstc.settings import TreeSettings

__all__ = ["CHOICES", "MOST_LEARNERS", "MOST_ROWS", "choose"]

CHOICES: dict[str, tuple[float, ...]] = {
    "inflation": (0.3, 1.0, 3.0, 10.0, 30.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
}
FIRST = {"inflation": (1.0, 10.0), "ridge": (1e-3, 0.1, 10.0)}
MOST_ROWS = 8_000
MOST_LEARNERS = 1_000

_TURNS = 2


def choose(settings: TreeSettings, free: Collection[str], train: Judge, judge: Judge) -> TreeSettings:
    """Take the best of a few, and climb from one value to the next as long as loss + lambda * cost on other rows falls.

    What is not free, or is an inflation of a single level, stays.
    """
    free = [name for name in CHOICES if name in free and (name != "inflation" or settings.depth > 1)]
    seen: dict[TreeSettings, float] = {}

    def total(at: TreeSettings) -> float:
        if at not in seen:
            fitter = Fitter(train, at.ridge)
            grown = grow(fitter, at.depth, at.inflation)
            seen[at] = judge.measure(prune(judge, grown.tree, grown.answers)).total
        return seen[at]

    tried: list[TreeSettings] = []
    for values in product(*(FIRST[name] for name in free)):
        first: dict[str, Any] = dict(zip(free, values, strict=True))
        tried.append(evolve(settings, **first))
    best = settings
    if free:
        best = min(track(tried, "CSTC: settings", verbose=settings.verbose), key=total)
    for name in free * _TURNS:
        for values in _ways(CHOICES[name], getattr(best, name)):
            for value in values:
                change: dict[str, Any] = {name: value}
                trial = evolve(best, **change)
                if total(trial) >= total(best):
                    break
                best = trial
    return best


def _ways(values: tuple[float, ...], now: float) -> Iterator[tuple[float, ...]]:
    """Yield the values above, from the least on, and those below, from the greatest on."""
    yield tuple(value for value in values if value > now)
    yield tuple(value for value in reversed(values) if value < now)
