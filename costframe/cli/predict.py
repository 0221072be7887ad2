"""`costframe predict`: predictions of rows, each with its exact cost."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np
from attrs import define, field

from costframe.cli.arguments import (
    allow_unknown_option,
    cap,
    check_apart,
    check_file,
    check_overwrite,
    costs_option,
    force_option,
    missing_option,
    part_option,
    seconds,
    target_path,
    text,
    until_option,
)
from costframe.cli.given_data import Cells, check_error_prices, open_blocks, open_model
from costframe.cli.group import name_written_files
from costframe.cli.live import LiveRun, name_acquired
from costframe.core.errors import ParameterError, format_count, printable, quote_names
from costframe.core.piped import STANDARD_STREAM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.arrays import B1, F8
    from costframe.core.cost.report import CostReport
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.prices.costs import CostModel

STANDARD_OUTPUT = Path(STANDARD_STREAM)
_MOST_HELD = 1 << 24  # bytes of what goes to standard output, in memory
EXAMPLES = """\b
Examples:
  costframe predict my.model patients.csv --output predictions.csv
  costframe predict my.model patients.parquet --keep id --acquired \\
    --output answers.parquet
  zcat new.csv.gz | costframe predict xgboost.ubj - --costs prices.toml \\
    --output - | head
  costframe predict my.model new.csv --max-cost 10 --unavailable mri \\
    --output cheap.csv
  costframe predict my.model --source sources.toml --keys today.csv \\
    --deadline 200ms --output answers.csv --log inquiries.jsonl
"""


@click.command(epilog=EXAMPLES, short_help="Predict rows, each with its exact cost.")
@click.argument("model", type=text)
@click.argument("data", type=text, required=False)
@click.option(
    "--output", metavar="FILE", required=True, type=target_path,
    help="File to write: .csv, .tsv or .parquet; - for CSV on standard output.",
)  # fmt: skip
@click.option("--keep", metavar="COL", type=text, multiple=True, help="Column to copy, an id say; may be repeated.")
@click.option("--acquired", is_flag=True, help="Add a column with the features that each row had.")
@click.option("--max-cost", metavar="C", type=cap, help="Hard cap on the cost of each row.")
@click.option(
    "--unavailable", metavar="NAME", type=text, multiple=True,
    help="Feature or resource that cannot be had; may be repeated.",
)  # fmt: skip
@until_option
@costs_option
@part_option
@missing_option
@allow_unknown_option
@force_option
@click.option("--source", metavar="FILE", type=target_path, help="Live sources, TOML, in place of DATA.")
@click.option("--keys", metavar="FILE", type=target_path, help="Keys of the rows to predict from sources, a table.")
@click.option("--deadline", metavar="TIME", type=seconds, help="With --source: time of each row, such as 200ms or 2s.")
@click.option("--log", metavar="FILE", type=target_path, help="With --source: log of inquiries, for `costframe audit`.")
@click.option("--resume", is_flag=True, help="With --source: go on with an interrupted run.")
@click.option(
    "--in-flight", type=click.IntRange(1), default=1000, show_default=True, metavar="N",
    help="With --source: rows that advance together.",
)  # fmt: skip
@click.option("--cluster", metavar="ADDRESS", type=text, help="With --source: ask from the workers of a dask cluster.")
def predict(
    model: str,
    data: str | None,
    costs: str | None,
    part: str | None,
    missing: tuple[str, ...],
    allow_unknown: bool,
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
    wrap: Callable[[FittedEstimator], FittedEstimator],
    **limits: Any,
) -> None:
    """Predict the rows of DATA, in their order: prediction, probability of each class, and cost of each row.

    MODEL is a file of `costframe fit`, `costframe compare` or `costframe.save`, or a model of LightGBM, XGBoost or
    CatBoost. DATA is a table file with a column for each feature that the model reads, among others and in any order,
    or the name of a data set; files end in .csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow. It
    may also be a folder of Parquet files, or a pattern such as 'sales/2024-*.parquet', or - for CSV on standard input.
    The default prices are those in MODEL. A table is read and written in blocks. It is an error, and nothing is
    written, if most rows have labels, in a column, that the model does not know, or no row has a value; --allow-unknown
    predicts all the same. In CSV, texts that a spreadsheet would run, such as =1+1, have an apostrophe in front, which
    costframe takes away when it reads them.

    With --source and --keys, the values come from the databases and services in a source file, and only those that a
    row needs. Keys are texts as they are written, 0007 is not 7; those of a Parquet, Feather or Arrow file have its
    types. Tables and columns are checked, and connections open, before the first row and its deadline begin. The exit
    status is 0 if all went well, 3 if some rows had to do without values that did not come, and 4 if some have no
    answer, the sources have none of the keys, gave no value at all, or none of a feature that the model asked for, or
    most of its labels are unknown to the model, unless with --allow-unknown.
    """
    read = {"MODEL": model, "DATA": data, "--costs": costs, "--source": source, "--keys": keys}
    check_apart({"--output": [output], "--log": [log]}, read)
    ending = _check_output(output, force=force)
    fitted, prices = open_model(model, costs)
    fitted, cells = wrap(fitted), Cells(missing, allow_unknown, fitted.decimal)
    if source is not None or keys is not None:
        if source is None or keys is None or data is not None or part is not None or keep or missing:
            raise click.UsageError("--source goes with --keys, and without DATA, --part, --keep and --missing")
        if output == STANDARD_OUTPUT:
            raise click.UsageError("--source needs a file as --output")
        if log is not None and cluster is not None:
            raise click.UsageError("--log goes without --cluster, whose rows end in other processes")
        terms = limits | {"deadline": deadline, "in_flight": in_flight}
        run = LiveRun(fitted, prices, source, keys, output, model, terms, log, cluster, acquired, allow_unknown)
        sys.exit(run.run(resume=resume, force=force))
    if data is None:
        raise click.UsageError("expected DATA, or --source and --keys")
    if deadline is not None or log is not None or resume or cluster is not None:
        raise click.UsageError("--deadline, --log, --resume and --cluster go with --source")
    predictions = _Predictions(fitted, prices, limits, acquired)
    blocks = open_blocks(data, fitted.predictor_, part, model, keep, cells)
    with _open_output(output) as sink:
        _write_blocks(sink, ending, predictions, blocks)
    with name_written_files(str(output)):
        lines = predictions.describe()
        where = "" if output == STANDARD_OUTPUT else f"\nwrote {printable(str(output))}"
        click.echo("\n".join(lines) + where, err=output == STANDARD_OUTPUT)


def _check_output(output: Path, *, force: bool) -> str:
    """Return the ending of the format to write; refuse a file that cannot be written."""
    if output == STANDARD_OUTPUT:
        return ".csv"
    ending = output.suffix.lower()
    from costframe.datasets.table_writing import WRITABLE

    if ending not in WRITABLE:
        raise ParameterError(f"--output {output}: expected a file name that ends in {', '.join(WRITABLE)}, or -")
    check_file(output)
    check_overwrite([output], force=force)
    return ending


@contextlib.contextmanager
def _open_output(output: Path) -> Iterator[IO[bytes]]:
    from costframe.core.files import open_atomically

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
    from costframe.datasets.table_writing import table_writer

    with table_writer(sink, ending) as write:
        for X, kept in blocks:
            columns = predictions.columns(X)
            if twice := [name for name in kept if name in columns]:
                raise ParameterError(f"--keep {quote_names(twice)}: the predictions have a column of this name")
            write(kept | columns)


@define
class _Predictions:
    """Predictions of blocks of rows, and the sums of their costs."""

    fitted: FittedEstimator
    prices: CostModel
    limits: dict[str, Any]
    names_acquired: bool  # whether a column names the features of each row
    rows: int = 0
    cut: int = 0
    paid: float = 0.0
    bought: B1 = field(init=False)  # (d,): features that any row acquired

    def __attrs_post_init__(self) -> None:
        self.bought = np.zeros(self.fitted.n_features_in_, np.bool_)

    def columns(self, X: F8) -> dict[str, NDArray[Any]]:
        """Return the columns to write for some rows, float64 (rows, d), and count their costs."""
        read, without = self.fitted.predictor_.feature_names, self.limits.get("unavailable", ())
        check_error_prices(self.prices, read, X, self.rows, without)
        report = self.fitted.cost(X, costs=self.prices, **self.limits)
        self.rows += len(X)
        self.cut += 0 if report.cut is None else int(report.cut.sum())
        self.paid += float(report.per_row.sum())
        acquired = np.asarray(report.acquired)
        self.bought |= acquired.any(axis=0)
        columns = self._answers(X, report) | {"cost": report.per_row}
        if self.names_acquired:
            names = np.array(self.fitted.predictor_.feature_names, object)
            columns["acquired"] = np.array([name_acquired(names[row]) for row in acquired], object)
        return columns

    def _answers(self, X: F8, report: CostReport) -> dict[str, NDArray[Any]]:
        from costframe.core.predictors.classes import both_classes

        values = report.predictions
        assert values is not None  # noqa: S101 - routing is hard
        if self.fitted.kind == "classifier":
            classes = self.fitted.classes_
            labels = self.fitted.predictor_.decide(report.ends, X, self.prices, self.limits.get("unavailable", ()))
            probabilities = both_classes(values).T
            named = zip(classes.tolist(), probabilities, strict=True)
            return {"prediction": labels} | {f"probability_{label}": p for label, p in named}
        if values.ndim == 1:
            return {"prediction": values}
        return {f"prediction_{k}": each for k, each in enumerate(values.T)}

    def describe(self) -> list[str]:
        """Return lines about the rows and their mean cost."""
        unit, verb = printable(self.prices.unit), "costs" if self.rows == 1 else "cost"
        lines = [f"{format_count(self.rows, 'row')} {verb} {self.paid / self.rows:,.6g} {unit} per row on average"]
        once = self.prices.select(self.fitted.predictor_.feature_names).once
        if fixed := float(once[self.bought].sum()):
            lines.append(f"  and {fixed:,.6g} {unit} once for the batch")
        if self.cut:
            lines.append(f"  {format_count(self.cut, 'row')} ended early")
        return lines
