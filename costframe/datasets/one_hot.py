"""One-hot columns of a table, found by their names and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.tables.columns import as_numbers, is_numeric
from costframe.datasets.price_draft import split_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["find_one_hot"]


def find_one_hot(columns: Mapping[str, Any]) -> list[list[str]]:
    """Return groups of two or more columns with names such as color_red, of which each row has at most one.

    `columns` are those of a pyarrow table, by name; a one-hot column holds 0 and 1, or truth values.
    """
    groups: dict[str, list[str]] = {}
    for name in columns:
        if stem := split_name(name):
            groups.setdefault(stem, []).append(name)
    return [names for names in groups.values() if len(names) > 1 and _at_most_one([columns[name] for name in names])]


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
