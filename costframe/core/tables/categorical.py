"""Categorical columns of training data, from the user or from a data frame's dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.arrays import B1, F8
from costframe.core.checks import needed
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories, as_categories, check_exact, encode, is_missing
from costframe.core.tables.dates import Dates
from costframe.core.tables.frames import (
    category_columns,
    check_names,
    column_names,
    is_frame,
    is_numeric_dtype,
    take_column,
)
from costframe.core.tables.text_columns import choose_few_texts, text_columns
from costframe.core.workers import Workers

_PARAMETER = "categorical_features"


@frozen(eq=False)
class CategoricalColumns:
    """The categorical columns of a table, which trees split by categories."""

    names: tuple[str, ...] = ()  # (d,): names of all columns
    chosen: B1 = field(factory=lambda: np.zeros(0, np.bool_))  # (d,): whether each is categorical
    # labels of the columns whose categories are texts, and of dates, which are not chosen
    categories: Categories = field(factory=dict)

    def with_dates(self, dates: Mapping[str, Dates], names: Sequence[str]) -> CategoricalColumns:
        """Return the columns, named so, with some that are dates outside, days in X."""
        chosen = self.chosen if len(self.chosen) else np.zeros(len(names), np.bool_)
        return CategoricalColumns(tuple(names), chosen, {**self.categories, **dates})

    def encoded(self, X: Any, what: str) -> Any:
        """Replace labels by numbers; see `categories.encode`."""
        return encode(X, self.categories, self.names, what)

    def of_all(self, workers: Workers) -> CategoricalColumns:
        """Return the columns with the labels of all workers, each of which read its own from its part of the rows."""
        if workers.count == 1 or not self.chosen.any():
            return self
        return self.with_labels(workers.gather(dict(self.categories)))

    def with_labels(self, known: Sequence[Categories]) -> CategoricalColumns:
        """Return the columns with the labels that parts of the rows have together."""
        labels: dict[str, Any] = {}
        for name in self.names:
            parts: list[Any] = [part[name] for part in known if name in part]
            if parts:
                same = all(part == parts[0] for part in parts)
                labels[name] = parts[0] if same else tuple(sorted(set(chain(*parts))))
        return evolve(self, categories=labels)

    def check(self, X: F8, what: str) -> None:
        """Refuse infinite categories, and numbers so large that doubles cannot distinguish them."""
        for f in np.flatnonzero(self.chosen):
            where, largest = f"{what}: column {self.names[f]!r}", np.nanmax(np.abs(X[:, f]), initial=0.0)
            if np.isinf(largest):
                raise DataError(f"{where}: categories must be finite numbers or missing, got an infinite one")
            check_exact([largest], where)


def find_categorical(given: Any, X: Any, names: Sequence[str]) -> CategoricalColumns:
    """Find the categorical columns of training data, rows (n, d) with `names`, and their labels.

    If `given` is None, they are a frame's columns of a category dtype, and of texts of few values. Else it has names or
    positions of columns, or a mask of them; or it is a mapping from them to the labels of a column's numbers, None
    where the numbers are the categories. A ParameterError refuses another form or an unknown column, a DataError
    categories that are neither all texts nor all numbers.
    """
    check_names(column_names(X) or (), "X")
    chosen = np.zeros(len(names), np.bool_)
    labels_of: dict[int, Any] = {}
    if given is None:
        chosen[category_columns(X)] = True
        if texts := text_columns(X):
            chosen[choose_few_texts(texts, names, len(X))] = True
    else:
        labels_of = _read_choice(given, names)
        chosen[[f for f, labels in labels_of.items() if not isinstance(labels, Dates | AsGiven)]] = True
    asked = [f for f in np.flatnonzero(chosen).tolist() if labels_of.get(f) is None]
    labels_in_X = dict(zip(asked, _find_labels(X, asked, names), strict=True))
    labels = {names[f]: labels_in_X[f] if f in labels_in_X else labels_of[f] for f in sorted({*asked, *labels_of})}
    try:
        categories = as_categories({name: known for name, known in labels.items() if known is not None})
    except DataError as error:
        raise DataError(f"{_PARAMETER}: {error}") from None
    return CategoricalColumns(tuple(names), chosen, categories)


def _read_choice(given: Any, names: Sequence[str]) -> dict[int, Any]:
    """Return the labels, or None, of the columns that the user chose, by position."""
    scalar = isinstance(given, np.ndarray) and not given.ndim
    if scalar or isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"{_PARAMETER}: expected names or positions of columns, a mask of them, or labels by column, "
            f"got {shown(given)}"
        )
    listed = list(given)
    if not isinstance(given, Mapping) and listed and all(isinstance(column, bool | np.bool_) for column in listed):
        if len(listed) != len(names):
            raise ParameterError(f"{_PARAMETER}: a mask of {len(names)} columns must be as long, got {len(listed)}")
        return dict.fromkeys(np.flatnonzero(listed).tolist())
    place = {name: f for f, name in enumerate(names)}
    return {_position(column, names, place): given[column] if isinstance(given, Mapping) else None for column in listed}


def _position(column: object, names: Sequence[str], place: Mapping[str, int]) -> int:
    if isinstance(column, str) and column in place:
        return place[column]
    whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if whole and 0 <= int(column) < len(names):  # type: ignore[call-overload]
        return int(column)  # type: ignore[call-overload,no-any-return]
    raise ParameterError(
        f"{_PARAMETER}: {shown(column)} is no column, expected some of {tuple(names)} or of their positions"
    )


def _find_labels(X: Any, columns: Sequence[int], names: Sequence[str]) -> list[tuple[str, ...] | None]:
    """Return the labels of some columns; None for each whose categories are numbers."""
    if is_frame(X):
        return [find_labels(take_column(X, f), names[f]) for f in columns]
    if not columns or hasattr(X, "toarray") or (hasattr(X, "dtype") and X.dtype.kind in "fiub"):
        return [None] * len(columns)
    objects = np.array(X, dtype=object)
    return [find_labels(objects[:, f], names[f]) for f in columns]


def find_labels(column: Any, name: str) -> tuple[str, ...] | None:
    """Return the labels of a categorical column; None if its categories are numbers.

    A category dtype gives all its categories, in its order; other texts are in alphabetical order. A DataError refuses
    texts among other categories.
    """
    if is_numeric_dtype(getattr(column, "dtype", "")):
        return None
    declared = _declared(column)
    if declared is None:
        needed("pyarrow", "cli")
        from costframe.core.tables.frame_rows import column_values

    values = column_values(column, f"column {name!r}") if declared is None else declared
    present = [value for value in values if not is_missing(value)]
    texts = sum(isinstance(value, str) for value in present)
    if texts == 0 and all(isinstance(value, Real | Decimal | np.bool_) for value in present):
        check_exact(present, f"column {name!r}")
        return None
    if texts < len(present):
        odd = next(value for value in present if not isinstance(value, str))
        raise DataError(
            f"column {name!r}: categories are either texts or numbers, got {shown(odd)} of type {type(odd).__name__}"
        )
    return tuple(dict.fromkeys(map(str, present))) if declared is not None else tuple(sorted(set(map(str, present))))


def _declared(column: Any) -> list[Any] | None:
    """Return the categories of pandas' "category" or polars' Enum dtype; None for other columns."""
    if not str(getattr(column, "dtype", "")).startswith(("category", "Enum")):
        return None
    return list(column.dtype.categories)
