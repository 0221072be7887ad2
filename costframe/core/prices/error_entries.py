"""The entries of prices of errors: numbers, columns of rows, and labels of classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from costframe.core.errors import CostModelError
from costframe.core.prices.entry_checks import (
    as_name,
    as_price,
    as_table,
    as_text,
    check_different,
    entry_error,
    entry_path,
)

LARGEST = 1e150  # squares of bills, for their standard errors, are finite


@attrs.frozen
class ColumnPrice:
    """A price that differs by row: the value of a free feature, such as the amount of a loan, times a factor."""

    column: str
    times: float = 1.0


# Stands below the class that it joins.
AnswerPrice = float | ColumnPrice


def as_error_price(price: object, *where: str) -> AnswerPrice:
    """Return the price of an answer: a number, or a column and its factor."""
    if not isinstance(price, Mapping):
        return as_error_number(price, *where)
    table = as_table(price, "errors", *where, keys=["column", "times"])
    if "column" not in table:
        raise CostModelError(
            f"{entry_path('errors', *where, 'column')}: expected the name of a free feature, got no entry"
        )
    column = as_name(table["column"], "errors", *where, "column")
    return ColumnPrice(column, as_error_number(table.get("times", 1.0), *where, "times"))


def as_error_number(price: object, *where: str) -> float:
    """Return a number as a price of errors; refuse one whose square could be infinite."""
    if (number := as_price(price, "errors", *where)) > LARGEST:
        raise entry_error(["errors", *where], f"a number <= {LARGEST:g}", price)
    return number


def split_labels(errors: Any) -> tuple[Any, list[Any], list[Any]]:
    """Return an array of prices, and the labels of answers and true classes; no labels stand for sorted classes."""
    if hasattr(errors, "columns") and hasattr(errors, "to_numpy"):
        return errors.to_numpy(), list(errors.columns), list(getattr(errors, "index", errors.columns))
    if isinstance(errors, tuple) and len(errors) == 2 and np.ndim(errors[0]) == 2:
        return errors[0], list(errors[1]), list(errors[1])
    return errors, [], []


def as_class_labels(labels: Iterable[Any], *where: str) -> list[str]:
    """Return class labels as texts, as a file has them; refuse two that are the same text."""
    texts = [texts_of_class(label)[0] for label in labels]
    check_different(texts, "errors", *where)
    return [as_text(text, "errors", *where) for text in texts]


def texts_of_class(label: Any) -> list[str]:
    """Return the texts that name a class in a file, the plainest first."""
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, bool):
        return [str(label).lower(), str(label)]
    if isinstance(label, float) and label.is_integer():
        return [str(int(label)), str(label)]
    return [str(label)]
