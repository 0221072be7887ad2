"""Fits at tradeoffs that approach a budget, by bisection."""

from __future__ import annotations

import math
from collections.abc import Sequence

from costframe.study.fitted import Fitted
from costframe.study.progress import Progress
from costframe.study.trial import Trial, fit_at

EXTENSIONS, REFINEMENTS = 8, 5
CLOSE = 1.1  # tradeoffs within this factor give similar models
NEARLY_ALL = 0.95  # of a budget


def bisect_tradeoffs(trial: Trial, tried: Sequence[Fitted], budget: float, progress: Progress) -> list[Fitted]:
    """Fit at further tradeoffs, so that costs on valid approach a budget from below.

    It is a bisection on the logarithm of the tradeoff, between the largest that exceeds the budget and the smallest
    above it that does not; if all exceed the budget, it tries larger ones first.
    """
    fits: list[Fitted] = []

    def attempt(tradeoff: float) -> Fitted:
        fits.append(fit_at(trial, tradeoff, progress, len(fits), max(REFINEMENTS, len(fits) + 1)))
        return fits[-1]

    known = sorted(tried, key=lambda fitted: fitted.point.tradeoff)
    top = known[-1]
    while top.point.cost > budget and top.point.tradeoff > 0 and len(fits) < EXTENSIONS:
        top = attempt(4 * top.point.tradeoff)
    dear = [fitted.point.tradeoff for fitted in [*known, *fits] if fitted.point.cost > budget]
    if not dear or top.point.cost > budget:
        return fits
    low = max(dear)
    high = min(f.point.tradeoff for f in [*known, *fits] if f.point.tradeoff > low)
    for _ in range(REFINEMENTS):
        if high < CLOSE * low:
            break
        middle = attempt(math.sqrt(low * high) if low > 0 else high / 10)
        within = middle.point.cost <= budget
        if within and middle.point.cost >= NEARLY_ALL * budget:
            break
        low, high = (low, middle.point.tradeoff) if within else (middle.point.tradeoff, high)
    return fits
