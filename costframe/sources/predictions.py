"""Predictions of many rows: arrays of all of them, and the whole `Prediction` of each row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.expected import stack_values
from costframe.core.errors import brief, format_count
from costframe.core.predictors.inquiry import Prediction
from costframe.sources.fetching import annotate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.predictors.inquiry import Inquiry
    from costframe.core.predictors.predictor import Predictor

__all__ = ["Predictions"]


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

    value: NDArray[np.float64]
    cost: NDArray[np.float64]
    acquired: NDArray[np.bool_]
    cut: NDArray[np.bool_]
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


def _predict_in_part(first: NDArray[np.int64], read: Callable[[int], Predictions], i: int) -> Prediction:
    number = int(np.searchsorted(first, i, side="right")) - 1
    return read(number)[i - int(first[number])]


def predict_table(
    predictor: Predictor, X: NDArray[np.float64], begin: Callable[[], Inquiry], how: ExpectedCost | None
) -> Predictions:
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
        report = how.evaluate(predictor, X)
    except Exception:
        for i in range(len(X)):
            predict(i)  # if a learner raises, this names the row
        raise
    assert report.predictions is not None  # noqa: S101 - routing is hard
    cut = np.zeros(len(X), np.bool_) if report.cut is None else report.cut
    acquired = np.asarray(report.acquired, np.bool_)
    return Predictions(report.predictions, report.per_row, acquired, cut, range(len(X)), predict)


def _predict_row(begin: Callable[[], Inquiry], columns: dict[str, int], X: NDArray[np.float64], i: int) -> Prediction:
    inquiry, row = begin(), X[i].tolist()
    with annotate_errors(lambda: f"predicting row {i}", [inquiry]):
        while names := inquiry.needs:
            inquiry.supply({name: row[columns[name]] for name in names})
    return inquiry.answer
