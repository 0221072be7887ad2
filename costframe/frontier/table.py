"""Tables of a frontier on the terminal: six rows of it, and all points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import printable
from costframe.frontier.paths import choose_spread
from costframe.frontier.points import distinct
from costframe.report.console import cost, milliseconds, narrow_table, saving, whole_percent, with_error
from costframe.report.tables import payments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from costframe.datasets import Dataset
    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["frontier_table", "name_purchases", "points_table", "rows_of_frontier"]

MOST_ROWS = 6  # of the frontier's table
ROWS_PAID, NEARLY_ALL = 2000, 0.995  # rows to find purchases on, and the share of them that needs no number
OTHER_COLUMNS, TIME_COLUMNS, LEAST_LETTERS = 66, 24, 20  # letters of the other columns, and least for purchases
# A narrow table keeps score and cost on test.
COLUMNS: dict[str, Callable[[Point], str]] = {
    "tradeoff": lambda point: f"{point.tradeoff:.2e}" if point.tradeoff else "0",
    "score": lambda point: with_error(point.score, point.score_error),
    "cost": lambda point: cost(point.cost),
    "latency": lambda point: milliseconds(point.latency),
    "95 % within": lambda point: milliseconds(point.latency_p95),
    "test score": lambda point: "-" if point.test_score is None else f"{point.test_score:.4f}",
    "test cost": lambda point: cost(point.test_cost),
    "features": lambda point: str(point.n_features),
    "learners": lambda point: f"{point.n_learners:,}",
    "rounds": lambda point: f"{point.rounds:.1f}",
}
EXPENDABLE = ("learners", "rounds", "features", "latency", "score", "cost", "tradeoff", "95 % within")


TIMES = ("latency", "95 % within")  # columns of prices with times


def rows_of_frontier(frontier: Frontier, chosen: Point) -> list[Point]:
    """Return at most six points by descending cost: the chosen, the best, and non-dominated ones with little loss.

    Each further point most reduces the loss in score against the whole frontier, summed over budgets.
    """
    front = frontier.non_dominated()
    shown = {frontier.best(), chosen, front[0]}
    kept = [place for place, point in enumerate(front) if point in shown]
    cost, score = np.array([(point.cost, frontier.rank(point)[0]) for point in front]).T
    further = choose_spread(cost, score, kept, MOST_ROWS - len(shown), frontier.full_cost)
    return sorted(shown | {front[place] for place in further}, key=lambda point: (-point.cost, -point.score))


def frontier_table(
    frontier: Frontier, chosen: Point, purchases: Mapping[str, Sequence[str]] | None = None, *, width: int
) -> Table:
    """Return a table of at most six points of the frontier; `purchases` says what the model of a point buys, by name.

    A narrow table leaves out the purchases, then the intervals.
    """
    purchases = purchases or {}
    others = OTHER_COLUMNS + (TIME_COLUMNS if frontier.has_times else 0)

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column("model", overflow="fold")
        table.add_column(printable(frontier.score_name), justify="right", no_wrap=True)
        if "interval" not in without:
            table.add_column("90% interval", justify="right", no_wrap=True)
        table.add_column("cost", justify="right", no_wrap=True)
        table.add_column("saves", justify="right", no_wrap=True)
        if frontier.has_times:
            table.add_column("latency", justify="right", no_wrap=True)
            table.add_column("95 % within", justify="right", no_wrap=True)
        if purchases and "buys" not in without:
            table.add_column("rows buy", no_wrap=True)
        for point in rows_of_frontier(frontier, chosen):
            low, high = frontier.score_interval(point)
            cells = [f"{point.score:.4f}"]
            cells += [] if "interval" in without else [f"{low:.4f} to {high:.4f}"]
            cells += [cost(point.cost), saving(point.cost, frontier.full_cost)]
            cells += [milliseconds(point.latency), milliseconds(point.latency_p95)] if frontier.has_times else []
            if purchases and "buys" not in without:
                cells.append(_shorten(purchases.get(point.name, ()), max(width - others, LEAST_LETTERS)))
            mark = ">" if point == chosen else " "
            table.add_row(mark, Text(printable(point.name)), *cells, style="bold" if point == chosen else "")
        return table

    return narrow_table(make, [[], ["buys"], ["buys", "interval"]], width)[0]


def _shorten(names: Sequence[str], letters: int) -> str:
    """Return names that fit into some letters, and the number of those left out."""
    for count in range(len(names), 0, -1):
        left = len(names) - count
        text = ", ".join(names[:count]) + (f" and {left} more" if left else "")
        if len(text) <= letters:
            return text
    return f"{len(names)} things" if names else ""


def name_purchases(frontier: Frontier, chosen: Point, dataset: Dataset) -> dict[str, list[str]]:
    """Return what rows buy by the models of the table's rows, dearest first, with the share of rows if not all do."""
    part = dataset.part("test").X
    rows = part[:: max(1, len(part) // ROWS_PAID)]
    found = {}
    for point in rows_of_frontier(frontier, chosen):
        if frontier.has_model(point) and point.n_features:
            report = ExpectedCost(dataset.costs).evaluate(frontier.model(point).predictor_, rows)
            paid = sorted(payments(report, dataset.costs), key=lambda payment: -payment.mean)
            found[point.name] = [
                printable(each.name)
                + (f" {whole_percent(each.share or 0.0)}" if (each.share or 0.0) < NEARLY_ALL else "")
                for each in paid
                if each.mean > 0 and each.kind != "computing"
            ]
    return found


def points_table(frontier: Frontier, chosen: Point, *, width: int) -> tuple[Table, list[str]]:
    """Return a table of all models that fits the width, non-dominated ones in bold, and the columns left out."""
    algorithms = list(dict.fromkeys(point.algorithm for point in frontier.points))
    points = sorted(distinct(frontier), key=lambda point: algorithms.index(point.algorithm))
    good = frozenset(frontier.non_dominated())
    columns = {name: text for name, text in COLUMNS.items() if frontier.has_times or name not in TIMES}

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(width > 90), 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column("algorithm", overflow="fold")
        shown = {name: text for name, text in columns.items() if name not in without}
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
    return table, [name for name in columns if name in without]
