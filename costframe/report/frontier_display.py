"""The picture of a frontier: score against cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import Factory, define, field

from costframe.choices.figures import figures_of, name_worth
from costframe.choices.frontier import Frontier
from costframe.core.errors import ParameterError, format_count, shown
from costframe.report.display import Display
from costframe.report.drawn_text import to_drawable
from costframe.report.labels import bar_boxes, line_boxes, marker_boxes, place_label
from costframe.report.legends import lay_out_figure, put_above
from costframe.report.style import COLORS, INK, PALE
from costframe.study.points import Point
from costframe.training.model_path import keep_non_dominated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MARKERS = ("o", "s", "^", "v", "D", "<", ">")  # another number than of colors, so that no two algorithms look alike
ON_TEST: dict[str, Any] = {"marker": "*", "ls": "", "ms": 11, "mfc": "white", "mec": INK, "mew": 1.2}
GOOD: dict[str, Any] = {"ms": 7, "mec": "white", "mew": 0.8, "zorder": 5}
PALER: dict[str, Any] = {"ms": 4.5, "alpha": 0.5, "mew": 0, "zorder": 3}
LINE_LABEL = 0.22  # inches for the label of a vertical line
LOG_SPAN, LOG_BILLS = 50, 5  # costs, and bills, that span more than this factor have a logarithmic scale


def _check_frontier(given: object) -> None:
    if not isinstance(given, Frontier):
        raise ParameterError(f"frontier: expected a Frontier, got {shown(given)}")


@define(eq=False)
class FrontierDisplay(Display):
    """Score against mean cost per row: all points, and in bold the best estimate at each cost.

    Where prices have errors, it is the bill in place of the score.

    Scores and costs are the estimates that choices use. Bars are their standard errors, a line joins the non-dominated
    ones, and the chosen point has its result on test beside it.

    Parameters
    ----------
    frontier : Frontier
    chosen : Point or its name, optional
        Point to mark, by default the recommended one.
    title : str, optional
    mark : bool
        Whether to mark and name the chosen point.

    Raises
    ------
    ParameterError
        If `chosen` is not a point of the frontier.
    """

    frontier: Frontier
    chosen: Point = field(default=Factory(lambda self: _recommended(self.frontier), takes_self=True))
    title: str | None = field(default=None, kw_only=True)
    mark: bool = field(default=True, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_frontier(self.frontier)
        self.chosen = self.frontier[self.chosen]
        if self.chosen not in self.frontier.points:
            raise ParameterError("chosen: expected one of the frontier's points")

    @classmethod
    def from_frontier(cls, frontier: Frontier, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw a frontier; options are the display's parameters."""
        return cls(frontier, **options).plot(ax)

    def draw(self, ax: Axes) -> None:
        """Draw on axes."""
        _Drawing(ax, self).draw()


class _Drawing:
    """One picture under construction."""

    def __init__(self, ax: Axes, display: FrontierDisplay) -> None:
        self.ax, self.display, self.frontier = ax, display, display.frontier
        # A much worse constant would squeeze all other points.
        points, self.bills = self.frontier.points, self.frontier.has_bills
        drawn = [p for p in points if p.n_features or p == display.chosen or self.bills]
        self.points = drawn or list(points)
        self.name = name_worth(self.frontier) + (" per row" if self.bills else "")
        self.drawn = frozenset(self.points)
        front = [point for point in self.frontier.non_dominated() if point in self.drawn] or self.points
        self.best = keep_non_dominated(front, lambda point: (point.cost, point.score))
        self.places = {point: place for place, point in enumerate(points)}
        self.lines: list[Line2D] = []  # that labels must not cover
        self.bars: list[Any] = []

    def at(self, point: Point) -> tuple[float, float]:
        """Return the place of a point."""
        return point.cost, abs(self.frontier.worth(point)) if self.bills else point.score

    def draw(self) -> None:
        """Draw points, the line, the chosen point, axes, legend and labels."""
        algorithms = list(dict.fromkeys(point.algorithm for point in self.points))
        self._scales()
        for number, name in enumerate(algorithms):
            self._algorithm(name, COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)])
        self._errors()
        self._line()
        tested = self.display.mark and self._chosen()
        self._axes()
        self._legend(tested=tested)
        self._labels()

    def _algorithm(self, name: str, color: str, marker: str) -> None:
        mine, best = [point for point in self.points if point.algorithm == name], frozenset(self.best)
        for points, how in (([p for p in mine if p not in best], PALER), ([p for p in mine if p in best], GOOD)):
            if points:  # layouts take an empty line for a point in the corner
                places = np.array([self.at(point) for point in points]).T
                gid = "-".join(["points", *(str(self.places[point]) for point in points)])
                self.lines += self.ax.plot(
                    *places, marker, ls="", color=color, label=to_drawable(name), clip_on=False, gid=gid, **how
                )

    def _errors(self) -> None:
        errors = [self.frontier.bill_error(p) if self.bills else p.score_error for p in self.best]
        x, y = np.array([self.at(point) for point in self.best]).T
        self.bars = self.ax.errorbar(x, y, errors, fmt="none", ecolor=INK, elinewidth=0.9, alpha=0.35, zorder=2)[2]

    def _line(self) -> None:
        """Join the non-dominated points by steps, and go on to the cost of all features; join bills directly."""
        x, y = np.array([self.at(point) for point in self.best]).T
        if self.bills:
            self.lines += self.ax.plot(x, y, color=INK, lw=2, zorder=4, label="fewest errors at each cost")
            return
        end = max(x[-1], self.frontier.full_cost)
        self.lines += self.ax.plot(
            [*x, end], [*y, y[-1]], drawstyle="steps-post", color=INK, lw=2, zorder=4, label="frontier"
        )

    def _chosen(self) -> bool:
        """Mark the chosen point; return whether its result on test is there too."""
        point = self.display.chosen
        self.lines += self.ax.plot(*self.at(point), "o", ms=13, mfc="none", mec=INK, mew=1.5, zorder=6)
        if point.test_score is None or point.test_cost is None:
            return False
        on_test = point.test_cost - point.test_score if self.bills else point.test_score
        ends = np.array([self.at(point), (point.test_cost, on_test)])
        self.lines += self.ax.plot(*ends.T, color=INK, lw=1, ls=":", zorder=5)
        self.lines += self.ax.plot(*ends[1], **ON_TEST, zorder=6)
        return True

    def _scales(self) -> None:
        costs = np.array([self.at(point)[0] for point in self.points] + [self.frontier.full_cost])
        positive = costs[costs > 0]
        if not len(positive):
            self.ax.set_xlim(-0.03, 1.0)
            return
        least, most = float(positive.min()), float(positive.max())
        room = LINE_LABEL * self.ax.figure.dpi / self.ax.get_window_extent().width  # right of the line, as a share
        if most > LOG_SPAN * least:
            # Linear below the least cost, for models of cost zero.
            self.ax.set_xscale("symlog", linthresh=least, linscale=0.3)
            self.ax.set_xlim(-0.2 * least if (costs <= 0).any() else 0.8 * least, most * (most / least) ** room)
            self.ax.xaxis.set_major_locator(_round_costs(least, most))
            self.ax.xaxis.set_major_formatter(lambda cost, _position: f"{cost:g}")
        else:
            self.ax.set_xlim(-0.03 * most, (1 + room) * most)
        bills = [self.at(point)[1] for point in self.points] if self.bills else [0.0]
        if max(bills) > LOG_BILLS * min(bills) > 0:
            self.ax.set_yscale("log")
            self.ax.yaxis.set_major_locator(_round_costs(min(bills), max(bills)))
            self.ax.yaxis.set_major_formatter(lambda bill, _position: f"{bill:g}")
            self.ax.yaxis.minorticks_off()

    def _axes(self) -> None:
        ax, full = self.ax, self.frontier.full_cost
        ax.set_xlabel(to_drawable(f"mean cost per row ({self.frontier.unit})") + self._left_out(), parse_math=False)
        unit = f" ({self.frontier.unit})" if self.bills else ""
        ax.set_ylabel(to_drawable(f"estimated {self.name}{unit}"), parse_math=False)
        ax.grid(visible=True, color="#e9e9e9", lw=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(y=0.1)
        if full > 0:
            self.lines.append(ax.axvline(full, color=PALE, lw=1.2, ls=(0, (4, 3)), zorder=1))

    def _left_out(self) -> str:
        """Return a line on the points that are not drawn, if there are some."""
        scores = [self.at(point)[1] for point in self.frontier.points if point not in self.drawn]
        if not scores:
            return ""
        upto = "" if len(scores) == 1 else "up to "
        return f"\nnot drawn: {format_count(len(scores), 'constant')}, {self.name} {upto}{max(scores):.3g}"

    def _legend(self, *, tested: bool) -> None:
        from matplotlib.lines import Line2D

        handles = {str(line.get_label()): line for line in self.lines if not str(line.get_label()).startswith("_")}
        if tested:
            handles["chosen, on test"] = Line2D([], [], **ON_TEST)
        put_above(self.ax, handles, self.display.title)

    def _labels(self) -> None:
        """Name the chosen point and the line of all features, off the data."""
        lay_out_figure(self.ax)
        taken = [marker_boxes(line) for line in self.lines if line.get_marker() != "None"]
        taken += [line_boxes(line) for line in self.lines if line.get_linestyle() != "None"]
        boxes = np.vstack([*taken, *map(bar_boxes, self.bars)])
        if self.display.mark:
            point = self.display.chosen
            boxes = place_label(self.ax, self._name(point), [self.at(point)], boxes, color=INK)
        if (full := self.frontier.full_cost) > 0:
            along = [(full, float(y)) for y in np.linspace(*self.ax.get_ylim(), 15)]
            place_label(self.ax, f"all features: {full:.6g}", along, boxes, beside=True, rotation=90)

    def _name(self, point: Point) -> str:
        """Return lines with the name, score and cost of the chosen point."""
        name, paid = figures_of(self.frontier, point, "model", "cost")
        (worth,) = figures_of(self.frontier, point, "bill alone" if self.bills else "score")
        return f"{to_drawable(name)}\n{'bill ' if self.bills else ''}{worth} at {paid}"


def _round_costs(least: float, most: float) -> Any:
    """Return ticks at zero and at 1, 2, 5 times powers of ten, or fewer of them over many decades."""
    from matplotlib.ticker import FixedLocator

    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    return FixedLocator([0.0, *(step * 10.0**power for power in range(first, last + 1) for step in steps)])


def _recommended(frontier: Frontier) -> Point:
    _check_frontier(frontier)
    return frontier.recommended()
