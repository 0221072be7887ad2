"""Further fits with a cost close to a budget."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from costframe.frontier.trial import fit_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.frontier.trial import Fitted, Progress, Trial

__all__ = ["REFINEMENTS", "fill", "refine"]

EXTENSIONS, REFINEMENTS = 8, 5
CLOSE, APART = 1.1, 1.3  # tradeoffs within this factor give similar models


def fill(trial: Trial, found: Sequence[Fitted], points: int, progress: Progress) -> list[Fitted]:
    """Fit until there are `points`, each time between the neighboring tradeoffs whose costs on valid differ most."""
    every = sorted(found, key=lambda fitted: fitted.point.tradeoff)
    while len(every) < points:
        gaps = [
            (abs(a.point.cost - b.point.cost), place)
            for place, (a, b) in enumerate(itertools.pairwise(every))
            if b.point.tradeoff > APART * a.point.tradeoff > 0
        ]
        if not gaps:
            break
        place = max(gaps)[1]
        middle = math.sqrt(every[place].point.tradeoff * every[place + 1].point.tradeoff)
        every.insert(place + 1, fit_at(trial, middle, progress, len(every), points))
    return every


def refine(trial: Trial, tried: Sequence[Fitted], budget: float, progress: Progress) -> list[Fitted]:
    """Fit at further tradeoffs, so that costs on valid approach a budget from below.

    It is a bisection on the logarithm of the tradeoff, between the largest that exceeds the budget and the smallest
    above it that does not; if all exceed the budget, it tries larger ones first.
    """
    found: list[Fitted] = []

    def attempt(tradeoff: float) -> Fitted:
        found.append(fit_at(trial, tradeoff, progress, len(found), max(REFINEMENTS, len(found) + 1)))
        return found[-1]

    known = sorted(tried, key=lambda fitted: fitted.point.tradeoff)
    top = known[-1]
    while top.point.cost > budget and top.point.tradeoff > 0 and len(found) < EXTENSIONS:
        top = attempt(4 * top.point.tradeoff)
    dear = [fitted.point.tradeoff for fitted in [*known, *found] if fitted.point.cost > budget]
    if not dear or top.point.cost > budget:
        return found
    low = max(dear)
    high = min(f.point.tradeoff for f in [*known, *found] if f.point.tradeoff > low)
    for _ in range(REFINEMENTS):
        if high < CLOSE * low:
            break
        middle = attempt(math.sqrt(low * high) if low > 0 else high / 10)
        if 0.95 * budget <= middle.point.cost <= budget:
            break
        low, high = (middle.point.tradeoff, high) if middle.point.cost > budget else (low, middle.point.tradeoff)
    return found
