"""A run of boosting: in each round, one tree for each output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.learners.tree_table import TreeTable
from costframe.training.data import Rows
from costframe.training.losses import Loss, RowLoss
from costframe.training.progress import track
from costframe.trees.ensemble import Ensemble
from costframe.trees.growing import GrowAt
from costframe.trees.monitor import Monitor
from costframe.trees.prices import SplitPrices
from costframe.trees.room import GrownTree
from costframe.trees.settings import TreeSettings

Derivatives = NDArray[np.floating]
Grow = Callable[[Derivatives, Derivatives], GrownTree]


@define(eq=False)
class Boosted:
    """The state of boosting, without its rows: an ensemble, and its scores of the training rows, float64 (n, K)."""

    ensemble: Ensemble
    scores: F8

    @classmethod
    def constant(cls, rows: Rows, loss: Loss, step: float, *, from_zero: bool = False) -> Boosted:
        """Start at the loss's optimal constant, or at zero."""
        intercept = np.zeros(loss.n_outputs) if from_zero else loss.baseline(rows)
        return cls(Ensemble(intercept, step, loss.link), np.tile(intercept, (len(rows), 1)))

    def fork(self) -> Boosted:
        """Return an independent copy, which shares trees."""
        return Boosted(self.ensemble.fork(), self.scores.copy())


@define(eq=False)
class BoostingRun:
    """A run of boosting on some rows. An algorithm's loop over `rounds` adds trees for the derivatives of the loss."""

    rows: Rows
    loss: RowLoss  # of these rows
    boosted: Boosted
    n_threads: int = 1  # does not change the result
    # whether rounds without splits count, because later ones may split: by other draws, or at other prices
    counts_idle: bool = False
    is_idle: bool = field(default=False, init=False)  # whether the last round had no splits

    @classmethod
    def begin(cls, rows: Rows, loss: Loss, settings: TreeSettings, boosted: Boosted | None = None) -> BoostingRun:
        """Begin at the loss's best constant, or continue `boosted`, which changes.

        A DataError refuses labels or weights that are too large or too small.
        """
        rows.check_sizes()
        if boosted is None:
            boosted = Boosted.constant(rows, loss, settings.learning_rate, from_zero=settings.from_zero)
        return cls(rows, loss.for_rows(rows), boosted, settings.n_threads, settings.draws)

    def fork(self) -> BoostingRun:
        """Return an independent copy, which shares trees."""
        return BoostingRun(self.rows, self.loss, self.boosted.fork(), self.n_threads, self.counts_idle)

    @property
    def ensemble(self) -> Ensemble:
        """The trees so far."""
        return self.boosted.ensemble

    @property
    def outputs(self) -> range:
        """The numbers of the outputs."""
        return range(self.boosted.scores.shape[1])

    def rounds(self, settings: TreeSettings, until: Monitor | None = None, *, title: str = "boosting") -> Iterator[int]:
        """Yield the number of each round to add, up to `n_estimators`, until the monitor stops or no tree splits.

        Without random draws or other prices, rounds after one without splits would have none either. The monitor sees
        earlier rounds too, so that the result equals that of one run, which may stop at one of these.
        """
        n_rounds = len(self.ensemble.rounds)
        first = settings.n_estimators if until and _replay(self.ensemble, until) else n_rounds
        for number in track(range(first, settings.n_estimators), title, verbose=settings.verbose):
            yield number
            if self.is_idle and not self.counts_idle:
                return
            if until and until.add(self.ensemble.last_round, self.ensemble.step):
                return

    def derivatives(self) -> tuple[Derivatives, Derivatives]:
        """Return first and second derivatives of the summed loss by each score of each row: (n, K) each."""
        gradients, hessians = self.loss.gradients(self.rows.y, self.boosted.scores, n_threads=self.n_threads)
        weight = self.rows.uneven_weight
        if weight is None:
            return gradients, hessians
        return gradients * weight[:, np.newaxis], hessians * weight[:, np.newaxis]

    def add(self, trees: Iterable[GrownTree]) -> bool:
        """Add a round, H_k += step * tree for each output k, of the trees that split; return whether any does."""
        added: list[tuple[int, TreeTable]] = []
        for k, tree in enumerate(trees):
            if tree.n_leaves > 1:
                tree.add_to(self.boosted.scores[:, k], self.ensemble.step)
                added.append((k, tree.table))
        self.is_idle = not added
        if added or self.counts_idle:
            self.ensemble.append(added)
        return bool(added)

    def add_round(self, grow: Grow) -> bool:
        """Grow and add a round's trees; return whether some split."""
        gradients, hessians = self.derivatives()
        return self.add(grow(gradients[:, k], hessians[:, k]) for k in self.outputs)

    def best_round(self, monitor: Monitor | None) -> int:
        """Return the number of rounds to keep: the monitor's best, or all."""
        return monitor.best_round if monitor else len(self.ensemble.rounds)


def boost_at_prices(
    rows: Rows, loss: Loss, settings: TreeSettings, grow: GrowAt, prices: SplitPrices, monitor: Monitor | None = None
) -> tuple[Ensemble, int]:
    """Boost trees grown at prices that remember payments; return all rounds, and the best number of them."""
    run, random = BoostingRun.begin(rows, loss, settings), np.random.default_rng(settings.random_state)
    for _ in run.rounds(settings, monitor):
        run.add_round(lambda gradients, hessians: grow(gradients, hessians, prices, random))
    return run.ensemble, run.best_round(monitor)


def _replay(ensemble: Ensemble, monitor: Monitor) -> bool:
    """Show a monitor the present rounds; return whether to stop."""
    monitor.begin(ensemble.intercept)
    stop = False
    for number in range(len(ensemble.rounds)):
        stop = monitor.add(ensemble.of_round(number), ensemble.step)
    return stop
