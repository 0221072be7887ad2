"""Features that are no numbers: texts of few values become categories, dates days, other texts are refused."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from costframe.core.errors import DataError, format_count, quote_names, shown
from costframe.core.numerals import Spelling, is_numeral, looks_numeric
from costframe.core.tables.columns import (
    MISSING_TEXTS,
    decode_column,
    distinct_texts,
    is_text,
    missing_text,
    name_type,
    null_texts,
    show_example,
)
from costframe.core.tables.date_columns import find_dates
from costframe.core.tables.date_texts import ORDERS, spells_date
from costframe.core.tables.dates import Dates
from costframe.core.tables.text_columns import most_texts

_MOST_LISTED = 20  # columns, and texts of each, in one error
TYPED = Spelling()
"""The spelling of texts in formats that have numbers."""


def is_few_texts(column: Any, name: str, n_rows: int | None = None, spelling: Spelling = TYPED) -> bool:
    """Return whether a feature holds texts of few values; refuse dates and times, and texts that are no categories.

    `column` may have the distinct values of `n_rows` rows alone; numbers in it have the spelling of its file.

    Raises
    ------
    DataError
        If the column holds dates or times, numbers stored as texts, or many different texts; it names ways out. Numbers
        beside texts are for `holds_numbers`.
    """
    if (kind := name_type(column.type)) in {"dates", "times"}:
        if not pa.types.is_time(column.type):
            raise _refuse_large(name, kind, show_example(column))
        raise _refuse_dates(name, "times without a date", show_example(column))
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        return False
    texts = distinct_texts(column)
    example = next((text for text in texts if not is_numeral(text)), None)
    ways = f"--ignore {shlex.quote(name)}, or split it by categories with --categorical {shlex.quote(name)}"
    if example is not None and all(map(spells_date, texts)):
        if find_dates(column, name) is not None:
            raise _refuse_large(name, "dates", shown(example))
        raise _refuse_dates(name, "dates that may be read in two ways, or do not exist,", shown(example))
    if texts and all(map(looks_numeric, texts)):
        why = next(filter(None, map(spelling.why_not, texts)), None)
        why = why or "numbers stored as texts; write numbers, or nothing where one is missing"
        raise DataError(f"column {name!r}: {why}; or leave it out with {ways}")
    if len(texts) > most_texts(len(column) if n_rows is None else n_rows):
        raise DataError(
            f"column {name!r}: {format_count(len(texts), 'different text')} such as {shown(texts[0])}, too many to be "
            f"categories without a word; leave it out with {ways}"
        )
    return bool(texts)


def why_no_feature(column: Any, name: str) -> str | None:
    """Return why a column of times or free texts makes no feature, in short; None for others."""
    if find_dates(column, name) is not None or holds_numbers(column, name):
        return None
    column = decode_column(column, f"column {name!r}")
    if pa.types.is_time(column.type):
        return "times, which are no numbers"
    if not is_text(column.type):
        return None
    texts = distinct_texts(column)
    if texts and all(map(spells_date, texts)):
        return "dates that may be read in two ways, or do not exist"
    if len(texts) <= most_texts(len(column)) or all(map(looks_numeric, texts)):
        return None
    return "a text that differs in every row" if len(texts) == len(column) else f"{len(texts):,} different texts"


def holds_numbers(column: Any, name: str) -> bool:
    """Return whether a column of texts holds numbers beside others: of its different texts, at least half are numbers.

    Dates and amounts, which `is_few_texts` refuses, are not texts beside numbers.
    """
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        return False
    texts = distinct_texts(column)
    numbers = sum(map(is_numeral, texts))
    odd = not all(map(looks_numeric, texts))
    return odd and 2 * numbers >= len(texts) and not all(map(spells_date, texts))


def count_texts(column: Any, name: str, spelling: Spelling = TYPED) -> Counter[str]:
    """Count the texts of a column that are neither numbers nor stand for missing values; other columns have none.

    Numbers have the spelling of the column's file.
    """
    column = decode_column(column, f"column {name!r}")
    if not is_text(column.type):
        return Counter()
    counted = pc.value_counts(null_texts(column, MISSING_TEXTS).drop_null()).to_pylist()
    return Counter({value["values"]: value["counts"] for value in counted if spelling.plain(value["values"]) is None})


def refuse_texts(texts_of: Mapping[str, Counter[str]], more: str = "", spelling: Spelling = TYPED) -> None:
    """Refuse texts in columns of numbers, with the number of each text by column; `more` names further ways out.

    Raises
    ------
    DataError
        If any column has some; it lists the columns and their texts, the most frequent first, and says of those that
        look like numbers why they are none in this spelling.
    """
    columns = [
        f"column {name!r}: {line}"
        for name, texts in texts_of.items()
        for line in _describe_odd(texts, spelling)
        if texts
    ]
    if not columns:
        return
    hidden = len(columns) - _MOST_LISTED
    rest = [f"and {format_count(hidden, 'more column', 'more columns')}"] if hidden > 0 else []
    ways = f"write numbers, or take texts for missing values with --missing TEXT (missing=[...] in Python){more}"
    explained = not any(spelling.why_not(text) is None for texts in texts_of.values() for text in texts)
    raise DataError("; ".join([*columns[:_MOST_LISTED], *rest, *([] if explained else [ways])]))


def _describe_odd(texts: Mapping[str, int], spelling: Spelling) -> list[str]:
    """Return why texts in a column of numbers are none: a line for those that look like some, and one for others."""
    reasons = {text: why for text in texts if (why := spelling.why_not(text)) is not None}
    lines = []
    if reasons:
        first = min(reasons, key=lambda text: (-texts[text], text))
        lines.append(f"{format_count(sum(texts[text] for text in reasons), 'text')}: {reasons[first]}")
    if others := {text: count for text, count in texts.items() if text not in reasons}:
        lines.append(f"texts in a column of numbers: {describe_counts(others)}")
    return lines


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


def describe_codes(names: Sequence[str]) -> str:
    """Return a note about features of whole numbers that begin with 0, as codes do."""
    options = " ".join(f"--categorical {shlex.quote(name)}" for name in names[:_MOST_LISTED])
    return f"{quote_names(names)}: read as numbers, 007 as 7; {options} keeps such codes as they are written"


def describe_missing(column: Any, name: str) -> list[str]:
    """Return a note if texts stand for missing values in a column of categories."""
    text = missing_text(column)
    return [f"{shown(name)}: {shown(text)} is taken for a missing value"] if text else []


def describe_dates(dates: Mapping[str, Dates]) -> str:
    """Return a note about features that are dates."""
    firsts = {first: [name for name, how in dates.items() if how.first == first] for first in ORDERS}
    more = "".join(f"; the {first} is first in {quote_names(names)}" for first, names in firsts.items() if names)
    return f"{quote_names(dates)}: dates, read as days since 1970-01-01{more}"


def _refuse_large(name: str, kind: str, example: str) -> DataError:
    """Return the error of dates in a table larger than memory; those of other tables are read before."""
    return DataError(
        f"column {name!r}: {kind} such as {example} are read only where a table fits in memory; write numbers, such as "
        f"days since 1970-01-01; or leave it out with --ignore {shlex.quote(name)}"
    )


def _refuse_dates(name: str, what: str, example: str) -> DataError:
    return DataError(
        f"column {name!r}: {what} such as {example}; write dates such as 2024-01-31, or numbers; or leave it out with "
        f"--ignore {shlex.quote(name)}"
    )
