"""The points of a frontier as records, CSV, or a data frame."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from attrs import fields_dict

from costframe.choices.choices import Choices
from costframe.choices.sentences import wording_of
from costframe.core.cells import guard
from costframe.study.points import Point

if TYPE_CHECKING:
    import pandas as pd


def points_records(frontier: Choices) -> list[dict[str, Any]]:
    """Return a record of each point: the attributes of `Point`, `non_dominated`, `score_name`, `unit`, `full_cost`.

    Where prices have errors, also `bill`, `bill_error`, and the ends of its interval, `bill_low` and `bill_high`.
    """
    worth_having, wording = frozenset(frontier.non_dominated()), wording_of(frontier)
    more = {"score_name": frontier.score_name, "unit": frontier.unit, "full_cost": frontier.full_cost}
    return [
        {name: getattr(p, name) for name in fields_dict(Point)}
        | {"non_dominated": int(p in worth_having)}
        | more
        | wording.record(p)
        for p in frontier.points
    ]


def points_csv(frontier: Choices) -> str:
    """Return one line per point, with floats that read back to the same bits.

    The columns are those of `points_records`; `non_dominated` is 1 or 0. Texts are as `guard` has them.
    """
    text, records = io.StringIO(), points_records(frontier)
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: guard(value) if isinstance(value, str) else value for key, value in record.items()}
                     for record in records)  # fmt: skip
    return text.getvalue()


def points_frame(frontier: Choices) -> pd.DataFrame:
    """Return the columns of the CSV as a data frame, indexed by the names of points; None becomes NaN."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas; to_csv gives the same table") from error
    frame = pd.DataFrame(points_records(frontier)).set_index("name")
    maybe = "test_score", "test_error", "test_cost", "recorded_score", "recorded_cost"
    return frame.astype(dict.fromkeys(maybe, "float64"))
