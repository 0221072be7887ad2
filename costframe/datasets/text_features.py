"""Features that are no numbers: texts of few values become categories, dates days, other texts are refused."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from costframe.core.errors import DataError, format_count, quote_names, shown
from costframe.core.tables.columns import (
    MISSING_TEXTS,
    decode_column,
    is_number,
    is_text,
    kind_of,
    missing_text,
    null_texts,
    show_example,
)
from costframe.core.tables.dates import Dates, spells_date

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_TEXTS = 100  # different ones that become categories without a flag
_MOST_LISTED = 20  # columns, and texts of each, in one error
# As 12%, 1,234.5, 0,5 beside 0.5, and $ 5: an amount, for which every value would be a category of its own.
_AMOUNT = re.compile(r"[+-]?[$€£]? ?(?:\d+|\d{1,3}(?:,\d{3})+)(?:[.,]\d*)? ?[%€]?")


def is_few_texts(column: Any, name: str, n_rows: int | None = None) -> bool:
    """Return whether a feature holds texts of few values; refuse dates and times, and texts that are no categories.

    `column` may have the distinct values of `n_rows` rows alone.

    Raises
    ------
    DataError
        If the column holds dates or times, numbers stored as texts, or many different texts; it names ways out. Numbers
        beside texts are for `holds_numbers`.
    """
    if (kind := kind_of(column.type)) in {"dates", "times"}:
        is_time = pa.types.is_time(column.type)
        what = "times without a date" if is_time else f"{kind}, which are read only where a table fits in memory,"
        raise _refuse_dates(name, what, show_example(column))
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        return False
    texts = null_texts(column.unique(), MISSING_TEXTS).drop_null().to_pylist()
    example = next((text for text in texts if not is_number(text)), None)
    ways = f"--ignore {shlex.quote(name)}, or split it by categories with --categorical {shlex.quote(name)}"
    if example is not None and all(map(spells_date, texts)):
        raise _refuse_dates(name, "dates that may be read in two ways, or do not exist,", shown(example))
    if texts and example is not None and all(_AMOUNT.fullmatch(text.strip()) for text in texts):
        raise DataError(f"column {name!r}: amounts such as {shown(example)} are no numbers; write numbers without "
                        f"signs; or leave it out with {ways}")  # fmt: skip
    if texts and example is None:
        raise DataError(f"column {name!r}: numbers stored as texts; write numbers, or nothing where one is missing; or "
                        f"leave it out with {ways}")  # fmt: skip
    if len(texts) > _most_texts(len(column) if n_rows is None else n_rows):
        raise DataError(
            f"column {name!r}: {format_count(len(texts), 'different text')} such as {shown(texts[0])}, too many to be "
            f"categories without a word; leave it out with {ways}"
        )
    return bool(texts)


def find_dates(column: Any, name: str) -> Dates | None:
    """Return how to read a column of dates, or of texts that are all dates; None for other columns."""
    column = decode_column(column, f"column {name!r}")
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return Dates()
    if not is_text(column.type):
        return None
    texts = null_texts(column.unique(), MISSING_TEXTS).drop_null().to_pylist()
    if not texts or not all(map(spells_date, texts)):
        return None
    return Dates.of([text.strip() for text in texts])


def why_no_feature(column: Any, name: str) -> str | None:
    """Return why a column of times or free texts makes no feature, in short; None for others."""
    if find_dates(column, name) is not None or holds_numbers(column, name):
        return None
    column = decode_column(column, f"column {name!r}")
    if pa.types.is_time(column.type):
        return "times, which are no numbers"
    if not is_text(column.type):
        return None
    texts = null_texts(column.unique(), MISSING_TEXTS).drop_null().to_pylist()
    if texts and all(map(spells_date, texts)):
        return "dates that may be read in two ways, or do not exist"
    if len(texts) <= _most_texts(len(column)) or all(_AMOUNT.fullmatch(text.strip()) for text in texts):
        return None
    return "a text that differs in every row" if len(texts) == len(column) else f"{len(texts):,} different texts"


def _most_texts(n_rows: int) -> int:
    """Return the most different texts that become categories without a flag."""
    return min(_MOST_TEXTS, max(2, n_rows // 2))


def holds_numbers(column: Any, name: str) -> bool:
    """Return whether a column of texts holds numbers beside others: of its different texts, at least half are numbers.

    Dates and amounts, which `is_few_texts` refuses, are not texts beside numbers.
    """
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        return False
    texts = null_texts(column.unique(), MISSING_TEXTS).drop_null().to_pylist()
    numbers = sum(map(is_number, texts))
    odd = any(not is_number(text) and not _AMOUNT.fullmatch(text.strip()) for text in texts)
    return odd and 2 * numbers >= len(texts) and not all(map(spells_date, texts))


def count_texts(column: Any, name: str) -> Counter[str]:
    """Count the texts of a column that are neither numbers nor stand for missing values; other columns have none."""
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        return Counter()
    counted = pc.value_counts(null_texts(column, MISSING_TEXTS).drop_null()).to_pylist()
    return Counter({each["values"]: each["counts"] for each in counted if not is_number(each["values"])})


def refuse_texts(found: Mapping[str, Counter[str]], more: str = "") -> None:
    """Refuse texts in columns of numbers, with the number of each text by column; `more` names further ways out.

    Raises
    ------
    DataError
        If any column has some; it lists the columns and their texts, the most frequent first.
    """
    columns = [
        f"column {name!r}: texts in a column of numbers: {describe_counts(texts)}"
        for name, texts in found.items()
        if texts
    ]
    if not columns:
        return
    hidden = len(columns) - _MOST_LISTED
    rest = [f"and {format_count(hidden, 'more column', 'more columns')}"] if hidden > 0 else []
    ways = f"write numbers, or take texts for missing values with --missing TEXT (missing=[...] in Python){more}"
    raise DataError("; ".join([*columns[:_MOST_LISTED], *rest, ways]))


def describe_counts(texts: Mapping[str, int]) -> str:
    """Return texts with their numbers, the most frequent first."""
    ordered = sorted(texts.items(), key=lambda item: (-item[1], item[0]))
    listed = [f"{shown(text)} ({format_count(count, 'time')})" for text, count in ordered[:_MOST_LISTED]]
    hidden = len(ordered) - _MOST_LISTED
    return ", ".join(listed) + (f" and {hidden:,} more" if hidden > 0 else "")


def describe_texts(names: Sequence[str]) -> str:
    """Return a note about features that became categories because they hold few texts."""
    what = "it" if len(names) == 1 else "them"
    return f"{quote_names(names)}: texts of few values, split as categories; --ignore leaves {what} out"


def describe_missing(columns: Mapping[str, Any]) -> list[str]:
    """Return a note on each column of categories in which texts stand for missing values."""
    found = {name: missing_text(column) for name, column in columns.items()}
    return [f"{shown(name)}: {shown(text)} is taken for a missing value" for name, text in found.items() if text]


def describe_dates(dates: Mapping[str, Dates]) -> str:
    """Return a note about features that are dates."""
    first = [name for name, how in dates.items() if how.month_first]
    more = f"; the month is first in {quote_names(first)}" if first else ""
    return f"{quote_names(dates)}: dates, read as days since 1970-01-01{more}"


def _refuse_dates(name: str, what: str, example: str) -> DataError:
    return DataError(
        f"column {name!r}: {what} such as {example}; write dates such as 2024-01-31, or numbers; or leave it out with "
        f"--ignore {shlex.quote(name)}"
    )
