"""Rows of a file for a model: the columns that it reads, with its labels as numbers, whole or block by block."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from costframe.core.errors import DataError, format_count, quote_names, shown
from costframe.core.tables.columns import (
    MISSING_TEXTS,
    decode_column,
    feature_values,
    is_number,
    is_numeric,
    null_texts,
    text_values,
)
from costframe.core.tables.file_errors import name_file
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.core.tables.splits import SPLIT
from costframe.datasets.table_files import TableFile
from costframe.datasets.text_features import count_texts, refuse_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from costframe.core.tables.categories import Categories, Labels


@frozen
class ModelRows:
    """The rows of a file, or of one part of it, as a model reads them."""

    file: TableFile
    feature_names: Sequence[str]  # columns that the model reads, in its order; the file may have more, in any order
    part: str | None = None  # rows with this text in the column ``split``; None for all
    categories: Categories = field(factory=dict)  # labels, which become their positions, or their hashes
    reader: str = "the model"  # name of the model in errors
    keep: Sequence[str] = ()  # further columns to copy
    # called at the end with a text on each column with labels that the model does not know, which are missing
    # to it
    remark: Callable[[str], None] = lambda _: None

    def blocks(self) -> Iterator[tuple[NDArray[np.float64], dict[str, Any]]]:
        """Yield features, float64 (rows, d), and columns to copy, pyarrow.Array by name, some rows at a time.

        A `DataError` names a column that is missing or does not fit, or says that no row is in the part.
        """
        path, names, found = self.file.path, self._check_names(), 0
        unknown: dict[str, tuple[int, str]] = {}
        beside: dict[str, Counter[str]] = {name: Counter() for name in self.feature_names}
        texts = {name for name, labels in self.categories.items() if _are_texts(labels)}
        copied = set(self.keep)
        for columns in self.file.blocks(names, texts | copied | {SPLIT}):
            with name_file(path):
                read = {name: self._as_read(columns[name], name, is_copy=name in copied - texts) for name in beside}
                for name in read.keys() - self.categories.keys():
                    beside[name] += count_texts(read[name], name)
                if any(beside.values()):  # count on, for the error at the end
                    continue
                rows = len(columns[names[0]])
                inside = np.ones(rows, np.bool_)
                if self.part is not None:
                    inside = np.asarray(text_values(columns[SPLIT], SPLIT) == self.part)
                X = np.empty((rows, len(self.feature_names)))
                for f, (name, column) in enumerate(read.items()):
                    X[:, f] = feature_values(column, name, self.categories.get(name))
                    if name in self.categories:
                        _count_unknown(unknown, name, column, np.isnan(X[:, f]) & inside)
            found += int(inside.sum())
            yield X[inside], {name: decode_column(columns[name].filter(pa.array(inside)), name) for name in self.keep}
        with name_file(path):
            refuse_texts(beside)
        for name, (count, example) in unknown.items():
            self.remark(
                f"{path.name}: column {name!r}: {format_count(count, 'label')} such as {shown(example)} that "
                f"{self.reader} does not know, and takes for missing"
            )
        if not found:
            what = "expected rows, got none" if self.part is None else f"no row is in the part {self.part!r}"
            raise DataError(f"{path}: {what}")

    def _as_read(self, column: Any, name: str, *, is_copy: bool) -> Any:
        """Return a column as the model reads it: texts with hashes as written, unless they are fractions or truths."""
        column = null_texts(column, self.file.missing)
        is_hashed = isinstance(self.categories.get(name), HashedLabels)
        if not (is_hashed or is_copy):
            return column
        kind = (numbers := self.file.as_numbers(column)).type
        return column if is_hashed and (pa.types.is_integer(kind) or not is_numeric(kind)) else numbers

    def _check_names(self) -> list[str]:
        """Return the columns to read, at least one; refuse what the file lacks."""
        path, known = self.file.path, self.file.names()
        if missing := [name for name in self.feature_names if name not in known]:
            has = f"the table has {quote_names(known)}"
            raise DataError(f"{path}: no column {quote_names(missing)}, which {self.reader} reads; {has}")
        if missing := [name for name in self.keep if name not in known]:
            raise DataError(f"{path}: no column {quote_names(missing)} to copy; the table has {quote_names(known)}")
        if self.part is not None and SPLIT not in known:
            raise DataError(f"{path}: no column {SPLIT!r} to find the part {self.part!r} in")
        wanted = [*self.feature_names, *self.keep, *([SPLIT] if self.part is not None else [])]
        return list(dict.fromkeys(wanted)) or known[:1]


def read_rows(
    path: str | os.PathLike[str],
    feature_names: Sequence[str],
    part: str | None = None,
    *,
    categories: Categories | None = None,
    reader: str = "the model",
) -> NDArray[np.float64]:
    """Read the columns `feature_names` of a file, of all rows or of one part: float64 (rows, d); see `ModelRows`."""
    rows = ModelRows(TableFile.open(path), feature_names, part, categories or {}, reader)
    return np.concatenate([X for X, _ in rows.blocks()])


def _count_unknown(unknown: dict[str, tuple[int, str]], name: str, column: Any, missing: NDArray[np.bool_]) -> None:
    """Add to the number of a column's labels that are missing to a model though not in the file, with the first one."""
    strange = null_texts(decode_column(column, name), MISSING_TEXTS).filter(pa.array(missing)).drop_null()
    if len(strange):
        count, example = unknown.get(name, (0, str(strange[0])))
        unknown[name] = count + len(strange), example


def _are_texts(labels: Labels) -> bool:
    """Return whether some labels, such as 007, true or NA, would be read as something else than texts."""
    if not isinstance(labels, tuple):
        return isinstance(labels, HashedLabels)
    others = {*MISSING_TEXTS, "true", "false"}
    return any(is_number(label) or label[:1].isdigit() or {label, label.lower()} & others for label in labels)
