"""What the answers of least expected price cost, row by row: the score of studies whose prices have errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import ParameterError
from costframe.core.predictors.classes import both_classes
from costframe.core.tables.rows import as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.error_prices import ErrorPrices

__all__ = ["ERROR_COST", "ErrorCosts"]

ERROR_COST = "neg_error_cost"  # name of the score


@frozen(eq=False)
class ErrorCosts:
    """The costs of answers of least expected price, from codes of classes or numbers, and predictions.

    Attributes
    ----------
    errors : ErrorPrices
    names : tuple of str
        Names of the columns of rows.
    labels : (K,) or None
        Classes in the order of their codes; None for a regression.
    priced : float64 (n, columns) or None
        Values of the columns that are prices, for the rows to score.
    """

    errors: ErrorPrices
    names: tuple[str, ...]
    labels: NDArray[Any] | None = None
    priced: NDArray[np.float64] | None = None

    def bind(self, labels: NDArray[Any] | None, X: Any = None) -> ErrorCosts:
        """Return the costs for codes of these labels, and for these rows, X (n, columns)."""
        columns, priced = self.errors.columns, None
        if columns and X is not None:
            priced = as_rows(X, self.names, None, columns)[:, [self.names.index(name) for name in columns]]
        return evolve(self, labels=labels, priced=priced)

    def of_rows(self, y: NDArray[Any], p: NDArray[np.float64]) -> NDArray[np.float64]:
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
        prices = self.errors.of_classes(self.labels, self.errors.columns)
        priced = np.empty((len(y), 0)) if self.priced is None else self.priced
        return prices.of_answers(np.asarray(y, np.int64), prices.decide(both_classes(p), priced), priced)
