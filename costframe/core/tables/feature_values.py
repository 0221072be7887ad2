"""Columns as the numbers that a model reads, with the labels of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from costframe.core.arrays import F8
from costframe.core.errors import DataError
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories, Labels
from costframe.core.tables.columns import (
    MISSING_TEXTS,
    as_numbers,
    decode_column,
    encode_categories,
    is_text,
    name_type,
    null_texts,
)
from costframe.core.tables.dates import Dates
from costframe.core.tables.given_columns import given_values
from costframe.core.tables.hashed_labels import HashedLabels

_STRIP = 256  # rows at a time, so that the cache holds them


def as_hashes(column: Any, name: str) -> F8:
    """Return the hashes of a feature's categories, texts or whole numbers, float64, missing ones as NaN."""
    column = decode_column(column, f"column {name!r}")
    kind = column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError(f"column {name!r}: expected texts or whole numbers, got {name_type(kind)}")
    return HashedLabels().numbers(column.to_pylist())


def feature_values(column: Any, name: str, labels: Labels | None) -> F8:
    """Return a column as the numbers that a model with these labels reads: float64 (rows,)."""
    if isinstance(labels, HashedLabels):
        return as_hashes(column, name)
    if isinstance(labels, AsGiven):
        return given_values(column, labels, f"column {name!r}")
    if isinstance(labels, Dates):
        return labels.read(null_texts(decode_column(column, f"column {name!r}"), MISSING_TEXTS), name)
    return as_numbers(column, name) if labels is None else encode_categories(column, name, labels)[0]


def table_of(columns: Sequence[Any], names: Sequence[str], categories: Categories) -> F8:
    """Return columns of equal length as features, with the labels of some: float64 (rows, columns)."""
    values_of = [
        feature_values(column, name, categories.get(name)) for column, name in zip(columns, names, strict=True)
    ]
    X = np.empty((len(values_of[0]) if values_of else 0, len(values_of)))
    for begin in range(0, len(X), _STRIP):
        for f, values in enumerate(values_of):
            X[begin : begin + _STRIP, f] = values[begin : begin + _STRIP]
    return X
