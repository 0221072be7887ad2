"""`costframe promise`, and the options with which other commands promise: the cheapest model that is certified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from attrs import frozen

from costframe.cli.arguments import (
    check_apart,
    check_file,
    check_overwrite,
    force_option,
    group_option,
    missing_option,
    target_path,
    text,
)
from costframe.cli.group import name_written_files
from costframe.core.errors import CostframeError, ParameterError, printable
from costframe.promises import Promise
from costframe.promises.promise import CONFIDENCE

if TYPE_CHECKING:
    from costframe.choices.frontier import Frontier
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.datasets import Dataset
    from costframe.promises import Certified
    from costframe.training.console import Output

PROMISED = "promised.model"
EXAMPLES = """\b
Examples:
  costframe promise frontier new-patients.csv --target ill \\
    --promise "recall(yes) >= 0.95" --output kept.model
  costframe promise frontier visits.csv --target ill --group patient \\
    --promise "error <= 3%" --promise "cost <= 20" --confidence 0.95
"""


def promise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is promised, and with which probability."""
    command = click.option(
        "--confidence", type=float, metavar="C",
        help=f"Probability that all promises hold together. [default: {CONFIDENCE}]",
    )(command)  # fmt: skip
    return click.option(
        "--promise", "promised", metavar="TEXT", type=text, multiple=True,
        help="Choose the cheapest model that is certified to keep it, such as 'recall(ill) >= 0.95', 'error <= 3%', "
        "'disagreement(best) <= 0.02' or 'bill <= 12'; may be repeated.",
    )(command)  # fmt: skip


def read_promises(texts: Sequence[str], confidence: float | None) -> tuple[Promise, ...]:
    """Return the promises of the options; refuse a confidence without any."""
    from costframe.promises import Promise

    if not texts and confidence is not None:
        raise ParameterError("--confidence: has no effect without --promise")
    return tuple(Promise(each, confidence=CONFIDENCE if confidence is None else confidence) for each in texts)


def check_on_test(promises: Sequence[Promise], dataset: Dataset) -> None:
    """Refuse promises that a data set, or its test rows, have not."""
    if not promises:
        return
    from costframe.choices.promised import check_promised
    from costframe.study.rows import Rows

    rows = Rows.of_part(dataset.part("test"))
    check_promised(promises, rows, dataset.task, has_bills=dataset.costs.errors is not None)


def certify_on_test(frontier: Frontier, dataset: Dataset, promises: Sequence[Promise]) -> Certified:
    """Return the cheapest model certified on test rows, by which nothing chose; valid rows fix the order of tests."""
    test, valid = dataset.part("test"), dataset.part("valid")
    plan = valid.X, valid.y, valid.groups
    return frontier.cheapest(promise=list(promises), X=test.X, y=test.y, groups=test.groups, plan=plan)


@frozen(eq=False)
class Promised:
    """What came of promises in a comparison: a certified model, or why there is none."""

    certified: Certified | None
    error: CostframeError | None = None
    decimal: str | None = None  # decimal sign of the table

    @classmethod
    def of(cls, frontier: Frontier, dataset: Dataset, promises: Sequence[Promise]) -> Promised:
        """Certify on test rows."""
        from costframe.promises.choose import BrokenPromiseError

        try:
            return cls(certify_on_test(frontier, dataset, promises), decimal=dataset.decimal)
        except BrokenPromiseError as error:
            return cls(None, error)

    def show(self, console: Output) -> None:
        """Print the certificate."""
        if self.certified is not None:
            console.print("\n[bold]Promised:[/]", end=" ")
            console.print(describe(self.certified, "test rows"), markup=False)

    def write(self, output: Path) -> list[str]:
        """Write the certified model to a folder; return its path."""
        if self.certified is None:
            return []
        path = output / PROMISED
        write_certified(self.certified, path, self.decimal)
        return [str(path)]

    def end(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error


def write_certified(certified: Certified, path: Path, decimal: str | None) -> None:
    """Write a certified model to a file, with the decimal sign of the training table."""
    from costframe.core.storage.saving import content_of, write_content

    write_content(path, content_of(certified.model.predictor_, decimal=decimal))


def describe(certified: Certified, rows: str = "rows") -> str:
    """Return the certificate as text, which names the rows that certify."""
    return str(certified).replace("rows that nothing chose by", f"{rows} that nothing chose by", 1)


@click.command(epilog=EXAMPLES, short_help="Choose the cheapest model that is certified to keep a promise.")
@click.argument("directory", type=target_path)
@click.argument("data", type=text)
@click.option("--target", metavar="COL", type=text, required=True, help="Column of true values.")
@promise_options
@click.option("--output", metavar="MODEL", type=target_path, help="File to write the model to.")
@force_option
@missing_option
@group_option
def promise(
    directory: Path,
    data: str,
    target: str,
    promised: tuple[str, ...],
    confidence: float | None,
    output: Path | None,
    force: bool,
    missing: tuple[str, ...],
    group: str | None,
) -> None:
    """Choose the cheapest model of DIRECTORY that is certified to keep promises on the labelled rows of DATA.

    DIRECTORY is that of `costframe compare`, or of `Frontier.save`. The rows of DATA must be fresh: neither train nor
    valid rows of the run, for nothing may have chosen by them. A fifth of them fixes the order in which models are
    tested, and the others certify. With --group, each group, such as a patient, counts as one.

    Kinds of promises: error, accuracy, recall(CLASS), precision(CLASS), agreement(MODEL) and disagreement(MODEL), of a
    point of the frontier, the best one, or a column of DATA, excess(MODEL), the error rate above that of a model, cost
    and bill.
    """
    from costframe.choices import Frontier
    from costframe.choices.model_pool import reader_of
    from costframe.training.console import output as make_console

    promises = read_promises(promised, confidence)
    if not promises:
        raise ParameterError("--promise: expected at least one, got none")
    if output is not None:
        check_apart({"--output": [output]}, {"DATA": data})
        check_file(output)
        check_overwrite([output], force=force)
    frontier = Frontier.load(directory)
    reader = reader_of(frontier)
    X, y, groups, promises = _read(frontier, reader, directory, data, target, missing, group, promises)
    certified = frontier.cheapest(promise=list(promises), X=X, y=y, groups=groups)
    console = make_console()
    written = str(output)
    if output is not None:
        write_certified(certified, output, reader.decimal)
    with name_written_files(written if output is not None else ""):
        console.print(describe(certified), markup=False)
        console.print(f"Another {certified.planned_on:,} rows fixed the order of tests.", markup=False)
        if output is not None:
            console.print(f"wrote {printable(written)}", soft_wrap=True, markup=False)
        console.finish()


def _read(
    frontier: Frontier,
    reader: FittedEstimator,
    directory: Path,
    data: str,
    target: str,
    missing: tuple[str, ...],
    group: str | None,
    promises: tuple[Promise, ...],
) -> tuple[Any, Any, Any, tuple[Promise, ...]]:
    """Read the rows of DATA for all models of a frontier, and the columns that promises are about."""
    from costframe.cli.given_data import Asked, Cells, is_file, open_labelled

    if not is_file(data):
        raise ParameterError(f"{data}: expected a table file of fresh rows")
    known = {"best", *(point.name for point in frontier.points)}
    columns = tuple(dict.fromkeys(str(each.of) for each in promises if each.is_of_other and each.of not in known))
    asked = Asked(target, None, Cells(missing, decimal=reader.decimal), group, columns)
    rows = open_labelled(str(directory), reader, data, asked)
    X = np.concatenate(list(rows.blocks))
    labelled = rows.labels()
    given = rows.columns(columns)
    with_columns = tuple(each.about(given[str(each.of)]) if str(each.of) in given else each for each in promises)
    return X, labelled.y, labelled.groups, with_columns
