"""Ladders of plans: which of a few plans has the least estimated loss + tradeoff * cost, at any tradeoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.stages.stops import Rung

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe_planner.path import PlanPoint

__all__ = ["ladder_around"]


def ladder_around(point: PlanPoint, tradeoff: float, others: Sequence[PlanPoint]) -> list[Rung]:
    """Return rungs of ascending tradeoffs and falling cost: `point` at `tradeoff`, price-free `others` far from it.

    At the least tradeoff from which point a is better than b, the dearer one, their objectives are equal:
    (loss_a - loss_b) / (cost_b - cost_a).
    """
    single = point.stop >= 0
    rungs = [Rung(0.0, tradeoff if single else point.tradeoff, planned=single or point.induced)]
    here, most = point, tradeoff
    while dearer := [each for each in others if each.objective_cost > here.objective_cost]:  # at smaller tradeoffs
        before = max(dearer, key=lambda each: (_crossing(here, each), each.objective_cost))
        least = min(_crossing(here, before), most)
        if not least > 0:
            break
        most = float(np.nextafter(least, 0.0))
        rungs[0] = Rung(least, rungs[0].tradeoff, rungs[0].planned)
        rungs.insert(0, Rung(0.0, before.tradeoff))
        here = before
    here, least = point, tradeoff
    while cheaper := [each for each in others if each.objective_cost < here.objective_cost]:  # at larger ones
        after = min(cheaper, key=lambda each: (_crossing(each, here), each.objective_cost))
        least = max(_crossing(after, here), np.nextafter(least, np.inf))
        rungs.append(Rung(float(least), after.tradeoff))
        here = after
    return rungs


def _crossing(here: PlanPoint, before: PlanPoint) -> float:
    """Return the tradeoff from which `here`, the cheaper one, is at least as good as `before`."""
    return (here.loss - before.loss) / (before.objective_cost - here.objective_cost)
