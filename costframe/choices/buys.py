"""What a larger budget would buy."""

from __future__ import annotations

from attrs import frozen

from costframe.choices.choices import Choices
from costframe.choices.intervals import Difference
from costframe.choices.sentences import name_of, round_to_error
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
    dearer = [each for each in frontier.non_dominated() if each.cost > point.cost]
    above = [each for each in dearer if frontier.worth(each) > frontier.worth(point)]
    found: list[Buy] = []

    def buy_of(each: Point) -> Buy:
        more, gain = each.cost - point.cost, frontier.gain(each, point)
        return Buy(each, more, gain, describe_buy(frontier, more, gain, each))

    before = point
    for each in above:
        step = frontier.gain(each, before)
        buy = buy_of(each)
        if step.value > step.error and buy.is_certain:
            found.append(buy)
            before = each
        if len(found) == count:
            break
    if not found and above:
        best = max(above, key=frontier.worth)
        found = [buy_of(best)]
    return tuple(found)


def describe_buy(frontier: Choices, more: float, gain: Difference, point: Point) -> str:
    """Return a sentence about the gain in score of a point that costs more."""
    value, error = (round_to_error(number, gain.error) for number in (gain.value, gain.error))
    end = "" if gain.value > gain.error else ", which may be chance"
    raised = "lower the bill" if frontier.has_bills else f"raise {frontier.score_name}"
    end = f"would {raised} by {value} \u00b1 {error} ({name_of(frontier, point)}){end}."
    dearer = f"{more:.3g}" if more < 1000 else f"{more:,.0f}"
    return f"{dearer} {printable(frontier.unit)} more per row {end}"
