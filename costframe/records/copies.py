"""Completed copies of rows whose costs are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.callers import warn_caller
from costframe.core.errors import DataError, UntestedWarning, quote_names
from costframe.core.prices.panels import Panel
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories
from costframe.core.tables.frames import column_names, types_of
from costframe.records.bootstrap import find_giving
from costframe.records.completion import code_labels, fill, find_donors
from costframe.records.made import Records, align_mask, find_made
from costframe.records.table import is_number_type


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
    categories: Categories | None = None,
) -> Sequence[F8]:
    """Return completed copies of rows, float64 (n, d) each; the rows alone, if they lack no test that is `read`.

    Donors are drawn by weights, (n,). `categories` are those of the model that reads the rows.

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
    named = _find_categorical(categories or {}, X)
    _warn_of_unknown(records, weight)
    places = [place for place, name in enumerate(names) if name in named]
    found = find_donors(rows, labels, records, by_class=by_class, weight=weight, categorical=places)
    return [fill(rows, donors, records) for donors in found]


def _warn_of_unknown(records: Records, weight: F8 | None) -> None:
    """Warn of tests that no row can give to others, which stay empty."""
    gives = find_giving(records.made, weight).any(axis=0)
    if unknown := [name for name, known in zip(records.names, np.atleast_1d(gives), strict=True) if not known]:
        warn_caller(
            f"X: nobody knows what {quote_names(unknown)} would have shown, as no row of positive weight has it; "
            "what rows cost is counted as if the test had no result",
            UntestedWarning,
        )


def _find_categorical(categories: Categories, X: Any) -> set[str]:
    """Return the columns whose numbers only name categories: those with labels, and texts that models read as given."""
    held = column_names(X)
    kinds = {} if held is None else dict(zip(held, types_of(X), strict=True))
    given = {name for name, known in categories.items() if isinstance(known, AsGiven)}
    texts = {name for name in given if name in kinds and not is_number_type(kinds[name])}
    return texts | {name for name, known in categories.items() if isinstance(known, tuple)}
