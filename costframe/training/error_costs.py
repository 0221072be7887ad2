"""Prices of errors in training and studies: what answers cost, row by row, and the tradeoff that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.prices.decision_prices import DecisionPrices
from costframe.core.prices.error_prices import ErrorPrices
from costframe.core.tables.rows import as_rows
from costframe.core.terms.classes import both_classes
from costframe.training.data import USUAL_TRADEOFF, Rows

__all__ = ["ERROR_COST", "ErrorCosts", "usual_tradeoff"]

ERROR_COST = "neg_error_cost"  # name of the score
_LEAST_BILL = 1e-9  # of the constant, as a share of the price of all features: tradeoffs are finite


@frozen(eq=False)
class ErrorCosts:
    """The costs of answers of least expected price, or of given ones, from codes of classes or numbers."""

    errors: ErrorPrices
    names: tuple[str, ...]  # of the columns of rows
    labels: NDArray[Any] | None = None  # (K,): classes in the order of their codes; None for a regression
    priced: F8 | None = None  # (n, columns): values of the columns that are prices, for the rows to score
    answers: I8 | None = None  # (n,): codes of the answers for these rows, where predictions alone do not tell them

    def bind(self, labels: NDArray[Any] | None, X: Any = None) -> ErrorCosts:
        """Return the costs for codes of these labels, and for these rows, X (n, columns)."""
        columns, priced = self.errors.columns, None
        if columns and X is not None:
            priced = as_rows(X, self.names, None, columns)[:, [self.names.index(name) for name in columns]]
        return evolve(self, labels=labels, priced=priced)

    def of_rows(self, y: NDArray[Any], p: F8) -> F8:
        """Return the cost of each row, float64 (n,), given labels (n,) and predictions, (n,) or (n, K).

        Raises
        ------
        ParameterError
            If prices differ by row, and the costs are not bound to the rows.
        """
        if self.errors.is_regression:
            return self.errors.of_answers(np.asarray(y, np.float64), p)
        if self.labels is None or (self.errors.columns and (self.priced is None or len(self.priced) != len(y))):
            raise ParameterError(
                "errors: prices that are a column need the rows, by `with_labels(scoring, rows.labels, rows.X)`, "
                "which this algorithm does not do; it takes prices that are numbers"
            )
        prices = self._by_codes(self.labels)
        return prices.of_answers(np.asarray(y, np.int64), self._answer(prices, p), self._of_rows(p))

    def count_mistakes(self, y: NDArray[Any], p: F8) -> F8 | None:
        """Return how many rows of each class (rows) have each wrong answer (columns), float64 (K, K); None of numbers.

        `y` has codes, (n,); predictions are (n,) or (n, K).
        """
        if self.labels is None:
            return None
        size, prices = len(self.labels), self._by_codes(self.labels)
        pairs = np.asarray(y, np.int64) * size + self._answer(prices, p)
        counts = np.bincount(pairs, minlength=size * size).reshape(size, size).astype(np.float64)
        np.fill_diagonal(counts, 0.0)
        return counts

    def _answer(self, prices: DecisionPrices, p: F8) -> I8:
        return prices.decide(both_classes(p), self._of_rows(p)) if self.answers is None else self.answers

    def _by_codes(self, labels: NDArray[Any]) -> DecisionPrices:
        return self.errors.of_classes(labels, self.errors.columns)

    def _of_rows(self, p: F8) -> F8:
        return np.empty((len(p), 0)) if self.priced is None else self.priced


def usual_tradeoff(costs: CostModel, rows: Rows, names: tuple[str, ...]) -> float:
    """Return the tradeoff of a fit that names none, for rows with columns of these names.

    Where prices have errors, it is the loss of the best constant over what that one's errors cost: a unit of loss is
    then worth as much money as for the constant, and `loss + tradeoff * cost` is the bill in units of loss. Else it is
    0.001.
    """
    if costs.errors is None:
        return USUAL_TRADEOFF
    loss, bill = _constant(costs.errors, rows, names)
    bill = max(bill, _LEAST_BILL * costs.full_cost(names))
    return loss / bill if loss > 0 and bill > 0 else USUAL_TRADEOFF


def _constant(errors: ErrorPrices, rows: Rows, names: tuple[str, ...]) -> tuple[float, float]:
    """Return the mean loss of the best constant, and the mean cost of its errors, or of the cheapest answer's."""
    if rows.labels is None:
        mean = np.full(len(rows), rows.mean(rows.y))
        return rows.mean(0.5 * np.square(rows.y - mean)), rows.mean(errors.of_answers(rows.y, mean))
    prices, classes = errors.of_classes(rows.labels, names), range(len(rows.labels))
    share = np.array([rows.mean((rows.y == k).astype(np.float64)) for k in classes])
    bills = [rows.mean(prices.of_answers(rows.y, np.full(len(rows), k), rows.X)) for k in classes]
    return float(-np.sum(share * np.log(np.where(share > 0, share, 1.0)))), min(bills)
