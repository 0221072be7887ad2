"""What `costframe audit` does: it replays a log of inquiries with the model that was served."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np

from costframe.cli.given_model import open_model
from costframe.cli.outputs import check_apart, check_table_file
from costframe.cli.reading import ReadingOptions
from costframe.core.arrays import F8
from costframe.core.errors import format_count, printable
from costframe.core.files import open_atomically
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.tables.categories import Labels
from costframe.core.tables.dates import Dates
from costframe.datasets.table_writing import WRITABLE, table_writer
from costframe.sources import Audit, LoggedRows, read_logged_rows
from costframe.sources import audit as replay
from costframe.sources.audits import describe_audit

DIFFERENT = 1  # exit status


def audit(
    log: str,
    model: str,
    *,
    reading: ReadingOptions,
    periods: int,
    until: float | str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Print what the log and the model say of each row's requests, payments and answer, and end with the status."""
    ending = None
    if output is not None:
        check_apart({"--output": [output]}, {"LOG": log, "MODEL": model, "--costs": reading.costs})
        ending = check_table_file(output, WRITABLE, force=force)
    served = open_model(model, reading.costs).ended_by(until)
    result = replay(log, served.fitted, served.prices, periods=periods)
    click.echo("\n".join(printable(line) for line in describe_audit(result)))
    if len(result.periods) > 1:
        click.echo("\n".join(["", *_table(result)]))
    if output is not None and ending is not None:
        click.echo(_write_rows(read_logged_rows(log, served.fitted), served.fitted, output, ending))
    sys.exit(0 if result.agrees else DIFFERENT)


def _write_rows(rows: LoggedRows, model: FittedEstimator, output: Path, ending: str) -> str:
    """Write rows with their keys, and return a line about them."""
    categories, columns = model.predictor_.categories, dict[str, Any]()
    for column, name in enumerate(rows.feature_names):
        values = rows.X[:, column]
        columns[name] = _as_written(values, categories.get(name))
    keys = [key if isinstance(key, int | str) else str(key) for key in rows.keys]
    key = "key" if "key" not in columns else "key of the row"
    with open_atomically(output) as sink, table_writer(sink, ending) as write:
        write({key: keys if len({*map(type, keys)}) == 1 else list(map(str, keys)), **columns})
    line = f"wrote {printable(str(output))}: {format_count(len(rows), 'row')}, empty where nothing was asked for"
    if empty := int((rows.made & np.isnan(rows.X)).sum()):
        line += f", or in {format_count(empty, 'cell')} where nothing came back"
    return line


def _as_written(values: F8, labels: Labels | None) -> Any:
    """Return a column, float64 (n,), with labels and dates in place of their numbers, and None in empty cells."""
    if not isinstance(labels, tuple | Dates):
        return values
    there = ~np.isnan(values)
    written = np.full(len(values), None, object)
    if isinstance(labels, Dates):
        written[there] = [str(np.datetime64(0, "D") + int(day)) for day in values[there]]
    else:
        written[there] = [labels[int(number)] for number in values[there]]
    return written


def _table(result: Audit) -> list[str]:
    lines = [f"{'part':>4} {'rows':>8} {'mean cost':>12} {'+-':>9} {'in vain':>9} {'no answer':>9}"]
    for number, part in enumerate(result.periods, 1):
        error = "too few" if math.isnan(part.error) else f"{part.error:.2g}"
        money = f"{part.mean:>12,.4g} {error:>9} {part.failed:>9.4g}"
        lines.append(f"{number:>4} {part.rows:>8,} {money} {part.without_answer:>9,}")
    return lines
