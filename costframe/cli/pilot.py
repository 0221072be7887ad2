"""What `costframe pilot` does: it lists rows in which tests by chance would tell what nobody knows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from costframe.cli.given_data import is_file, is_larger_than_memory, open_data
from costframe.cli.outputs import check_apart, check_file, check_overwrite
from costframe.cli.reading import ReadingOptions
from costframe.core.cells import guard
from costframe.core.errors import DataError, ParameterError, printable, quote_names
from costframe.core.files import write_atomically
from costframe.datasets.dataset import Dataset
from costframe.datasets.record_gaps import pilot_of
from costframe.datasets.table_files import TableFile
from costframe.records.pilot import Pilot
from costframe.training.console import output as make_console

_SHOWN = 10  # rows on the terminal
_WIDTHS = "width of the 90 % interval of what a test shows in the mean, in spreads of a row:"


def pilot(
    data: str,
    *,
    reading: ReadingOptions,
    donors: int,
    row_id: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Print the gaps of the records in DATA, and the rows, the price and the gain of a pilot; write its list."""
    if output is not None:
        check_apart({"--output": [output]}, {"DATA": data, "--costs": reading.costs})
        check_file(output)
        check_overwrite([output], force=force)
    if not is_file(data) or is_larger_than_memory(data):
        raise ParameterError(f"{data}: expected a table file that fits in memory")
    dataset = open_data(data, reading)
    if dataset.task == "ranking":
        raise ParameterError(f"{data}: expected a classification or regression, got a ranking, whose rows are sorted")
    found = pilot_of(dataset, donors, reading.seed or 0)
    names = _row_names(data, dataset, reading, row_id)
    console = make_console()
    for line in describe(found, names):
        console.print(line, markup=False)
    if output is not None:
        write_atomically(output, to_csv(found, names, row_id).encode())
        console.print(f"wrote {printable(str(output))}", soft_wrap=True, markup=False)
    console.finish()


def describe(pilot: Pilot, names: Sequence[Any]) -> list[str]:
    """Return what nobody knows, the rows to test, and what that costs and gains, as lines."""
    if not pilot.drawn:
        return ["no pilot is needed: each test was made in enough rows of each class, in all regions"]
    lines = [
        *pilot.gaps.sentences(),
        "",
        _WIDTHS,
    ]
    lines += [f"  {printable(str(each))}" for each in pilot.drawn]
    rows = [str(names[row]) for row in pilot.panels]
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return [*lines, "", f"pilot: {printable(str(pilot))}", f"rows: {printable(', '.join(rows[:_SHOWN]))}{more}"]


def to_csv(pilot: Pilot, names: Sequence[Any], row_id: str | None) -> str:
    """Return the list of a pilot, with the number of each row from 1, its name if it has one, and its tests."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", *([] if row_id is None else [guard(row_id)]), "tests"])
    for row, panels in pilot.panels.items():
        writer.writerow([row + 1, *([] if row_id is None else [guard(str(names[row]))]), guard("; ".join(panels))])
    return text.getvalue()


def _row_names(data: str, dataset: Dataset, reading: ReadingOptions, row_id: str | None) -> Sequence[Any]:
    """Return the value of each row in a column that names rows, or its number from 1."""
    if row_id is None:
        return range(1, len(dataset.y) + 1)
    table = TableFile.open(data, reading.missing).read(texts={row_id})
    if row_id not in table:
        raise DataError(f"--id: {data} has no column {row_id!r}; the columns are {quote_names(table)}")
    values: Sequence[Any] = table[row_id].tolist() if hasattr(table[row_id], "tolist") else list(table[row_id])
    return values
