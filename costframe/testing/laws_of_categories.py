"""Laws of categories: columns of labels are split by their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import CostframeError
from costframe.testing.case import (
    COSTS,
    Case,
    expect,
    fit,
    law,
    same_bits,
)
from costframe.testing.counting import expect_close, inquire

if TYPE_CHECKING:
    import pandas as pd


COLORS = ("red", "blue", "green", "teal", "pink", "gray")
SOME = 20  # rows to step through one by one


@law
def categories_are_split_or_refused(case: Case) -> None:
    """Columns of a category dtype are split by labels in any order of a frame's categories, or refused by name."""
    from attrs import evolve

    table = case.table
    try:
        estimator = fit(case.make(tradeoff=0.0), evolve(table, X=_colored(table.X, COLORS)))
    except CostframeError as error:
        expect("cheap" in str(error), f"a category column is refused without naming it: {error}")
        return
    rows = _colored(table.fresh, COLORS)
    _expect_same_everywhere(case, estimator, rows)
    texts = _colored(table.X, COLORS).astype({"cheap": object})
    plain = fit(case.make(tradeoff=0.0), evolve(table, X=texts))
    labels = plain.predictor_.categories.get("cheap", ())
    expect(set(labels or ()) <= set(COLORS) and bool(labels), "a column of texts is not split by its texts")
    unseen = rows.assign(cheap=rows["cheap"].astype(object).where(rows["cheap"] != "red", "violet"))
    missing = rows.assign(cheap=rows["cheap"].where(rows["cheap"] != "red"))
    expect(
        same_bits(case.scores(estimator, unseen), case.scores(estimator, missing)),
        "a category never seen does not go the way of a missing one",
    )
    values, report = estimator.predictor_.predict(rows), estimator.cost(rows)
    for i in range(SOME):
        end, _ = inquire(estimator.predictor_, {name: rows[name].iloc[i] for name in COSTS.names}, COSTS)
        expect(same_bits(end.value, values[i]), f"row {i}: an inquiry given labels predicts otherwise")
        expect_close(report.per_row[i], end.cost, f"row {i}: an inquiry given labels")


def _expect_same_everywhere(case: Case, estimator: Any, rows: pd.DataFrame) -> None:
    """Expect the same scores for other orders of the categories, and for plain texts."""
    turned = rows.assign(cheap=rows["cheap"].cat.reorder_categories(list(reversed(COLORS))))
    texts = rows.assign(cheap=rows["cheap"].astype(object))
    for name, other in {"another order of categories": turned, "a column of texts": texts}.items():
        expect(np.array_equal(estimator.predict(other), estimator.predict(rows)), f"{name} changes the predictions")
        same = same_bits(case.scores(estimator, other), case.scores(estimator, rows))
        expect(same, f"{name} in a frame changes the scores")


def _colored(X: Any, order: tuple[str, ...]) -> pd.DataFrame:
    """Make a frame whose column "cheap" holds colors, informative as labels but not by their order."""
    import pandas as pd

    frame = pd.DataFrame(np.asarray(X), columns=list(COSTS.names))
    band = np.digitize(frame["cheap"], (-1.0, -0.3, 0.3, 1.0))  # a missing value is in the last
    colors = np.array(["green", "red", "gray", "blue", "pink", "teal"])[band]
    frame = frame.assign(**dict.fromkeys(("free", "iron", "sugar", "scan"), 0.0))
    return frame.assign(cheap=pd.Categorical(colors, categories=list(order)))
