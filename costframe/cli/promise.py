"""What `costframe promise` does: it chooses the cheapest model of a run that is certified to keep promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from costframe.choices import Frontier
from costframe.choices.model_pool import make_row_reader
from costframe.choices.untested import refuse_untested
from costframe.cli.exits import name_written_files
from costframe.cli.given_data import is_file
from costframe.cli.given_model import PricedModel
from costframe.cli.labelled_rows import open_labelled
from costframe.cli.outputs import check_apart, check_file, check_overwrite
from costframe.cli.promised import describe, read_promises, write_certified
from costframe.cli.reading import ReadingOptions
from costframe.core.errors import ParameterError, printable
from costframe.core.prices.costs import CostModel
from costframe.promises import Promise
from costframe.study.rows import StudyRows
from costframe.training.console import output as make_console


def promise(
    directory: Path,
    data: str,
    *,
    reading: ReadingOptions,
    promised: tuple[str, ...],
    confidence: float | None,
    output: Path | None,
    force: bool,
) -> None:
    """Print the certificate of the cheapest model that keeps the promises on rows of DATA, and write the model."""
    promises = read_promises(promised, confidence)
    if not promises:
        raise ParameterError("--promise: expected at least one, got none")
    if output is not None:
        check_apart({"--output": [output]}, {"DATA": data})
        check_file(output)
        check_overwrite([output], force=force)
    frontier = Frontier.load(directory)
    reader = make_row_reader(frontier)
    model = PricedModel(
        str(directory), reader, CostModel.uniform(reader.predictor_.feature_names)
    )  # prices are not asked
    X, y, groups, promises = _read(frontier, model, data, reading, promises)
    made = True if reading.records is False else None
    if reading.records:
        read = reader.predictor_
        panels = CostModel.of(frontier.model(frontier.best()).costs_, read.feature_names).as_records().panels
        refuse_untested(StudyRows(X, y), panels, read.feature_names, read.used_features)
    certified = frontier.cheapest(promise=list(promises), X=X, y=y, groups=groups, made=made)
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
    frontier: Frontier, model: PricedModel, data: str, reading: ReadingOptions, promises: tuple[Promise, ...]
) -> tuple[Any, Any, Any, tuple[Promise, ...]]:
    """Read the rows of DATA for all models of a frontier, and the columns that promises are about."""
    if not is_file(data):
        raise ParameterError(f"{data}: expected a table file of fresh rows")
    known = {"best", *(point.name for point in frontier.points)}
    others = [str(promise.of) for promise in promises if promise.is_of_other]
    columns = tuple(dict.fromkeys(name for name in others if name not in known))
    rows = open_labelled(model, data, reading, columns)
    X = np.concatenate(list(rows.blocks))
    labelled, given = rows.labels(), rows.columns(columns)
    about = tuple(
        promise.about(given[str(promise.of)]) if str(promise.of) in given else promise for promise in promises
    )
    return X, labelled.y, labelled.groups, about
