"""One picture a figure, one panel a table: score against cost, lines named where they end."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.comparison.figures import DASHES
from costframe.comparison.statistics import standard_error
from costframe.report.style import COLORS, PALE, STYLE, new_figure, to_bytes
from costframe.training.scoring import score_label
from harness.points import at_budgets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from harness.points import Point

COLUMNS = 3
LEAST, MOST = 0.005, 1.25  # where axes of cost begin and end, as a share of the cost of all features
GAP = 0.075  # between names, as a share of the axis
SUBTITLE = "The best model on valid at each budget, scored on test, means over splits."


@frozen(eq=False)
class Panel:
    """One table: points of each way, split by split."""

    table: str
    score: str
    unit: str
    full_cost: float
    ways: Mapping[str, Sequence[list[Point]]]


def draw(path: Path, title: str, panels: Sequence[Panel], *, shades: bool = False) -> None:
    """Write `path`.png and .svg: test scores at budgets; lines have colors and dashes, or go from pale to dark."""
    fullest_first = sorted(panels, key=lambda panel: -len(panel.ways))
    names = list(dict.fromkeys(way for panel in fullest_first for way in panel.ways))  # with one look in all panels
    with sheet(path, title, SUBTITLE, len(panels)) as places:
        for axes, panel in zip(places, panels, strict=True):
            _draw_panel(axes, panel, list(panel.ways) if shades else names, shades=shades)


@contextlib.contextmanager
def sheet(path: Path, title: str, subtitle: str, count: int, columns: int = COLUMNS) -> Iterator[list[Axes]]:
    """Give as many axes as asked for, and write `path`.png and .svg at the end."""
    from matplotlib import style

    rows = math.ceil(count / columns)
    columns = math.ceil(count / rows)
    with style.context([*STYLE, {"font.size": 9}]):
        figure = new_figure((4.6 * columns, 3.2 * rows + 0.7), 130, layout="constrained")
        inch = 1 / figure.get_figheight()
        figure.text(0.012, 1 - 0.12 * inch, title, va="top", fontsize=13, fontweight="bold")
        figure.text(0.012, 1 - 0.40 * inch, subtitle, va="top", fontsize=9, color="#555555")
        figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.66 * inch))
        places = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in places[count:]:
            axes.set_visible(False)
        yield places[:count]
        for kind in ("png", "svg"):
            path.with_suffix(f".{kind}").write_bytes(to_bytes(figure, kind))


def dress(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """Name a panel and its axes, and draw a pale grid."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, color="#e9e9e9", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def pale_to_dark(count: int) -> list[tuple[float, ...]]:
    """Return colors for lines that have an order."""
    from matplotlib import colormaps

    return [tuple(one) for one in colormaps["cividis_r"](np.linspace(0.15, 1.0, count))]


def _draw_panel(axes: Axes, panel: Panel, names: Sequence[str], *, shades: bool) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    bought = [point["val_cost"] for several in panel.ways.values() for points in several for point in points]
    cheapest = min((cost for cost in bought if cost > 0), default=panel.full_cost)
    least = np.clip(0.7 * cheapest / panel.full_cost, LEAST, 0.1)
    budgets = np.geomspace(least, MOST, 90) * panel.full_cost
    colors = pale_to_dark(len(names)) if shades else COLORS
    ends = []
    for label, several in panel.ways.items():
        at = names.index(label)
        scores = np.array([at_budgets(points, budgets) for points in several])
        mean, error = scores.mean(axis=0), np.nan_to_num(standard_error(scores))
        color, dashes = colors[at % len(colors)], "-" if shades else DASHES[at % len(DASHES)]
        axes.plot(budgets, mean, color=color, ls=dashes, lw=1.8, drawstyle="steps-post")
        axes.fill_between(budgets, mean - error, mean + error, color=color, alpha=0.12, lw=0, step="post")
        ends.append((label, float(mean[-1]), color))
    axes.set_xscale("log")
    axes.set_xlim(budgets[0], budgets[-1])
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter(lambda cost, _position: f"{cost:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.axvline(panel.full_cost, color=PALE, lw=1, ls=(0, (2, 2)), zorder=1)  # all features
    dress(
        axes,
        panel.table,
        f"mean cost per row, at most ({panel.unit})",
        f"{score_label(panel.score)} on test",
    )
    _name_lines(axes, ends)


def _name_lines(axes: Axes, ends: Sequence[tuple[str, float, Any]]) -> None:
    """Write each line's name right of the panel, level with its end, apart from the others."""
    low, high = axes.get_ylim()
    ends = sorted(ends, key=lambda end: end[1])
    places = [(end - low) / (high - low) for _, end, _ in ends]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + GAP)
    places[-1] = min(places[-1], 1.0)
    for i in range(len(places) - 2, -1, -1):
        places[i] = min(places[i], places[i + 1] - GAP)
    for (label, _, color), place in zip(ends, places, strict=True):
        axes.annotate(label, (1.015, place), xycoords="axes fraction", color=color, fontsize=8.5, va="center")
