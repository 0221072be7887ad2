"""What a larger budget would buy."""

from __future__ import annotations

from attrs import frozen

from costframe.choices.choices import Choices
from costframe.choices.intervals import Difference
from costframe.choices.phrases import name_of, round_to_error
from costframe.choices.sentences import wording_of
from costframe.core.errors import brief, printable
from costframe.study.points import Point


@frozen(repr=False)
class Buy:
    """A better model at a higher cost; its text is a sentence."""

    point: Point
    cost: float  # by how much it costs more per row, in the cost model's unit
    gain: Difference  # of its score to the other model's
    text: str

    def __repr__(self) -> str:
        return brief(self, self.text.removesuffix("."))

    def __str__(self) -> str:
        return self.text

    @property
    def is_certain(self) -> bool:
        """Whether the gain is above its standard error."""
        return self.gain.value > self.gain.error


def next_buys(frontier: Choices, point: Point, count: int = 2) -> tuple[Buy, ...]:
    """Return at most `count` points up the frontier, each the cheapest with a certain gain over the one before.

    All gains and costs are against `point`. If no gain is certain, it returns the point with the best score alone, and
    nothing if no point has a better score.
    """
    above = [dearer for dearer in frontier.non_dominated() if dearer.cost > point.cost]
    better = [dearer for dearer in above if frontier.worth(dearer) > frontier.worth(point)]
    buys: list[Buy] = []

    def buy_of(dearer: Point) -> Buy:
        more, gain = dearer.cost - point.cost, frontier.gain(dearer, point)
        return Buy(dearer, more, gain, describe_buy(frontier, more, gain, dearer))

    before = point
    for dearer in better:
        step = frontier.gain(dearer, before)
        buy = buy_of(dearer)
        if step.value > step.error and buy.is_certain:
            buys.append(buy)
            before = dearer
        if len(buys) == count:
            break
    if not buys and better:
        best = max(better, key=frontier.worth)
        buys = [buy_of(best)]
    return tuple(buys)


def describe_buy(frontier: Choices, more: float, gain: Difference, point: Point) -> str:
    """Return a sentence about the gain in score of a point that costs more."""
    value, error = (round_to_error(number, gain.error) for number in (gain.value, gain.error))
    end = "" if gain.value > gain.error else ", which may be chance"
    end = f"would {wording_of(frontier).improvement()} by {value} \u00b1 {error} ({name_of(frontier, point)}){end}."
    dearer = f"{more:.3g}" if more < 1000 else f"{more:,.0f}"
    return f"{dearer} {printable(frontier.unit)} more per row {end}"
