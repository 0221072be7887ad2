"""One figure a comparison, one panel a table: score against cost, lines named where they end."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.frontier.plot import COLORS, INK, PALE, SCORE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

COLUMNS = 3
LEAST, MOST = 0.005, 1.25  # where axes of cost begin and end, as a share of the cost of all features
CROWDED = 60.0  # an axis of cost that ends this many times as far as it begins has fewer numbers
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2)), (0, (1, 3)))


@frozen(eq=False)
class Line:
    """Score against cost, with its standard error where there are several splits."""

    label: str
    cost: np.ndarray
    score: np.ndarray
    error: np.ndarray | None = None


@frozen(eq=False)
class Panel:
    """One table's lines."""

    table: str
    score: str
    unit: str
    full_cost: float
    lines: tuple[Line, ...]


def draw(path: Path, title: str, subtitle: str, panels: Sequence[Panel], *, ordered: bool = False) -> None:
    """Write `path`.png and .svg; ordered lines go from pale to dark, others have colors and dashes of their own."""
    with sheet(path, title, subtitle, len(panels)) as places:
        for axes, panel in zip(places, panels, strict=True):
            _panel(axes, panel, ordered=ordered)


@contextlib.contextmanager
def sheet(path: Path, title: str, subtitle: str, count: int, columns: int = COLUMNS) -> Iterator[list[Axes]]:
    """Give axes to draw in, as many as asked for, and write `path`.png and .svg at the end."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    look: dict[str, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "svg.hashsalt": "costframe",
        "text.color": INK,
    }
    look |= {"axes.edgecolor": PALE, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK}
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    with style.context(["default", look]):
        figure = Figure(figsize=(4.6 * columns, 3.2 * rows + 0.7), dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        inch = 1 / figure.get_figheight()
        figure.text(0.012, 1 - 0.12 * inch, title, va="top", fontsize=13, fontweight="bold")
        figure.text(0.012, 1 - 0.40 * inch, subtitle, va="top", fontsize=9, color="#555555")
        figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.66 * inch))
        places = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in places[count:]:
            axes.set_visible(False)
        yield places[:count]
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            figure.savefig(path.with_suffix(f".{kind}"), metadata=metadata)


def _panel(axes: Axes, panel: Panel, *, ordered: bool) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    styles = _styles(len(panel.lines), ordered=ordered)
    for line, look in zip(panel.lines, styles, strict=True):
        if line.error is None:
            axes.plot(line.cost, line.score, marker="o", lw=1.4, ms=3, **look)
            continue
        axes.plot(line.cost, line.score, lw=1.8, drawstyle="steps-post", **look)
        low, high = line.score - line.error, line.score + line.error
        axes.fill_between(line.cost, low, high, color=look["color"], alpha=0.12, lw=0, step="post")
    axes.set_xscale("log")
    least = (0.7 if ordered else 1.0) * min(line.cost.min() for line in panel.lines)
    axes.set_xlim(max(least, LEAST * panel.full_cost), MOST * panel.full_cost)
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < CROWDED * low else (1, 3)))
    axes.xaxis.set_major_formatter(lambda cost, _position: f"{cost:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.axvline(panel.full_cost, color=PALE, lw=1, ls=(0, (2, 2)), zorder=1)  # all features
    axes.set_title(panel.table, loc="left", fontsize=10.5, fontweight="bold")
    at_most = "" if ordered else ", at most"
    axes.set_xlabel(f"mean cost per row{at_most} ({panel.unit})", parse_math=False)
    axes.set_ylabel(f"{SCORE_NAMES.get(panel.score, panel.score)} on test")
    axes.grid(visible=True, color="#e9e9e9", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if not ordered:
        _cut(axes, panel)
    ends = [(line.label, line.score[-1]) for line in panel.lines]
    name_lines(axes, ends, [look["color"] for look in styles])


def _cut(axes: Axes, panel: Panel) -> None:
    """Cut off what is far below, and leave as little room above as what is left needs."""
    low, high = axes.get_ylim()
    bottom = max(low, _bottom(panel))
    axes.set_ylim(bottom, high - 0.045 * max(bottom - low, 0.0))


def _bottom(panel: Panel) -> float:
    """Return where to cut off what is so much worse that drawing it would squeeze all else."""
    top = max(line.score.max() for line in panel.lines)
    early = max(line.score[line.cost <= panel.full_cost / 5].max() for line in panel.lines)
    return float(top - max(5 * (top - early), 0.1))


def _styles(count: int, *, ordered: bool) -> list[dict[str, Any]]:
    if not ordered:
        return [{"color": COLORS[i], "ls": DASHES[i]} for i in range(count)]
    from matplotlib import colormaps

    shades = colormaps["cividis_r"](np.linspace(0.15, 1.0, count))
    return [{"color": tuple(shade), "ls": "-"} for shade in shades]


def name_lines(axes: Axes, ends: Sequence[tuple[str, float]], colors: Sequence[Any]) -> None:
    """Write each line's name right of the panel, level with its end, apart from the others."""
    low, high = axes.get_ylim()
    places = spread(np.array([(end - low) / (high - low) for _, end in ends]), 0.075)
    for (label, _), color, place in zip(ends, colors, places, strict=True):
        axes.annotate(label, (1.015, place), xycoords="axes fraction", color=color, fontsize=8.5, va="center")


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Move numbers as little as needed for a gap between any two, inside 0 to 1 where there is room."""
    order = np.argsort(places, kind="stable")
    moved = places[order].astype(float)
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    moved[-1:] = np.minimum(moved[-1:], 1.0)
    for i in range(len(moved) - 2, -1, -1):
        moved[i] = min(moved[i], moved[i + 1] - gap)
    out = np.empty_like(moved)
    out[order] = moved
    return out
