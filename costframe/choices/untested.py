"""Rows that lack tests, on which nothing can be promised."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from costframe.core.errors import DataError
from costframe.core.prices.panels import Panel
from costframe.core.tables.frames import column_names
from costframe.records.made import Records, align_mask
from costframe.records.table import encode_table
from costframe.study.rows import StudyRows


def refuse_untested(
    rows: StudyRows, panels: Sequence[Panel], names: Sequence[str], read: Collection[str] | None = None
) -> None:
    """Refuse to promise anything on rows that lack a test, among the columns that models `read`, by default all.

    A promise is about every row, and a completed one is an estimate.
    """
    if not panels and rows.made is None:
        return
    held = column_names(rows.X)
    names = [name for name in names if held is None or name in held]
    numbers, mask = encode_table(rows.X, names), align_mask(rows.made, rows.X, names)
    asked = [place for place, name in enumerate(names) if read is None or name in read]
    records = Records.of(
        numbers[:, asked],
        [names[place] for place in asked],
        panels,
        mask if mask is None or mask is True else mask[:, asked],
    )
    if records is not None:
        raise DataError(
            f"promise: needs rows in which all tests were made; {records.describe_most_lacking()}; give such rows, or "
            "say made=True (--no-records) if empty cells are what the tests answered"
        )
