"""Results as tables on a terminal, in 80 columns."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from costframe.report.paid import payments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.costs import CostModel
    from costframe.core.expected import CostReport
    from costframe.frontier.points import Frontier, Point
    from costframe.report.paid import Payment

__all__ = ["cost", "output", "paid_table", "points_table", "summary"]

KINDS = ("resource", "feature", "computing")
MOST_FEATURES, MOST_FREE = 20, 6
WIDTH_OF_FILES = 120


def output() -> Console:
    """Return the console of results: as wide as the terminal, or wide enough where there is none."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    return console


def cost(value: float | None) -> str:
    """Return a cost as a table shows it: two decimals, or the magnitude where these say nothing."""
    if value is None:
        return "-"
    if value and abs(value) < 0.005:
        return f"{value:.1e}"
    return f"{value:,.2f}" if abs(value) < 1e5 else f"{value:,.0f}"


def points_table(frontier: Frontier, chosen: Point, *, width: int) -> Table:
    """Return all points as a table; those worth having are marked and bold."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(width > 90), 0, 0), show_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("algorithm", no_wrap=True)
    for header in (
        "tradeoff",
        "valid\nscore",
        "valid\ncost",
        "test\nscore",
        "test\ncost",
        "features",
        "learners",
        "rounds",
    ):
        table.add_column(header, justify="right", no_wrap=True, vertical="bottom")
    good = frontier.non_dominated()
    before = ""
    for point in frontier_order(frontier):
        if before and point.algorithm != before:
            table.add_section()
        before = point.algorithm
        table.add_row(
            ("*" if point in good else " ") + (">" if point == chosen else " "),
            point.algorithm,
            f"{point.tradeoff:.2e}" if point.tradeoff else "0",
            f"{point.valid_score:.4f}",
            cost(point.valid_cost),
            "-" if point.test_score is None else f"{point.test_score:.4f}",
            cost(point.test_cost),
            str(point.n_features),
            f"{point.n_learners:,}",
            f"{point.rounds:.1f}",
            style="bold" if point in good else "",
        )
    return table


def frontier_order(frontier: Frontier) -> list[Point]:
    """Return the points by algorithm, in order of the first of each, and ascending tradeoff."""
    order = {name: i for i, name in reversed(list(enumerate(point.algorithm for point in frontier.points)))}
    return sorted(frontier.points, key=lambda point: (order[point.algorithm], point.tradeoff))


def summary(label: str, point: Point, frontier: Frontier) -> Text:
    """Say in two lines which model was chosen, and what it saves."""
    tested = point.test_score is not None and point.test_cost is not None
    score, paid = (point.test_score, point.test_cost) if tested else (point.valid_score, point.valid_cost)
    part = "test" if tested else "valid"
    text = Text.assemble((f"{label}: ", "bold"), f"{point.algorithm} at tradeoff {point.tradeoff:.3g}\n")
    text.append(f"  {part} {frontier.score_name} {score:.4f}, cost {cost(paid)} {frontier.unit} per row")
    if frontier.full_cost > 0 and paid is not None:
        text.append(f" (saves {max(0.0, 1 - paid / frontier.full_cost):.0%})")
    if point.fixed:
        text.append(f", and {cost(point.fixed)} {frontier.unit} once per batch")
    return text


def saved(paid: float, full: float) -> str:
    """Compare a cost with that of all features."""
    if abs(paid - full) < 0.01 * full:
        return "hardly less than" if paid <= full else "hardly more than"
    return f"{1 - paid / full:.0%} less than" if paid < full else f"{paid / full - 1:.0%} more than"


def paid_table(reports: dict[str, CostReport], costs: CostModel) -> Table:
    """Return what rows pay for, under one heading per report, side by side: share of rows, and mean per row."""
    found = {label: {(p.kind, p.name): p for p in payments(report, costs)} for label, report in reports.items()}
    keys = list(dict.fromkeys(key for part in found.values() for key in part))
    keys.sort(key=lambda key: (KINDS.index(key[0]), _weight(key, list(found.values()))))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, show_footer=True)
    table.add_column("", Text("mean", style="bold"), no_wrap=True)
    table.add_column("", overflow="fold", max_width=30)
    table.add_column("price", justify="right", no_wrap=True, vertical="bottom")
    for label, report in reports.items():
        table.add_column(f"{label}\nrows", justify="right", no_wrap=True)
        table.add_column("\ncost", Text(cost(report.mean), style="bold"), justify="right", no_wrap=True)
    features = [key for key in keys if key[0] == "feature"]
    free = [key for key in features if not any(part[key].mean for part in found.values() if key in part)]
    hidden = {*features[MOST_FEATURES:], *free[MOST_FREE:]}
    for key in keys:
        if key not in hidden:
            _add_payment(table, key, [part.get(key) for part in found.values()])
    if hidden:
        sums = [sum(p.mean for key, p in part.items() if key in hidden) for part in found.values()]
        table.add_row("feature", f"... {len(hidden)} more", "", *(t for s in sums for t in ("", cost(s))))
    return table


def _weight(key: tuple[str, str], found: Sequence[dict[tuple[str, str], Payment]]) -> tuple[float, float]:
    """Sort features by what they add to the mean, then by how many rows acquire them; the rest stays as it is."""
    if key[0] != "feature":
        return 0.0, 0.0
    mine = [part[key] for part in found if key in part]
    return -max(p.mean for p in mine), -max(p.share or 0.0 for p in mine)


def _add_payment(table: Table, key: tuple[str, str], each: Sequence[Payment | None]) -> None:
    price = next(p.price for p in each if p is not None)
    cells = []
    for payment in each:
        share = None if payment is None else payment.share
        cells += ["" if share is None else f"{share:.1%}", "" if payment is None else cost(payment.mean)]
    table.add_row(key[0], Text(key[1]), "" if price is None else cost(price), *cells)
