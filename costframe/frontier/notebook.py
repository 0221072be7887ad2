"""A frontier in a notebook: one line of text, a table in HTML, and a data frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from costframe.core.errors import format_count, printable
from costframe.frontier.points import describe_recommendation, points_records
from costframe.frontier.table import rows_of_frontier
from costframe.report.console import cost, milliseconds, saving, with_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["describe_frontier", "frontier_html", "points_frame"]


def describe_frontier(frontier: Frontier) -> str:
    """Return one line: numbers of points and algorithms, the range of scores and costs, and the recommendation."""
    front, chosen = frontier.non_dominated(), frontier.recommended()
    low, high = front[0], front[-1]
    return printable(
        f"Frontier({_count(frontier)}, {frontier.score_name} {low.score:.3g} to {high.score:.3g} at {low.cost:.4g} to "
        f"{high.cost:.4g} {frontier.unit}; recommended {chosen.name or chosen.algorithm}: {chosen.score:.3g} at "
        f"{chosen.cost:.4g})"
    )


def frontier_html(frontier: Frontier) -> str:
    """Return a table of at most six non-dominated points with the recommendation, without colors of its own."""
    chosen, unit = frontier.recommended(), escape(printable(frontier.unit))
    score = escape(frontier.score_name)
    times = ["latency", "95 % within"] if frontier.has_times else []
    head = _row("th", ["point", f"{score} &plusmn; error", f"cost ({unit} per row)", "saves", *times, "algorithm"])
    body = "".join(
        _row("td", _cells(frontier, point), bold=point == chosen) for point in rows_of_frontier(frontier, chosen)
    )
    name, saved = escape(printable(chosen.name or chosen.algorithm)), _saved(frontier, chosen)
    saves = f", {escape(saved)} less than all features" if saved else ""
    return (
        f"<div><p>{_count(frontier)}; the best at each cost:</p>"
        f"<table style='border-collapse:collapse'><thead>{head}</thead><tbody>{body}</tbody></table>"
        f"<p>Recommended: <b>{name}</b>, {describe_recommendation(frontier, chosen)}: {score} "
        f"{with_error(chosen.score, chosen.score_error)} at {cost(chosen.cost)} {unit} per row{saves}.</p></div>"
    )


def points_frame(frontier: Frontier) -> pd.DataFrame:
    """Return the columns of the CSV as a data frame, indexed by the names of points; None becomes NaN."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas; to_csv gives the same table") from error
    frame = pd.DataFrame(points_records(frontier)).set_index("name")
    optional = ["test_score", "test_error", "test_cost", "latency", "latency_p95"]
    return frame.astype({name: "float64" for name in optional if name in frame})


def _count(frontier: Frontier) -> str:
    algorithms = len({point.algorithm for point in frontier})
    return f"{format_count(len(frontier), 'point')} of {format_count(algorithms, 'algorithm')}"


def _saved(frontier: Frontier, point: Point) -> str:
    """Return the share of the price of all features that a model saves; nothing if these are free."""
    return saving(point.cost, frontier.full_cost) if frontier.full_cost > 0 else ""


def _cells(frontier: Frontier, point: Point) -> list[str]:
    texts = [point.name, with_error(point.score, point.score_error), cost(point.cost), _saved(frontier, point)]
    texts += [milliseconds(point.latency), milliseconds(point.latency_p95)] if frontier.has_times else []
    return [escape(printable(text)) for text in (*texts, point.algorithm)]


def _row(cell: str, texts: Sequence[str], *, bold: bool = False) -> str:
    """Return a row of a table; names are on the left, numbers on the right."""
    scope, weight = " scope='col'" if cell == "th" else "", ";font-weight:bold" if bold else ""
    sides = ("left", *["right"] * (len(texts) - 2), "left")
    cells = zip(sides, texts, strict=True)
    return f"<tr>{''.join(f'<{cell}{scope} style={_style(side, weight)}>{text}</{cell}>' for side, text in cells)}</tr>"


def _style(side: str, weight: str) -> str:
    return f"'padding:.15em .7em;text-align:{side}{weight}'"
