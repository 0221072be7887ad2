"""Columns of tables as numbers, categories, targets and texts, with checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from costframe.core.errors import DataError, format_count, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import number_unknown
from costframe.core.tables.hashed_labels import HashedLabels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.tables.categories import Categories, Labels

__all__ = [
    "MISSING_TEXTS",
    "as_categories",
    "as_hashes",
    "as_numbers",
    "as_queries",
    "as_target",
    "decode_column",
    "feature_values",
    "is_categorical",
    "is_number",
    "is_numeric",
    "is_text",
    "kind_of",
    "missing_text",
    "null_texts",
    "refuse_missing",
    "show_example",
    "table_of",
    "text_values",
]

_NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
MISSING_TEXTS = tuple(csv.ConvertOptions().null_values)
"""Texts that stand for a missing value in a file, such as NA and nan, unless a model knows them as labels."""
_STRIP = 256  # rows at a time, so that the cache holds them


def as_numbers(column: Any, name: str) -> NDArray[np.float64]:
    """Return a feature column as float64, missing values as NaN."""
    return _numbers(column, f"column {name!r}", "a feature that is not named categorical is a column of numbers")


def is_categorical(kind: Any) -> bool:
    """Return whether columns of this type are stored as categories, in a dictionary."""
    return bool(pa.types.is_dictionary(kind))


def is_numeric(kind: Any) -> bool:
    """Return whether columns of this type hold numbers, truth values or nothing."""
    return any(is_kind(kind) for is_kind in (*_NUMERIC, pa.types.is_null))


def as_categories(
    column: Any, name: str, labels: tuple[str, ...] | None = None
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Return a feature's categories as numbers, float64, missing ones as NaN, and their labels.

    Texts become their positions among `labels`, by default their own in alphabetical order; an unknown text is
    missing, or as `OTHER` and `ONLY` say. Numbers are unchanged, and have no labels.
    """
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        if labels is not None and not pa.types.is_null(column.type):
            raise DataError(f"column {name!r}: expected labels such as {labels[0]!r}, got {kind_of(column.type)}")
        return as_numbers(column, name), None
    own = () if labels is not None else null_texts(column.unique(), MISSING_TEXTS).drop_null().to_pylist()
    known = labels if labels is not None else tuple(sorted(own))
    places = pc.index_in(column, pa.array(known, column.type)).cast(pa.float64())
    numbers = np.array(places.to_numpy(zero_copy_only=False), np.float64)
    present = null_texts(column, MISSING_TEXTS).is_valid().to_numpy(zero_copy_only=False)
    strange = np.isnan(numbers) & np.asarray(present)
    if labels is not None and strange.any():
        numbers[strange] = number_unknown(str(column[int(strange.argmax())]), labels, f"column {name!r}")
    return numbers, known or None


def as_hashes(column: Any, name: str) -> NDArray[np.float64]:
    """Return the hashes of a feature's categories, texts or whole numbers, float64, missing ones as NaN."""
    column = decode_column(column, f"column {name!r}")
    kind = column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError(f"column {name!r}: expected texts or whole numbers, got {kind_of(kind)}")
    return HashedLabels().numbers(column.to_pylist())


def feature_values(column: Any, name: str, labels: Labels | None) -> NDArray[np.float64]:
    """Return a column as the numbers that a model with these labels reads: float64 (rows,)."""
    if isinstance(labels, HashedLabels):
        return as_hashes(column, name)
    if isinstance(labels, AsGiven):
        column = decode_column(column, f"column {name!r}")
        return labels.numbers(column.to_pylist()) if is_text(column.type) else as_numbers(column, name)
    return as_numbers(column, name) if labels is None else as_categories(column, name, labels)[0]


def table_of(columns: Sequence[Any], names: Sequence[str], categories: Categories) -> NDArray[np.float64]:
    """Return columns of equal length as features, with the labels of some: float64 (rows, columns)."""
    found = [feature_values(each, name, categories.get(name)) for each, name in zip(columns, names, strict=True)]
    X = np.empty((len(found[0]) if found else 0, len(found)))
    for begin in range(0, len(X), _STRIP):
        for f, values in enumerate(found):
            X[begin : begin + _STRIP, f] = values[begin : begin + _STRIP]
    return X


def as_target(column: Any, name: str) -> NDArray[Any]:
    """Return the target column: numbers, truth values or texts as they are stored; refuse missing values."""
    where = f"target {name!r}"
    column = decode_column(column, where)
    if is_text(column.type):
        more = "" if (text := missing_text(column)) is None else f": {shown(text)} stands for a missing value"
        refuse_missing(null_texts(column, MISSING_TEXTS).null_count, where, more)
        return _texts(column, where)
    if pa.types.is_boolean(column.type):
        refuse_missing(column.null_count, where)
        return np.asarray(column.to_numpy(zero_copy_only=False), np.bool_)
    if pa.types.is_integer(column.type):
        refuse_missing(column.null_count, where)
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = _numbers(column, where, "expected numbers, texts or truth values")
    refuse_missing(int(np.isnan(values).sum()), where)
    if not np.isfinite(values).all():
        raise DataError(f"{where}: expected finite values, got an infinite one")
    return values


def as_queries(column: Any, name: str) -> NDArray[Any]:
    """Return a column that names queries as an array; refuse missing values."""
    column = null_texts(decode_column(column, f"column {name!r}"), MISSING_TEXTS)
    refuse_missing(column.null_count, f"column {name!r}")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def text_values(column: Any, name: str) -> NDArray[Any]:
    """Return a column of texts as str; refuse missing values."""
    return _texts(decode_column(column, f"column {name!r}"), f"column {name!r}")


def decode_column(column: Any, where: str) -> Any:
    """Return a column with its categories as values, and its bytes as texts in UTF-8."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise DataError(f"{where}: expected text in UTF-8, got text in another encoding") from error


def missing_text(column: Any) -> str | None:
    """Return a text of a column that stands for a missing value, such as NA; None if there is none."""
    values = decode_column(column, "column").unique()
    found = values.filter(pc.is_in(values, pa.array(MISSING_TEXTS[1:], values.type))) if is_text(values.type) else []
    return str(found[0]) if len(found) else None


def null_texts(column: Any, texts: Sequence[str]) -> Any:
    """Return a column of texts with nothing in the place of these; others are unchanged."""
    if not is_text(column.type):
        return column
    return pc.if_else(pc.is_in(column, pa.array(texts, column.type)), pa.scalar(None, column.type), column)


def refuse_missing(count: int, where: str, more: str = "") -> None:
    """Refuse missing values, if their number is not zero."""
    if count:
        raise DataError(f"{where}: {format_count(count, 'value')} {'is' if count == 1 else 'are'} missing{more}")


def _numbers(column: Any, where: str, expected: str) -> NDArray[np.float64]:
    column = decode_column(column, where)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not is_numeric(kind):
        raise DataError(f"{where}: {expected}, got {kind_of(kind)} such as {show_example(column)}")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _texts(column: Any, where: str) -> NDArray[Any]:
    refuse_missing(column.null_count, where)
    return np.array([str(value) for value in column.to_pylist()], np.str_)


def is_text(kind: Any) -> bool:
    """Return whether a column's type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def kind_of(kind: Any) -> str:
    """Return a plain name for the type of a column."""
    if is_text(kind):
        return "texts"
    if pa.types.is_date(kind):
        return "dates"
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return "times"
    return "lists" if pa.types.is_nested(kind) else f"values of type {kind}"


def show_example(column: Any) -> str:
    """Return the first value as text, of a column of texts the first one that is not a number."""
    values = [value for value in column.to_pylist() if value is not None]
    if not values:
        return "a missing value"
    value = next((value for value in values if not is_number(value)), values[0])
    if isinstance(value, bytes):
        return f"{value.hex():.40}"
    return f"{value!r:.40}" if isinstance(value, str) else f"{value!s:.40}"


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or a text that spells one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
