"""Rows of a file as a model reads them, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from costframe.core.arrays import B1, F8
from costframe.core.errors import DataError, name_file, quote_names
from costframe.core.tables.categories import Categories
from costframe.core.tables.columns import MISSING_TEXTS, decode_column, is_numeric, null_texts, text_values
from costframe.core.tables.feature_values import feature_values
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.core.tables.unknown_values import Coverage, odd_columns
from costframe.datasets.parts import SPLIT
from costframe.datasets.table_files import TableFile
from costframe.datasets.text_features import count_texts, refuse_texts


@frozen
class ModelRows:
    """The rows of a file, or of one part of it, as a model reads them."""

    file: TableFile
    feature_names: Sequence[str]  # of the model, in its order; the file may have more, in any order
    part: str | None = None  # rows with this text in the column ``split``; None for all
    categories: Categories = field(factory=dict)  # labels, which become their positions, or their hashes
    reader: str = "the model"  # name of the model in errors
    keep: Sequence[str] = ()  # further columns to copy
    used: Collection[str] | None = None  # features that the model reads: the file may lack others; by default all
    unavailable: Collection[str] = ()  # features of which nothing is read: the file may lack them, or hold anything
    # called at the end with a text on each column that the model reads, with labels that it does not know, which are
    # missing to it, or without any value
    remark: Callable[[str], None] = lambda _: None
    allow_unknown: bool = False  # whether most rows may have labels that the model does not know, or none a value

    def blocks(self) -> Iterator[tuple[F8, dict[str, Any]]]:
        """Yield features, float64 (rows, d), and columns to copy, pyarrow.Array by name, some rows at a time.

        A `DataError` names a column that is missing or does not fit, or says that no row is in the part; at the end it
        names columns in which most rows have unknown labels, or no row has a value.
        """
        path, names, n_rows = self.file.path, self._check_names(), 0
        place = {name: f for f, name in enumerate(self.feature_names) if name in names and name not in self.unavailable}
        coverage = {name: Coverage() for name in place if self.used is None or name in self.used}
        beside: dict[str, Counter[str]] = {name: Counter() for name in place}
        texts = {name for name, labels in self.categories.items() if isinstance(labels, tuple | HashedLabels)}
        copied = set(self.keep)
        for columns in self.file.blocks(names, texts | copied | {SPLIT}):
            with name_file(path):
                read = {name: self._as_read(columns[name], name, is_copy=name in copied - texts) for name in beside}
                for name in coverage.keys() - self.categories.keys():
                    beside[name] += count_texts(read[name], name, self.file.spelling)
                if any(beside.values()):  # count on, for the error at the end
                    continue
                rows = len(columns[names[0]])
                inside = np.ones(rows, np.bool_)
                if self.part is not None:
                    inside = np.asarray(text_values(columns[SPLIT], SPLIT) == self.part)
                X = np.full((rows, len(self.feature_names)), np.nan)
                for name, column in read.items():
                    if name not in coverage and name not in self.categories and not is_numeric(column.type):
                        continue  # the model does not read it
                    f = place[name]
                    X[:, f] = feature_values(column, name, self.categories.get(name))
                    if name in coverage:
                        strange = _unknown_labels(column, name, np.isnan(X[:, f]) & inside, self.categories)
                        coverage[name].add(X[inside, f], strange)
            n_rows += int(inside.sum())
            yield X[inside], {name: decode_column(columns[name].filter(pa.array(inside)), name) for name in self.keep}
        with name_file(path):
            refuse_texts(beside, spelling=self.file.spelling)
        if not n_rows:
            what = "expected rows, got none" if self.part is None else f"no row is in the part {self.part!r}"
            raise DataError(f"{path}: {what}")
        self._judge(coverage)

    def _judge(self, coverage: Mapping[str, Coverage]) -> None:
        """Tell what rows lack; refuse what most of them lack."""
        odd = {} if self.allow_unknown else odd_columns(coverage, self.reader, self.categories)
        for name, coverage_of_column in coverage.items():
            text = coverage_of_column.describe(self.reader, self.categories.get(name))
            if text is not None and name not in odd:
                self.remark(f"{self.file.path.name}: column {name!r}: {text}")
        if odd:
            raise DataError(f"{self.file.path}: {'; '.join(odd.values())}; --allow-unknown takes them for missing")

    def _as_read(self, column: Any, name: str, *, is_copy: bool) -> Any:
        """Return a column as the model reads it: texts with hashes as written, unless they are fractions or truths."""
        if self.file.missing:
            column = null_texts(decode_column(column), self.file.missing)
        is_hashed = isinstance(self.categories.get(name), HashedLabels)
        if not (is_hashed or is_copy):
            return column
        kind = (numbers := self.file.as_numbers(column)).type
        return column if is_hashed and (pa.types.is_integer(kind) or not is_numeric(kind)) else numbers

    def _check_names(self) -> list[str]:
        """Return the columns to read, at least one; refuse what the file lacks."""
        path, known = self.file.path, self.file.names()
        features = [name for name in self.feature_names if name not in self.unavailable]
        lacked = [name for name in features if name not in known]
        if missing := [name for name in lacked if self.used is None or name in self.used]:
            has = f"the table has {quote_names(known)}"
            raise DataError(f"{path}: no column {quote_names(missing)}, which {self.reader} reads; {has}")
        if missing := [name for name in self.keep if name not in known]:
            raise DataError(f"{path}: no column {quote_names(missing)} to copy; the table has {quote_names(known)}")
        if self.part is not None and SPLIT not in known:
            raise DataError(f"{path}: no column {SPLIT!r} to find the part {self.part!r} in")
        wanted = [
            *(name for name in features if name not in lacked),
            *self.keep,
            *([SPLIT] if self.part is not None else []),
        ]
        return list(dict.fromkeys(wanted)) or known[:1]


def _unknown_labels(column: Any, name: str, missing: B1, categories: Categories) -> list[str]:
    """Return the labels of a column that are missing to a model though not in the file."""
    if name not in categories or not missing.any():
        return []
    strange = null_texts(decode_column(column, name), MISSING_TEXTS).filter(pa.array(missing)).drop_null()
    return [str(label) for label in strange.to_pylist()]
