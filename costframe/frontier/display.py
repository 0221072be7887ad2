"""A frontier for readers: table of its points, and picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from costframe.core.errors import printable
from costframe.report.console import cost, narrow_table, with_error
from costframe.report.pictures import COLORS, INK, PALE, STYLE, to_drawable, to_png_and_svg
from costframe.training.model_path import keep_non_dominated
from costframe.training.query_scores import QueryScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["plot_frontier", "points_table", "score_label"]

MARKERS = ("o", "s", "D", "^", "v", "P")  # beside the colors, for print
SCORE_NAMES = {
    "accuracy": "accuracy",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "neg_log_loss": "negative log loss",
    "f1": "F1",
    "r2": "R²",
    "neg_root_mean_squared_error": "negative RMSE",
}
LOG_SPAN = 100  # costs that span more than this factor have a logarithmic scale
# A narrow table keeps score and cost on test.
COLUMNS: dict[str, Callable[[Point], str]] = {
    "tradeoff": lambda point: f"{point.tradeoff:.2e}" if point.tradeoff else "0",
    "score": lambda point: with_error(point.score, point.score_error),
    "cost": lambda point: cost(point.cost),
    "test score": lambda point: "-" if point.test_score is None else f"{point.test_score:.4f}",
    "test cost": lambda point: cost(point.test_cost),
    "features": lambda point: str(point.n_features),
    "learners": lambda point: f"{point.n_learners:,}",
    "rounds": lambda point: f"{point.rounds:.1f}",
}
EXPENDABLE = ("learners", "rounds", "features", "score", "cost", "tradeoff")


def score_label(name: str) -> str:
    """Return the name of a score in pictures."""
    score = QueryScore.named(name)
    if score is None:
        return SCORE_NAMES.get(name, name)
    kind = {"ndcg": "NDCG", "average_precision": "average precision"}.get(score.kind, score.kind)
    return f"{kind}@{score.places}" + (f", relevant from grade {score.least}" if score.least else "")


def plot_frontier(frontier: Frontier, *, chosen: Point | None = None, title: str | None = None) -> dict[str, bytes]:
    """Draw score against mean cost per row, on test rows if there are any; return "png" and "svg".

    Lines join the points of each algorithm that are non-dominated by estimate; bars show one standard error. Equal
    points give equal bytes.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(STYLE):
        figure = Figure(figsize=(7.6, 4.8), dpi=150, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        drawing = _Drawing(axes, frontier)
        rows = drawing.draw(chosen)
        drawing.title(title or "Score and cost", pad=9 + 15 * rows)
        return to_png_and_svg(figure)


class _Drawing:
    """One picture under construction."""

    def __init__(self, axes: Axes, frontier: Frontier) -> None:
        self.axes, self.frontier = axes, frontier
        tested = frontier.points[0].test_score is not None
        self.part, self.prefix = ("test", "test_") if tested else ("valid", "")
        # A much worse constant would squeeze all other points.
        self.constants = [point for point in frontier.points if point.n_features == 0]
        self.points = [point for point in frontier.points if point.n_features > 0] or self.constants

    def at(self, point: Point) -> tuple[float, float]:
        return getattr(point, f"{self.prefix}cost"), getattr(point, f"{self.prefix}score")

    def draw(self, chosen: Point | None) -> int:
        """Draw everything; return the number of rows of the legend."""
        algorithms = list(dict.fromkeys(point.algorithm for point in self.points))
        for number, algorithm in enumerate(algorithms):
            self._algorithm(algorithm, COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)])
        if chosen in self.points:
            self.axes.plot(*self.at(chosen), "o", ms=15, mfc="none", mec=INK, mew=1.4, zorder=6)
        self._scales()
        self._full_cost()
        axes = self.axes
        axes.set_xlabel(to_drawable(f"mean cost per row ({self.frontier.unit}), on {self.part}"), parse_math=False)
        axes.set_ylabel(f"{score_label(self.frontier.score_name)} on {self.part}")
        axes.grid(visible=True, color="#e6e6e6", lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        return self._legend(algorithms, chosen)

    def _algorithm(self, algorithm: str, color: str, marker: str) -> None:
        points = [point for point in self.points if point.algorithm == algorithm]
        joined = keep_non_dominated(points, lambda point: (point.cost, point.score))
        style: dict[str, Any] = {"color": color, "clip_on": False}
        for point in points:
            if point.tradeoff == 0:
                self.axes.plot(*self.at(point), "*", ms=14, mec="white", mew=0.8, zorder=5, **style)
            elif point not in joined:
                self.axes.plot(*self.at(point), marker, ms=5, mfc="none", alpha=0.6, zorder=3, **style)
        line = np.array(sorted(self.at(point) for point in joined))
        self.axes.plot(*line.T, drawstyle="steps-post", lw=1.6, alpha=0.45, color=color, zorder=3)
        error = [(point.test_error if self.prefix else point.score_error) or 0.0 for point in joined]
        x, y = np.array([self.at(point) for point in joined]).T
        self.axes.errorbar(x, y, error, fmt="none", ecolor=color, elinewidth=1.0, alpha=0.45, zorder=2)
        round_ones = np.array([self.at(point) for point in joined if point.tradeoff > 0]).reshape(-1, 2)
        self.axes.plot(*round_ones.T, marker, ls="", ms=6.5, mec="white", mew=0.8, zorder=4, **style)

    def _legend(self, algorithms: list[str], chosen: Point | None) -> int:
        from matplotlib.lines import Line2D

        entries = [
            Line2D([], [], marker=MARKERS[i % len(MARKERS)], color=COLORS[i % len(COLORS)], ms=6.5, lw=1.6, label=name)
            for i, name in enumerate(map(to_drawable, algorithms))
        ]
        entries.append(Line2D([], [], marker="o", mfc="none", color=PALE, ls="", ms=5, label="dominated by estimate"))
        if any(point.tradeoff == 0 for point in self.points):
            entries.append(Line2D([], [], marker="*", color=PALE, ls="", ms=12, label="tradeoff 0"))
        if chosen in self.points:
            entries.append(
                Line2D([], [], marker="o", mfc="none", mec=INK, ls="", ms=11, mew=1.4, label="chosen by estimate")
            )
        columns = min(len(entries), 4)
        self.axes.legend(handles=entries, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=columns, frameon=False,
                         fontsize=9, handletextpad=0.5, columnspacing=1.6, borderpad=0.2)  # fmt: skip
        return math.ceil(len(entries) / columns)

    def title(self, text: str, pad: float) -> None:
        self.axes.set_title(to_drawable(text), loc="left", fontsize=12, fontweight="bold", pad=pad, parse_math=False)
        if self.constants and self.constants is not self.points:
            cost, score = self.at(self.constants[0])
            note = f"not shown: a constant, {score:.4f} at {cost:g}"
            self.axes.set_title(note, loc="right", fontsize=8.5, color="#666666", pad=pad)

    def _scales(self) -> None:
        costs = np.array([self.at(point)[0] for point in self.points] + [self.frontier.full_cost])
        positive = costs[costs > 0]
        if len(positive) and positive.max() > LOG_SPAN * positive.min():
            # Linear below the least cost, for models of cost zero.
            least = 10.0 ** math.floor(math.log10(positive.min()))
            self.axes.set_xscale("symlog", linthresh=least, linscale=0.5)
            self.axes.set_xlim(-0.15 * least, positive.max() * 1.6)
            self.axes.xaxis.set_major_formatter(lambda cost, _position: f"{cost:g}")
        elif len(positive):
            self.axes.set_xlim(-0.03 * positive.max(), 1.06 * positive.max())
        self.axes.margins(y=0.08)

    def _full_cost(self) -> None:
        full = self.frontier.full_cost
        if not full > 0:
            return
        self.axes.axvline(full, color=PALE, lw=1.2, ls=(0, (4, 3)), zorder=1)
        self.axes.annotate(
            f"all features: {full:.6g}", (full, 0.03), xycoords=("data", "axes fraction"), xytext=(-4, 0),
            textcoords="offset points", rotation=90, ha="right", va="bottom", fontsize=8.5, color="#666666",
        )  # fmt: skip


def points_table(frontier: Frontier, chosen: Point, *, width: int) -> tuple[Table, list[str]]:
    """Return a table of all points that fits the width, non-dominated ones in bold, and the columns left out."""
    algorithms = list(dict.fromkeys(point.algorithm for point in frontier.points))
    points = sorted(frontier.points, key=lambda point: algorithms.index(point.algorithm))
    good = frontier.non_dominated()

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(width > 90), 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column("algorithm", overflow="fold")
        shown = {name: text for name, text in COLUMNS.items() if name not in without}
        for name in shown:
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True, vertical="bottom")
        before = points[0].algorithm
        for point in points:
            if point.algorithm != before:
                table.add_section()
            before = point.algorithm
            marks = ("*" if point in good else " ") + (">" if point == chosen else " ")
            cells = [text(point) for text in shown.values()]
            table.add_row(marks, Text(printable(point.algorithm)), *cells, style="bold" if point in good else "")
        return table

    table, without = narrow_table(make, [EXPENDABLE[:count] for count in range(len(EXPENDABLE) + 1)], width)
    return table, [name for name in COLUMNS if name in without]
