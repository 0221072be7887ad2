"""What all fits on the same rows share: the expensive model, the held-out rows, and bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.accounts import Account
from costframe.gates.expensive import ExpensiveModel, ModelOutputs
from costframe.training.data import held_out
from costframe.trees.binning.bin_mapper import BinMapper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.adoption.fitted_model import FittedModel
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.binning.bin_mapper import BinnedData

__all__ = ["Prepared", "bin_rows"]


@frozen(eq=False)
class Prepared:
    """What all fits on the same rows share.

    Attributes
    ----------
    data : TrainingData
        Without the held-out rows.
    held : Rows
        Held out, or those of validation.
    expensive : ExpensiveModel
    binned : BinnedData
        The training rows.
    n_threads : int
        Does not change results.
    """

    data: TrainingData
    held: Rows
    expensive: ExpensiveModel
    binned: BinnedData
    n_threads: int

    @classmethod
    def of(cls, data: TrainingData, fitted: FittedModel, n_threads: int, *, hold_out: bool) -> Prepared:
        """Hold out rows if there are no validation rows; as the paper prints it, training rows have to do instead."""
        tree, proba = fitted.tree, fitted.proba
        rows, held, held_proba = data.train, data.valid, fitted.proba_val
        if held is None or held_proba is None:
            out = held_out(data) if hold_out else None
            out = np.ones(len(rows), np.bool_) if out is None else out
            held, held_proba = rows.take(out), proba[out]
            if not out.all():
                rows, proba = rows.take(~out), proba[~out]

        def on(part: Rows, values: NDArray[np.float64]) -> ModelOutputs:
            return ModelOutputs.of(values, part.y, Account.of(tree, data.costs, part.X, n_threads))

        expensive = ExpensiveModel(tree, on(rows, proba), on(held, held_proba))
        return cls(evolve(data, train=rows), held, expensive, bin_rows(rows, n_threads), n_threads)


def bin_rows(rows: Rows, n_threads: int) -> BinnedData:
    """Cut the rows' values into bins."""
    mapper = BinMapper.fit(rows.X, max_bins=255, sample_weight=rows.weight, n_threads=n_threads)
    return mapper.transform(rows.X, n_threads=n_threads)
