"""Settings chosen on validation rows by what the initialization makes of them, on some of the rows and learners."""

from __future__ import annotations

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
MOST_ROWS = 8_000
MOST_LEARNERS = 1_000

_TURNS = 2


def choose(settings: TreeSettings, free: Collection[str], train: Judge, judge: Judge) -> TreeSettings:
    """Climb from one value of what is free to the next as long as loss + lambda * cost on other rows falls."""
    seen: dict[tuple[float, float], float] = {}

    def total(at: TreeSettings) -> float:
        key = at.inflation, at.ridge
        if key not in seen:
            fitter = Fitter(train, at.ridge)
            grown = grow(fitter, at.depth, at.inflation)
            seen[key] = judge.measure(prune(judge, grown.tree, grown.answers)).total
        return seen[key]

    names = [name for name in CHOICES if name in free and (name != "inflation" or settings.depth > 1)]
    for name in track(names * _TURNS, "CSTC: settings", verbose=settings.verbose) if names else ():
        for values in _ways(CHOICES[name], getattr(settings, name)):
            for value in values:
                change: dict[str, Any] = {name: value}
                trial = evolve(settings, **change)
                if total(trial) >= total(settings):
                    break
                settings = trial
    return settings


def _ways(values: tuple[float, ...], now: float) -> Iterator[tuple[float, ...]]:
    """Yield the values above, from the least on, and those below, from the greatest on."""
    yield tuple(value for value in values if value > now)
    yield tuple(value for value in reversed(values) if value < now)
