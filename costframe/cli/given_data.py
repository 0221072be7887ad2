"""Data, models and answers that commands are given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.cli.group import print_error
from costframe.core.errors import CostModelError, DataError, ParameterError, quote_names, shown, suggestion
from costframe.core.piped import STANDARD_STREAM, is_piped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.arrays import F8, I8
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.prices.costs import CostModel
    from costframe.datasets import Dataset
    from costframe.study.rows import Rows

DEFAULT_DATA = "breast-cancer"


@frozen
class Cells:
    """How the cells of a file with rows for a model are read."""

    missing: tuple[str, ...] = ()  # further texts that stand for a missing value
    allow_unknown: bool = False  # whether most rows may have labels that the model does not know, or none a value
    decimal: str | None = None  # decimal sign of the training table, for a file that does not tell its own


def is_file(data: str) -> bool:
    """Return whether DATA is a file, or standard input, rather than the name of a data set."""
    from costframe.datasets.endings import ending_of

    return data == STANDARD_STREAM or Path(data).exists() or ending_of(data) is not None or len(Path(data).parts) > 1


def is_larger_than_memory(data: str) -> bool:
    """Return whether DATA is in Parquet files that do not fit in memory."""
    from costframe.datasets.endings import ending_of

    if not Path(data).is_dir() and ending_of(data) not in (None, ".parquet"):
        return False
    if not is_file(data) or is_piped(Path(data)):
        return False
    from costframe.datasets.large_tables import is_large

    return is_large(data)


def load_named(name: str, seed: int | None = None) -> Dataset:
    """Return a named data set; say of another name that there is no such file either."""
    from costframe.datasets import load, names
    from costframe.datasets.endings import ENDINGS

    if name not in names():
        raise DataError(
            f"{name}: no such file, and no data set has this name{suggestion(name, names())}; "
            f"files end in {ENDINGS}; data sets are {', '.join(names())}"
        )
    return load(name, seed)


def open_data(data: str | None, costs: str | None, target: str | None, seed: int | None, **how: Any) -> Dataset:
    """Return the data set for DATA and its options, of which `how` has the further ones of `read_table`."""
    name = data if data is not None else DEFAULT_DATA
    if is_file(name):
        if target is None:
            raise ParameterError(f"{name}: say with --target which column to predict")
        dataset = read_file(name, costs, target=target, **how, seed=seed or 0)
        if is_larger_than_memory(name):
            return dataset
        if seed is not None and not any("by seed" in note for note in dataset.notes):
            raise ParameterError(f"--seed: has no effect, the column split of {name} has train, valid and test")
        return dataset
    dataset = load_named(name, seed)
    given = {f"--{option.replace('_', '-').removesuffix('s')}": value for option, value in how.items()}
    refuse_for_named(name, {"--target": target} | given)
    return dataset if costs is None else dataset.with_costs(costs)


def read_file(path: str, costs: str | None, **how: Any) -> Dataset:
    """Read a file as `read_table` does; of one larger than memory, as many rows as fit, drawn by the seed."""
    from costframe.datasets import read_table

    if is_larger_than_memory(path):
        from costframe.datasets.tables import read_large_table

        return read_large_table(path, costs=costs, **how).sampled(how["seed"])
    return read_table(path, costs=costs, **how)


def refuse_for_named(name: str, given: Mapping[str, object]) -> None:
    """Refuse options that are for files, because DATA is the name of a data set."""
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is for files; the data set {name} says itself what to predict")


def open_model(model: str, costs: str | None, *, uniform: bool = False) -> tuple[FittedEstimator, CostModel]:
    """Load or adopt a model for the columns that it reads; return it with the prices in `costs`, else its own.

    With `uniform`, every feature of a model without prices costs one.

    Raises
    ------
    ParameterError
        If there are no prices.
    CostModelError
        If a feature of the model has no price; further prices are allowed.
    """
    from costframe.core.prices.costs import CostModel

    given = None if costs is None else CostModel.load(costs)
    fitted = _load_or_adopt(Path(model), given)
    prices = given or fitted.costs_
    if prices is None and uniform:
        prices = CostModel.uniform(fitted.predictor_.feature_names)
    if prices is None:
        raise ParameterError(f"{model} holds no prices: give them with --costs")
    _check_prices(prices, fitted.predictor_, model, costs or "its prices")
    return fitted, prices


def _load_or_adopt(path: Path, costs: CostModel | None) -> FittedEstimator:
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.storage.saving import is_saved, load_fitted

    if is_saved(path):
        loaded = load_fitted(path)
        return evolve(loaded, predictor_=_only_needed(loaded.predictor_, costs))
    from costframe.adoption.adopting import adopt
    from costframe.adoption.names import is_unnamed

    predictor = adopt(path)
    own = predictor.feature_names
    if costs is not None and is_unnamed(own) and len(own) == len(costs.names) and own != costs.names:
        predictor = adopt(path, feature_names=costs.names)  # trained on an array, in the order of the prices
    return FittedEstimator(_only_needed(predictor, costs))


def _only_needed(predictor: Predictor, costs: CostModel | None) -> Predictor:
    """Return the predictor of the features that it reads; as it is, if labels at these prices depend on others too."""
    alike = set(predictor.label_features(costs)) == set(predictor.used_features)
    return predictor.only_used_features() if alike else predictor


def _check_prices(prices: CostModel, predictor: Predictor, model: str, source: str) -> None:
    """Refuse prices that lack a feature of the model; further prices are allowed."""
    unpriced = [name for name in predictor.feature_names if name not in prices.names]
    if not unpriced:
        return
    unread = [name for name in prices.names if name not in predictor.feature_names]
    raise CostModelError(
        f"{model} and {source} do not fit: features without a price: {quote_names(unpriced)}"
        f"{suggestion(unpriced[0], unread)}; prices of no feature: {quote_names(unread) or 'none'}"
    )


def open_blocks(
    data: str, predictor: Predictor, part: str | None, model: str, keep: tuple[str, ...] = (), cells: Cells = Cells()
) -> Iterator[tuple[F8, dict[str, Any]]]:
    """Yield rows of a file or data set for a predictor, float64 (rows, d), and columns to copy, block by block.

    `model` is its name in errors. What is unusual about a file goes to the error stream, in one line.
    """
    if not is_file(data):
        if keep:
            raise ParameterError(f"--keep is for files; the data set {data} has features only")
        refuse_for_named(data, {"--missing": cells.missing})
        dataset = load_named(data)
        X = features_of(dataset, predictor, model, data)
        yield X if part is None else X[dataset.split == part], {}
        return
    from costframe.datasets.model_rows import ModelRows
    from costframe.datasets.table_files import TableFile

    file = TableFile.open(data, cells.missing, cells.decimal)
    if file.note is not None:
        print_error(file.note)
    names, used = predictor.feature_names, predictor.used_features
    rows = ModelRows(file, names, part, predictor.categories, model, keep, used, print_error, cells.allow_unknown)
    yield from rows.blocks()


def open_rows(data: str, predictor: Predictor, part: str | None, model: str, cells: Cells = Cells()) -> F8:
    """Read the rows of a file or data set for a predictor, float64 (rows, d); see `open_blocks`."""
    return np.concatenate([X for X, _ in open_blocks(data, predictor, part, model, cells=cells)])


def features_of(dataset: Dataset, predictor: Predictor, model: str, data: str) -> F8:
    """Return the columns of a data set that a predictor reads, float64 (n, d); refuse it if one does not fit."""
    missing = [name for name in predictor.feature_names if name not in dataset.feature_names]
    if missing:
        raise DataError(f"{data}: no feature {missing[0]!r}, which {model} reads")
    for name, labels in predictor.categories.items():
        if {**dataset.categorical, **dataset.dates}.get(name) != labels:
            known = quote_names(labels) if isinstance(labels, tuple) else "hashes of texts, or dates"
            raise DataError(f"{data}: feature {name!r} has other labels than {model}: {known}")
    return dataset.X[:, [dataset.feature_names.index(name) for name in predictor.feature_names]]


_TASKS = {"classifier": "classification", "regressor": "regression", "ranker": "ranking"}

_READING = {
    "target",
    "task",
    "ignore",
    "categorical",
    "missing",
    "group",
    "keep_ids",
    "seed",
    "epochs",
}  # arguments of `read_table`, as a run keeps them


@frozen(eq=False)
class LabelledRows:
    """Rows with labels."""

    blocks: Iterator[F8]  # features in the model's order
    labels: Callable[[], Rows]  # returns all rows without features; called after the last block
    task: str  # {"classification", "regression", "ranking"}
    score: str | None = None  # score of the run that fitted the model
    # returns columns by name, with classes as the model has them; called after the last block
    columns: Callable[[Sequence[str]], dict[str, NDArray[Any]]] = lambda _: {}


@frozen
class Asked:
    """What the options of `costframe cost` ask of the rows to score."""

    target: str | None
    part: str | None
    cells: Cells
    group: str | None
    others: tuple[str, ...] = ()  # columns with the classes that other models gave

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are no features."""
        return tuple(name for name in (self.target, self.group) if name is not None)


def open_labelled(model: str, fitted: FittedEstimator, data: str, asked: Asked) -> LabelledRows:
    """Open the rows of DATA, or of a part of it, with their labels.

    A part of a model in the folder of a run is that of the run's table, however that was split; its groups, if it had
    some, are those of the run.

    Raises
    ------
    CostframeError
        If DATA has no such labels or part, or is not the table of the run.
    """
    from costframe.study.runs import find_run

    found = find_run(Path(model))
    score = None if found is None else str(found[1].get("score"))
    part = asked.part
    if is_file(data):
        if asked.target is None:
            raise ParameterError(f"--score: {data} needs --target too, the column of the true values")
        if part is None or found is None:
            return _of_file(model, fitted, data, asked, score)
        dataset = _read_as(*found, model, data, asked)
    else:
        refuse_for_named(data, {"--target": asked.target, "--missing": asked.cells.missing, "--group": asked.group})
        dataset = load_named(data, None if found is None or part is None else found[1].get("seed"))
    if part is not None and found is not None:
        _check_same(dataset, *found, model, data)
    chosen = np.ones(len(dataset.y), np.bool_) if part is None else dataset.split == part
    X = features_of(dataset, fitted.predictor_, model, data)[chosen]
    y = dataset.y[chosen]
    qid, groups = (None if each is None else each[chosen] for each in (dataset.qid, dataset.groups))
    task = _TASKS[fitted.kind]
    if (task, dataset.task) != ("regression", "ranking") and dataset.task != task:  # some files do not say "ranker"
        raise DataError(f"{data}: is for {dataset.task}, and {model} is a model for {task}")
    labels = functools.partial(_labelled, y, qid, groups, fitted, model, data)
    return LabelledRows(iter([X]), labels, dataset.task, score)


def _labelled(
    y: NDArray[Any], qid: I8 | None, groups: I8 | None, fitted: FittedEstimator,
    model: str, data: str,
) -> Rows:  # fmt: skip
    """Return rows without features, with labels as the model has them."""
    from costframe.study.rows import Rows

    return Rows(np.empty((len(y), 0)), _match(y, fitted, model, data), None, qid, groups)


def _read_as(folder: Path, run: dict[str, Any], model: str, data: str, asked: Asked) -> Dataset:
    """Read a file as a run did."""
    reading = run.get("reading")
    if not isinstance(reading, dict) or reading.keys() != _READING:
        raise DataError(f"--part: the run in {folder} does not say how it read its table; leave out --part")
    if asked.target != reading["target"]:
        expected = f"--part: {model} was fitted and tested for the column {shown(reading['target'])}"
        raise ParameterError(f"{expected}, got --target {shown(asked.target)}; leave out --part to score all rows")
    if asked.group not in {None, reading["group"]}:
        groups = "without groups" if reading["group"] is None else f"with --group {reading['group']}"
        raise ParameterError(f"--group {asked.group}: the run in {folder}, whose part is asked for, was {groups}")
    if more := [text for text in asked.cells.missing if text not in reading["missing"]]:
        raise ParameterError(
            f"--missing {quote_names(more)}: the run in {folder}, whose part is asked for, was without it"
        )
    return read_file(data, None, **reading)


def _check_same(dataset: Dataset, folder: Path, run: dict[str, Any], model: str, data: str) -> None:
    from costframe.study.runs import digest_table

    if digest_table(dataset) != run.get("table"):
        raise DataError(
            f"{data}: is not the table whose parts {model} was fitted and tested on: its rows, their order, labels, "
            f"columns or split differ from those of the run in {folder}; leave out --part to score all its rows"
        )


def _of_file(model: str, fitted: FittedEstimator, data: str, asked: Asked, score: str | None) -> LabelledRows:
    """Open the rows of a file, block by block; of a part, those that its column ``split`` names."""
    from costframe.datasets.outline import outline
    from costframe.datasets.parts import QID, SPLIT
    from costframe.datasets.reading import Reading
    from costframe.datasets.table_files import TableFile

    part, target = asked.part, str(asked.target)
    opened, read = TableFile.open(data, asked.cells.missing, asked.cells.decimal), fitted.predictor_.feature_names
    names, task = opened.names(), _TASKS[fitted.kind]
    if task == "regression" and score is None and QID in set(names) - set(read):  # some files do not say "ranker"
        task = "ranking"
    kept = [*asked.kept, *([QID] if task == "ranking" else [])]
    copied_too = [name for name in asked.others if name not in kept]
    if target in read:
        raise ParameterError(f"--target {shown(target)}: is a feature that {model} reads")
    if asked.group == target:
        raise ParameterError(f"--group {shown(target)}: is the target; expected a column that says whose a row is")
    _check_columns(names, [*kept, *copied_too], {target: "target column", QID: "column of queries"}, data)
    if part is not None and SPLIT not in names:
        raise DataError(
            f"--part {part}: {data} has no column {SPLIT!r}, and {model} is not in the folder of a run of `costframe "
            "compare`, which knows its own split; leave out --part to score all rows"
        )
    columns: list[dict[str, Any]] = []

    def blocks() -> Iterator[F8]:
        for X, copied in open_blocks(data, fitted.predictor_, part, model, (*kept, *copied_too), asked.cells):
            columns.append(copied)
            yield X

    def labels() -> Rows:
        import pyarrow as pa

        from costframe.core.errors import name_file

        table = {name: pa.chunked_array([each[name] for each in columns]) for name in kept}
        with name_file(opened.path):
            how = Reading.of(opened.path, target, None, task, (), (), 0, asked.group)
            rest = outline(opened, table, how, [])
        return _labelled(rest.y, rest.queries, rest.groups, fitted, model, data)

    def others(wanted: Sequence[str]) -> dict[str, NDArray[Any]]:
        import pyarrow as pa

        joined = {name: pa.chunked_array([each[name] for each in columns]) for name in wanted}
        found = {name: np.asarray(column.to_numpy()) for name, column in joined.items()}
        return {name: _match(values, fitted, model, f"{data}, column {name!r}") for name, values in found.items()}

    return LabelledRows(blocks(), labels, task, score, others)


def _check_columns(names: Sequence[str], wanted: Sequence[str], what: Mapping[str, str], data: str) -> None:
    for name in wanted:
        if name not in names:
            raise DataError(
                f"{data}: no {what.get(name, 'column')} {name!r}{suggestion(name, names)}; the columns are "
                f"{quote_names(names)}"
            )


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


def check_error_prices(
    costs: CostModel, names: Sequence[str], rows: F8, first: int, unavailable: Iterable[str] = ()
) -> None:
    """Refuse rows of a block, float64 (rows, d), in which a price of errors is none, by their number in the table."""
    if costs.errors is not None and set(names).difference(unavailable).issuperset(costs.errors.columns):
        costs.errors.check_rows(rows, names, "errors", first)
