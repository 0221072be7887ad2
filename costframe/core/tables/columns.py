"""Columns of tables as numbers, categories, targets and texts, with checks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from costframe.core.arrays import F8
from costframe.core.errors import DataError, format_count, shown
from costframe.core.tables.categories import check_exact, number_unknown

_NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
MISSING_TEXTS = tuple(csv.ConvertOptions().null_values)
"""Texts that stand for a missing value in a file, such as NA and nan, unless a model knows them as labels."""
_KINDS = {
    "texts": (pa.types.is_string, pa.types.is_large_string),
    "dates": (pa.types.is_date,),
    "times": (pa.types.is_timestamp, pa.types.is_time),
    "durations": (pa.types.is_duration, pa.types.is_interval),
    "lists": (pa.types.is_nested,),
}
_VIEWS = ((pa.string_view(), pa.large_string()), (pa.binary_view(), pa.large_binary()))


def as_numbers(column: Any, name: str) -> F8:
    """Return a feature column as float64, missing values as NaN."""
    return _numbers(column, f"column {name!r}", "a feature that is not named categorical is a column of numbers")


def is_categorical(kind: Any) -> bool:
    """Return whether columns of this type are stored as categories, in a dictionary."""
    return bool(pa.types.is_dictionary(kind))


def is_numeric(kind: Any) -> bool:
    """Return whether columns of this type hold numbers, truth values or nothing."""
    return any(is_kind(kind) for is_kind in (*_NUMERIC, pa.types.is_null))


def encode_categories(
    column: Any, name: str, labels: tuple[str, ...] | None = None
) -> tuple[F8, tuple[str, ...] | None]:
    """Return a feature's categories as numbers, float64, missing ones as NaN, and their labels.

    Texts become their positions among `labels`, by default their own in alphabetical order; an unknown text is
    missing, or as `OTHER` and `ONLY` say. Numbers are unchanged, and have no labels.
    """
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        if labels is not None and not pa.types.is_null(column.type):
            raise DataError(f"column {name!r}: expected labels such as {labels[0]!r}, got {name_type(column.type)}")
        if labels is None and is_numeric(column.type):
            check_exact(column.unique().to_pylist(), f"column {name!r}")
        return as_numbers(column, name), None
    texts = () if labels is not None else distinct_texts(column)
    known = labels if labels is not None else tuple(sorted(texts))
    places = pc.index_in(column, pa.array(known, column.type)).cast(pa.float64())
    numbers = np.array(places.to_numpy(zero_copy_only=False), np.float64)
    present = null_texts(column, MISSING_TEXTS).is_valid().to_numpy(zero_copy_only=False)
    strange = np.isnan(numbers) & np.asarray(present)
    if labels is not None and strange.any():
        numbers[strange] = number_unknown(str(column[int(strange.argmax())]), labels, f"column {name!r}")
    return numbers, known or None


def as_target(column: Any, name: str) -> NDArray[Any]:
    """Return the target column: numbers, truth values or texts as they are stored; refuse missing values."""
    where = f"target {name!r}"
    column = decode_column(column, where)
    if pa.types.is_decimal(column.type):
        with contextlib.suppress(pa.ArrowInvalid):  # whole numbers, which doubles would round
            column = column.cast(pa.int64())
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


def plain_type(kind: Any) -> Any:
    """Return the type of `plain_column` of columns of a type."""
    if pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _value_type(kind), ordered=kind.ordered)
    kind = pa.large_binary() if pa.types.is_fixed_size_binary(kind) else kind
    return dict(_VIEWS).get(kind, kind)


def _value_type(kind: Any) -> Any:
    """Return the plain type of a column's values, without dictionaries."""
    return plain_type(_value_type(kind.value_type) if pa.types.is_dictionary(kind) else kind)


def plain_column(column: Any) -> Any:
    """Return a column without views and runs, which few operations of pyarrow know; a dictionary stays one.

    All readers of Arrow columns, from files or frames, begin with it.
    """
    kind, plain = column.type, plain_type(column.type)
    if plain == kind:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([plain_column(chunk) for chunk in column.chunks], plain)
    if pa.types.is_run_end_encoded(kind):
        run = np.searchsorted(column.run_ends, np.arange(column.offset, column.offset + len(column)), side="right")
        return plain_column(column.values).take(pa.array(run))
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(column.indices, decode_column(column.dictionary), ordered=kind.ordered)
    try:
        return column.cast(plain)
    except pa.ArrowNotImplementedError:  # views, to the first versions that have them
        return pa.array(column.to_pylist(), plain)


def decode_column(column: Any, where: str | None = None) -> Any:
    """Return a plain column with its categories as values and, with its name in errors, its bytes as texts in UTF-8."""
    column = plain_column(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if where is None or not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise DataError(f"{where}: expected text in UTF-8, got text in another encoding") from error


def missing_text(column: Any) -> str | None:
    """Return a text of a column that stands for a missing value, such as NA; None if there is none."""
    values = decode_column(column, "column").unique()
    texts = values.filter(pc.is_in(values, pa.array(MISSING_TEXTS[1:], values.type))) if is_text(values.type) else []
    return str(texts[0]) if len(texts) else None


def distinct_texts(column: Any) -> list[str]:
    """Return the different texts of a column of texts, without those that stand for a missing value."""
    return list(null_texts(column.unique(), MISSING_TEXTS).drop_null().to_pylist())


def map_texts(column: Any, change: Callable[[str], str]) -> Any:
    """Return a column of texts with what a function makes of each different one; missing ones stay."""
    distinct = column.unique()
    changed = pa.array([text if text is None else change(text) for text in distinct.to_pylist()], distinct.type)
    return changed.take(pc.index_in(column, distinct))


def null_texts(column: Any, texts: Sequence[str]) -> Any:
    """Return a column of texts with nothing in the place of these; others are unchanged."""
    if not is_text(column.type):
        return column
    nothing = pa.nulls(len(column), column.type)  # with a scalar, pyarrow 16 reads a slice from its wrong end
    return pc.if_else(pc.is_in(column, pa.array(texts, column.type)), nothing, column)


def refuse_missing(count: int, where: str, more: str = "") -> None:
    """Refuse missing values, if their number is not zero."""
    if count:
        raise DataError(f"{where}: {format_count(count, 'value')} {'is' if count == 1 else 'are'} missing{more}")


def _numbers(column: Any, where: str, expected: str) -> F8:
    column = decode_column(column, where)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not is_numeric(kind):
        raise DataError(f"{where}: {expected}, got {name_type(kind)} such as {show_example(column)}{way_out(kind)}")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _texts(column: Any, where: str) -> NDArray[Any]:
    refuse_missing(column.null_count, where)
    return np.array([str(value) for value in column.to_pylist()], np.str_)


def is_text(kind: Any) -> bool:
    """Return whether a column's plain type is text."""
    return name_type(kind) == "texts"


def name_type(kind: Any) -> str:
    """Return a plain name for the plain type of a column."""
    named = (name for name, checks in _KINDS.items() if any(check(kind) for check in checks))
    return next(named, f"values of type {kind}")


def way_out(kind: Any) -> str:
    """Return the end of an error text that says what to do with values of a type that are neither numbers nor texts."""
    if name_type(kind) in {"dates", "times", "durations"}:
        return "; write numbers instead, such as days since a date"
    return "" if is_text(kind) or is_numeric(kind) else "; cast it to numbers or texts"


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
