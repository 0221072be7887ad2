"""What a higher cost would buy: the next points up the frontier, with the gains in score and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe.core.errors import brief
from costframe.frontier.words import describe_buy

if TYPE_CHECKING:
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.intervals import Difference
    from costframe.frontier.points import Point

__all__ = ["Buy", "next_buys"]


@frozen(repr=False)
class Buy:
    """A better model at a higher cost; its text is a sentence.

    Attributes
    ----------
    point : Point
    cost : float
        By how much it costs more per row, in the cost model's unit.
    gain : Difference
        Of its score to the other model's.
    text : str
    """

    point: Point
    cost: float
    gain: Difference
    text: str

    def __repr__(self) -> str:
        return brief(self, self.text.removesuffix("."))

    def __str__(self) -> str:
        return self.text

    @property
    def is_certain(self) -> bool:
        """Whether the gain is above its standard error."""
        return self.gain.value > self.gain.error


def next_buys(frontier: Frontier, point: Point, count: int = 2) -> tuple[Buy, ...]:
    """Return at most `count` points up the frontier, each the cheapest with a certain gain over the one before.

    All gains and costs are against `point`. If no gain is certain, it returns the point with the best score alone, and
    nothing if no point has a better score.
    """
    above = [each for each in frontier.non_dominated() if each.cost > point.cost and each.score > point.score]
    found: list[Buy] = []

    def buy_of(each: Point) -> Buy:
        more, gain = each.cost - point.cost, frontier.difference(each, point)
        return Buy(each, more, gain, describe_buy(frontier, more, gain, each))

    before = point
    for each in above:
        step = frontier.difference(each, before)
        buy = buy_of(each)
        if step.value > step.error and buy.is_certain:
            found.append(buy)
            before = each
        if len(found) == count:
            break
    if not found and above:
        best = max(above, key=lambda each: each.score)
        found = [buy_of(best)]
    return tuple(found)
