"""A frontier as text: rows of cells for any table, four lines at a prompt, a table in a notebook, and a data frame."""

from __future__ import annotations

import csv
import io
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import fields_dict

from costframe.core.amounts import cost, saving, with_error
from costframe.core.errors import brief, format_count
from costframe.core.html import html_table
from costframe.frontier.paths import choose_places
from costframe.frontier.points import Point, plus_minus
from costframe.frontier.words import describe_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

    from costframe.frontier.choices import Choices

__all__ = ["describe_frontier", "frontier_html", "points_frame", "rows_of_frontier", "to_cells"]

MOST_ROWS = 6  # of a table of the frontier
COLUMNS: dict[str, Callable[[Choices, Point], str]] = {
    "model": lambda _, point: point.name or point.algorithm,
    "algorithm": lambda _, point: point.algorithm,
    "tradeoff": lambda _, point: f"{point.tradeoff:.2e}" if point.tradeoff else "0",
    "score": lambda _, point: with_error(point.score, point.score_error),
    "score alone": lambda _, point: f"{point.score:.4f}",
    "90% interval": lambda frontier, point: "{:.4f} to {:.4f}".format(*frontier.score_interval(point)),
    "cost": lambda _, point: cost(point.cost),
    "saves": lambda frontier, point: saving(point.cost, frontier.full_cost),
    "test score": lambda _, point: "-" if point.test_score is None else f"{point.test_score:.4f}",
    "test cost": lambda _, point: cost(point.test_cost),
    "features": lambda _, point: str(point.n_features),
    "learners": lambda _, point: f"{point.n_learners:,}",
    "rounds": lambda _, point: f"{point.rounds:.1f}",
}


def to_cells(frontier: Choices, points: Iterable[Point], columns: Sequence[str]) -> list[list[str]]:
    """Return a row of texts for each point."""
    return [[COLUMNS[name](frontier, point) for name in columns] for point in points]


def rows_of_frontier(frontier: Choices, chosen: Point) -> list[Point]:
    """Return at most six points by descending cost: the chosen, the best, and non-dominated ones with little loss.

    Each further point most reduces the loss in score against the whole frontier, summed over budgets.
    """
    front = frontier.non_dominated()
    shown = {frontier.best(), chosen, front[0]}
    kept = [place for place, point in enumerate(front) if point in shown]
    cost, score = np.array([(point.cost, frontier.rank(point)[0]) for point in front]).T
    further = choose_places(cost, score, kept, MOST_ROWS - len(shown), frontier.full_cost)
    return sorted(shown | {front[place] for place in further}, key=lambda point: (-point.cost, -point.score))


def describe_frontier(frontier: Choices) -> str:
    """Return four lines: the range of scores and costs, and the points that matter most."""
    front = frontier.non_dominated() or frontier.points
    scores = f"{frontier.score_name} {front[0].score:.3g} to {front[-1].score:.3g}"
    span = f"{scores} at {front[0].cost:.4g} to {front[-1].cost:.4g} {frontier.unit}"
    chosen = {"recommended": frontier.recommended(), "best": frontier.best(), "cheapest useful": frontier.useful()}
    lines = [f"{label}: {_in_words(frontier, point) if point else 'none'}" for label, point in chosen.items()]
    return brief(frontier, _count(frontier), span, more=lines)


def frontier_html(frontier: Choices) -> str:
    """Return a table of at most six non-dominated points with the recommendation, without colors of its own."""
    chosen = frontier.recommended()
    points = rows_of_frontier(frontier, chosen)
    rows = to_cells(frontier, points, ("model", "score", "cost", "saves"))
    header = "point", f"{frontier.score_name} \u00b1 error", f"cost ({frontier.unit} per row)", "saves"
    table = html_table(f"{_count(frontier)}; the best at each cost:", header, rows, points.index(chosen))
    return f"<div>{table}<p>Recommended: {escape(describe_model(frontier, chosen))}</p></div>"


def points_records(frontier: Choices) -> list[dict[str, Any]]:
    """Return a record of each point: the attributes of `Point`, `non_dominated`, `score_name`, `unit`, `full_cost`."""
    worth_having = frozenset(frontier.non_dominated())
    more = {"score_name": frontier.score_name, "unit": frontier.unit, "full_cost": frontier.full_cost}
    return [
        {name: getattr(p, name) for name in fields_dict(Point)} | {"non_dominated": int(p in worth_having)} | more
        for p in frontier.points
    ]


def points_csv(frontier: Choices) -> str:
    """Return one line per point, with floats that read back to the same bits.

    The columns are those of `points_records`; `non_dominated` is 1 or 0.
    """
    text, records = io.StringIO(), points_records(frontier)
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def points_frame(frontier: Choices) -> pd.DataFrame:
    """Return the columns of the CSV as a data frame, indexed by the names of points; None becomes NaN."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas; to_csv gives the same table") from error
    frame = pd.DataFrame(points_records(frontier)).set_index("name")
    return frame.astype(dict.fromkeys(("test_score", "test_error", "test_cost"), "float64"))


def _count(frontier: Choices) -> str:
    algorithms = len({point.algorithm for point in frontier})
    return f"{format_count(len(frontier), 'point')} of {format_count(algorithms, 'algorithm')}"


def _in_words(frontier: Choices, point: Point) -> str:
    """Return a point's name, score and cost, and the share of the price of all features that it saves."""
    score = f"{frontier.score_name} {plus_minus(point.score, point.score_error)}"
    saved = f", saves {saving(point.cost, frontier.full_cost)}" if frontier.full_cost > 0 else ""
    return (
        f"{point.name or point.algorithm}, {score} at {plus_minus(point.cost, point.cost_error)} {frontier.unit}{saved}"
    )
