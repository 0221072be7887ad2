"""Choice of a few points of a path, with little loss at any budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.frontier.paths import PathPoint

__all__ = ["choose_points"]

_BUDGETS = 200  # budgets over which losses are summed, spaced by the logarithm of cost
_LEAST_SHARE = 0.01  # the smallest budget, as a share of the full cost, or the cheapest point above zero
_NOTHING = 1e-9  # least improvement of a further point, as a share of the spread of scores


def choose_points(
    front: Sequence[PathPoint], plain: PathPoint, count: int, *, full_cost: float, budget: float | None = None
) -> list[PathPoint]:
    """Choose at most `count` points: the model trained without prices, and points of a frontier by descending cost.

    It always chooses the best point, the cheapest within 1 % of it, the plain one and the cheapest one, in this order
    if `count` is small. It adds the others one by one: each time the point that most reduces the loss in score against
    the whole frontier, summed over budgets. It adds the best point within `budget` even beyond `count`.

    Parameters
    ----------
    front : sequence of PathPoint
        Non-dominated points by ascending cost.
    plain : PathPoint
        The model trained without prices, the first of the result.
    count : int
    full_cost : float
        Price of all features for one row.
    budget : float, optional
    """
    cost, score = (np.array([getattr(point, name) for point in front]) for name in ("cost", "score"))
    last = len(front) - 1
    good = int(np.argmax(score >= score[last] - 0.01 * abs(score[last])))
    own = next((place for place, point in enumerate(front) if same_point(point, plain)), -1)
    kept = list(dict.fromkeys([last, good, own, 0]))[:count]
    budgets = _budgets(cost, full_cost)
    kept += _choose_greedily(_affordable_gain(cost, score, budgets), kept, count - len(kept), np.ptp(score))
    affordable = np.flatnonzero(cost <= (-np.inf if budget is None else budget))
    if len(affordable):
        kept.append(int(affordable[-1]))
    rest = [front[place] for place in sorted(set(kept) - {-1, own}, reverse=True)]
    return [plain, *rest] if own in kept else rest


def same_point(a: PathPoint, b: PathPoint) -> bool:
    """Return whether two points of one path are the same model; `==` would fail on attributes that are arrays."""
    return a is b or all(getattr(a, name) == getattr(b, name) for name in ("tradeoff", "n_rounds", "cost", "score"))


def _budgets(cost: NDArray[np.float64], full_cost: float) -> NDArray[np.float64]:
    top = max(full_cost, float(cost[-1]))
    return np.geomspace(cost[cost > 0].min(initial=_LEAST_SHARE * top), top, _BUDGETS) if top > 0 else np.zeros(1)


def _affordable_gain(
    cost: NDArray[np.float64], score: NDArray[np.float64], budgets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each point's score above the cheapest one's if the budget allows it, else 0: float64 (points, budgets)."""
    return np.where(cost[:, np.newaxis] <= budgets, (score - score[0])[:, np.newaxis], 0.0)


def _choose_greedily(reached: NDArray[np.float64], kept: Sequence[int], count: int, spread: float) -> list[int]:
    """Return at most `count` further places, each with the largest addition to the gain of the kept ones."""
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
