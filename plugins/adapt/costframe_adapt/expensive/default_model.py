"""The expensive model where none is given: trees boosted without prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.core.threads import thread_count
from costframe.stagewise.banks import dominated_duplicates as dearer_copies
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.boost import boost
from costframe.trees.boosting.losses import loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe.trees.growing.grow import grow_tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData
    from costframe.trees.growing.finish import GrownTree

__all__ = ["boost_plainly"]

_ROUNDS, _STEP, _LEAVES, _LEAST, _L2, _PATIENCE = 300, 0.1, 31, 20, 1.0, 30


def boost_plainly(
    rows: Rows, data: TrainingData, *, seen: Rows | None = None, n_rounds: int = _ROUNDS, n_jobs: int | None = None
) -> tuple[StageTree, int]:
    """Boost trees of 31 leaves as if all were free; a copy of a column at a higher price is not read.

    Parameters
    ----------
    rows : Rows
    data : TrainingData
    seen : Rows, optional
        By their loss the number of rounds is chosen.
    n_rounds : int
        At most.
    n_jobs : int, optional

    Returns
    -------
    StageTree, int
        The model, and its rounds.
    """
    n_threads, loss = thread_count(n_jobs), loss_for(data.n_classes)
    mapper = BinMapper.fit(rows.X, sample_weight=rows.weight, n_threads=n_threads)
    binned, counts = mapper.transform(rows.X, n_threads=n_threads), rows.counts
    read = ~dearer_copies(rows.X, data.prices)

    def grow(gradients: NDArray[np.floating], hessians: NDArray[np.floating]) -> GrownTree:
        return grow_tree(
            binned,
            gradients,
            hessians,
            counts=counts,
            features=read,
            growth="best",
            max_leaves=_LEAVES,
            min_samples_leaf=_LEAST,
            min_hessian_leaf=1e-3,
            l2=_L2,
            n_threads=n_threads,
        )

    monitor = None if seen is None else Monitor(seen, loss, data.prices, 0.0, _PATIENCE, "loss")
    ensemble, best = boost(rows, loss, grow, n_rounds=n_rounds, step=_STEP, monitor=monitor, n_threads=n_threads)
    return ensemble.finish(data.feature_names, best), best
