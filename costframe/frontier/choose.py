"""Few points of many: those that lose least, whatever the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.frontier.paths import PathPoint

__all__ = ["choose"]

_BUDGETS = 200  # at which what is lost is added up, spaced by the logarithm of cost
_LEAST_SHARE = 0.01  # of the full cost; budgets begin here, or at the cheapest point that costs anything
_NOTHING = 1e-9  # of the spread of scores; less is not worth a point


def choose(
    front: Sequence[PathPoint], plain: PathPoint, count: int, *, full_cost: float, budget: float | None = None
) -> list[PathPoint]:
    """Choose at most `count` points: the model that knows no prices, and a frontier's by descending cost.

    The best, the cheapest within 1 % of it, the plain one and the cheapest are always among them, in this order if
    there is no place for all. The others are added one by one, each time the one that most reduces what is lost in
    score against the whole frontier at the same budget, added up over budgets. The best within `budget` comes in any
    case, if need be beyond `count`.

    Parameters
    ----------
    front : sequence of PathPoint
        Not dominated, by ascending cost.
    plain : PathPoint
        Comes first, be it dominated or not.
    count : int
    full_cost : float
        What a row pays for all features.
    budget : float, optional
    """
    cost, score = (np.array([getattr(point, name) for point in front]) for name in ("cost", "score"))
    last = len(front) - 1
    good = int(np.argmax(score >= score[last] - 0.01 * abs(score[last])))
    own = next((place for place, point in enumerate(front) if same_point(point, plain)), -1)
    kept = list(dict.fromkeys([last, good, own, 0]))[:count]
    budgets = _budgets(cost, full_cost)
    kept += _greedily(_reached(cost, score, budgets), kept, count - len(kept), np.ptp(score))
    affordable = np.flatnonzero(cost <= (-np.inf if budget is None else budget))
    if len(affordable):
        kept.append(int(affordable[-1]))
    rest = [front[place] for place in sorted(set(kept) - {-1, own}, reverse=True)]
    return [plain, *rest] if own in kept else rest


def same_point(a: PathPoint, b: PathPoint) -> bool:
    """Say whether two points of one path are the same model; other attributes may be arrays, without one truth."""
    return a is b or all(getattr(a, name) == getattr(b, name) for name in ("tradeoff", "n_rounds", "cost", "score"))


def _budgets(cost: NDArray[np.float64], full_cost: float) -> NDArray[np.float64]:
    top = max(full_cost, float(cost[-1]))
    return np.geomspace(cost[cost > 0].min(initial=_LEAST_SHARE * top), top, _BUDGETS) if top > 0 else np.zeros(1)


def _reached(
    cost: NDArray[np.float64], score: NDArray[np.float64], budgets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """float64 (points, budgets): the score of each point above the cheapest's where it is affordable, else 0."""
    return np.where(cost[:, np.newaxis] <= budgets, (score - score[0])[:, np.newaxis], 0.0)


def _greedily(reached: NDArray[np.float64], kept: Sequence[int], count: int, spread: float) -> list[int]:
    """Return up to `count` further places, each that which adds most to what the kept ones reach."""
    added: list[int] = []
    now = reached[[place for place in kept if place >= 0]].max(axis=0, initial=0.0)
    while len(added) < count:
        gained = np.maximum(reached - now, 0.0).sum(axis=1)
        best = int(np.argmax(gained))
        if gained[best] <= _NOTHING * spread:
            break
        added.append(best)
        now = np.maximum(now, reached[best])
    return added
