"""Categories that are texts: labels, and their numbers in X.

The number of a label is its position among the feature's labels. Categories that are numbers need no labels. A missing
value and a text that is not a label become NaN, which goes the missing way at every test. `HashedLabels` in place of
labels number categories by their hashes, `AsGiven` any texts, and `Dates` dates. Where `OTHER` is a label, a text that
is not a label has its number; where `ONLY` is one, it is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.errors import DataError, name_file, quote_names, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.dates import Dates
from costframe.core.tables.hashed_labels import HashedLabels, is_hashed

Labels = tuple[str, ...] | HashedLabels | AsGiven | Dates
"""The labels of a feature, or what numbers its categories without a list."""

Categories = Mapping[str, Labels]
"""The labels of each feature whose categories are texts, by its name."""

EXACT = 2.0**53
"""The least number beyond which doubles leave out whole numbers."""
_DIGITS = 15  # of decimal numbers, each of which is another double

OTHER = "\x00other"
"""A label that stands for all texts that are not labels, of a reader that distinguishes them from missing values."""

ONLY = "\x00only"
"""A label that stands for no text, of a reader that refuses texts that are not labels."""


def as_categories(categories: object) -> dict[str, Labels]:
    """Return a copy of labels by feature; invalid ones are a `DataError`."""
    if not isinstance(categories, Mapping):
        raise DataError(f"categories: expected labels by feature, got {type(categories).__name__}")
    return {name: _check_labels(labels, name) for name, labels in categories.items()}


def check_features(categories: Categories, feature_names: Sequence[str]) -> None:
    """Refuse labels of a name that is not a feature."""
    known = set(feature_names) if categories else ()
    if unknown := [name for name in categories if name not in known]:
        raise DataError(f"categories: {unknown[0]!r} is no feature, expected some of {tuple(feature_names)}")


def _check_labels(labels: object, name: object) -> Labels:
    if isinstance(labels, HashedLabels | AsGiven | Dates):
        return labels
    texts = tuple(labels) if isinstance(labels, Iterable) and not isinstance(labels, str) else ()
    if not texts or not all(isinstance(label, str) for label in texts) or len(set(texts)) < len(texts):
        raise DataError(f"categories of {name!r}: expected distinct texts, at least one, got {shown(labels)}")
    return tuple(str(label) for label in texts)


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN, pandas' NA or NaT."""
    if isinstance(value, float):  # by far the most, numpy's doubles too
        return math.isnan(value)
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, np.floating) and bool(np.isnan(value))


def check_exact(values: Iterable[Any], where: str) -> None:
    """Refuse categories or classes that are numbers which doubles cannot tell from all others of their kind."""
    for value in values:
        is_decimal = isinstance(value, Decimal) and value.is_finite()
        if is_decimal and Decimal(f"{value:.{_DIGITS}g}") != value:
            raise DataError(f"{where}: expected numbers of at most {_DIGITS} digits, got {value}; give texts")
        size: Any = abs(value) if isinstance(value, int | float | np.integer | np.floating) else 0
        if EXACT <= size < np.inf:
            raise DataError(
                f"{where}: categories must be numbers below 2^53, beyond which doubles leave some out, got {value}; "
                "give texts"
            )


def encode_value(value: object, labels: Labels) -> object:
    """Return the number of a label, NaN for an unknown or missing one; other values are unchanged.

    A `DataError` refuses an unknown one where `ONLY` is a label.
    """
    if isinstance(labels, AsGiven | Dates):
        return labels.number(value)
    if isinstance(labels, HashedLabels):
        if is_hashed(value):
            return labels.number(value)
    elif isinstance(value, str):
        return float(labels.index(value)) if value in labels else number_unknown(value, labels)
    return np.nan if is_missing(value) else value


def encode(X: Any, categories: Categories, feature_names: Sequence[str], what: str = "the data") -> Any:
    """Replace labels of rows (n, d) by numbers; errors call the data `what`.

    Columns with labels hold texts or objects. An array of numbers holds the numbers of labels already; only whole
    numbers with `HashedLabels` are categories themselves, those with `Dates` what their epoch says, and what `AsGiven`
    reads is what it is. A DataError refuses values without a hash, and what is no date.
    """
    if not categories:
        return X
    kinds = "".join(kind for kind in "fiub" if not any(_reads_kind(known, kind) for known in categories.values()))
    if hasattr(X, "toarray") or (hasattr(X, "dtype") and (X.dtype.kind in kinds or X.dtype == np.float64)):
        return X
    if (
        isinstance(X, np.ndarray)
        and X.dtype.kind in "fiub"
        and not any(isinstance(labels, Dates | HashedLabels) for labels in categories.values())
    ):
        return _encode_numbers(X, categories, feature_names)
    rows = as_objects(X)
    if rows is None or rows.shape[1] != len(feature_names):
        return X  # its reader names the fault
    for f, name in enumerate(feature_names):
        if name in categories:
            rows[:, f] = _encode_objects(rows[:, f], categories[name], f"{what}: column {name!r}")
    return rows


def coded_features(categories: Categories) -> list[str]:
    """Return the names of features whose numbers stand for other values: for labels or dates."""
    return [name for name, labels in categories.items() if not isinstance(labels, AsGiven)]


def _reads_kind(labels: Labels, kind: str) -> bool:
    """Return whether numbers in an array of a kind of NumPy's are values, and not yet the numbers of labels."""
    if isinstance(labels, Dates):
        return kind != "f"
    return isinstance(labels, HashedLabels) or labels == AsGiven()


def _encode_numbers(X: NDArray[Any], categories: Categories, feature_names: Sequence[str]) -> NDArray[Any]:
    """Return an array of numbers of another dtype than float64 as the numbers that readers take."""
    if X.ndim != 2 or X.shape[1] != len(feature_names):
        return X  # its reader names the fault
    rows = X.astype(np.float64)
    for f, name in enumerate(feature_names):
        if isinstance(labels := categories.get(name), AsGiven):
            rows[:, f] = labels.of_array(X[:, f])
    return rows


def _encode_objects(values: NDArray[np.object_], labels: Labels, where: str) -> Any:
    """Return the number of each value of an array's column, of which numbers of labels are unchanged."""
    if isinstance(labels, AsGiven):
        with name_file(where):
            return labels.numbers(values.tolist(), None)
    if not isinstance(labels, tuple):
        return numbers_of(values.tolist(), labels, where)
    place = _places(values, labels, where)
    return [place[value] if isinstance(value, str) else encode_value(value, ()) for value in values]


def number_unknown(text: str, labels: tuple[str, ...], where: str = "") -> float:
    """Return the number of a text that is not a label; refuse it where `ONLY` is one."""
    if ONLY in labels:
        known = quote_names(label for label in labels if label != ONLY)
        raise DataError(f"{where}{': ' if where else ''}expected one of {known}, got {shown(text)}")
    return float(labels.index(OTHER)) if OTHER in labels else np.nan


def _places(values: Iterable[object], labels: tuple[str, ...], where: str) -> dict[object, float]:
    """Return the number of each label, and of each other text among values."""
    place: dict[object, float] = {label: float(number) for number, label in enumerate(labels)}
    unknown = {value for value in values if isinstance(value, str)} - place.keys()
    return place | {text: number_unknown(text, labels, where) for text in sorted(unknown)}


def numbers_of(values: list[Any], labels: Labels, where: str) -> F8:
    """Return the number of each label, NaN for an unknown or missing one; refuse values that can be no label."""
    if isinstance(labels, AsGiven | Dates):
        with name_file(where):
            return labels.numbers(values)
    if isinstance(labels, HashedLabels):
        _check_values(values, is_hashed, f"{where}: expected texts or whole numbers")
        return labels.numbers(values)
    _check_values(values, lambda value: isinstance(value, str), f"{where}: expected labels such as {labels[0]!r}")
    place = _places(values, labels, where)
    return np.array([place[value] if isinstance(value, str) else np.nan for value in values], np.float64)


def _check_values(values: list[Any], fits: Callable[[object], bool], expected: str) -> None:
    for value in values:
        if not fits(value) and not is_missing(value):
            raise DataError(f"{expected}, got {shown(value)} of type {type(value).__name__}")


def as_objects(X: Any) -> NDArray[np.object_] | None:
    """Return a copy of an array's or a list's cells as Python's objects, (rows, d); None if it has another shape."""
    try:
        if getattr(X, "dtype", np.dtype(object)).kind == "M":  # NumPy would make whole numbers of nanoseconds
            return np.array([*X.reshape(-1), None], dtype=object)[:-1].reshape(X.shape) if X.ndim == 2 else None
        rows = np.array(X, dtype=object)
    except ValueError:
        return None
    return rows if rows.ndim == 2 else None
