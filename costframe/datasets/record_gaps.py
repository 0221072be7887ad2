"""Gaps of the records in a data set: what nobody knows of its tests, and the pilot that would settle it."""

from __future__ import annotations

from costframe.core.errors import ParameterError
from costframe.datasets.dataset import Dataset, PartRows
from costframe.records.guard import NEEDED, Gaps, find_gaps
from costframe.records.labels import Tellers
from costframe.records.pilot import Pilot, plan_pilot
from costframe.records.table import RecordedTable


def tellers_of(data: Dataset) -> Tellers:
    """Return what tells regions of a data set."""
    return Tellers.of_dataset(data.X, data.feature_names, data.categorical, data.dates)


def gaps_of(data: Dataset, part: str | None = None) -> Gaps:
    """Return where classes of a data set, or of a part of it, lack rows in which tests were made; see `find_gaps`."""
    rows = data if part is None else data.part(part)
    table = _table_of(data, rows)
    return find_gaps(tellers_of(data).always(table, data.costs), table.records, rows.y, _classes(data))


def pilot_of(data: Dataset, donors: int = NEEDED, seed: int = 0) -> Pilot:
    """Return the tests that would settle all gaps of a data set; see `plan_pilot`.

    Raises
    ------
    ParameterError
        If neither prices nor a mask say that tests were not made, or all were.
    """
    table = _table_of(data, data)
    if table.records is None:
        raise ParameterError(
            'data: expected tests that were not made in some rows; say absent = "not made" in prices, or give a mask'
        )
    always = tellers_of(data).always(table, data.costs)
    return plan_pilot(always, table.records, data.y, _classes(data), data.costs, donors=donors, seed=seed)


def _table_of(data: Dataset, rows: Dataset | PartRows) -> RecordedTable:
    """Return the records of some rows of a data set."""
    by_class = data.task != "regression"
    return RecordedTable.of(rows.X, rows.y, data.feature_names, data.costs.panels, rows.made, by_class=by_class)


def _classes(data: Dataset) -> tuple[object, ...]:
    """Return the kinds of rows, each of which needs donors: classes, or grades."""
    if data.task == "classification":
        return data.classes
    return tuple(sorted({*data.y.tolist()})) if data.task == "ranking" else ()
