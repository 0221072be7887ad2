"""Laws of dates: a column of dates is one feature, paid once with the parts that its price asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.testing.case import COSTS, Case, expect, fit, law, priced, same_bits
from costframe.testing.counting import expect_as_reported, inquire

if TYPE_CHECKING:
    import pandas as pd

_PARTS = ("weekday", "month")
_SOME = 20  # rows to step through one by one


@law
def a_date_is_paid_once_with_its_parts(case: Case) -> None:
    """Dates of any type of column, and their parts, are one feature in fits, predictions, costs and inquiries."""
    costs = priced(features={"cheap": {"cost": 1.0, "parts": list(_PARTS)}})
    table = case.table
    estimator = fit(case.make(costs, tradeoff=0.0), evolve(table, X=_dated(table.X)))
    rows = _dated(table.fresh)
    scores = case.scores(estimator, rows)
    for name, other in {
        "with a time zone": rows.assign(cheap=rows["cheap"].dt.tz_localize("UTC").dt.tz_convert("America/New_York")),
        "of Python": rows.assign(cheap=np.array([None if day is None else day.date() for day in _listed(rows)])),
    }.items():
        expect(np.array_equal(estimator.predict(other), estimator.predict(rows)), f"dates {name} change predictions")
        expect(same_bits(case.scores(estimator, other), scores), f"dates {name} in a frame change the scores")
    report, names = estimator.cost(rows, rounds=True), estimator.predictor_.feature_names
    expect(report.feature_names == COSTS.names == tuple(names), f"a date is not one feature: {names}")
    for i in range(_SOME):
        day = _listed(rows)[i]
        values = {name: float(rows[name].iloc[i]) for name in COSTS.names if name != "cheap"}
        end, source = inquire(estimator.predictor_, values | {"cheap": day and day.date().isoformat()}, costs)
        expect_as_reported(report, i, end, source, f"row {i}: an inquiry given a date")
        expect(
            report.predictions is not None and same_bits(end.value, report.predictions[i]),
            f"row {i}: an inquiry given a date predicts otherwise",
        )


def _dated(X: Any) -> pd.DataFrame:
    """Make a frame whose column "cheap" holds dates, informative by their weekdays."""
    import pandas as pd

    frame = pd.DataFrame(np.asarray(X), columns=list(COSTS.names))
    band = np.digitize(frame["cheap"], (-1.0, -0.3, 0.3, 1.0))
    days = 19_000 + 7.0 * (np.arange(len(frame)) % 101) + band
    days[np.isnan(frame["cheap"])] = np.nan
    others = dict.fromkeys(("free", "iron", "sugar", "scan"), 0.0)
    return frame.assign(**others, cheap=pd.to_datetime(days, unit="D", origin="unix"))


def _listed(rows: pd.DataFrame) -> list[Any]:
    return [None if day != day else day.to_pydatetime() for day in rows["cheap"].to_list()]  # noqa: PLR0124 - of NaT
