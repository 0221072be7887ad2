"""Reading of tables as data sets, in memory or, larger than that, by row groups."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import I8
from costframe.core.checks import as_path, check_mapping
from costframe.core.errors import DataError, Problems, name_file, quote_names, shown, suggestion
from costframe.core.prices.costs import CostModel
from costframe.core.prices.entries import FeaturePrice
from costframe.datasets.dataset import Dataset
from costframe.datasets.features import Features, find_categories, read_features
from costframe.datasets.ids import IdColumn, find_ids, number_values
from costframe.datasets.large_tables import LargeDataset, check_dask, read_lazily
from costframe.datasets.leaks import find_leaks, remark_on_empty_tests
from costframe.datasets.outline import Outline, outline
from costframe.datasets.parts import QID, SPLIT, Kinds, check_parts, count_cut, split_rows
from costframe.datasets.reading import Reading
from costframe.datasets.remarks import describe_columns, remark_on_few_rows
from costframe.datasets.table_files import TableFile


def read_table(
    path: str | os.PathLike[str],
    target: str,
    costs: object = None,
    *,
    task: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Iterable[str] = (),
    group: str | None = None,
    keep_ids: Iterable[str] = (),
    records: bool | None = None,
    seed: int = 0,
    epochs: Mapping[str, str] | None = None,
) -> Dataset:
    """Read a file as a data set: CSV, also as Excel writes it, TSV, Parquet or Arrow.

    Parameters
    ----------
    path : str or path
        Ends in .csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow; a pipe, or standard input as
        "-", is CSV. Numbers in a text are read as the whole file spells them; where it does not tell whether 1.500 is
        1500 or 1.5, they are refused. Every column is a feature, except the target, ``split`` (train, valid or test),
        ``qid`` (the query of a row: the table is a ranking), an index that `to_csv` wrote without a name, and ids
        without a price, as their names or values show.
    target : str
        The column to predict; no value may be missing. Labels of a text file are texts as they are written, such as 007
        and 1E5, unless all are numbers as they are printed. NA and nan are missing values in every format.
    costs : CostModel, or anything `CostModel.of` accepts
        Prices of exactly the features, beside columns to ignore; None prices every feature at one.
    task : {"classification", "regression", "ranking"}, optional
        By default: ranking with a ``qid`` column, else classification if the target is text, true or false, or at most
        20 different whole numbers, else regression.
    ignore : iterable of str
        Columns to leave out.
    categorical : iterable of str
        Features to split by categories, texts or numbers, beside those that a file stores as categories, and texts of
        few values.
    missing : iterable of str
        Further texts that stand for a missing value, such as "haemolysed", in any column.
    group : str, optional
        Column that says whose a row is, such as the patient: no feature. Rows of one value stay together in the split
        and in folds, and errors of estimates are those of fresh groups.
    keep_ids : iterable of str
        Columns that are features although they look like ids.
    records : bool, optional
        Whether empty cells of all columns that cost something are tests that nobody made, True, or what the tests
        answered, False; by default as the prices say by `absent`. See docs/records.md.
    seed : int
        Seed of the split, if the file has no column for it.
    epochs : mapping of str to str, optional
        What numbers of features that are dates count, such as "seconds", beside what the prices say.

    Raises
    ------
    DataError
        If the file cannot be read or its columns do not form a data set; the text names the file and the column.
    CostModelError
        If a feature has no price, or a priced feature is not in the file; the text names both files.
    TableError
        If there is more than one of these problems; a DataError with a line for each.
    """
    file, epochs = as_path(path), check_mapping("epochs", epochs) or {}
    how = Reading.of(file, target, costs, task, ignore, categorical, seed, group, keep_ids, records)
    opened = TableFile.open(file, missing)
    named = {QID, *how.categorical, *how.grouped}
    table = opened.read(texts={how.target, *named})
    table |= {name: opened.as_written(column) for name, column in table.items() if name in named - {how.target}}
    problems = Problems(file)
    draft = _begin(opened, how, list(table), table, problems)
    for name in [name for name in epochs if name not in draft.features]:
        with problems.collect():
            known = f"the features are {quote_names(draft.features)}"
            raise DataError(f"epochs: no feature {name!r}{suggestion(name, draft.features)}; {known}")
    dated = {name: FeaturePrice(name, epoch=epoch) for name, epoch in epochs.items() if name in draft.features}
    dated |= draft.dated
    features = read_features(table, draft.features, draft.how.categorical, dated, opened.spelling, problems)
    problems.end()
    with name_file(file):
        data = _make_dataset(table, draft, features)
        decimal = opened.spelling.sure_decimal if opened.text else None
        return evolve(data, reading=draft.how.described(opened.missing, dated), decimal=decimal)


def read_large_table(
    path: str | os.PathLike[str],
    target: str,
    costs: object = None,
    *,
    task: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Iterable[str] = (),
    group: str | None = None,
    keep_ids: Iterable[str] = (),
    records: bool | None = None,
    seed: int = 0,
    epochs: Mapping[str, str] | None = None,
) -> LargeDataset:
    """Read Parquet files as `read_table` does, without their features; the arguments and errors are the same.

    Also a ParameterError, without dask.
    """
    file = as_path(path)
    check_dask(file)
    how = Reading.of(file, target, costs, task, ignore, categorical, seed, group, keep_ids, records)
    opened = TableFile.open(file, missing)
    problems, features = Problems(file), None
    draft = _begin(opened, how, opened.names(), None, problems)
    with problems.collect():
        if dates := [*(epochs or ()), *draft.dated]:
            raise DataError(
                f"column {dates[0]!r}: a date by its price; dates are read only where a table fits in memory"
            )
        features = find_categories(opened, draft.features, draft.how.categorical, problems)
    problems.end()
    assert features is not None  # noqa: S101 - else there were problems
    with name_file(file):
        return _make_large_dataset(opened, draft, features)


@frozen(eq=False)
class _Draft:
    """A table before its features are read; without prices, or without its other columns, there were problems."""

    how: Reading
    features: tuple[str, ...]
    ids: Mapping[str, IdColumn]
    costs: CostModel | None
    rest: Outline | None

    @property
    def dated(self) -> dict[str, FeaturePrice]:
        """The prices that say that a feature is a date."""
        return {} if self.costs is None else {price.name: price for price in self.costs.features if price.is_date}

    @property
    def known(self) -> tuple[CostModel, Outline]:
        """The prices and the other columns of a table without problems."""
        assert self.costs is not None and self.rest is not None  # noqa: S101, PT018 - else there were problems
        return self.costs, self.rest


def _begin(
    opened: TableFile, how: Reading, columns: list[str], table: Mapping[str, Any] | None, problems: Problems
) -> _Draft:
    """Find the features among a file's columns and their prices, and read the others, from `table` if in memory."""
    how, ids = how.among(columns), dict[str, IdColumn]()
    if asked := [name for name in how.features(columns, problems) if name not in how.keep_ids]:
        ids = find_ids(next(opened.blocks(asked)) if table is None else table, asked)  # the first rows tell
    how = how.leaving_out(ids)
    features = how.features(columns, Problems(problems.file) if problems.found else problems)
    costs, notes = how.price(opened, columns, features, problems)
    rest = None
    if how.target in columns:
        apart = {how.target, *how.grouped, *({SPLIT, QID} - set(how.ignore))}
        others = opened.read([name for name in columns if name in apart]) if table is None else table
        with problems.collect():
            rest = outline(opened, others, how, notes)
    return _Draft(how, features, ids, costs, rest)


def _make_dataset(table: Mapping[str, Any], draft: _Draft, features: Features) -> Dataset:
    costs, rest = draft.known
    data = Dataset.from_arrays(
        features.X,
        rest.y,
        costs,
        feature_names=costs.names,
        split=rest.split,
        qid=rest.queries,
        groups=rest.groups,
        task=rest.task,
        name=draft.how.name,
        seed=draft.how.seed,
        categorical=features.categorical,
        notes=[*rest.notes, *features.notes, *describe_columns(features.X, costs.names, draft.ids)],
    )
    few, asks = remark_on_few_rows(data), draft.how.asks_of_tests
    leaks = find_leaks(data, *_whose(table, draft, rest), asks=asks)
    empty = remark_on_empty_tests(data, leaks) if asks else None
    notes = [*data.notes, *leaks, *(note for note in (empty, few) if note)]
    return evolve(data, notes=tuple(notes), dates=features.dates)


def _whose(table: Mapping[str, Any], draft: _Draft, rest: Outline) -> tuple[dict[str, I8], dict[str, I8]]:
    """Return ids that say whose a row is, and other columns that are no features, each with numbers of its values.

    The numbers are in the order of a data set's rows.
    """
    how, ids = draft.how, draft.ids
    ignored = [name for name in how.ignore if name not in ids and name not in how.grouped]
    known = {**ids, **find_ids(table, ignored)}
    whose = [*how.grouped, *(name for name, column in known.items() if column.is_sure and column.repeats)]
    order = np.arange(len(rest.y)) if rest.queries is None else np.argsort(rest.queries, kind="stable")
    asked = (whose, [name for name in ignored if name not in known])
    ids_of_rows, others = ({name: number_values(table[name], name)[order] for name in names} for names in asked)
    return ids_of_rows, others


def _make_large_dataset(opened: TableFile, draft: _Draft, features: Features) -> LargeDataset:
    how, (costs, rest) = draft.how, draft.known
    split, remarks = rest.split, list[str]()
    classes = rest.y if rest.task == "classification" else None
    if split is None:
        split, remarks = split_rows(Kinds(len(rest.y), classes, rest.queries, rest.groups), how.seed)
    elif rest.groups is not None and (count := count_cut(rest.groups, split)):
        remarks = [f"{count:,} values of {how.group!r} have rows in more than one part, as the column split says"]
    labels = () if classes is None else tuple(np.unique(classes).tolist())
    check_parts(split, rest.y, None if classes is None else labels)
    repeating = [name for name, column in how.ids.items() if column.repeats and how.group is None]
    remarks += [
        f"rows of one {shown(name)} may be in train and test{how.ids[name].way_out(name)}" for name in repeating
    ]
    return LargeDataset(
        how.name,
        read_lazily(opened.parquet(), costs.names, features.categorical, how.name),
        rest.y,
        costs,
        rest.task,
        split,
        rest.queries,
        rest.groups,
        labels,
        features.categorical,
        (*rest.notes, *features.notes, *remarks),
        how.described(opened.missing, {}),
    )
