"""What is at stake: the costs of wrong answers for the rows of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import F8, I8, Rows, TrainingData, apply_link, squeeze

__all__ = ["Stakes"]

_DOUBT = 1_000  # rows with which realised and expected costs count the same


@frozen(eq=False)
class Stakes:
    """Costs of wrong answers for some rows."""

    errors: Any  # prices of errors, by the places of classes where rows have labels
    rows: Rows
    link: str  # from scores to predictions

    @classmethod
    def of(cls, data: TrainingData, rows: Rows, link: str) -> Stakes | None:
        """Make the stakes of rows; None for prices without errors."""
        errors = data.costs.errors
        if errors is None:
            return None
        return cls(errors if rows.labels is None else errors.of_classes(rows.labels, data.feature_names), rows, link)

    @property
    def columns(self) -> list[int]:
        """Free features whose values are prices of errors: each decision depends on them."""
        return sorted({f for *_, f, _ in self.errors.differing}) if self.rows.labels is not None else []

    def take(self, chosen: I8) -> Stakes:
        """Keep some rows."""
        return evolve(self, rows=self.rows.take(chosen))

    def losses(self, scores: F8) -> F8:
        """Return what the answers of least expected cost cost, given out-of-fold scores (n, K): float64 (n,).

        It is a mixture of realised and expected costs: with few rows the first are too noisy to choose by, and with
        many there is no need to trust the probabilities.
        """
        realised, expected = self._costs(scores)
        share = self.rows.total_repeats / (self.rows.total_repeats + _DOUBT)
        return np.asarray(share * realised + (1 - share) * expected)

    def realised(self, scores: F8) -> F8:
        """Return what the answers cost where the truth is known, given scores (n, K): float64 (n,)."""
        return self._costs(scores)[0]

    def _costs(self, scores: F8) -> tuple[F8, F8]:
        """Return what the answers cost, float64 (n,), and expectations of it; of numbers, nothing is expected."""
        rows, errors, predictions = self.rows, self.errors, squeeze(apply_link(self.link, scores))
        if rows.labels is None:
            cost = errors.of_answers(rows.y, predictions)
            return cost, cost
        p = predictions if predictions.ndim == 2 else np.column_stack([1.0 - predictions, predictions])
        return errors.of_answers(rows.y, errors.decide(p, rows.X), rows.X), errors.expected(p, rows.X).min(axis=1)
