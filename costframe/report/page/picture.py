"""The picture of a frontier as SVG: its points can be hovered over, focused and chosen."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from attrs import frozen

from costframe.core.amounts import cost
from costframe.core.errors import format_count
from costframe.report.page.elements import element
from costframe.report.page.scale import CostScale, round_steps
from costframe.training.model_path import keep_non_dominated

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

    from costframe.report.page.content import FrontierView, Spot

__all__ = ["Picture"]

# Shapes around (0, 0), beside the colors: some readers see no colors.
SHAPES = (
    "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z",  # circle
    "M-5.5-5.5h11v11h-11z",  # square
    "M0-7.5l7 7.5l-7 7.5l-7-7.5z",  # diamond
    "M0-7l7 12.5h-14z",  # triangle up
    "M0 7l7-12.5h-14z",  # triangle down
    "M-2.3-7h4.6v4.7h4.7v4.6h-4.7v4.7h-4.6v-4.7h-4.7v-4.6h4.7z",  # plus
)
MARGIN = 0.08  # of the height, above and below the points


@frozen(eq=False)
class Picture:
    """A picture of score against cost; all places are in percent, so that it has any width."""

    view: FrontierView
    scale: CostScale
    cards: dict[str, int]  # number of each model's card

    @cached_property
    def algorithms(self) -> list[str]:
        """The algorithms, in the order of their colors."""
        return list(dict.fromkeys(spot.algorithm for spot in self.view.spots))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest score of the picture: a constant's is left out, as it would squeeze all others."""
        spots = self.view.spots
        good = [spot for spot in spots if spot.non_dominated and spot.n_features] or list(spots)
        low, high = min(spot.score - spot.error for spot in good), max(spot.score + spot.error for spot in good)
        room = max(MARGIN * (high - low), 1e-3 * abs(high)) or 1.0
        return low - room, high + room

    def draw(self) -> ET.Element:
        """Return the figure, with its legend."""
        shown = [spot for spot in self.view.spots if spot.score >= self.ends[0]]
        order = sorted(shown, key=lambda spot: (spot.non_dominated, spot.cost))
        plot = element(
            "svg",
            *self._grid(),
            element("line", id="limit", y1="0%", y2="100%"),
            *self._steps(),
            *(self._spot(spot) for spot in order),
            role="group",
            aria_label=f"{self.view.score_label} against cost per row, {len(shown)} models",
        )
        below = len(self.view.spots) - len(shown)
        note = f"{format_count(below, 'model')} of lower scores: in the table only" if below else None
        tip = element("p", id="tip", aria_hidden="true", hidden=True)
        caption = element("figcaption", self._legend(), None if note is None else element("p", note, class_="faint"))
        return element("figure", element("div", plot, tip, class_="plot"), caption)

    def _x(self, value: float) -> str:
        return f"{100 * self.scale.place(value):.2f}%"

    def _y(self, score: float) -> str:
        low, high = self.ends
        return f"{100 * (high - score) / (high - low):.2f}%"

    def _grid(self) -> list[ET.Element]:
        """Return lines and numbers of both axes, their names, and the cost of all features."""
        drawn = []
        for score in round_steps(*self.ends):
            drawn.append(element("line", x1="0%", x2="100%", y1=self._y(score), y2=self._y(score), class_="grid"))
            drawn.append(element("text", f"{score:.10g}", x=-8, y=self._y(score), dy="0.32em", text_anchor="end"))
        for value in self.scale.ticks():
            drawn.append(element("line", x1=self._x(value), x2=self._x(value), y1="0%", y2="100%", class_="grid"))
            drawn.append(element("text", f"{value:g}", x=self._x(value), y="100%", dy="1.5em", text_anchor="middle"))
        drawn.append(element("text", self.view.score_label, x=-46, y=-12, class_="axis"))
        unit = f"mean cost per row ({self.view.unit})"
        drawn.append(element("text", unit, x="100%", y="100%", dy="3em", text_anchor="end", class_="axis"))
        if self.view.full_cost > 0:
            x = self._x(self.view.full_cost)
            drawn.append(element("line", x1=x, x2=x, y1="0%", y2="100%", class_="full"))
            text = f"all features: {cost(self.view.full_cost)}"
            left = self.scale.place(self.view.full_cost) > 0.5
            dx, anchor = (-6, "end") if left else (6, "start")
            drawn.append(element("text", text, x=x, y="100%", dx=dx, dy="-0.6em", text_anchor=anchor))
        return drawn

    def _steps(self) -> list[ET.Element]:
        """Return the line in steps that joins the non-dominated points, each higher than the one before."""
        shown = [spot for spot in self.view.spots if spot.non_dominated and spot.score >= self.ends[0]]
        joined = keep_non_dominated(shown, lambda spot: (spot.cost, spot.score))
        lines = []
        for spot, after in zip(joined, [*joined[1:], None], strict=True):
            right = "100%" if after is None else self._x(after.cost)
            y = self._y(spot.score)
            lines.append(element("line", x1=self._x(spot.cost), x2=right, y1=y, y2=y, class_="step"))
            if after is not None:
                lines.append(element("line", x1=right, x2=right, y1=y, y2=self._y(after.score), class_="step"))
        return lines

    def _spot(self, spot: Spot) -> ET.Element:
        number = self.algorithms.index(spot.algorithm)
        x, y = self._x(spot.cost), self._y(spot.score)
        low, high = self._y(spot.score - spot.error), self._y(spot.score + spot.error)
        bar = element("line", x1=x, x2=x, y1=low, y2=high, class_="error") if spot.non_dominated else None
        shape = element("path", d=SHAPES[number % len(SHAPES)])
        place = element("svg", element("circle", r=12, class_="ring"), shape, x=x, y=y, overflow="visible")
        card = self.cards.get(spot.name)
        words = (
            f"{spot.name}: {self.view.score_label} {spot.score:.4f} ± {spot.error:.4f}, "
            f"cost {cost(spot.cost)} {self.view.unit} per row"
        )
        chosen = {} if card is None else {"tabindex": 0, "role": "button", "data_card": card}
        kind = f"spot c{number % len(SHAPES)}" + ("" if spot.non_dominated else " dominated")
        label = words if card is not None else None
        return element("g", bar, place, class_=kind, data_tip=words, aria_label=label, **chosen)

    def _legend(self) -> ET.Element:
        items = []
        for number, algorithm in enumerate(self.algorithms):
            shape = element("path", d=SHAPES[number % len(SHAPES)])
            key = element(
                "svg", shape, viewBox="-9 -9 18 18", aria_hidden="true", class_=f"key c{number % len(SHAPES)}"
            )
            items.append(element("li", key, algorithm))
        if not all(spot.non_dominated for spot in self.view.spots):
            shape = element("path", d=SHAPES[0])
            key = element("svg", shape, viewBox="-9 -9 18 18", aria_hidden="true", class_="key dominated")
            items.append(element("li", key, "hollow: another model is as good for less"))
        return element("ul", *items, class_="legend")
