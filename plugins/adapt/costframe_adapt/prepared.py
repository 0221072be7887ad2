"""What all fits on the same rows share: the expensive model, the rows held out, and bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.training.held_out import held_out
from costframe_adapt.accounts import Account
from costframe_adapt.boosted.binning import Binning
from costframe_adapt.expensive import Full, FullOn, log_losses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.adoption.fitted_model import FittedModel
    from costframe.training.data import Rows, TrainingData

__all__ = ["Prepared"]


@frozen(eq=False)
class Prepared:
    """Rows, the expensive model on them, and bins, made once.

    Attributes
    ----------
    data : TrainingData
        Without the rows held out.
    seen : Rows
        Held out, or those of validation.
    full : Full
    binning : Binning
        Of the training rows.
    """

    data: TrainingData
    seen: Rows
    full: Full
    binning: Binning

    @classmethod
    def of(cls, data: TrainingData, expensive: FittedModel, n_threads: int) -> Prepared:
        """Hold out rows if there are no validation rows; of training rows, probabilities are out of fold."""
        tree, proba = expensive.tree, expensive.proba
        rows, seen, seen_proba = data.train, data.valid, expensive.proba_val
        if seen is None or seen_proba is None:
            out = held_out(data)
            out = np.ones(len(rows), np.bool_) if out is None else out
            seen, seen_proba = rows.take(out), proba[out]
            if not out.all():
                rows, proba = rows.take(~out), proba[~out]

        def on(part: Rows, values: NDArray[np.float64]) -> FullOn:
            return FullOn(values, log_losses(values, part.y), Account.of(tree, data.costs, part.X, n_threads))

        left = evolve(data, train=rows)
        return cls(left, seen, Full(tree, on(rows, proba), on(seen, seen_proba)), Binning(left, n_threads))

    @property
    def n_threads(self) -> int:
        """Does not change results."""
        return self.binning.n_threads
