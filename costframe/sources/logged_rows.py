"""Rows of a log as records to learn from: values that came, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8
from costframe.core.checks import as_path
from costframe.core.errors import DataError, quote_names, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.terms.values import as_number
from costframe.sources.replay import read_known, read_lines


@frozen(eq=False)
class LoggedRows:
    """What a log knows of n rows.

    A model chose what was asked, so an empty cell is no answer unless `made` says that it was asked for. A fit on these
    rows takes `made`, and so learns nothing from the choices of the model before it; see docs/records.md.
    """

    keys: tuple[Any, ...]
    feature_names: tuple[str, ...]
    X: F8 = field(repr=False)  # (n, d), NaN where nothing came
    made: B1 = field(repr=False)  # (n, d): whether the value came, or was known; a request that failed does not count

    def __len__(self) -> int:
        return len(self.keys)

    def labelled(self, labels: Mapping[Any, Any]) -> tuple[F8, NDArray[Any], B1]:
        """Return X, y and made of the rows whose keys have a label, in the order of the log; refuse none at all."""
        known = [place for place, key in enumerate(self.keys) if key in labels]
        if not known:
            raise DataError(f"labels: expected keys of the log, such as {shown(self.keys[0])}, got none of them")
        return self.X[known], np.array([labels[self.keys[place]] for place in known]), self.made[known]


def read_logged_rows(path: Any, predictor: Predictor | FittedEstimator) -> LoggedRows:
    """Read the rows of a log of inquiries, in the order in which they ended; of equal keys the last one counts.

    Parameters
    ----------
    path : str or path
        Written by `InquiryLog`.
    predictor : Predictor, or an estimator fitted to one
        A model with the features of the log, in whose order columns come.

    Raises
    ------
    DataError
        If the file is no such log, or has other features; the text names the line.
    """
    file, model = as_path(path), as_predictor(predictor)
    place = {name: column for column, name in enumerate(model.feature_names)}
    rows, known = dict[Any, dict[str, float]](), dict[str, float]()
    for number, line in read_lines(file):
        where = f"{file}, line {number}"
        if "costframe" in line:
            known = _read_values(line, model, where)
            continue
        values = known | dict(_values_of(line, where))
        if unknown := [name for name in values if name not in place]:
            raise DataError(f"{where}: the model has no feature {quote_names(unknown)}")
        key = line.get("key")
        key = tuple(key) if isinstance(key, list) else key
        rows.pop(key, None)  # the last one counts, and stands where it ended
        rows[key] = values
    if not rows:
        raise DataError(f"{file}: expected rows, got none")
    X, made = np.full((len(rows), len(place)), np.nan), np.zeros((len(rows), len(place)), np.bool_)
    for row, values in enumerate(rows.values()):
        for name, value in values.items():
            X[row, place[name]], made[row, place[name]] = value, True
    return LoggedRows(tuple(rows), model.feature_names, X, made)


def _read_values(line: Mapping[str, Any], model: Predictor, where: str) -> dict[str, float]:
    """Return the values that all rows below a line had from the start."""
    terms = line.get("terms")
    if not isinstance(terms, dict):
        raise DataError(f"{where}: expected the terms of rows, got {shown(terms)}")
    given = terms.get("known")
    if not isinstance(given, dict):
        return {}
    categories = model.categories
    return {
        name: as_number(name, read_known(value, is_label=name in categories), categories.get(name))
        for name, value in given.items()
        if value is not None and name in model.feature_names  # None is not at hand; others are resources
    }


def _values_of(line: Mapping[str, Any], where: str) -> Iterator[tuple[str, float]]:
    try:
        for logged in line["rounds"]:
            for name, value in logged["values"].items():
                yield name, float("nan") if value is None else float(value)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{where}: expected the rounds of a row: {type(error).__name__}: {error}") from None
