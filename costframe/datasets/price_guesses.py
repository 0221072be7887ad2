"""Guesses for a draft of prices: columns that share a resource, and columns that are no features."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from costframe.core.prices.costs import ResourcePrice
from costframe.core.tables.columns import as_numbers, is_numeric
from costframe.core.tables.date_columns import find_dates
from costframe.datasets.ids import describe_id
from costframe.datasets.text_features import why_no_feature

_FEW_ROWS = 20  # that say little about a column
_FEW_WITH_PREFIX = 3  # columns with one beginning that suggest a resource
_STATISTICS = frozenset({
    "avg", "change", "count", "delta", "diff", "error", "first", "lag", "last", "max", "maximum", "mean", "median",
    "min", "minimum", "range", "sd", "se", "slope", "std", "stddev", "sum", "total", "trend", "var", "variance",
    "worst", "best",
})  # fmt: skip


def find_ignored(table: Mapping[str, Any], *, is_whole: bool = True) -> dict[str, str]:
    """Return the columns of a table, pyarrow columns by name, that are no features, each with the reason.

    These are ids, dates, free texts and, where the table is whole, constants; few rows show none of them.
    """
    reasons: dict[str, str] = {}
    for name, column in table.items():
        if len(column) < _FEW_ROWS:
            continue
        if is_whole and len(column.unique()) == 1:
            reasons[name] = "the same in every row"
        elif (who := describe_id(column, name)) is not None and (who.is_sure or not who.repeats):
            reasons[name] = who.describe() + who.way_out(name)
        elif why := why_no_feature(column, name):
            reasons[name] = why
        elif not is_whole and find_dates(column, name) is not None:
            reasons[name] = "dates, which are read only where the table fits in memory"
    return reasons


def split_name(name: str) -> str | None:
    """Return the name of a one-hot column without its value, such as color of color_red and color=red, or None."""
    match = re.fullmatch(r"(.*\w)(?:=|_)[^=_]+", name)
    return match.group(1) if match else None


def guess_groups(
    names: Sequence[str], one_hot: Sequence[Sequence[str]], resources: Mapping[str, ResourcePrice]
) -> dict[str, tuple[list[str], str]]:
    """Return guessed resources: the columns that need each, and why."""
    left = dict.fromkeys(names)
    guesses: dict[str, tuple[list[str], str]] = {}

    def take(groups: Mapping[str, list[str]], least: int, why: str) -> None:
        for stem, members in groups.items():
            if len(members) >= (1 if stem in resources else least) and stem not in guesses:
                guesses[stem] = members, why
                for name in members:
                    del left[name]

    encoded = {split_name(group[0]) or group[0]: [column for column in group if column in left] for group in one_hot}
    take(encoded, 2, "one-hot")
    take(_group(left, _without_statistics), 2, "statistics of one measurement,")
    take(_group(left, _prefix), _FEW_WITH_PREFIX, "names that begin alike,")
    return guesses


def _group(names: Iterable[str], stem_of: Callable[[str], str | None]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        if stem := stem_of(name):
            groups.setdefault(stem, []).append(name)
    return groups


def _without_statistics(name: str) -> str | None:
    """Return the measurement in a name such as `mean radius` or `hr_max`, or None without a statistic."""
    words = re.split(r"[\s_.:-]+", name)
    rest = [word for word in words if word.lower() not in _STATISTICS]
    return " ".join(rest) if 0 < len(rest) < len(words) else None


def _prefix(name: str) -> str | None:
    words = re.split(r"[_.:=]", name, maxsplit=1)
    return words[0] if len(words) > 1 and words[0].strip() and words[0].lower() not in _STATISTICS else None


def find_one_hot(columns: Mapping[str, Any]) -> list[list[str]]:
    """Return groups of two or more columns with names such as color_red, of which each row has at most one.

    `columns` are those of a pyarrow table, by name; a one-hot column holds 0 and 1, or truth values.
    """
    groups = _group(columns, split_name).values()
    return [names for names in groups if len(names) > 1 and _at_most_one([columns[name] for name in names])]


def _at_most_one(columns: list[Any]) -> bool:
    """Return whether all columns hold 0 and 1, or truth values, and each row at most one 1."""
    ones = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if not is_numeric(column.type):
            return False
        values = np.nan_to_num(as_numbers(column, ""))
        if not np.isin(values, (0.0, 1.0)).all():
            return False
        ones += values == 1
    return int(ones.max(initial=0)) <= 1
