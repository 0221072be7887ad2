"""The boosting loop that plugins share: gradients in, one tree an output and round, a stage tree out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.training.progress import track
from costframe.trees.binning.scaling import check_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from costframe.training.data import Rows
    from costframe.trees.boosting.grower import GrowAt
    from costframe.trees.boosting.losses import Loss, RowLoss
    from costframe.trees.boosting.monitor import Monitor
    from costframe.trees.growing.finish import GrownTree
    from costframe.trees.growing.prices import SplitPrices
    from costframe.trees.settings import TreeSettings

    Grow = Callable[[NDArray[np.floating], NDArray[np.floating]], GrownTree]

__all__ = ["Boosted", "Ensemble", "boost", "boost_at_prices"]


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

    def append(self, trees: list[tuple[int, TreeTable]]) -> None:
        """Add a round's trees, each with the output it adds to."""
        self.tables += [table for _, table in trees]
        self.outputs += [k for k, _ in trees]
        self.rounds.append(len(self.tables))

    def fork(self) -> Ensemble:
        """Return a copy that goes its own way; trees are shared."""
        return evolve(self, tables=self.tables.copy(), outputs=self.outputs.copy(), rounds=self.rounds.copy())

    def of_round(self, number: int) -> list[tuple[int, TreeTable]]:
        """Return the trees of a round, each with the output it adds to."""
        trees = slice(self.rounds[number - 1] if number else 0, self.rounds[number])
        return list(zip(self.outputs[trees], self.tables[trees], strict=True))

    def prefix(self, n_rounds: int) -> Ensemble:
        """Return the first rounds; trees are shared."""
        count = self.rounds[n_rounds - 1] if n_rounds else 0
        return evolve(self, tables=self.tables[:count], outputs=self.outputs[:count], rounds=self.rounds[:n_rounds])

    def finish(self, feature_names: Sequence[str], n_rounds: int | None = None) -> StageTree:
        """Return the model of the first `n_rounds` rounds, all by default."""
        kept = self if n_rounds is None else self.prefix(n_rounds)
        count = len(kept.tables)
        weights = np.zeros((count, len(self.intercept)))
        weights[np.arange(count), kept.outputs] = self.step
        bank = WeakLearnerBank.from_trees(TreeTable.concatenate(kept.tables), feature_names)
        return StageTree(bank, (Answer(np.arange(count), weights, self.intercept, self.link),))


@define(eq=False)
class Boosted:
    """Where boosting stands: an ensemble, and its scores of the training rows.

    Attributes
    ----------
    ensemble : Ensemble
    scores : float64 (n, K), columns contiguous
    """

    ensemble: Ensemble
    scores: NDArray[np.float64]

    @classmethod
    def constant(cls, rows: Rows, loss: Loss, step: float, *, from_zero: bool = False) -> Boosted:
        """Start at the loss's optimal constant, or at zero."""
        intercept = np.zeros(loss.n_outputs) if from_zero else loss.baseline(rows.y, rows.weight)
        return cls(Ensemble(intercept, step, loss.link), np.tile(intercept[:, np.newaxis], len(rows)).T)

    def fork(self) -> Boosted:
        """Return a copy that goes its own way; trees are shared."""
        return Boosted(self.ensemble.fork(), self.scores.copy(order="F"))

    def grow_round(
        self, rows: Rows, row_loss: RowLoss, grow: Grow, *, n_threads: int = 1
    ) -> list[tuple[int, TreeTable]]:
        """Grow a tree for each output from one set of gradients, add those that split to the scores, and return them.

        The ensemble does not have them yet; `Ensemble.append` is the caller's.
        """
        gradients, hessians = row_loss.gradients(rows.y, self.scores, n_threads=n_threads)
        weight = rows.uneven_weight
        if weight is not None:
            gradients, hessians = gradients * weight[:, np.newaxis], hessians * weight[:, np.newaxis]
        added = []
        for k in range(self.scores.shape[1]):
            tree = grow(gradients[:, k], hessians[:, k])
            if tree.n_leaves > 1:
                tree.add_to(self.scores[:, k], self.ensemble.step)
                added.append((k, tree.table))
        return added


def boost(
    rows: Rows,
    loss: Loss,
    grow: Grow,
    *,
    n_rounds: int,
    step: float,
    monitor: Monitor | None = None,
    boosted: Boosted | None = None,
    end_when_idle: bool = True,
    n_threads: int = 1,
    verbose: int = 0,
    title: str = "boosting",
) -> tuple[Ensemble, int]:
    """Boost: in each round, for each output k, H_k += step * grow(gradients of k), from one set of gradients.

    Starts at the loss's optimal constant, or where earlier boosting ended. Ends after `n_rounds`, or when the monitor
    says so. A tree without a split is a constant and no learner; it is left out.

    Parameters
    ----------
    rows : Rows
    loss : Loss
    grow : callable
        (weighted gradients, weighted hessians), (n,) each -> GrownTree.
    n_rounds : int
        In all, earlier ones included.
    step : float
    monitor : Monitor, optional
        Says which round is best, and when to stop. It sees earlier rounds too, so that the result is that of one run:
        if that would have stopped with the last of them, there is no other.
    boosted : Boosted, optional
        Where to go on; is changed.
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
    boosted = Boosted.constant(rows, loss, step) if boosted is None else boosted
    ensemble, row_loss = boosted.ensemble, loss.for_rows(rows)
    begin = n_rounds if monitor and _replay(ensemble, monitor) else len(ensemble.rounds)
    for _ in track(range(begin, n_rounds), title, verbose=verbose):
        added = boosted.grow_round(rows, row_loss, grow, n_threads=n_threads)
        if not added and end_when_idle:
            break
        ensemble.append(added)
        if monitor and monitor.add(added, step):
            break
    return ensemble, monitor.best_round if monitor else len(ensemble.rounds)


def boost_at_prices(
    rows: Rows,
    loss: Loss,
    settings: TreeSettings,
    grow: GrowAt,
    prices: SplitPrices,
    *,
    random: np.random.Generator | None = None,
    boosted: Boosted | None = None,
    monitor: Monitor | None = None,
    title: str = "boosting",
) -> tuple[Ensemble, int]:
    """Boost as the settings say, trees grown at prices that keep account of what is paid; see `boost`."""
    draws = np.random.default_rng(settings.random_state) if random is None else random
    if boosted is None:
        boosted = Boosted.constant(rows, loss, settings.learning_rate, from_zero=settings.from_zero)
    return boost(
        rows,
        loss,
        lambda gradients, hessians: grow(gradients, hessians, prices, draws),
        n_rounds=settings.n_estimators,
        step=settings.learning_rate,
        monitor=monitor,
        boosted=boosted,
        end_when_idle=not settings.draws,
        n_threads=settings.n_threads,
        verbose=settings.verbose,
        title=title,
    )


def _replay(ensemble: Ensemble, monitor: Monitor) -> bool:
    """Show a monitor the rounds that there are; True if it is time to stop."""
    monitor.begin(ensemble.intercept)
    stop = False
    for number in range(len(ensemble.rounds)):
        stop = monitor.add(ensemble.of_round(number), ensemble.step)
    return stop
