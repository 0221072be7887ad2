"""A frontier on a page: the choice for every budget, the picture whose points are picked, and the tables."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from attrs import frozen

from costframe.choices import Frontier, Point
from costframe.choices.figures import figures_of, name_worth
from costframe.choices.tables import columns_of, to_cells
from costframe.core.errors import printable
from costframe.report.frontier_display import FrontierDisplay
from costframe.report.page import Page
from costframe.report.page_pictures import paint_picture, read_picture

ANY_BUDGET = "Recommended at any budget"
COLUMNS = ("model", "score", "cost", "saves", "test score", "test cost", "features", "algorithm")
PICTURE = 5.6, 4.0  # inches


@frozen
class Choice:
    """The model that is chosen from a budget on, up to the next choice."""

    cost: float
    name: str
    budget: float  # a round one that buys it


@frozen(eq=False)
class FrontierView:
    """A frontier with the name of each point, and the choice for every budget.

    The choices ascend by cost; budgets below the first buy no model. `start` is the budget that the page opens with;
    None is one without a limit.
    """

    frontier: Frontier
    names: dict[Point, str]
    choices: tuple[Choice, ...]
    start: float | None = None

    def choice(self, budget: float) -> str | None:
        """Return the name of the model chosen within a budget, or None below the cheapest."""
        return next((choice.name for choice in reversed(self.choices) if choice.cost <= budget), None)

    def parts(self, page: Page) -> dict[str, Any]:
        """Return what the template of a frontier takes beside the page."""
        from markupsafe import Markup

        numbers = {card.name: number for number, card in enumerate(page.cards)}
        ordered = sorted(self.frontier.points, key=lambda point: (point.cost, -point.score))
        columns = columns_of(self.frontier, COLUMNS)
        cells = to_cells(self.frontier, ordered, columns)
        rows = [(numbers.get(self.names[p]), [self.names[p], *row[1:]]) for p, row in zip(ordered, cells, strict=True)]
        good, chosen = frozenset(self.frontier.non_dominated()), {choice.name for choice in self.choices}
        last = self.choices[-1]
        budget = last.budget if self.start is None else self.start
        return {
            "picture": Markup(_draw(self, numbers)),  # noqa: S704 - its texts are outlines, and its titles are escaped
            "choices": [(choice.cost, choice.budget, numbers[choice.name]) for choice in self.choices],
            "budget": repr(float(budget)).removesuffix(".0"),
            "chosen": self.choice(budget),
            "occasion": ANY_BUDGET if budget >= last.cost else f"Within {budget:.12g} {page.unit} per row",
            "any_budget": ANY_BUDGET,
            "columns": columns,
            "every": rows,
            "best": [row for p, row in zip(ordered, rows, strict=True) if p in good or self.names[p] in chosen],
        }


def _draw(view: FrontierView, numbers: dict[str, int]) -> str:
    """Return the picture of a frontier as SVG in the page's colors, whose points have words and a card to pick."""
    frontier = view.frontier
    label, worth = name_worth(frontier), "bill" if frontier.has_bills else "score"
    words = f"{label} against mean cost per row; the models are in the tables"
    root = read_picture(FrontierDisplay(frontier, mark=False).to_bytes("svg", PICTURE), words)
    for group in [group for group in root.iter("g") if str(group.get("id")).startswith("points-")]:
        places = map(int, str(group.get("id")).split("-")[1:])
        signs = [(holder, sign) for holder in group.iter("g") for sign in holder if sign.tag == "use"]
        for (holder, sign), point in zip(signs, map(frontier.points.__getitem__, places), strict=True):
            holder.remove(sign)
            name, spot = view.names[point], ET.SubElement(holder, "g", {"class": "spot"})
            if name in numbers:
                spot.set("data-card", str(numbers[name]))
            value, paid = figures_of(frontier, point, worth, "cost")
            words = f"{name}: {label} {value}, cost {paid}"
            ET.SubElement(spot, "title").text = printable(f"{words} {frontier.unit} per row")
            spot.append(sign)
            ring = {"class": "ring", "cx": str(sign.get("x")), "cy": str(sign.get("y")), "r": "9"}
            ET.SubElement(spot, "circle", ring)  # around the chosen point; of others only for a mouse
    return paint_picture(root)
