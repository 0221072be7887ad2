"""Categories that are texts: labels, and the numbers that stand for them in X.

The number of a label is its position among the feature's labels. Categories that are numbers need no labels: they are
their own numbers. What is no label, as what is missing, becomes NaN, which goes the missing way at every test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import DataError
from costframe.core.tables.frames import category_columns, check_names, column_names, is_numeric, is_pandas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Categories", "as_categories", "check_features", "encode", "encode_value", "find_labels", "is_missing"]

Categories = Mapping[str, tuple[str, ...]]
"""The labels of each feature whose categories are texts, by its name."""


def as_categories(categories: object) -> dict[str, tuple[str, ...]]:
    """Return a copy of labels by feature; what makes no sense is a `DataError`."""
    if not isinstance(categories, Mapping):
        raise DataError(f"categories: expected labels by feature, got {type(categories).__name__}")
    return {name: _checked(labels, name) for name, labels in categories.items()}


def check_features(categories: Categories, feature_names: Sequence[str]) -> None:
    """Refuse labels of what is no feature."""
    if unknown := [name for name in categories if name not in feature_names]:
        raise DataError(f"categories: {unknown[0]!r} is no feature, expected some of {tuple(feature_names)}")


def _checked(labels: object, name: object) -> tuple[str, ...]:
    found = tuple(labels) if isinstance(labels, Iterable) and not isinstance(labels, str) else ()
    if not found or not all(isinstance(label, str) for label in found) or len(set(found)) < len(found):
        raise DataError(f"categories of {name!r}: expected distinct texts, at least one, got {labels!r:.200}")
    return tuple(str(label) for label in found)


def is_missing(value: object) -> bool:
    """Whether a value stands for a missing one: None, NaN, pandas' NA or NaT."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def find_labels(column: Any, name: str) -> tuple[str, ...] | None:
    """Return the labels of a column that is to be split by categories; None if its categories are numbers.

    Those of a dtype that states its categories are in its order, whether they occur or not; texts are in alphabetical
    order.

    Raises
    ------
    DataError
        If some categories are texts and others not, or of another kind.
    """
    if is_numeric(getattr(column, "dtype", "")):
        return None
    declared = _declared(column)
    values = _listed(column) if declared is None else declared
    present = [value for value in values if not is_missing(value)]
    texts = sum(isinstance(value, str) for value in present)
    if texts == 0 and all(isinstance(value, bool | int | float | np.number | np.bool_) for value in present):
        return None
    if texts < len(present):
        odd = next(value for value in present if not isinstance(value, str))
        raise DataError(
            f"column {name!r}: categories are either texts or numbers, got {odd!r} of type {type(odd).__name__}"
        )
    return tuple(dict.fromkeys(map(str, present))) if declared is not None else tuple(sorted(set(map(str, present))))


def encode_value(value: object, labels: tuple[str, ...]) -> object:
    """Return the number of a label, NaN for one that is none of them or missing; anything else as it is."""
    if isinstance(value, str):
        return float(labels.index(value)) if value in labels else np.nan
    return np.nan if is_missing(value) else value


def encode(X: Any, categories: Categories, feature_names: Sequence[str], what: str = "the data") -> Any:
    """Put numbers in the place of labels, and doubles in that of categories that are pandas' nullable numbers.

    Parameters
    ----------
    X : data frame, or array-like (rows, d)
        Columns that have labels, found by name in a frame and by position in an array, may be of a category dtype,
        texts or objects; each value is looked up by its text, whatever numbers the frame has for its own categories.
        An array of numbers holds the numbers of labels already.
    categories : mapping of str to tuple of str
        The labels of features.
    feature_names : sequence of str
        Names of an array's columns.
    what : str
        What an error text calls the data.

    Raises
    ------
    DataError
        If a value of such a column in a frame is neither a text nor missing.
    """
    names = column_names(X)
    if names is not None:
        check_names(names, what)
        own = [name for name in names if name in categories]
        found = {name: _encoded(X[name], categories[name], f"{what}: column {name!r}") for name in own}
        found |= _nullable(X, names, categories)
        return _replaced(X, found) if found else X
    if not categories:
        return X
    if hasattr(X, "toarray") or (hasattr(X, "dtype") and X.dtype.kind in "fiub"):
        return X
    rows = _objects(X)
    if rows is None or rows.shape[1] != len(feature_names):
        return X  # whoever reads it names the fault
    for f, name in enumerate(feature_names):
        if name in categories:
            place = _places(categories[name])
            rows[:, f] = [
                place.get(value, np.nan) if isinstance(value, str) else encode_value(value, ()) for value in rows[:, f]
            ]
    return rows


def _places(labels: tuple[str, ...]) -> dict[str, float]:
    return {label: float(number) for number, label in enumerate(labels)}


def _objects(X: Any) -> NDArray[np.object_] | None:
    try:
        rows = np.array(X, dtype=object)
    except ValueError:
        return None
    return rows if rows.ndim == 2 else None


def _declared(column: Any) -> list[Any] | None:
    """Return the categories of a dtype that states them: pandas' "category", polars' Enum; None for other columns."""
    if not str(getattr(column, "dtype", "")).startswith(("category", "Enum")):
        return None
    return list(column.dtype.categories)


def _listed(column: Any) -> list[Any]:
    return list(column.to_list() if hasattr(column, "to_list") else column)


def _encoded(column: Any, labels: tuple[str, ...], where: str) -> NDArray[np.float64]:
    """float64 (rows,): the number of each value of a frame's column."""
    place = _places(labels)
    declared = _declared(column)
    if declared is not None and is_pandas(column):
        known = [place.get(label, np.nan) for label in _texts(declared, labels, where)]
        numbers = np.asarray([*known, np.nan])
        return np.asarray(numbers[np.asarray(column.cat.codes)])  # the code of a missing value is -1
    return np.array([place.get(value, np.nan) for value in _texts(_listed(column), labels, where)], np.float64)


def _nullable(X: Any, names: tuple[str, ...], categories: Categories) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of pandas' category columns without labels where their missing value is no NaN."""
    found = {}
    for f in category_columns(X) if is_pandas(X) else []:
        kind = X.dtypes.iloc[f].categories.dtype
        if names[f] not in categories and is_numeric(kind) and not isinstance(kind, np.dtype):
            numbers = np.append(X[names[f]].cat.categories.to_numpy(np.float64), np.nan)
            found[names[f]] = numbers[np.asarray(X[names[f]].cat.codes)]
    return found


def _texts(values: list[Any], labels: tuple[str, ...], where: str) -> list[Any]:
    """Return the values if each is a text or missing."""
    for value in values:
        if not isinstance(value, str) and not is_missing(value):
            raise DataError(
                f"{where}: expected labels, such as {labels[0]!r}, got {value!r} of type {type(value).__name__}"
            )
    return values


def _replaced(X: Any, columns: Mapping[str, NDArray[np.float64]]) -> Any:
    """Return a frame with some columns replaced."""
    return X.assign(**columns) if is_pandas(X) else X.with_columns(**columns)
