"""A frontier in four lines, and as a table of a notebook."""

from __future__ import annotations

from html import escape

from costframe.choices.choices import Choices
from costframe.choices.figures import describe_worth, figures_of
from costframe.choices.sentences import describe_model, wording_of
from costframe.choices.tables import columns_of, rows_of_frontier, to_cells
from costframe.core.display import html_table
from costframe.core.errors import brief, format_count
from costframe.study.points import Point
from costframe.study.references import is_reference


def describe_frontier(frontier: Choices) -> str:
    """Return four lines, of the range of scores and costs and the points that matter most, and what nobody knows."""
    front = frontier.non_dominated() or frontier.points
    wording = wording_of(frontier)
    span = f"{wording.span(front)} at {front[0].cost:.4g} to {front[-1].cost:.4g} {frontier.unit}"
    lines = [
        f"{label}: {_in_words(frontier, point) if point else 'none'}" for label, point in wording.highlights().items()
    ]
    return brief(frontier, _count(frontier), span, more=[*lines, *frontier.notes])


def frontier_html(frontier: Choices) -> str:
    """Return a table of at most six non-dominated points with the recommendation, without colors of its own."""
    chosen = frontier.recommended()
    points = rows_of_frontier(frontier, chosen)
    columns = columns_of(frontier, ("model", "score", "cost", "saves"))
    rows = to_cells(frontier, points, columns)
    named = {
        "model": "point",
        "score": f"{frontier.score_name} \u00b1 error",
        "cost": f"cost ({frontier.unit} per row)",
    }
    header = [named.get(column, column) for column in columns]
    table = html_table(f"{_count(frontier)}; the best at each cost:", header, rows, points.index(chosen))
    return f"<div>{table}<p>Recommended: {escape(describe_model(frontier, chosen))}</p></div>"


def _count(frontier: Choices) -> str:
    algorithms = {point.algorithm for point in frontier}
    references = {point.algorithm for point in frontier if is_reference(point)}
    of = format_count(len(algorithms - references), "algorithm") if algorithms > references else ""
    also = format_count(len(references), "reference") if references else ""
    return f"{format_count(len(frontier), 'point')} of {' and '.join(filter(None, (of, also)))}"


def _in_words(frontier: Choices, point: Point) -> str:
    """Return a point's name, score or bill, and cost, and the share of the price of all features that it saves."""
    name, paid, saved = figures_of(frontier, point, "model", "cost in words", "saves")
    saves = f", saves {saved}" if frontier.full_cost > 0 else ""
    return f"{name}, {describe_worth(frontier, point, 'in words')} at {paid} {frontier.unit}{saves}"
