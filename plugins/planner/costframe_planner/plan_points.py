"""Points of a planner's path: a single set or a plan, and the rungs from one plan to others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import field, frozen

from costframe.plugin import PathPoint, Rung


@frozen
class PlanKey:
    """The key of a point: a set that answers all rows, or a plan."""

    stop: int = -1  # set that answers all rows, a stop or a further one, or -1 for a plan
    induced: bool = False  # whether backward induction made its plan, for its own prices and tradeoff
    asked: float = field(default=np.nan, repr=False)  # tradeoff of the plan out of fold


def new_point(tradeoff: float, stop: int = -1, *, induced: bool = False) -> PathPoint:
    """Return a point that is not measured yet."""
    return PathPoint(0, tradeoff, np.nan, np.nan, np.nan, key=PlanKey(stop, induced))


def ladder_around(point: PathPoint, tradeoff: float, others: Sequence[PathPoint]) -> list[Rung]:
    """Return rungs of ascending tradeoffs and falling cost: `point` at `tradeoff`, price-free `others` far from it.

    At the least tradeoff from which point a is better than b, the dearer one, their objectives are equal:
    (loss_a - loss_b) / (cost_b - cost_a).
    """
    single = point.key.stop >= 0
    rungs = [Rung(0.0, tradeoff if single else point.tradeoff, planned=single or point.key.induced)]
    current, most = point, tradeoff
    while dearer := [
        other for other in others if other.objective_cost > current.objective_cost
    ]:  # at smaller tradeoffs
        before = max(dearer, key=lambda other: (_crossing(current, other), other.objective_cost))
        least = min(_crossing(current, before), most)
        if not least > 0:
            break
        most = float(np.nextafter(least, 0.0))
        rungs[0] = Rung(least, rungs[0].tradeoff, rungs[0].planned)
        rungs.insert(0, Rung(0.0, before.tradeoff))
        current = before
    current, least = point, tradeoff
    while cheaper := [other for other in others if other.objective_cost < current.objective_cost]:  # at larger ones
        after = min(cheaper, key=lambda other: (_crossing(other, current), other.objective_cost))
        least = max(_crossing(after, current), np.nextafter(least, np.inf))
        rungs.append(Rung(float(least), after.tradeoff))
        current = after
    return rungs


def _crossing(point: PathPoint, before: PathPoint) -> float:
    """Return the tradeoff from which `point`, the cheaper one, is at least as good as `before`."""
    return (point.loss - before.loss) / (before.objective_cost - point.objective_cost)
