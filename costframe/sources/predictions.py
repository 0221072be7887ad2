"""Predictions of many rows, and of the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.expected import ExpectedCost, stack_values
from costframe.core.errors import DataError, ParameterError, brief, format_count
from costframe.core.machine import CHUNK
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.core.terms.terms import Terms
from costframe.sources.error_notes import annotate_errors


@frozen(eq=False, repr=False)
class Predictions(Sequence[Prediction]):
    """Predictions of rows, in their order: a sequence of `Prediction`, and arrays of what they hold.

    The engine made the arrays of a table; each `Prediction` then comes from an inquiry for its row, when it is
    read. A slice has a part of the rows.

    Attributes
    ----------
    value : float64 (rows,), or (rows, K) for K > 1 outputs
        Prediction of each row, as from `predict`.
    cost : float64 (rows,)
        Cost of each row in the cost model's unit. The engine adds prices in another order than an inquiry, so the cost
        of a row and of its `Prediction` may differ by rounding.
    acquired : bool (rows, d)
        Features that each row paid for, in the order of ``predictor.feature_names``.
    cut : bool (rows,)
        Rows whose `reason` is not "complete".
    """

    value: F8
    cost: F8
    acquired: B1
    cut: B1
    _rows: range
    _predict: Callable[[int], Prediction]

    @classmethod
    def of(cls, ends: Sequence[Prediction], feature_names: Sequence[str]) -> Predictions:
        """Make arrays of predictions that are there; a `DataError` refuses values of different lengths."""
        column = {name: f for f, name in enumerate(feature_names)}
        acquired = np.zeros((len(ends), len(column)), np.bool_)
        for row, end in zip(acquired, ends, strict=True):
            row[[column[name] for name in end.acquired]] = True
        return cls(
            stack_values([end.value for end in ends]),
            np.array([end.cost for end in ends], np.float64),
            acquired,
            np.array([end.reason != "complete" for end in ends], np.bool_),
            range(len(ends)),
            ends.__getitem__,
        )

    @classmethod
    def merge(cls, parts: Sequence[Predictions], read: Callable[[int], Predictions] | None = None) -> Predictions:
        """Join the predictions of consecutive rows; `read` returns a part again that came as arrays alone."""
        first = np.cumsum([0, *map(len, parts)])
        some = [part for part in parts if len(part)] or parts[:1]
        value, cost, acquired, cut = (
            np.concatenate([getattr(part, name) for part in some]) for name in ("value", "cost", "acquired", "cut")
        )
        predict = partial(_predict_in_part, first, parts.__getitem__ if read is None else read)
        return cls(value, cost, acquired, cut, range(int(first[-1])), predict)

    def __repr__(self) -> str:
        """Name the number of rows and their mean cost; the arrays would fill pages."""
        cost = (f"mean cost {self.cost.mean():g}", f"{np.count_nonzero(self.cut)} cut") if len(self) else ()
        return brief(self, format_count(len(self), "row"), *cost)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Prediction]:
        return map(self._predict, self._rows)  # unlike a sequence's own, an `IndexError` of a learner passes

    @overload
    def __getitem__(self, place: int) -> Prediction: ...

    @overload
    def __getitem__(self, place: slice) -> Predictions: ...

    def __getitem__(self, place: int | slice) -> Prediction | Predictions:
        """Return the prediction of a row, or those of some rows."""
        if not isinstance(place, slice):
            return self._predict(self._rows[place])
        arrays = {name: getattr(self, name)[place] for name in ("value", "cost", "acquired", "cut")}
        return evolve(self, **arrays, rows=self._rows[place])


def _predict_in_part(first: I8, read: Callable[[int], Predictions], i: int) -> Prediction:
    number = int(np.searchsorted(first, i, side="right")) - 1
    return read(number)[i - int(first[number])]


def copy_rows(source: Any, keys: object, predictor: Predictor, terms: Terms) -> F8 | None:
    """Return a copy of an array's or a data frame's rows, float64 (rows, d); None for other sources of many rows.

    Of a frame's columns it reads those on which labels depend on these terms.
    """
    if not isinstance(source, Mapping) and callable(source):
        return None
    if keys is not None:
        raise ParameterError("keys: are for a callable source; the rows of a table are numbered from 0")
    if isinstance(source, Mapping):
        raise DataError("the source: expected a table of rows, got one mapping; one row goes to predict_one")
    if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        return None
    return np.array(predictor.as_rows(source, predictor.label_features(terms.costs), terms))


def predict_table(predictor: Predictor, X: F8, begin: Callable[[], Inquiry], how: ExpectedCost | None) -> Predictions:
    """Predict the rows of a table, float64 (rows, d), that nobody changes later.

    Parameters
    ----------
    predictor : Predictor
    X : float64 (rows, d)
    begin : callable
        Begins the inquiry of a row.
    how : ExpectedCost or None
        The terms of these inquiries; None if no report has such terms, and inquiries must predict every row.
    """
    columns = {name: f for f, name in enumerate(predictor.feature_names)}
    predict = partial(_predict_row, begin, columns, X)
    if how is None:
        return Predictions.of([predict(i) for i in range(len(X))], predictor.feature_names)
    try:
        report = how.evaluate(predictor, X, made=True)
    except Exception:
        _raise_of_row(predictor, X, how, predict)
        raise
    assert report.predictions is not None  # noqa: S101 - routing is hard
    cut = np.zeros(len(X), np.bool_) if report.cut is None else report.cut
    acquired = np.asarray(report.acquired, np.bool_)
    return Predictions(report.predictions, report.per_row, acquired, cut, range(len(X)), predict)


def _raise_of_row(predictor: Predictor, X: F8, how: ExpectedCost, predict: Callable[[int], object]) -> None:
    """Find the first row for which a learner raises, if there is one: `predict` names the row in its error."""
    for first in range(0, len(X), CHUNK):
        part = X[first : first + CHUNK]
        try:
            how.evaluate(predictor, part, made=True)
        except Exception:  # noqa: BLE001 - raised below
            for i in range(first, first + len(part)):  # all rows one by one would take long
                predict(i)


def _predict_row(begin: Callable[[], Inquiry], columns: dict[str, int], X: F8, i: int) -> Prediction:
    inquiry, row = begin(), X[i].tolist()
    with annotate_errors(lambda: f"predicting row {i}", [inquiry]):
        while names := inquiry.needs:
            inquiry.supply({name: row[columns[name]] for name in names})
    return inquiry.answer
