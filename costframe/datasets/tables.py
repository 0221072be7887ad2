"""Reading of files as data sets."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.checks import as_path, check_choice, check_mapping, check_name_list, check_number
from costframe.core.errors import (
    CostframeError,
    DataError,
    ParameterError,
    Problems,
    format_count,
    name_file,
    quote_names,
    shown,
    suggestion,
)
from costframe.core.numerals import Spelling, is_numeral, looks_numeric
from costframe.core.prices.costs import CostModel, FeaturePrice
from costframe.core.tables.categories import check_exact
from costframe.core.tables.columns import (
    as_categories,
    as_numbers,
    as_queries,
    as_target,
    feature_values,
    is_categorical,
    text_values,
)
from costframe.core.tables.date_columns import find_dates
from costframe.core.tables.dates import Dates
from costframe.core.tables.rows import check_nested
from costframe.datasets.dataset import TASKS, Dataset, order_prices, source_of
from costframe.datasets.dialects import find_indices
from costframe.datasets.ids import IdColumn, find_ids, number_values
from costframe.datasets.leaks import describe_columns, describe_few_rows, find_leaks
from costframe.datasets.parts import SPLIT, Kinds, obey_split
from costframe.datasets.price_draft import describe_open
from costframe.datasets.table_files import TableFile
from costframe.datasets.text_features import (
    count_texts,
    describe_codes,
    describe_counts,
    describe_dates,
    describe_missing,
    describe_texts,
    holds_numbers,
    is_few_texts,
    refuse_texts,
)

QID = "qid"
BESIDE_WAYS = "; --ignore COL leaves a column out, --categorical COL splits it by categories"
_KEEP = "; --keep-id COL keeps a column as a feature (keep_ids= in Python)"
MOST_CLASSES = 20  # more distinct whole numbers than this are values, not classes


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
    how = Reading.of(file, target, costs, task, ignore, categorical, seed, group, keep_ids)
    opened = TableFile.open(file, missing)
    named = {QID, *how.categorical, *how.grouped}
    table = opened.read(texts={how.target, *named})
    table |= {name: opened.as_written(column) for name, column in table.items() if name in named - {how.target}}
    how, problems = how.among(table), Problems(file)
    ids = find_ids(table, [name for name in how.features(table, problems) if name not in how.keep_ids])
    how = how.leaving_out(ids)
    features = how.features(table, Problems(file) if problems.found else problems)
    model, notes = how.price(opened, table, features, problems)
    rest = how.outline(opened, table, notes, problems)
    for name in [name for name in epochs if name not in features]:
        with problems.collect():
            raise DataError(
                f"epochs: no feature {name!r}{suggestion(name, features)}; the features are {quote_names(features)}"
            )
    dated = {name: FeaturePrice(name, epoch=epoch) for name, epoch in epochs.items() if name in features}
    dated |= {} if model is None else {price.name: price for price in model.features if price.is_date}
    values = _values(table, features, how, (dated, opened.spelling), problems)
    problems.end()
    assert model is not None and rest is not None  # noqa: S101, PT018 - else there were problems
    with name_file(file):
        reading = how.described(opened.missing, dated)
        decimal = opened.spelling.sure_decimal if opened.text else None
        return evolve(_dataset(table, how, model, rest, values, ids), reading=reading, decimal=decimal)


@frozen
class Reading:
    """Settings for reading a table; see `read_table`. Prices are loaded, and `source` is their name."""

    name: str
    target: str
    task: str | None
    ignore: tuple[str, ...]
    categorical: tuple[str, ...]
    seed: int
    prices: object
    source: str
    from_file: bool
    group: str | None = None
    keep_ids: tuple[str, ...] = ()
    by_prices: tuple[str, ...] = ()  # those in `ignore` that the prices ignore
    ids: Mapping[str, IdColumn] = field(factory=dict)  # those in `ignore` that are ids

    @classmethod
    def of(
        cls, file: Path, target: str, costs: object, task: str | None, ignore: Iterable[str],
        categorical: Iterable[str], seed: int, group: str | None = None, keep_ids: Iterable[str] = (),
    ) -> Reading:  # fmt: skip
        """Load the prices, if they are in a file."""
        if not isinstance(target, str):
            raise ParameterError(f"target: expected the name of a column, got {shown(target)}")
        if not (group is None or isinstance(group, str)):
            raise ParameterError(f"group: expected the name of a column, got {shown(group)}")
        check_choice("task", task, (*TASKS, None))
        check_number("seed", seed, whole=True)
        ignore, categorical, keep_ids = (
            check_name_list(name, names, ordered=False)
            for name, names in (("ignore", ignore), ("categorical", categorical), ("keep_ids", keep_ids))
        )
        from_file = isinstance(costs, str | os.PathLike)
        prices, source = CostModel.load(costs) if from_file else costs, source_of(costs, "its prices")  # type: ignore[arg-type]
        prices = CostModel.of(prices) if isinstance(prices, Mapping) else prices
        return cls(
            file.name, target, task, ignore, categorical, seed, prices, source, from_file, group, keep_ids
        )  # fmt: skip

    @property
    def grouped(self) -> tuple[str, ...]:
        """The column of groups, if there is one."""
        return () if self.group is None else (self.group,)

    def among(self, columns: Collection[str]) -> Reading:
        """Ignore the columns that the prices ignore too, those that there are."""
        given = self.prices.ignore if isinstance(self.prices, CostModel) else ()
        more = tuple(name for name in given if name in columns and name not in {self.target, *self.ignore})
        return evolve(self, ignore=(*self.ignore, *more), by_prices=more)

    def leaving_out(self, ids: Mapping[str, IdColumn]) -> Reading:
        """Ignore columns that are surely ids, but for those that have a price or are split by categories."""
        prices = self.prices
        priced = set(prices.names) if isinstance(prices, CostModel) else set(ids) if prices is not None else set()
        kept = {*priced, *self.categorical, *self.ignore}
        left = {name: each for name, each in ids.items() if each.is_sure and name not in kept}
        known = tuple(name for name in ids if name not in left)
        return evolve(self, ignore=(*self.ignore, *left), ids=left, keep_ids=(*self.keep_ids, *known))

    def described(self, missing: tuple[str, ...], dated: Mapping[str, FeaturePrice]) -> dict[str, Any]:
        """Return the arguments that make the same table of the same file, JSON values, without the prices."""
        names = {name: sorted(getattr(self, name)) for name in ("ignore", "categorical", "keep_ids")}
        epochs = {name: price.epoch for name, price in dated.items() if price.epoch is not None}
        rest = {"missing": sorted(missing), "group": self.group, "seed": self.seed, "epochs": epochs}
        return {"target": self.target, "task": self.task} | names | rest

    def features(self, columns: Iterable[str], problems: Problems) -> tuple[str, ...]:
        """Return the features among a file's columns, in their order."""
        table = list(columns)
        for name in (self.target, *self.ignore, *self.categorical, *self.grouped, *self.keep_ids):
            with problems.collect():
                if name not in table:
                    what = "target column" if name == self.target else "column"
                    raise DataError(
                        f"no {what} {name!r}{suggestion(name, table)}; the columns are {quote_names(table)}"
                    )
        others = {self.target, SPLIT, QID, *self.ignore, *self.grouped, *find_indices(table)[0]}
        features = tuple(name for name in table if name not in others)
        with problems.collect():
            if self.target in {SPLIT, QID}:
                raise DataError(f"the column {self.target!r} has a meaning of its own and cannot be the target")
            if self.target in self.ignore:
                raise DataError(f"the column {self.target!r} cannot be both the target and ignored")
            if self.group in {self.target, SPLIT, QID}:
                raise DataError(f"the column {self.group!r} has a meaning of its own and cannot name groups")
            if not features:
                ids = [f"{shown(name)} is {each.describe()}" for name, each in self.ids.items()]
                raise DataError("; ".join(["no column is left to be a feature", *ids]) + (_KEEP if ids else ""))
        for name in self.categorical:
            with problems.collect():
                if name in others:
                    raise DataError(f"the column {name!r} is to be split by categories, and is no feature")
        return features

    def price(
        self, opened: TableFile, columns: Collection[str], features: tuple[str, ...], problems: Problems
    ) -> tuple[CostModel | None, list[str]]:
        """Return prices of the features of a file, in their order, and notes on the file and prices."""
        others = {self.target: "the target"}
        indices, index_notes = find_indices(columns, {self.target, *self.ignore})
        others |= dict.fromkeys(indices, "an index")
        adding = f"`costframe costs {shlex.quote(str(opened.path))} --costs {shlex.quote(self.source)}` adds them"
        model = None
        with problems.collect() if features and self.target in columns else contextlib.suppress(CostframeError):
            model = order_prices(
                CostModel.of(self.prices, features),
                features,
                table=str(opened.path),
                source=self.source,
                others=others,
                ignored=(*self.ignore, *self.grouped),
                way_out=adding if self.from_file else "",
            )
        notes = [opened.note] if opened.note else []
        notes += index_notes
        notes += [f"left out, as {self.source} says: {quote_names(self.by_prices)}"] if self.by_prices else []
        notes += [
            f"left out: {shown(name)}, {each.describe()}; --keep-id {shlex.quote(name)}, or a price, keeps it"
            for name, each in self.ids.items()
        ]
        notes += [] if self.prices is not None else ["no prices given: every feature costs one unit"]
        codes = [name for name in opened.codes if name in features and name not in self.categorical]
        notes += [describe_codes(codes)] if codes else []
        note = describe_open(as_path(self.source)) if self.from_file else None
        return model, [*notes, note] if note else notes

    def outline(self, opened: TableFile, table: dict[str, Any], notes: list[str], problems: Problems) -> Outline | None:
        """Read the target, the queries and the split; None if there is no target, or a problem."""
        if self.target in table:
            with problems.collect():
                return outline(opened, table, self, notes)
        return None


@frozen(eq=False)
class Outline:
    """A table without its features: labels, task, queries, groups and given split, with notes on them."""

    y: NDArray[Any]
    task: str
    queries: I8 | None
    groups: I8 | None
    split: NDArray[np.str_] | None
    notes: list[str]


def outline(opened: TableFile, table: dict[str, Any], how: Reading, notes: list[str]) -> Outline:
    """Read the target, the queries, the groups and the split of a file's table, pyarrow columns by name.

    The target of a text file is as it is written: for classes labels, else numbers.
    """
    qid, groups = (
        np.unique(as_queries(table[name], name), return_inverse=True)[1].astype(np.int64) if name in table else None
        for name in ("" if QID in how.ignore else QID, how.group or "")
    )
    y = as_target(opened.as_numbers(table[how.target]), how.target)
    _refuse_unread(y, opened, how)
    task, reason = _task(y, how, qid)
    if task == "classification":
        y = as_target(opened.as_written(table[how.target]), how.target)
        reason = _task(y, how, qid)[1]
    y = _convert_target(y, task, how.target, qid)
    notes = notes + reason
    classes, queries = (y if task == "classification" else None), (qid if task == "ranking" else None)
    if queries is not None and groups is not None:
        check_nested(queries, groups, f"column {how.group!r}")
    split = None
    if SPLIT in table and SPLIT not in how.ignore:
        kinds = Kinds(len(y), classes, queries, groups)
        split, remarks = obey_split(text_values(table[SPLIT], SPLIT), kinds, how.seed)
        notes = notes + remarks
    return Outline(y, task, queries, groups, split, notes)


def _refuse_unread(y: NDArray[Any], opened: TableFile, how: Reading) -> None:
    """Refuse a target of texts that look like numbers, and are none as they are written, unless they are labels."""
    if opened.text is None or how.task == "classification" or y.dtype.kind not in "US":
        return
    texts = np.unique(y).tolist()
    if all(map(looks_numeric, texts)) and (all(map(is_numeral, texts)) or len(texts) > MOST_CLASSES):
        why = next(filter(None, map(opened.spelling.why_not, texts)), "numbers stored as texts")
        raise DataError(f"target {how.target!r}: {why}; or take them for labels with --task classification")


@frozen(eq=False)
class _Values:
    """Features of a table: float64 (n, d), labels of the categorical ones, those that nobody named so, and dates."""

    X: F8
    categorical: dict[str, tuple[str, ...] | None]
    texts: list[str]
    dates: dict[str, Dates]


def _dataset(
    table: dict[str, Any], how: Reading, costs: CostModel, rest: Outline, values: _Values, ids: Mapping[str, IdColumn]
) -> Dataset:
    features, categorical = costs.names, values.categorical
    notes = [*rest.notes, describe_texts(values.texts)] if values.texts else [*rest.notes]
    if named := [name for name in categorical if name not in values.texts]:
        notes.append(f"split by categories: {quote_names(named)}")
    notes += describe_missing({name: table[name] for name in categorical})
    notes += [describe_dates(values.dates)] if values.dates else []
    data = Dataset.from_arrays(
        values.X,
        rest.y,
        costs,
        feature_names=features,
        split=rest.split,
        qid=rest.queries,
        groups=rest.groups,
        task=rest.task,
        name=how.name,
        seed=how.seed,
        categorical=categorical,
        notes=[*notes, *describe_columns(values.X, features, ids)],
    )
    few = describe_few_rows(data)
    notes = [*data.notes, *find_leaks(data, *_whose(table, how, rest, ids)), *([few] if few else [])]
    return evolve(data, notes=tuple(notes), dates=values.dates)


def _whose(
    table: dict[str, Any], how: Reading, rest: Outline, ids: Mapping[str, IdColumn]
) -> tuple[dict[str, I8], dict[str, I8]]:
    """Return ids that say whose a row is, and other columns that are no features, each with numbers of its values.

    The numbers are in the order of a data set's rows.
    """
    ignored = [name for name in how.ignore if name not in ids and name not in how.grouped]
    known = {**ids, **find_ids(table, ignored)}
    whose = [*how.grouped, *(name for name, each in known.items() if each.is_sure and each.repeats)]
    order = np.arange(len(rest.y)) if rest.queries is None else np.argsort(rest.queries, kind="stable")
    asked = (whose, [name for name in ignored if name not in known])
    ids_of_rows, others = ({name: number_values(table[name], name)[order] for name in names} for names in asked)
    return ids_of_rows, others


def _values(
    table: dict[str, Any],
    features: tuple[str, ...],
    how: Reading,
    spelled: tuple[Mapping[str, FeaturePrice], Spelling],
    problems: Problems,
) -> _Values:
    """Read the features, by their prices where these are of dates; those with problems are missing."""
    dated, spelling = spelled
    texts: list[str] = []
    columns: list[F8] = []
    categorical: dict[str, tuple[str, ...] | None] = {}
    beside: dict[str, Counter[str]] = {}
    dates: dict[str, Dates] = {}
    for name in features:
        column, values = table[name], np.empty(0)
        with problems.collect():
            known = name in how.categorical or (is_categorical(column.type) and name not in dated)
            if known and name in dated:
                raise DataError(f"the column {name!r} is to be split by categories, and a date by its price")
            how_dates = None if known else find_dates(column, name, dated.get(name))
            if how_dates is not None:
                dates[name] = how_dates
                values = feature_values(column, name, how_dates)
            elif not known and holds_numbers(column, name):
                beside[name] = count_texts(column, name, spelling)
            elif not known and not is_few_texts(column, name, spelling=spelling):
                values = as_numbers(column, name)
            else:
                texts += [] if known else [name]
                values, categorical[name] = as_categories(column, name)
        columns.append(values)
    with problems.collect():
        refuse_texts(beside, BESIDE_WAYS, spelling)
    whole = columns if not problems.found else []
    return _Values(np.column_stack(whole) if whole else np.empty((0, 0)), categorical, texts, dates)


def _task(y: NDArray[Any], how: Reading, qid: I8 | None) -> tuple[str, list[str]]:
    """Return the task, given or inferred, and notes with the reason."""
    if how.task is not None:
        if how.task not in TASKS:
            raise ParameterError(f"task: expected one of {', '.join(TASKS)}, got {how.task!r}")
        return how.task, []
    if qid is not None:
        return "ranking", [f"task: ranking by {how.target!r}, for there is a column {QID!r}"]
    distinct, numeric, whole = len(np.unique(y)), _numeric(y), _whole(y)
    task = "classification" if not numeric or (whole and distinct <= MOST_CLASSES) else "regression"
    kind = "different value" if not numeric else "different whole number" if whole else "different number"
    return task, [f"task: {task}, for {how.target!r} has {format_count(distinct, kind)}"]


def _convert_target(y: NDArray[Any], task: str, target: str, qid: I8 | None) -> NDArray[Any]:
    if task == "classification":
        if _numeric(y) and not _whole(y):
            raise DataError(f"target {target!r}: classes are texts or whole numbers, got {y[y != np.floor(y)][0]:g}")
        check_exact(y.tolist() if y.dtype.kind == "f" else (), f"target {target!r}")
        return y.astype(np.int64) if y.dtype.kind in "if" else y
    if not _numeric(y):
        texts = Counter(value for value in y.tolist() if not is_numeral(value))
        raise DataError(f"target {target!r}: {task} needs numbers, got {describe_counts(texts) or shown(y[0])}")
    if task == "ranking" and qid is None:
        raise DataError(f"a ranking needs a column {QID!r} that names the query of each row")
    if task == "ranking" and (y < 0).any():
        raise DataError(f"target {target!r}: expected grades of relevance >= 0, got {y.min():g}")
    return y.astype(np.float64)


def _numeric(y: NDArray[Any]) -> bool:
    return y.dtype.kind in "iuf"


def _whole(y: NDArray[Any]) -> bool:
    return _numeric(y) and bool((y == np.floor(y)).all())
