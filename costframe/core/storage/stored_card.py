"""What every predictor has in a file: labels of its features, its classes and its prices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import StorageError
from costframe.core.prices.costs import CostModel
from costframe.core.prices.entries import EPOCHS
from costframe.core.storage.stored_arrays import as_list, fields_of
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories
from costframe.core.tables.date_texts import ORDERS
from costframe.core.tables.dates import Dates
from costframe.core.tables.hashed_labels import HASH, HashedLabels
from costframe.core.terms.classes import as_texts

_LABELS: Any = {HASH: HashedLabels(), "as given": AsGiven(), "as given, plain": AsGiven(plain=True)} | {
    f"dates{f' with the {first} first' if first else ''}{f' in {epoch}' if epoch else ''}": Dates(first, epoch)
    for first in (None, *ORDERS)
    for epoch in (None, *EPOCHS)
}
_NAMES: Any = {labels: name for name, labels in _LABELS.items()}


def store_labels(categories: Categories, names: Iterable[str]) -> list[list[str] | str]:
    """Return the labels of each feature as a JSON value: a list, or the name of the hash that stands for them."""
    every = (categories.get(name, ()) for name in names)
    return [list(labels) if isinstance(labels, tuple) else _NAMES[labels] for labels in every]


def build_labels(described: object, names: object) -> tuple[list[str], Categories]:
    """Return the names of features and their labels from their descriptions."""
    titles, every = as_list(names), as_list(described)
    if not all(isinstance(name, str) for name in titles):
        raise StorageError("malformed model: expected texts as feature names")
    if len(every) != len(titles) or not all(
        isinstance(entry, list) or (isinstance(entry, str) and entry in _LABELS) for entry in every
    ):
        raise StorageError(f"malformed model: expected a list of categories for each of {len(titles)} features")
    pairs = zip(titles, every, strict=True)
    labels: dict[str, Any] = {
        name: entry if isinstance(entry, list) else _LABELS[entry] for name, entry in pairs if entry
    }
    return titles, labels


def store_classes(classes: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return the labels of classes as JSON values; refuse labels that are neither texts nor numbers."""
    if classes is None:
        return None
    values, dtype = classes.tolist(), classes.dtype.str
    if classes.dtype.kind not in "biufUO" or not all(isinstance(v, str | int | float) for v in values):
        raise StorageError(f"classes: expected texts or numbers, which a file can hold, got {values!r:.80}")
    return {"dtype": dtype, "values": values}


def build_classes(described: object) -> NDArray[Any] | None:
    """Make the labels of classes from their description."""
    if described is None:
        return None
    dtype, values = fields_of(described, "classes", "dtype", "values")
    kinds = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str | int | float}
    known = isinstance(dtype, str) and re.fullmatch(r"[<>|=]([biufUO])[0-9]*", dtype)
    kind = kinds[known[1]] if known else None
    if kind is None or not all(isinstance(value, kind) for value in as_list(values)):
        raise StorageError(
            f"malformed classes: expected texts or numbers of one kind, got {dtype!r:.40} {values!r:.80}"
        )
    try:
        with np.errstate(over="raise"):
            labels = as_texts(values) if kind is str else np.array(values, dtype)
    except (TypeError, ValueError, ArithmeticError) as error:  # a number that the type cannot hold
        raise StorageError(f"malformed classes: {error}") from error
    return labels


def store_prices(costs: CostModel | None) -> dict[str, Any] | None:
    """Return prices as JSON values, or None."""
    return None if costs is None else costs.to_dict()


def build_prices(described: object) -> CostModel | None:
    """Make prices from their description, or None."""
    return None if described is None else CostModel.from_dict(described)
