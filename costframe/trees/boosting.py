"""The boosting loop that plugins share: gradients in, one tree an output and round, a stage tree out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field

from costframe.core.bank import WeakLearnerBank
from costframe.core.predictor import StageTree
from costframe.core.progress import track
from costframe.core.stages import Answer
from costframe.core.tree_table import TreeTable
from costframe.trees.scaling import check_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.core.training import Rows
    from costframe.trees.finish import GrownTree
    from costframe.trees.losses import Loss
    from costframe.trees.monitor import Watcher

    Grow = Callable[[NDArray[np.floating], NDArray[np.floating]], GrownTree]

__all__ = ["Ensemble", "boost"]


@define(eq=False)
class Ensemble:
    """A growing sum of trees; `finish` makes the predicting model.

    Attributes
    ----------
    intercept : float64 (K,)
    step : float
        Weight of every tree, the learning rate.
    tables, outputs : list
        Trees, and the output that each adds to.
    rounds : list of int
        Number of trees after each round.
    """

    intercept: NDArray[np.float64]
    step: float
    link: str
    tables: list[TreeTable] = field(factory=list)
    outputs: list[int] = field(factory=list)
    rounds: list[int] = field(factory=list)

    def finish(self, feature_names: Sequence[str], n_rounds: int | None = None) -> StageTree:
        """Return the model of the first `n_rounds` rounds, all by default."""
        kept = len(self.rounds) if n_rounds is None else n_rounds
        count = self.rounds[kept - 1] if kept else 0
        weights = np.zeros((count, len(self.intercept)))
        weights[np.arange(count), self.outputs[:count]] = self.step
        bank = WeakLearnerBank.from_trees(TreeTable.concatenate(self.tables[:count]), feature_names)
        return StageTree(bank, (Answer(np.arange(count), weights, self.intercept, self.link),))


def boost(
    rows: Rows,
    loss: Loss,
    grow: Grow,
    *,
    n_rounds: int,
    step: float,
    monitor: Watcher | None = None,
    before_round: Callable[[int], None] | None = None,
    end_when_idle: bool = True,
    n_threads: int = 1,
    verbose: int = 0,
    title: str = "boosting",
) -> tuple[Ensemble, int]:
    """Boost: in each round, for each output k, H_k += step * grow(gradients of k), from one set of gradients.

    Starts at the loss's optimal constant. Ends after `n_rounds`, or when the monitor says so. A tree without a split is
    a constant and no learner; it is left out.

    Parameters
    ----------
    rows : Rows
    loss : Loss
    grow : callable
        (weighted gradients, weighted hessians), (n,) each -> GrownTree.
    n_rounds : int
    step : float
    monitor : Watcher, optional
        Says which round is best, and when to stop.
    before_round : callable, optional
        Is told the number of each round before it begins.
    end_when_idle : bool
        Whether to end when a round makes no split: unless `grow` draws at random, the next would make none either.
    n_threads : int
        Does not change the result.

    Returns
    -------
    Ensemble, int
        All rounds, and how many of them are best.

    Raises
    ------
    DataError
        If labels or weights are too large or small to be reckoned with.
    """
    check_sizes(rows)
    ensemble = Ensemble(loss.baseline(rows.y, rows.weight), step, loss.link)
    scores = np.tile(ensemble.intercept[:, np.newaxis], len(rows)).T  # columns contiguous
    weight = rows.uneven_weight
    if monitor:
        monitor.begin(ensemble.intercept)
    for number in track(range(n_rounds), title, verbose=verbose):
        if before_round:
            before_round(number)
        gradients, hessians = loss.gradients(rows.y, scores, n_threads=n_threads)
        if weight is not None:
            gradients, hessians = gradients * weight[:, np.newaxis], hessians * weight[:, np.newaxis]
        added = _grow_round(grow, gradients, hessians, scores, step)
        if not added and end_when_idle:
            break
        ensemble.tables += [table for _, table in added]
        ensemble.outputs += [k for k, _ in added]
        ensemble.rounds.append(len(ensemble.tables))
        if monitor and monitor.add(added, step):
            break
    return ensemble, monitor.best_round if monitor else len(ensemble.rounds)


def _grow_round(
    grow: Grow,
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating],
    scores: NDArray[np.float64],
    step: float,
) -> list[tuple[int, TreeTable]]:
    """Grow a tree for each output, add those that split to the scores, and return them with their outputs."""
    added = []
    for k in range(scores.shape[1]):
        tree = grow(gradients[:, k], hessians[:, k])
        if tree.n_leaves > 1:
            tree.add_to(scores[:, k], step)
            added.append((k, tree.table))
    return added
