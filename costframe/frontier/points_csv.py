"""Points of a frontier as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import attrs

from costframe.frontier.points import Point

if TYPE_CHECKING:
    from costframe.frontier.frontier import Frontier

__all__ = ["points_csv"]


def points_csv(frontier: Frontier) -> str:
    """Return one line per point, with floats that read back to the same bits.

    The columns are the attributes of `Point`, then `non_dominated` (1 or 0), `score_name`, `unit`, `full_cost`.
    """
    text = io.StringIO()
    columns = [attribute.name for attribute in attrs.fields(Point)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, "non_dominated", "score_name", "unit", "full_cost"])
    worth_having = frontier.non_dominated()
    for point in frontier.points:
        values = [getattr(point, name) for name in columns]
        writer.writerow([*values, int(point in worth_having), frontier.score_name, frontier.unit, frontier.full_cost])
    return text.getvalue()
