"""Tables of a frontier on the terminal: its few points that matter, with what rows buy, and all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from costframe.choices import Frontier, Point
from costframe.choices.tables import columns_of, distinct_points, rows_of_frontier, to_cells
from costframe.core.cost.expected import ExpectedCost
from costframe.core.display import whole_percent
from costframe.core.errors import printable
from costframe.datasets import Dataset
from costframe.report.payments import payments
from costframe.report.tables import narrow_table
from costframe.study.service import complete_part

ROWS_PAID, NEARLY_ALL = 2000, 0.995  # rows to find purchases on, and the share of them that needs no number
OTHER_COLUMNS, LEAST_LETTERS = 66, 20  # letters of the other columns, and least for purchases
# A narrow table keeps score and cost on test.
EXPENDABLE = ("learners", "rounds", "features", "score", "cost", "tradeoff")
EVERY = ("algorithm", "tradeoff", "score", "cost", "test score", "test cost", "features", "learners", "rounds")


def frontier_table(
    frontier: Frontier, chosen: Point, purchases: Mapping[str, Sequence[str]] | None = None, *, width: int
) -> Table:
    """Return a table of at most six points of the frontier; `purchases` says what the model of a point buys, by name.

    A narrow table leaves out the purchases, then the intervals.
    """
    points, purchases = rows_of_frontier(frontier, chosen), purchases or {}
    room = max(width - OTHER_COLUMNS, LEAST_LETTERS)

    def make(without: frozenset[str]) -> Table:
        wanted = ("model", "score alone", "90% interval", "cost", "saves")
        first, *others = columns = columns_of(frontier, (name for name in wanted if name not in without))
        rows = to_cells(frontier, points, columns)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column(first, overflow="fold")
        for name in others:
            named = printable(frontier.score_name) if name == "score alone" else name
            table.add_column(named, justify="right", no_wrap=True)
        if purchases and not without:
            table.add_column("rows buy", no_wrap=True)
            rows = [
                [*row, _shorten(purchases.get(point.name, ()), room)] for row, point in zip(rows, points, strict=True)
            ]
        for row, point in zip(rows, points, strict=True):
            _add(table, ">" if point == chosen else " ", row, bold=point == chosen)
        return table

    return narrow_table(make, [[], ["buys"], ["buys", "90% interval"]], width)[0]


def points_table(frontier: Frontier, chosen: Point, *, width: int) -> tuple[Table, list[str]]:
    """Return a table of all models that fits the width, non-dominated ones in bold, and the columns left out."""
    algorithms = list(dict.fromkeys(point.algorithm for point in frontier.points))
    points = sorted(distinct_points(frontier), key=lambda point: algorithms.index(point.algorithm))
    good = frozenset(frontier.non_dominated())
    every, expendable = columns_of(frontier, EVERY), columns_of(frontier, EXPENDABLE)

    def make(without: frozenset[str]) -> Table:
        first, *others = columns = [name for name in every if name not in without]
        rows = to_cells(frontier, points, columns)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(width > 90), 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column(first, overflow="fold")
        for name in others:
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True, vertical="bottom")
        before = points[0].algorithm
        for row, point in zip(rows, points, strict=True):
            if point.algorithm != before:
                table.add_section()
            before = point.algorithm
            marks = ("*" if point in good else " ") + (">" if point == chosen else " ")
            _add(table, marks, row, bold=point in good)
        return table

    table, without = narrow_table(make, [expendable[:count] for count in range(len(expendable) + 1)], width)
    return table, [name for name in every if name in without]


def _add(table: Table, marks: str, row: list[str], *, bold: bool) -> None:
    table.add_row(marks, *(Text(printable(cell)) for cell in row), style="bold" if bold else "")


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
    part = complete_part(dataset, "test")
    rows = part[:: max(1, len(part) // ROWS_PAID)]
    purchases = {}
    for point in rows_of_frontier(frontier, chosen):
        if frontier.has_model(point) and point.n_features:
            report = ExpectedCost(dataset.costs).evaluate(frontier.model(point).predictor_, rows, made=True)
            paid = sorted(payments(report, dataset.costs), key=lambda payment: -payment.mean)
            purchases[point.name] = [
                printable(payment.name)
                + (f" {whole_percent(payment.share or 0.0)}" if (payment.share or 0.0) < NEARLY_ALL else "")
                for payment in paid
                if payment.mean > 0 and payment.kind != "computing"
            ]
    return purchases
