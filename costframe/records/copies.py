"""Completed copies of rows whose costs are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.errors import DataError
from costframe.core.prices.panels import Panel
from costframe.records.completion import code_labels, fill, find_donors
from costframe.records.made import Records, align_mask, find_made


def complete_rows(
    rows: F8,
    X: Any,
    y: Any,
    made: Any,
    *,
    names: Sequence[str],
    panels: Sequence[Panel],
    read: Collection[str],
    by_class: bool,
    weight: F8 | None = None,
) -> Sequence[F8]:
    """Return completed copies of rows, float64 (n, d) each; the rows alone, if they lack no test that is `read`.

    Donors are drawn by weights, (n,).

    Raises
    ------
    DataError
        If rows lack a test, and there are no labels to complete them by.
    """
    cells = find_made(rows, names, panels, align_mask(made, X, names))
    if cells is None:
        return [rows]
    cells = cells | ~np.isin(names, list(read))
    records = Records.of_cells(cells, names, panels)
    if records is None:
        return [rows]
    if y is None:
        raise DataError(
            f"X: {records.describe_most_lacking()}, and what these cost depends on what it would have shown; give the "
            "labels (y, --target), by which such rows are completed, or say made=True (--no-records) if an empty cell "
            "is what the test answered"
        )
    labels = code_labels(y, by_class=by_class)
    found = find_donors(rows, labels, records, by_class=by_class, weight=weight)
    return [fill(rows, donors, records) for donors in found]
