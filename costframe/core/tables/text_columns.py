"""Columns of data frames that hold texts: those of few values are categories, as in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costframe.core.checks import needed
from costframe.core.errors import DataError, format_count, shown
from costframe.core.numerals import is_numeral, looks_numeric
from costframe.core.tables.categories import is_missing
from costframe.core.tables.date_texts import spells_date
from costframe.core.tables.frames import column_names, is_frame, take_column, types_of

_MOST_TEXTS = 100  # different ones that become categories without a word
_TEXTS = ("str", "object", "Utf8", "large_string", "Object")  # beginnings of the names of dtypes, in any case


def most_texts(n_rows: int) -> int:
    """Return the most different texts of a column that become categories without a word."""
    return min(_MOST_TEXTS, max(2, n_rows // 2))


def text_columns(X: Any) -> dict[int, list[str]]:
    """Return the columns of a data frame that hold texts, by position, each with its different ones.

    Columns of other values too, of dates and of missing values alone, are not among them.
    """
    if not is_frame(X):
        return {}
    kinds = enumerate(types_of(X))
    asked = [f for f, kind in kinds if str(kind).lower().startswith(tuple(map(str.lower, _TEXTS)))]
    texts_of = {f: _texts_of(X, f) for f in asked}
    return {f: texts for f, texts in texts_of.items() if texts and not all(map(spells_date, texts))}


def _texts_of(X: Any, f: int) -> list[str]:
    needed("pyarrow", "cli")
    from costframe.core.tables.frame_rows import column_values

    names = column_names(X)
    column = take_column(X, f)
    values = column_values(column, f"column {names[f]!r}" if names else f"column {f}")
    if isinstance(column, np.ndarray) or any(not isinstance(value, str) and not is_missing(value) for value in values):
        return []
    return list(dict.fromkeys(str(value) for value in values if isinstance(value, str)))


def choose_few_texts(texts: Mapping[int, list[str]], names: Sequence[str], n_rows: int) -> list[int]:
    """Return the columns of texts that become categories without a word.

    Raises
    ------
    DataError
        If a column holds numbers or amounts as texts, or many different texts; it says what to do.
    """
    for f, different in texts.items():
        column, named = f"X: column {names[f]!r}", "or name it in categorical_features"
        numbers = [is_numeral(text) for text in different]
        if 2 * sum(numbers) >= len(different):
            odd = different[numbers.index(False)] if not all(numbers) else different[0]
            beside = "" if all(numbers) else "beside others, "
            raise DataError(
                f"{column} holds numbers as texts, {beside}such as {shown(odd)}; make numbers of them, as "
                f"pd.to_numeric(X[{names[f]!r}], errors='coerce') does, {named}"
            )
        if all(map(looks_numeric, different)):
            raise DataError(f"{column} holds amounts, such as {shown(different[0])}; make numbers of them, {named}")
        if len(different) > most_texts(n_rows):
            raise DataError(
                f"{column} holds {format_count(len(different), 'different text')}, such as {shown(different[0])}, too "
                f"many to be categories without a word; leave the column out, {named}"
            )
    return list(texts)
