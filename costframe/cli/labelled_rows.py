"""Rows of DATA with their labels, for a model: all, or those of a part as the run that fitted the model made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from numpy.typing import NDArray

from costframe.cli.given_data import is_file, load_named, read_file, refuse_for_named
from costframe.cli.given_model import PricedModel
from costframe.cli.model_rows import features_of, open_blocks
from costframe.cli.reading import FURTHER, ReadingOptions
from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, ParameterError, name_file, quote_names, shown, suggestion
from costframe.datasets import Dataset
from costframe.datasets.outline import outline
from costframe.datasets.parts import QID, SPLIT
from costframe.datasets.reading import Reading
from costframe.datasets.table_files import TableFile
from costframe.study.rows import StudyRows
from costframe.study.run_folder import digest_table, find_run
from costframe.study.score_choice import TASK_OF

_OF_RUN = {"target", *FURTHER, "epochs"}  # arguments of `read_table`, as a run keeps them


@frozen(eq=False)
class LabelledRows:
    """Rows with labels."""

    blocks: Iterator[F8]  # features in the model's order
    labels: Callable[[], StudyRows]  # returns all rows without features; called after the last block
    task: str  # {"classification", "regression", "ranking"}
    score: str | None = None  # score of the run that fitted the model
    # returns columns by name, with classes as the model has them; called after the last block
    columns: Callable[[Sequence[str]], dict[str, NDArray[Any]]] = lambda _: {}


@frozen
class _Run:
    """The run of `costframe compare` that fitted a model."""

    folder: Path
    record: dict[str, Any]

    @classmethod
    def of(cls, model: str) -> _Run | None:
        """Return the run in whose folder a model is."""
        run = find_run(Path(model))
        return None if run is None else cls(*run)

    def read(self, model: str, data: str, reading: ReadingOptions) -> Dataset:
        """Read a file as the run did; refuse options of reading that differ."""
        how = self.record.get("reading")
        if not isinstance(how, dict) or how.keys() != _OF_RUN:
            raise DataError(f"--part: the run in {self.folder} does not say how it read its table; leave out --part")
        if reading.target != how["target"]:
            expected = f"--part: {model} was fitted and tested for the column {shown(how['target'])}"
            raise ParameterError(
                f"{expected}, got --target {shown(reading.target)}; leave out --part to score all rows"
            )
        where = f"the run in {self.folder}, whose part is asked for, was"
        if reading.group not in {None, how["group"]}:
            groups = "without groups" if how["group"] is None else f"with --group {how['group']}"
            raise ParameterError(f"--group {reading.group}: {where} {groups}")
        if more := [text for text in reading.missing if text not in how["missing"]]:
            raise ParameterError(f"--missing {quote_names(more)}: {where} without it")
        return read_file(data, None, how)

    def check_table(self, dataset: Dataset, model: str, data: str) -> None:
        """Refuse another table than that of the run."""
        if digest_table(dataset) != self.record.get("table"):
            raise DataError(
                f"{data}: is not the table whose parts {model} was fitted and tested on: its rows, their order, "
                f"labels, columns or split differ from those of the run in {self.folder}; leave out --part to score "
                "all its rows"
            )


def open_labelled(model: PricedModel, data: str, reading: ReadingOptions, others: tuple[str, ...] = ()) -> LabelledRows:
    """Open the rows of DATA, or of a part of it, with their labels, and of a file `others`, columns with classes.

    A part of a model in the folder of a run is that of the run's table, however that was split; its groups, if it had
    some, are those of the run.

    Raises
    ------
    CostframeError
        If DATA has no such labels or part, or is not the table of the run.
    """
    run, part = _Run.of(model.path), reading.part
    score = None if run is None else str(run.record.get("score"))
    if is_file(data):
        if reading.target is None:
            raise ParameterError(f"--score: {data} needs --target too, the column of the true values")
        if part is None or run is None:
            return _open_file(model, data, reading, others, score)
        dataset = run.read(model.path, data, reading)
    else:
        refuse_for_named(data, {"--target": reading.target, "--missing": reading.missing, "--group": reading.group})
        dataset = load_named(data, None if run is None or part is None else run.record.get("seed"))
    if part is not None and run is not None:
        run.check_table(dataset, model.path, data)
    chosen = np.ones(len(dataset.y), np.bool_) if part is None else dataset.split == part
    X = features_of(dataset, model, data)[chosen]
    task = TASK_OF[model.fitted.kind]
    if (task, dataset.task) != ("regression", "ranking") and dataset.task != task:  # some files do not say "ranker"
        raise DataError(f"{data}: is for {dataset.task}, and {model.path} is a model for {task}")

    def labels() -> StudyRows:
        qid, groups = (None if codes is None else codes[chosen] for codes in (dataset.qid, dataset.groups))
        return _without_features(dataset.y[chosen], qid, groups, model, data)

    return LabelledRows(iter([X]), labels, dataset.task, score)


def _open_file(
    model: PricedModel, data: str, reading: ReadingOptions, others: tuple[str, ...], score: str | None
) -> LabelledRows:
    """Open the rows of a file, block by block; of a part, those that its column ``split`` names."""
    target = str(reading.target)
    file, read = TableFile.open(data, reading.missing, model.fitted.decimal), model.predictor.feature_names
    names, task = file.names(), TASK_OF[model.fitted.kind]
    if task == "regression" and score is None and QID in set(names) - set(read):  # some files do not say "ranker"
        task = "ranking"
    labelling = (target, *([] if reading.group is None else [reading.group]), *([QID] if task == "ranking" else []))
    if target in read:
        raise ParameterError(f"--target {shown(target)}: is a feature that {model.path} reads")
    if reading.group == target:
        raise ParameterError(f"--group {shown(target)}: is the target; expected a column that says whose a row is")
    columns = tuple(dict.fromkeys([*labelling, *others]))
    _check_columns(names, columns, {target: "target column", QID: "column of queries"}, data)
    if reading.part is not None and SPLIT not in names:
        raise DataError(
            f"--part {reading.part}: {data} has no column {SPLIT!r}, and {model.path} is not in the folder of a run of "
            "`costframe compare`, which knows its own split; leave out --part to score all rows"
        )
    rows = _FileRows(file, model, data, reading, task, labelling)
    return LabelledRows(rows.blocks(columns), rows.labels, task, score, rows.classes)


@frozen(eq=False)
class _FileRows:
    """Rows of a file, whose columns beside features are kept while the blocks are read."""

    file: TableFile
    model: PricedModel
    data: str
    reading: ReadingOptions
    task: str
    labelling: tuple[str, ...]  # columns of labels, groups and queries
    copied: list[dict[str, Any]] = field(factory=list)  # columns of each block read

    def blocks(self, columns: tuple[str, ...]) -> Iterator[F8]:
        """Yield the features of each block, and keep some columns."""
        for X, copied in open_blocks(self.data, self.model, self.reading, columns):
            self.copied.append(copied)
            yield X

    def labels(self) -> StudyRows:
        """Return all rows without features."""
        with name_file(self.file.path):
            how = Reading.of(self.file.path, str(self.reading.target), None, self.task, (), (), 0, self.reading.group)
            rest = outline(self.file, self._table(self.labelling), how, [])
        return _without_features(rest.y, rest.queries, rest.groups, self.model, self.data)

    def classes(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return columns by name, with classes as the model has them."""
        table = {name: np.asarray(column.to_numpy()) for name, column in self._table(names).items()}
        return {name: _match(y, self.model, f"{self.data}, column {name!r}") for name, y in table.items()}

    def _table(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: pa.chunked_array([block[name] for block in self.copied]) for name in names}


def _without_features(y: NDArray[Any], qid: I8 | None, groups: I8 | None, model: PricedModel, data: str) -> StudyRows:
    """Return rows with labels as the model has them."""
    return StudyRows(np.empty((len(y), 0)), _match(y, model, data), None, qid, groups)


def _check_columns(names: Sequence[str], wanted: Sequence[str], what: Mapping[str, str], data: str) -> None:
    for name in wanted:
        if name not in names:
            raise DataError(
                f"{data}: no {what.get(name, 'column')} {name!r}{suggestion(name, names)}; the columns are "
                f"{quote_names(names)}"
            )


def _match(y: NDArray[Any], model: PricedModel, data: str) -> NDArray[Any]:
    """Return labels as the model has them: numbers by value, all others as they are written; refuse unknown ones."""
    if model.fitted.kind != "classifier":
        return np.asarray(y, np.float64)
    classes, (labels, codes) = model.fitted.classes_, np.unique(y, return_inverse=True)

    def key(label: Any) -> Any:
        return float(label) if {y.dtype.kind, classes.dtype.kind} <= set("iufb") else str(label)

    place = {key(label): code for code, label in enumerate(classes.tolist())}
    if unknown := [label for label in labels.tolist() if key(label) not in place]:
        raise DataError(
            f"{data}: labels that {model.path} does not know: {quote_names(unknown)}; its classes are "
            f"{quote_names(classes.tolist())}"
        )
    return np.asarray(classes[np.array([place[key(label)] for label in labels.tolist()], np.int64)[codes]])
