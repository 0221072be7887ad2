"""A frontier at a prompt and in a notebook: four lines of text, a table in HTML, and a data frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from costframe.core.errors import brief, format_count
from costframe.core.html import html_table
from costframe.frontier.points import plus_minus, points_records
from costframe.frontier.table import rows_of_frontier
from costframe.frontier.words import describe_model
from costframe.report.console import cost, milliseconds, saving, with_error

if TYPE_CHECKING:
    import pandas as pd

    from costframe.frontier.frontier import Frontier
    from costframe.frontier.points import Point

__all__ = ["describe_frontier", "frontier_html", "points_frame"]


def describe_frontier(frontier: Frontier) -> str:
    """Return four lines: the range of scores and costs, and the points that matter most."""
    front = frontier.non_dominated() or frontier.points
    scores = f"{frontier.score_name} {front[0].score:.3g} to {front[-1].score:.3g}"
    span = f"{scores} at {front[0].cost:.4g} to {front[-1].cost:.4g} {frontier.unit}"
    chosen = {"recommended": frontier.recommended(), "best": frontier.best(), "cheapest useful": frontier.useful()}
    lines = [
        f"{label}: {f'{_name(point)}, {_in_words(frontier, point)}' if point else 'none'}"
        for label, point in chosen.items()
    ]
    return brief(frontier, _count(frontier), span, more=lines)


def frontier_html(frontier: Frontier) -> str:
    """Return a table of at most six non-dominated points with the recommendation, without colors of its own."""
    chosen = frontier.recommended()
    points, times = rows_of_frontier(frontier, chosen), ("latency", "95 % within") if frontier.has_times else ()
    header = "point", f"{frontier.score_name} \u00b1 error", f"cost ({frontier.unit} per row)", "saves", *times
    rows = [_cells(frontier, point) for point in points]
    table = html_table(f"{_count(frontier)}; the best at each cost:", header, rows, points.index(chosen))
    return f"<div>{table}<p>Recommended: {escape(describe_model(frontier, chosen))}</p></div>"


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


def _name(point: Point) -> str:
    return point.name or point.algorithm


def _in_words(frontier: Frontier, point: Point) -> str:
    """Return a point's score and cost, and the share of the price of all features that it saves."""
    score = f"{frontier.score_name} {plus_minus(point.score, point.score_error)}"
    saved = f", saves {_saved(frontier, point)}" if frontier.full_cost > 0 else ""
    return f"{score} at {plus_minus(point.cost, point.cost_error)} {frontier.unit}{saved}"


def _saved(frontier: Frontier, point: Point) -> str:
    """Return the share of the price of all features that a model saves; nothing if these are free."""
    return saving(point.cost, frontier.full_cost) if frontier.full_cost > 0 else ""


def _cells(frontier: Frontier, point: Point) -> list[str]:
    texts = [_name(point), with_error(point.score, point.score_error), cost(point.cost), _saved(frontier, point)]
    return [*texts, *map(milliseconds, (point.latency, point.latency_p95) if frontier.has_times else ())]
