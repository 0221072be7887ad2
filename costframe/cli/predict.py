"""What `costframe predict` does: it predicts rows, each with its exact cost."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from costframe.cli.exits import name_written_files
from costframe.cli.given_model import PricedModel, open_model
from costframe.cli.live import LiveRun
from costframe.cli.live_answers import name_acquired
from costframe.cli.model_rows import check_error_prices, open_blocks
from costframe.cli.outputs import check_apart, check_table_file
from costframe.cli.reading import ReadingOptions
from costframe.core.arrays import B1, F8
from costframe.core.cost.report import CostReport
from costframe.core.errors import ParameterError, format_count, printable, quote_names
from costframe.core.files import open_atomically
from costframe.core.piped import STANDARD_STREAM
from costframe.core.terms.classes import both_classes
from costframe.datasets.table_writing import WRITABLE, table_writer

STANDARD_OUTPUT = Path(STANDARD_STREAM)
_MOST_HELD = 1 << 24  # bytes of what goes to standard output, in memory


def predict(
    model: str,
    data: str | None,
    *,
    reading: ReadingOptions,
    keep: tuple[str, ...],
    acquired: bool,
    output: Path,
    force: bool,
    source: Path | None,
    keys: Path | None,
    deadline: float | None,
    in_flight: int,
    log: Path | None,
    resume: bool,
    cluster: str | None,
    until: float | str | None,
    **limits: Any,
) -> None:
    """Write the predictions of rows, of a table or from live sources, and print their mean cost."""
    read = {"MODEL": model, "DATA": data, "--costs": reading.costs, "--source": source, "--keys": keys}
    check_apart({"--output": [output], "--log": [log]}, read)
    ending = _check_output(output, force=force)
    given = open_model(model, reading.costs).ended_by(until)
    if source is not None or keys is not None:
        of_table = data is not None or reading.part is not None or keep or reading.missing
        if source is None or keys is None or of_table:
            raise click.UsageError("--source goes with --keys, and without DATA, --part, --keep and --missing")
        _check_live(output, log, cluster)
        terms = limits | {"deadline": deadline, "in_flight": in_flight}
        run = LiveRun(given, source, keys, output, terms, log, cluster, acquired, reading.allow_unknown)
        sys.exit(run.run(resume=resume, force=force))
    if data is None:
        raise click.UsageError("expected DATA, or --source and --keys")
    if deadline is not None or log is not None or resume or cluster is not None:
        raise click.UsageError("--deadline, --log, --resume and --cluster go with --source")
    predictions = _Predictions(given, limits, acquired)
    blocks = open_blocks(data, given, reading, keep, predictions.unavailable)
    with _open_output(output) as sink:
        _write_blocks(sink, ending, predictions, blocks)
    with name_written_files(str(output)):
        lines = predictions.describe()
        where = "" if output == STANDARD_OUTPUT else f"\nwrote {printable(str(output))}"
        click.echo("\n".join(lines) + where, err=output == STANDARD_OUTPUT)


def _check_live(output: Path, log: Path | None, cluster: str | None) -> None:
    """Refuse outputs that rows of live sources do not have."""
    if output == STANDARD_OUTPUT:
        raise click.UsageError("--source needs a file as --output")
    if log is not None and cluster is not None:
        raise click.UsageError("--log goes without --cluster, whose rows end in other processes")


def _check_output(output: Path, *, force: bool) -> str:
    """Return the ending of the format to write; refuse a file that cannot be written."""
    return ".csv" if output == STANDARD_OUTPUT else check_table_file(output, WRITABLE, force=force, further=", or -")


@contextlib.contextmanager
def _open_output(output: Path) -> Iterator[IO[bytes]]:
    if output == STANDARD_OUTPUT:
        with tempfile.SpooledTemporaryFile(_MOST_HELD) as sink:  # a row may be refused when others are written
            yield sink
            sink.seek(0)
            shutil.copyfileobj(sink, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        with open_atomically(output) as sink:
            yield sink


def _write_blocks(
    sink: IO[bytes], ending: str, predictions: _Predictions, blocks: Iterator[tuple[F8, dict[str, Any]]]
) -> None:
    with table_writer(sink, ending) as write:
        for X, copied in blocks:
            columns = predictions.columns(X)
            if twice := [name for name in copied if name in columns]:
                raise ParameterError(f"--keep {quote_names(twice)}: the predictions have a column of this name")
            write(copied | columns)


@define
class _Predictions:
    """Predictions of blocks of rows, and the sums of their costs."""

    model: PricedModel
    limits: dict[str, Any]
    names_acquired: bool  # whether a column names the features of each row
    rows: int = 0
    cut: int = 0
    paid: float = 0.0
    bought: B1 = field(init=False)  # (d,): features that any row acquired

    def __attrs_post_init__(self) -> None:
        self.bought = np.zeros(self.model.fitted.n_features_in_, np.bool_)

    @cached_property
    def unavailable(self) -> tuple[str, ...]:
        """Names of the features that no row can have; see `Terms.unavailable_features`."""
        names = self.limits.get("unavailable", ())
        return self.model.predictor.row_terms(self.model.prices, unavailable=names).unavailable_features

    def columns(self, X: F8) -> dict[str, NDArray[Any]]:
        """Return the columns to write for some rows, float64 (rows, d), and count their costs."""
        check_error_prices(self.model.prices, self.model.predictor.feature_names, X, self.rows, self.unavailable)
        report = self.model.fitted.cost(X, costs=self.model.prices, made=True, **self.limits)
        self.rows += len(X)
        self.cut += 0 if report.cut is None else int(report.cut.sum())
        self.paid += float(report.per_row.sum())
        acquired = np.asarray(report.acquired)
        self.bought |= acquired.any(axis=0)
        columns = self._answers(X, report) | {"cost": report.per_row}
        if self.names_acquired:
            names = np.array(self.model.predictor.feature_names, object)
            columns["acquired"] = np.array([name_acquired(names[row]) for row in acquired], object)
        return columns

    def _answers(self, X: F8, report: CostReport) -> dict[str, NDArray[Any]]:
        values = report.predictions
        assert values is not None  # noqa: S101 - routing is hard
        if self.model.fitted.kind == "classifier":
            classes = self.model.fitted.classes_
            labels = self.model.predictor.decide(report.ends, X, self.model.prices, self.unavailable)
            probabilities = both_classes(values).T
            named = zip(classes.tolist(), probabilities, strict=True)
            return {"prediction": labels} | {f"probability_{label}": p for label, p in named}
        if values.ndim == 1:
            return {"prediction": values}
        return {f"prediction_{k}": output for k, output in enumerate(values.T)}

    def describe(self) -> list[str]:
        """Return lines about the rows and their mean cost."""
        unit, verb = printable(self.model.prices.unit), "costs" if self.rows == 1 else "cost"
        lines = [f"{format_count(self.rows, 'row')} {verb} {self.paid / self.rows:,.6g} {unit} per row on average"]
        once = self.model.prices.select(self.model.predictor.feature_names).once
        if fixed := float(once[self.bought].sum()):
            lines.append(f"  and {fixed:,.6g} {unit} once for the batch")
        if self.cut:
            lines.append(f"  {format_count(self.cut, 'row')} ended early")
        return lines
