"""The axis of costs, which the picture and the slider share, and round numbers on an axis."""

from __future__ import annotations

import math
import sys
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CostScale", "round_steps", "round_up"]

LOG_SPAN = 100  # costs that span more than this factor have a logarithmic scale
_FREE = 0.06  # part of a logarithmic axis between 0 and the least cost
_STEPS = 200  # of the slider


@frozen
class CostScale:
    """Places of costs on an axis, 0 to 1: linear from 0 to `most`, or logarithmic from `least` > 0 on."""

    least: float
    most: float

    @classmethod
    def of(cls, costs: Iterable[float]) -> CostScale:
        """Return the scale that has all costs on it."""
        positive = [cost for cost in costs if cost > 0]
        low, most = min(positive, default=1.0), max(positive, default=1.0)
        return cls(low if most > LOG_SPAN * low else 0.0, most)

    def place(self, cost: float) -> float:
        """Return the place of a cost, 0 to 1."""
        if cost <= 0:
            return 0.0
        if not self.least:
            return min(cost / self.most, 1.0)
        low, high = math.log(self.least), math.log(self.most)  # their quotient may be too large for a float
        return min(max(_FREE + (1 - _FREE) * (math.log(cost) - low) / (high - low), 0.0), 1.0)

    def cost(self, place: float) -> float:
        """Return the cost at a place; below the least cost of a logarithmic scale, it grows evenly from 0."""
        if not self.least:
            return self.most * place
        if place < _FREE:
            return self.least * place / _FREE
        low, high = math.log(self.least), math.log(self.most)
        return min(math.exp(low + (high - low) * (place - _FREE) / (1 - _FREE)), self.most)

    def stops(self) -> list[float]:
        """Return the budgets of the slider, ascending, of three digits; the last one buys everything."""
        budgets = [float(f"{self.cost(i / _STEPS):.3g}") for i in range(_STEPS)]
        return [*budgets, round_up(self.most)]

    def ticks(self) -> list[float]:
        """Return round costs for the axis."""
        if not self.least:
            return round_steps(0.0, self.most)
        first, last = math.ceil(math.log10(self.least)), math.floor(math.log10(self.most))
        every = -(-(last - first + 1) // 5)
        return [0.0, *(10.0**power for power in range(first, last + 1, every))]


def round_up(value: float) -> float:
    """Return the least number of three digits that is not below a value."""
    return min(float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(value)), sys.float_info.max)


def round_steps(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most `most` round numbers from `low` to `high`, evenly spaced, in ascending order."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(times * power for times in (1, 2, 2.5, 5, 10, 20) if (high - low) / (times * power) <= most - 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * i:.12g}") for i in range(first, last + 1)]
