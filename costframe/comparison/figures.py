"""Pictures of a comparison: for each table a line and a band a side; over tables, differences to the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from costframe.comparison.levels import level_name
from costframe.comparison.standings import POINTS, Standing
from costframe.comparison.statistics import Difference, standard_error
from costframe.core.arrays import F8
from costframe.core.errors import format_count
from costframe.report.display import Display
from costframe.report.drawn_text import cut_text, to_drawable
from costframe.report.legends import LEGEND_SIZE, put_above
from costframe.report.style import COLORS, INK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2)), (0, (1, 3)))
_LEAST, _MOST = 0.005, 1.25  # where the axis of cost begins and ends, as a share of the cost of all features
_PLACES = 120  # budgets of a line
_BAND = 0.15  # opacity
_LONGEST = 4.2  # inches of a side's name
_PLAIN = 1e-3, 1e6  # ends of an axis within which the numbers beside it need no power of ten


def look_of(number: int) -> dict[str, Any]:
    """Return color and dashes of a side, by its place among all: the same in all pictures."""
    return {"color": COLORS[number % len(COLORS)], "ls": DASHES[(number // len(COLORS)) % len(DASHES)]}


@define(eq=False)
class ComparisonDisplay(Display):
    """Test score, or bill, of the model that each side chooses within a budget, over the budget.

    A line is the mean over splits, a band its standard error; the model is chosen by the side's own estimates. A side
    that lacks splits is over its own, which the legend says.

    Parameters
    ----------
    standing : Standing
        The table.
    sides : sequence of str, optional
        All sides of the comparison, which have one look in all pictures; by default those of the table.
    title : str, optional
    """

    standing: Standing
    sides: Sequence[str] = field()
    title: str | None = field(default=None, kw_only=True)

    @sides.default
    def _of_table(self) -> Sequence[str]:
        return self.standing.sides

    def draw(self, ax: Axes) -> None:
        """Draw on axes."""
        standing, full, lines = self.standing, self.standing.full_cost, {}
        shares = self._shares()
        dense = Standing(standing.label, tuple(shares.tolist()), standing.records)
        for side in standing.sides:
            values = dense.values(side)
            lines[side] = _draw_line(ax, shares * full, values, look_of(list(self.sides).index(side)))
        ax.set_xscale("log")
        ax.set_xlim(shares[0] * full, shares[-1] * full)
        ax.axvline(full, color=PALE, lw=1.2, ls=(0, (4, 3)), zorder=1)
        bill = f"bill per row ({standing.unit})" if standing.has_bills else f"{standing.measure} on test"
        _dress(ax, f"budget: mean cost per row, at most ({standing.unit})", bill)
        _write_costs_whole(ax)
        splits = format_count(len(standing.splits), "split")
        title = f"{standing.label}, {splits}" if self.title is None else self.title
        counts = {side: len(records) for side, records in standing.records.items()}
        put_above(ax, _name_lines(lines, counts, len(standing.splits), "split"), title)

    def _shares(self) -> F8:
        """Return the shares of the cost of all features at which lines are drawn: float64 (places,)."""
        records = [one for records in self.standing.records.values() for one in records.values()]
        paid = [model.cost for record in records for model in record.models if model.cost > 0]
        full = self.standing.full_cost
        first = float(np.clip(min(paid, default=full) / full, _LEAST, 0.1))
        return np.geomspace(first, _MOST, _PLACES)


@define(eq=False)
class DifferencesDisplay(Display):
    """By how much sides are better than the reference at each level, in the mean over tables, with corrected errors.

    A side that lacks tables is over its own, which the legend says.

    Parameters
    ----------
    differences : mapping of str to Difference
        By side.
    levels : sequence of float
    reference : str
    unit : {"points", "percent"}
    sides : sequence of str
        All sides, which have one look in all pictures.
    """

    differences: Mapping[str, Difference]
    levels: Sequence[float]
    reference: str
    unit: str
    sides: Sequence[str]

    def draw(self, ax: Axes) -> None:
        """Draw on axes."""
        places, lines = np.arange(len(self.levels)), {}
        for side, found in self.differences.items():
            mean, error = found.mean[:-1], np.nan_to_num(found.corrected[:-1])
            look = look_of(list(self.sides).index(side))
            (lines[side],) = ax.plot(places, mean, lw=1.8, marker="o", ms=3, **look)
            ax.fill_between(places, mean - error, mean + error, color=look["color"], alpha=_BAND, lw=0)
        ax.axhline(0, color=INK, lw=1)
        ax.set_xticks(places, [level_name(level) for level in self.levels])
        what = "points above" if self.unit == POINTS else "percent better than"
        _dress(ax, "budget, as a share of the cost of all features", f"{what} {self.reference}")
        counts = {side: found.n_tables for side, found in self.differences.items()}
        most = max(counts.values())
        handles = _name_lines(lines, counts, most, "table")
        put_above(ax, handles, f"in the mean over {format_count(most, 'table')}")


def _name_lines(lines: Mapping[str, Any], counts: Mapping[str, int], most: int, noun: str) -> dict[str, Any]:
    """Return lines by the texts of a legend: the side, with its number of tables or splits if others have more.

    Long names are cut. Names that look alike then get the numbers of their sides.
    """
    texts = {}
    for side in lines:
        few = f" ({format_count(counts[side], noun)})" if counts[side] < most else ""
        texts[side] = f"{cut_text(side, _LONGEST, LEGEND_SIZE)}{few}"
    alike = {text for text, times in Counter(texts.values()).items() if times > 1}
    numbers = {side: f"{number}: " for number, side in enumerate(texts, start=1) if texts[side] in alike}
    return {f"{numbers.get(side, '')}{text}": lines[side] for side, text in texts.items()}


def _draw_line(ax: Axes, budgets: F8, values: F8, look: Mapping[str, Any]) -> Any:
    """Draw the mean of values, (splits, budgets), with a band, in steps: a budget buys what is within."""
    mean, error = values.mean(axis=0), np.nan_to_num(standard_error(values))
    (line,) = ax.plot(budgets, mean, lw=1.8, drawstyle="steps-post", **look)
    ax.fill_between(budgets, mean - error, mean + error, color=look["color"], alpha=_BAND, lw=0, step="post")
    return line


def _write_costs_whole(ax: Axes) -> None:
    """Write costs beside the axis without powers of ten; those between its powers of ten where it has few of them."""
    chosen = ax.xaxis.get_minor_formatter()

    class Whole(type(chosen)):  # type: ignore[misc]  # it chooses the same numbers
        def __call__(self, cost: float, position: int | None = None) -> str:
            return f"{cost:g}" if super().__call__(cost, position) else ""

    ax.xaxis.set_major_formatter(lambda cost, _position: f"{cost:g}")
    ax.xaxis.set_minor_formatter(Whole(labelOnlyBase=False))


def _dress(ax: Axes, x_label: str, y_label: str) -> None:
    """Name the axes, draw a pale grid, and write numbers whole: their power of ten would stand in the legend."""
    ax.ticklabel_format(axis="y", useOffset=False)
    if not _PLAIN[0] <= max(map(abs, ax.get_ylim())) < _PLAIN[1]:
        ax.yaxis.set_major_formatter(lambda value, _position: f"{value:.10g}")
    ax.set_xlabel(to_drawable(x_label), parse_math=False)
    ax.set_ylabel(to_drawable(y_label), parse_math=False)
    ax.grid(visible=True, color="#e9e9e9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
