"""Table of all points of a frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from costframe.report.console import cost, with_error
from costframe.report.terminal import narrow_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["points_table"]

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


def points_table(frontier: Frontier, chosen: Point, *, width: int) -> tuple[Table, list[str]]:
    """Return a table of all points that fits the width, non-dominated ones in bold, and the columns left out."""
    points, good = _in_order(frontier), frontier.non_dominated()

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
            table.add_row(marks, point.algorithm, *cells, style="bold" if point in good else "")
        return table

    table, without = narrow_table(make, [EXPENDABLE[:count] for count in range(len(EXPENDABLE) + 1)], width)
    return table, [name for name in COLUMNS if name in without]


def _in_order(frontier: Frontier) -> list[Point]:
    """Return the points by algorithm, in order of the first of each."""
    order = {name: i for i, name in reversed(list(enumerate(point.algorithm for point in frontier.points)))}
    return sorted(frontier.points, key=lambda point: order[point.algorithm])
