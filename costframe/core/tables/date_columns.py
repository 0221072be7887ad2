"""Columns of dates in files and data frames: how each is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from costframe.core.errors import DataError
from costframe.core.prices.entries import FeaturePrice
from costframe.core.tables.categories import is_missing
from costframe.core.tables.columns import decode_column, distinct_texts, is_text, name_type, show_example
from costframe.core.tables.date_texts import spells_date
from costframe.core.tables.dates import Dates
from costframe.core.tables.frame_rows import as_plain
from costframe.core.tables.frames import is_frame, take_column, types_of

# names of frames' types of dates and texts
_KINDS = re.compile(r"datetime64|timestamp|date32|date64|Datetime|Date$|str|String|Utf8|large_string")
_SOME = 1000  # rows, of which one may have a text


def find_dates(column: Any, name: str, price: FeaturePrice | None = None) -> Dates | None:
    """Return how to read a column of pyarrow, of dates or of texts that are all dates; None for other columns.

    Where the price says that the feature is a date, a column of numbers is one too, if they have an epoch; other
    columns are a `DataError`.
    """
    column = decode_column(column, f"column {name!r}")
    epoch = None if price is None else price.epoch
    dates, texts = None, []
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type) or pa.types.is_null(column.type):
        dates = Dates(epoch=epoch)
    elif is_text(column.type):
        texts = [text.strip() for text in distinct_texts(column)]
        if not texts or all(map(spells_date, texts)):
            dates = Dates.of(texts, epoch)
    elif epoch is not None and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return Dates(epoch=epoch)
    is_empty = pa.types.is_null(column.type) or (is_text(column.type) and not texts)
    if price is not None and price.is_date and dates is None:
        way = "" if is_text(column.type) or epoch is not None else '; numbers need their epoch, such as "seconds"'
        raise DataError(
            f"column {name!r}: the prices say that it is a date (parts, epoch), got {name_type(column.type)} such as "
            f"{show_example(column)}{way}"
        )
    return dates if not is_empty or (price is not None and price.is_date) else None


def frame_dates(X: Any, names: Sequence[str], prices: Mapping[str, FeaturePrice]) -> dict[str, Dates]:
    """Return how to read the columns of a data frame, called `names`, that are dates; none for an array.

    These are columns of a type of dates, of Python's dates, of texts that are all dates, and those that their prices
    call dates.
    """
    dates_of: dict[str, Dates] = {}
    for f, (name, kind) in enumerate(zip(names, types_of(X), strict=True) if is_frame(X) else ()):
        price, group = prices.get(name), _group_of(kind)
        if group == "other" and not (price is not None and price.is_date):
            continue
        values = as_plain(take_column(X, f), f"column {name!r}")
        dates = _of_objects(values, name, price) if group == "objects" else _of_column(values, name, price)
        dates_of |= {} if dates is None else {name: dates}
    return dates_of


def _group_of(kind: Any) -> str:
    """Return whether a type of a frame's column may be of dates: of dates or texts, of Python's objects, or another."""
    if isinstance(kind, np.dtype):  # its text takes long, and a table may have very many columns
        return {"M": "plain", "O": "objects"}.get(kind.kind, "other")
    return "plain" if _KINDS.match(str(kind)) else "objects" if str(kind) == "Object" else "other"


def _of_objects(values: Any, name: str, price: FeaturePrice | None) -> Dates | None:
    present = [value for value in values if not is_missing(value)]
    if present and isinstance(present[0], date | np.datetime64):
        return Dates(epoch=None if price is None else price.epoch)
    is_text = bool(present) and isinstance(present[0], str)
    if price is None and not (is_text and all(isinstance(value, str) for value in present)):
        return None
    return _of_column(pa.array([str(value) for value in present], pa.large_string()), name, price)


def _of_column(column: Any, name: str, price: FeaturePrice | None) -> Dates | None:
    if price is None and is_text(column.type):  # most texts are none, as one tells
        first = next((text for text in column.slice(0, _SOME).to_pylist() if text is not None), None)
        if first is not None and not spells_date(first):
            return None
    return find_dates(column, name, price)
