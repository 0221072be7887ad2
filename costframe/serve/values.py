"""Values that callers give: of features of the model, and labels as texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from costframe.core.errors import InquiryError, quote_names, shown, suggestion
from costframe.core.numerals import read_typed
from costframe.core.predictors.predictor import Predictor
from costframe.core.tables.categories import Labels
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.core.terms.values import as_floats


def as_row(values: Mapping[str, Any], predictor: Predictor) -> dict[str, float]:
    """Return values of features, None for missing ones, as floats.

    Raises
    ------
    InquiryError
        If a name is of no feature, or a value is none of its feature. A label is a text: its number, which an inquiry
        takes too, may as well be meant as its text. A number may be a text, as people type it; see `read_typed`.
    """
    categories = predictor.categories
    for name, value in values.items():
        if name not in predictor.card.column:
            hint = suggestion(name, predictor.feature_names)
            raise InquiryError(f"value of {shown(name)}: it is no feature of the model{hint}")
        labels = categories.get(name)
        if not (value is None or isinstance(value, str) or labels is None) and _are_texts(labels):
            raise InquiryError(f"value of {name!r}: expected a label as a text, or null, got {shown(value)}")
    given = {name: math.nan if value is None else value for name, value in values.items()}
    typed = {name: _read_number(name, value) for name, value in given.items() if name not in categories}
    return dict(zip(given, as_floats(given | typed, given, categories), strict=True))


def as_known(known: Mapping[str, Any] | Iterable[str], predictor: Predictor) -> dict[str, float | None]:
    """Return what was paid for before, names or names with values, with None where no value is at hand."""
    values = {name: value for name, value in known.items() if value is not None} if isinstance(known, Mapping) else {}
    return dict.fromkeys(known) | as_row(values, predictor)


def row_source(row: Mapping[str, float]) -> Callable[[tuple[str, ...]], dict[str, float]]:
    """Return a function that fetches values of a row, and names those that it lacks."""

    def fetch(names: tuple[str, ...]) -> dict[str, float]:
        if missing := [name for name in names if name not in row]:
            raise InquiryError(
                f"values: the row needs {quote_names(missing)} too; give null for missing ones, or name them in "
                "'unavailable'"
            )
        return {name: row[name] for name in names}

    return fetch


def _read_number(name: str, value: Any) -> Any:
    """Return a number that is given as a text, and other values as they are."""
    if not isinstance(value, str):
        return value
    try:
        return read_typed(value)
    except ValueError as error:
        raise InquiryError(f"value of {name!r}: {error}") from None


def _are_texts(labels: Labels) -> bool:
    return isinstance(labels, tuple | HashedLabels)
