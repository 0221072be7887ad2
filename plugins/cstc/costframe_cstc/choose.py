"""Settings chosen on validation rows by what the initialization makes of them, on some of the rows and learners."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import Factory, evolve, frozen

from costframe.training.progress import track
from costframe_cstc.answers import Fitter
from costframe_cstc.divide import divide
from costframe_cstc.grow import grow
from costframe_cstc.prune import prune
from costframe_cstc.refit import refit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from costframe_cstc.judge import Judge
    from costframe_cstc.settings import TreeSettings

__all__ = ["CHOICES", "MOST_LEARNERS", "MOST_ROWS", "choose", "ways"]

CHOICES: dict[str, tuple[float, ...]] = {
    "inflation": (0.3, 1.0, 3.0, 10.0, 30.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
}
FIRST = {"inflation": (1.0, 10.0), "ridge": (1e-3, 0.1, 10.0)}
MOST_ROWS = 8_000
MOST_LEARNERS = 1_000

_TURNS = 2
_FEW = 50  # outputs


def choose(
    settings: TreeSettings, free: Collection[str], train: Judge, judge: Judge, *, dividing: bool
) -> TreeSettings:
    """Take the best of a few, and climb from one value to the next while loss + lambda * cost falls on other rows.

    What is not free, or is an inflation of a single level, stays. With `dividing`, last nodes of trees over few outputs
    are divided as they will be later, which takes little time there.
    """
    free = [name for name in CHOICES if name in free and (name != "inflation" or settings.depth > 1)]
    if not free:
        return settings
    total = _Totals(train, judge, dividing and train.rows.outputs.shape[1] <= _FEW)
    tried: list[TreeSettings] = []
    for values in product(*(FIRST[name] for name in free)):
        first: dict[str, Any] = dict(zip(free, values, strict=True))
        tried.append(evolve(settings, **first))
    best = min(track(tried, "CSTC: settings", verbose=settings.verbose), key=total)
    for name in free * _TURNS:
        for values in ways(CHOICES[name], getattr(best, name)):
            for value in values:
                change: dict[str, Any] = {name: value}
                trial = evolve(best, **change)
                if total(trial) >= total(best):
                    break
                best = trial
    return best


@frozen(eq=False)
class _Totals:
    """What settings lead to."""

    train: Judge
    judge: Judge
    dividing: bool
    seen: dict[TreeSettings, float] = Factory(dict)

    def __call__(self, at: TreeSettings) -> float:
        """Return loss + lambda * cost of the tree that is grown, and pruned, with settings."""
        if at not in self.seen:
            fitter = Fitter(self.train, at.ridge)
            grown = grow(fitter, at.depth, at.inflation)
            tree, answers = grown.tree, grown.answers
            if self.dividing:
                tree, answers = refit(fitter, divide(fitter, tree, at.depth, self.judge))
            self.seen[at] = self.judge.measure(prune(self.judge, tree, answers)).total
        return self.seen[at]


def ways(values: tuple[float, ...], now: float) -> Iterator[tuple[float, ...]]:
    """Yield the values above, from the least on, and those below, from the greatest on."""
    yield tuple(value for value in values if value > now)
    yield tuple(value for value in reversed(values) if value < now)
