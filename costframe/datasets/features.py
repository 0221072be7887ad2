"""Features of a table: each is numbers, dates or categories, as its values and the prices say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from costframe.core.arrays import F8
from costframe.core.errors import DataError, Problems, quote_names
from costframe.core.numerals import Spelling
from costframe.core.prices.entries import FeaturePrice
from costframe.core.tables.columns import (
    as_numbers,
    decode_column,
    encode_categories,
    is_categorical,
    is_numeric,
    null_texts,
)
from costframe.core.tables.date_columns import find_dates
from costframe.core.tables.dates import Dates
from costframe.core.tables.feature_values import feature_values
from costframe.core.tables.parquet_files import ParquetFiles
from costframe.datasets.table_files import TableFile
from costframe.datasets.text_features import (
    count_texts,
    describe_dates,
    describe_missing,
    describe_texts,
    holds_numbers,
    is_few_texts,
    refuse_texts,
)

_WAYS = "; --ignore COL leaves a column out, --categorical COL splits it by categories"
_CELLS = 1 << 21  # of a column to read at a time


@frozen(eq=False)
class Features:
    """What the features of a table are, and their values where these are in memory."""

    X: F8  # (n, d), or (0, 0) where they are not in memory, or one has a problem
    # labels of categorical features, None where their numbers are the categories
    categorical: dict[str, tuple[str, ...] | None]
    texts: list[str]  # features that are categorical because they hold few texts
    missing: list[str]  # notes on texts in categorical features that stand for missing values
    dates: dict[str, Dates] = field(factory=dict)

    @property
    def notes(self) -> list[str]:
        """What was chosen, each in one line."""
        notes = [describe_texts(self.texts)] if self.texts else []
        if named := [name for name in self.categorical if name not in self.texts]:
            notes.append(f"split by categories: {quote_names(named)}")
        return [*notes, *self.missing, *([describe_dates(self.dates)] if self.dates else [])]


def read_features(
    table: Mapping[str, Any],
    names: Sequence[str],
    categorical: Collection[str],
    dated: Mapping[str, FeaturePrice],
    spelling: Spelling,
    problems: Problems,
) -> Features:
    """Read the features `names` of a table in memory, pyarrow columns by name; features with problems are missing.

    `categorical` names some to split by categories, and `dated` has prices of those that are dates.
    """
    columns: list[F8] = []
    labels: dict[str, tuple[str, ...] | None] = {}
    texts: list[str] = []
    missing: list[str] = []
    dates: dict[str, Dates] = {}
    beside: dict[str, Counter[str]] = {}
    for name in names:
        column, values = table[name], np.empty(0)
        with problems.collect():
            kind = _choose_kind(column, name, dated.get(name), spelling, is_chosen=name in categorical)
            if isinstance(kind, Dates):
                dates[name], values = kind, feature_values(column, name, kind)
            elif kind == "numbers":
                values = as_numbers(column, name)
            elif kind == "texts beside numbers":
                beside[name] = count_texts(column, name, spelling)
            else:
                texts += [name] if kind == "few texts" else []
                values, labels[name] = encode_categories(column, name)
                missing += describe_missing(column, name)
        columns.append(values)
    with problems.collect():
        refuse_texts(beside, _WAYS, spelling)
    X = np.empty((0, 0)) if problems.found or not columns else np.column_stack(columns)
    return Features(X, labels, texts, missing, dates)


def _choose_kind(
    column: Any, name: str, date_price: FeaturePrice | None, spelling: Spelling, *, is_chosen: bool
) -> Dates | Literal["numbers", "texts beside numbers", "few texts", "categories"]:
    """Return how to read a feature; `is_chosen` says that it is to be split by categories."""
    if is_chosen and date_price is not None:
        raise DataError(f"the column {name!r} is to be split by categories, and a date by its price")
    if is_chosen or (is_categorical(column.type) and date_price is None):
        return "categories"
    if is_numeric(column.type) and date_price is None:
        return "numbers"
    if (dates := find_dates(column, name, date_price)) is not None:
        return dates
    if holds_numbers(column, name):
        return "texts beside numbers"
    return "few texts" if is_few_texts(column, name, spelling=spelling) else "numbers"


def find_categories(
    opened: TableFile, names: Sequence[str], categorical: Collection[str], problems: Problems
) -> Features:
    """Find which features `names` of Parquet files are categorical, and their labels, without reading all values."""
    files = opened.parquet()
    labels: dict[str, tuple[str, ...] | None] = {}
    texts: list[str] = []
    missing: list[str] = []
    beside: dict[str, Counter[str]] = {}
    for name in names:
        kind = files.type_of(name)
        is_chosen = kind == "category" or name in categorical
        if kind == "float64":
            labels |= {name: None} if is_chosen else {}
            continue
        values = null_texts(pa.array(_distinct(files, name)), opened.missing)
        if not is_chosen and holds_numbers(values, name):
            beside[name] = count_texts(opened.read([name])[name], name)
            continue
        with problems.collect():
            if not is_chosen:
                if not is_few_texts(values, name, int(files.first[-1])):
                    raise DataError(f"column {name!r}: expected numbers or texts, got {files.schema.field(name).type}")
                texts.append(name)
            labels[name] = encode_categories(values, name)[1]
            missing += describe_missing(values, name)
    refuse_texts(beside, _WAYS)
    return Features(np.empty((0, 0)), labels, texts, missing)


def _distinct(files: ParquetFiles, name: str) -> list[Any]:
    """Return the distinct values of a column, in the order of their first rows."""
    values: dict[object, None] = {}
    for group in files.groups:
        for batch in group.batches([name], _CELLS):
            values.update(dict.fromkeys(decode_column(batch.column(0).unique(), f"column {name!r}").to_pylist()))
    return list(values)
