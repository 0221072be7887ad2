"""The points to keep of a path: those that lose least against all of it, at any budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costframe.core.arrays import F8
from costframe.study.objective import SCORE, Objective
from costframe.training.path_point import PathPoint

_BUDGETS = 200  # budgets over which losses are summed, spaced by the logarithm of cost
_LEAST_SHARE = 0.01  # the smallest budget, as a share of the full cost, or the cheapest point above zero
_NOTHING = 1e-9  # least improvement of a further point, as a share of the spread of scores


def choose_points(
    front: Sequence[PathPoint],
    plain: PathPoint,
    count: int,
    *,
    full_cost: float,
    budget: float | None = None,
    objective: Objective = SCORE,
) -> list[PathPoint]:
    """Choose at most `count` points: the model trained without prices, and points of a frontier by descending cost.

    It always chooses the best point, the cheapest within 1 % of it, the plain one and the cheapest one, in this order
    if `count` is small. It adds the others one by one: each time the point that most reduces the loss in score against
    the whole frontier, summed over budgets up to `full_cost`, the price of all features. It adds the best point within
    a `budget`, even beyond `count`, and those of the `objective`. `front` has the non-dominated points by ascending
    cost; `plain` comes first in the result.
    """
    cost, score = (np.array([getattr(point, name) for point in front]) for name in ("cost", "score"))
    last = len(front) - 1
    good = int(np.argmax(score >= score[last] - 0.01 * abs(score[last])))
    of_plain = next((place for place, point in enumerate(front) if same_point(point, plain)), -1)
    chosen = list(dict.fromkeys([last, good, of_plain, 0]))[:count]
    chosen += choose_places(cost, score, chosen, count - len(chosen), full_cost)
    if budget is not None and cost[0] <= budget:
        chosen.append(int(np.searchsorted(cost, budget, "right")) - 1)
    chosen += objective.best_places(cost, score, np.inf if budget is None else budget)
    rest = [front[place] for place in sorted(set(chosen) - {-1, of_plain}, reverse=True)]
    return [plain, *rest] if of_plain in chosen else rest


def choose_places(cost: F8, score: F8, chosen: Sequence[int], count: int, full_cost: float) -> list[int]:
    """Return at most `count` further places of non-dominated points by ascending cost; places below 0 are none.

    Each most reduces the loss in score against all points, summed over budgets up to `full_cost`.
    """
    return _choose_greedily(
        _affordable_gain(cost, score, _budgets(cost, full_cost)), chosen, count, float(np.ptp(score))
    )


def same_point(a: PathPoint, b: PathPoint) -> bool:
    """Return whether two points of one path are the same model; `==` would fail on attributes that are arrays."""
    return a is b or all(getattr(a, name) == getattr(b, name) for name in ("tradeoff", "n_rounds", "cost", "score"))


def _budgets(cost: F8, full_cost: float) -> F8:
    top = max(full_cost, float(cost[-1]))
    return np.geomspace(cost[cost > 0].min(initial=_LEAST_SHARE * top), top, _BUDGETS) if top > 0 else np.zeros(1)


def _affordable_gain(cost: F8, score: F8, budgets: F8) -> F8:
    """Return each point's score above the cheapest one's if the budget allows it, else 0: float64 (points, budgets)."""
    return np.where(cost[:, np.newaxis] <= budgets, (score - score[0])[:, np.newaxis], 0.0)


def _choose_greedily(reached: F8, chosen: Sequence[int], count: int, spread: float) -> list[int]:
    """Return at most `count` further places, each with the largest addition to the gain of the chosen ones."""
    added: list[int] = []
    now = reached[[place for place in chosen if place >= 0]].max(axis=0, initial=0.0)
    while len(added) < count:
        gained = np.maximum(reached - now, 0.0).sum(axis=1)
        best = int(np.argmax(gained))
        if gained[best] <= _NOTHING * spread:
            break
        added.append(best)
        now = np.maximum(now, reached[best])
    return added
