"""Rows of DATA with their labels, to score a model on: all, those of a part, or those that its run tested it on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.cli.given_data import is_file, load_named, read_file, refuse_for_named
from costframe.cli.models import features_of, open_blocks
from costframe.core.errors import DataError, ParameterError, quote_names, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.datasets import Dataset

    Labels = tuple[NDArray[Any], NDArray[np.int64] | None]

__all__ = ["LabelledRows", "open_labelled"]

_TASKS = {"classifier": "classification", "regressor": "regression", "ranker": "ranking"}

_READING = {
    "target",
    "task",
    "ignore",
    "categorical",
    "missing",
    "seed",
}  # arguments of `read_table`, as a run keeps them


@frozen(eq=False)
class LabelledRows:
    """Rows with labels.

    Attributes
    ----------
    blocks : iterator of float64 (rows, d)
        Features in the model's order.
    labels : callable
        Returns the labels of all rows, (n,), and for rankings their queries, int64 (n,); called after the last block.
    task : {"classification", "regression", "ranking"}
    score : str or None
        Score of the run that fitted the model.
    """

    blocks: Iterator[NDArray[np.float64]]
    labels: Callable[[], Labels]
    task: str
    score: str | None = None


def open_labelled(
    model: str, fitted: FittedEstimator, data: str, target: str | None, part: str | None, missing: tuple[str, ...]
) -> LabelledRows:
    """Open the rows of DATA, or of a part of it, with their labels.

    A part of a model in the folder of a run is that of the run's table, however that was split.

    Raises
    ------
    CostframeError
        If DATA has no such labels or part, or is not the table of the run.
    """
    from costframe.frontier.store import find_run

    found = find_run(Path(model))
    score = None if found is None else str(found[1].get("score"))
    if is_file(data):
        if target is None:
            raise ParameterError(f"--score: {data} needs --target too, the column of the true values")
        if part is None or found is None:
            return _of_file(model, fitted, data, target, part, missing, score)
        dataset = _read_as(*found, model, data, target, missing)
    else:
        refuse_for_named(data, {"--target": target, "--missing": missing})
        dataset = load_named(data, None if found is None or part is None else found[1].get("seed"))
    if part is not None and found is not None:
        _check_same(dataset, *found, model, data)
    chosen = np.ones(len(dataset.y), np.bool_) if part is None else dataset.split == part
    X = features_of(dataset, fitted.predictor_, model, data)[chosen]
    y, qid = dataset.y[chosen], None if dataset.qid is None else dataset.qid[chosen]
    task = _TASKS[fitted.kind]
    if (task, dataset.task) != ("regression", "ranking") and dataset.task != task:  # some files do not say "ranker"
        raise DataError(f"{data}: is for {dataset.task}, and {model} is a model for {task}")
    return LabelledRows(iter([X]), lambda: (_match(y, fitted, model, data), qid), dataset.task, score)


def _read_as(
    folder: Path, run: dict[str, Any], model: str, data: str, target: str, missing: tuple[str, ...]
) -> Dataset:
    """Read a file as a run did."""
    reading = run.get("reading")
    if not isinstance(reading, dict) or reading.keys() != _READING:
        raise DataError(f"--part: the run in {folder} does not say how it read its table; leave out --part")
    if target != reading["target"]:
        expected = f"--part: {model} was fitted and tested for the column {shown(reading['target'])}"
        raise ParameterError(f"{expected}, got --target {shown(target)}; leave out --part to score all rows")
    if more := [text for text in missing if text not in reading["missing"]]:
        raise ParameterError(
            f"--missing {quote_names(more)}: the run in {folder}, whose part is asked for, was without it"
        )
    return read_file(data, None, **reading)


def _check_same(dataset: Dataset, folder: Path, run: dict[str, Any], model: str, data: str) -> None:
    from costframe.frontier.store import digest_table

    if digest_table(dataset) != run.get("table"):
        raise DataError(
            f"{data}: is not the table whose parts {model} was fitted and tested on: its rows, their order, labels, "
            f"columns or split differ from those of the run in {folder}; leave out --part to score all its rows"
        )


def _of_file(
    model: str,
    fitted: FittedEstimator,
    data: str,
    target: str,
    part: str | None,
    missing: tuple[str, ...],
    score: str | None,
) -> LabelledRows:
    """Open the rows of a file, block by block; of a part, those that its column ``split`` names."""
    from costframe.core.errors import suggestion
    from costframe.core.tables.splits import SPLIT
    from costframe.datasets.table_files import TableFile
    from costframe.datasets.tables import QID, Reading, outline

    opened, read = TableFile.open(data, missing), fitted.predictor_.feature_names
    names, task = opened.names(), _TASKS[fitted.kind]
    if task == "regression" and score is None and QID in set(names) - set(read):  # some files do not say "ranker"
        task = "ranking"
    kept = [target, *([QID] if task == "ranking" else [])]
    if target in read:
        raise ParameterError(f"--target {shown(target)}: is a feature that {model} reads")
    for name in kept:
        if name not in names:
            what = "target column" if name == target else "column of queries"
            raise DataError(
                f"{data}: no {what} {name!r}{suggestion(name, names)}; the columns are {quote_names(names)}"
            )
    if part is not None and SPLIT not in names:
        raise DataError(
            f"--part {part}: {data} has no column {SPLIT!r}, and {model} is not in the folder of a run of `costframe "
            "compare`, which knows its own split; leave out --part to score all rows"
        )
    columns: list[dict[str, Any]] = []

    def blocks() -> Iterator[NDArray[np.float64]]:
        for X, copied in open_blocks(data, fitted.predictor_, part, model, tuple(kept), missing):
            columns.append(copied)
            yield X

    def labels() -> Labels:
        import pyarrow as pa

        from costframe.core.tables.file_errors import name_file

        table = {name: pa.chunked_array([each[name] for each in columns]) for name in kept}
        with name_file(opened.path):
            rest = outline(opened, table, Reading.of(opened.path, target, None, task, (), (), 0), [])
        return _match(rest.y, fitted, model, data), rest.queries

    return LabelledRows(blocks(), labels, task, score)


def _match(y: NDArray[Any], fitted: FittedEstimator, model: str, data: str) -> NDArray[Any]:
    """Return labels as the model has them: numbers by value, all others as they are written; refuse unknown ones."""
    if fitted.kind != "classifier":
        return np.asarray(y, np.float64)
    classes, (labels, codes) = fitted.classes_, np.unique(y, return_inverse=True)

    def key(label: Any) -> Any:
        return float(label) if {y.dtype.kind, classes.dtype.kind} <= set("iufb") else str(label)

    place = {key(label): code for code, label in enumerate(classes.tolist())}
    if unknown := [label for label in labels.tolist() if key(label) not in place]:
        raise DataError(
            f"{data}: labels that {model} does not know: {quote_names(unknown)}; its classes are "
            f"{quote_names(classes.tolist())}"
        )
    return np.asarray(classes[np.array([place[key(label)] for label in labels.tolist()], np.int64)[codes]])
