"""Prices of answers for classes by position, and the answer of least expected price."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError
from costframe.core.prices.error_entries import LARGEST, ColumnPrice


@attrs.frozen(eq=False)
class DecisionPrices:
    """Prices of answers for classes by position.

    Attributes
    ----------
    constant : float64 (K, K)
        By true class and answer.
    differing : tuple of (int, int, int, ColumnPrice)
        True class, answer and column of those that differ by row.
    """

    constant: F8
    differing: tuple[tuple[int, int, int, ColumnPrice], ...]

    def expected(self, p: F8, rows: F8) -> F8:
        """Return the expected price of each answer, float64 (rows, K), for probabilities (rows, K).

        Sums run over true classes in their order, whatever the number of rows, so that tables and single rows agree.
        """
        if len(p) and not ((p >= 0.0) & (p <= 1.0)).all():
            raise DataError(
                "errors: expected probabilities, to choose the answer of least expected price; the model's "
                f"predictions are others, such as {p[~((p >= 0.0) & (p <= 1.0))][0]:g}"
            )
        expected = np.zeros_like(p)
        for truth, prices in enumerate(self.constant):
            expected += p[:, truth, None] * prices
        for truth, answer, column, price in self.differing:
            expected[:, answer] += p[:, truth] * prices_of_column(rows, column, price)
        return expected

    def decide(self, p: F8, rows: F8) -> I8:
        """Return the answer of least expected price of each row, of equal ones the first: int64 (rows,)."""
        return np.asarray(self.expected(p, rows).argmin(axis=1), np.int64)

    def of_answers(self, truth: I8, answer: I8, rows: F8) -> F8:
        """Return what answers cost where the truth is another: float64 (rows,)."""
        paid = self.constant[truth, answer]
        for t, a, column, price in self.differing:
            at = (truth == t) & (answer == a)
            paid += np.where(at, prices_of_column(rows, column, price, at=at), 0.0)
        return paid


def prices_of_column(
    rows: F8, column: int, price: ColumnPrice, where: str = "errors", at: Any = True, first: int = 0
) -> F8:
    """Return what a column's values cost, float64 (rows,); refuse values `at` rows that cannot be prices."""
    values = rows[:, column]
    with np.errstate(over="ignore", invalid="ignore"):
        prices = price.times * values
    wrong = ~((values >= 0.0) & (prices <= LARGEST)) & at
    if wrong.any():
        value = values[wrong][0]
        expected = f"numbers <= {LARGEST / price.times:g}" if 0.0 <= value < np.inf else "finite numbers >= 0"
        raise DataError(
            f"{where}: expected {expected} in {price.column!r}, the price of an error; "
            f"got {value:g} in row {first + int(wrong.argmax())}"
        )
    return prices
