"""The boosting loop that plugins share: one tree per output and round, and a stage tree at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from costframe.core.arrays import B1, F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.tables.row_draws import draw
from costframe.training.data import Rows
from costframe.training.losses import Loss, RowLoss
from costframe.training.progress import track
from costframe.training.sampling import row_keys
from costframe.trees.bin_mapper import BinMapper, BinnedData
from costframe.trees.grow import grow_tree
from costframe.trees.monitor import Monitor
from costframe.trees.prices import SplitPrices
from costframe.trees.room import GrownTree
from costframe.trees.scaling import check_sizes
from costframe.trees.settings import TreeSettings

Grow = Callable[[NDArray[np.floating], NDArray[np.floating]], GrownTree]

GrowAt = Callable[[NDArray[np.floating], NDArray[np.floating], SplitPrices, Any], GrownTree]


def bin_rows(rows: Rows, settings: TreeSettings, categorical: B1 | None = None) -> BinnedData:
    """Put training rows into bins; columns in `categorical`, bool (d,), have one bin for each category."""
    mapper = BinMapper.fit(
        rows.X,
        max_bins=settings.max_bins,
        sample_weight=rows.weight,
        categorical=categorical,
        n_threads=settings.n_threads,
        workers=rows.workers,
    )
    return mapper.transform(rows.X, n_threads=settings.n_threads)


def tree_grower(rows: Rows, binned: BinnedData, settings: TreeSettings) -> GrowAt:
    """Return a function that grows a tree on training rows from (weighted gradients, weighted hessians, prices, draws).

    Rows that are not drawn also pass through the tree, and pay. Draws depend on the values of rows and on nothing else
    that may differ between workers; copies of a row are drawn one by one.
    """
    weight, signs, workers = rows.uneven_weight, settings.signs, rows.workers
    counts = rows.counts if settings.newton else None
    keys = row_keys(rows, settings.n_threads) if settings.subsample < 1 else np.empty(0, np.uint64)

    def all_one(hessians: NDArray[np.floating]) -> bool:
        if workers.count == 1 and hessians[0] != 1:
            return False  # the usual case, at once
        return not workers.any((hessians != 1).any())

    def grow(
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        prices: SplitPrices,
        random: Any,  # a Generator, or None if nothing is drawn
    ) -> GrownTree:
        drawn = left_out = columns = None
        if settings.subsample < 1:
            chosen = draw(keys, settings.subsample, int(random.integers(2**63)))
            drawn, left_out = (np.flatnonzero(side).astype(np.int32) for side in (chosen, ~chosen))
        if settings.max_features < 1:
            n_features = rows.X.shape[1]
            columns = np.zeros(n_features, np.bool_)
            columns[random.permutation(n_features)[: max(1, round(settings.max_features * n_features))]] = True
        h: NDArray[np.floating] | None = hessians
        if not settings.newton:
            h = weight  # the hessians of the squared distance to the negative gradients
        elif counts is None and all_one(hessians):
            h = None  # sums of counts without hessians are quicker
        tree = grow_tree(
            binned,
            gradients,
            h,
            counts=counts,
            rows=drawn,
            features=columns,
            prices=prices,
            signs=signs,
            growth=settings.growth,
            max_depth=settings.max_depth,
            max_leaves=settings.max_leaves,
            min_samples_leaf=settings.min_samples_leaf if settings.newton else 1,
            min_hessian_leaf=settings.min_hessian_leaf if settings.newton else settings.min_samples_leaf,
            l2=settings.l2_regularization,
            n_threads=settings.n_threads,
        )
        if left_out is not None:
            prices.charge_rows(tree, left_out)
        return tree

    return grow


@define(eq=False)
class Ensemble:
    """A growing sum of trees; `finish` makes the predicting model.

    Attributes
    ----------
    intercept : float64 (K,)
    step : float
        Weight of every tree, the learning rate.
    tables, outputs : list
        Trees, and the output of each.
    rounds : list of int
        Number of trees after each round.
    """

    intercept: F8
    step: float
    link: str
    tables: list[TreeTable] = field(factory=list)
    outputs: list[int] = field(factory=list)
    rounds: list[int] = field(factory=list)

    def append(self, trees: list[tuple[int, TreeTable]]) -> None:
        """Add a round's trees, each with its output."""
        self.tables += [table for _, table in trees]
        self.outputs += [k for k, _ in trees]
        self.rounds.append(len(self.tables))

    def fork(self) -> Ensemble:
        """Return an independent copy, which shares trees."""
        return evolve(self, tables=self.tables.copy(), outputs=self.outputs.copy(), rounds=self.rounds.copy())

    def of_round(self, number: int) -> list[tuple[int, TreeTable]]:
        """Return the trees of a round, each with its output."""
        trees = slice(self.rounds[number - 1] if number else 0, self.rounds[number])
        return list(zip(self.outputs[trees], self.tables[trees], strict=True))

    def prefix(self, n_rounds: int) -> Ensemble:
        """Return the first rounds, which share trees."""
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
    """The state of boosting: an ensemble, and its scores of the training rows.

    Attributes
    ----------
    ensemble : Ensemble
    scores : float64 (n, K)
    """

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

    def grow_round(
        self, rows: Rows, row_loss: RowLoss, grow: Grow, *, n_threads: int = 1
    ) -> list[tuple[int, TreeTable]]:
        """Grow a tree for each output from one set of gradients, add those that split to the scores, and return them.

        The caller adds them to the ensemble by `Ensemble.append`.
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

    It returns the ensemble of all rounds, and the best number of rounds. It starts at the loss's best constant, or
    continues `boosted`, which changes. It ends after `n_rounds`, with earlier ones, or when the monitor stops it, or
    with `end_when_idle` at a round without splits: without random draws in `grow`, later rounds have no splits either.
    It leaves out trees without splits.

    `grow` makes a tree of weighted gradients and hessians, (n,) each. The monitor finds the best round; it sees earlier
    rounds too, so that the result equals that of one run, which may stop at one of these. Threads do not change the
    result. A DataError refuses labels or weights that are too large or too small.
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
    """Boost by settings, with trees grown at prices that remember payments; see `boost`."""
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
    """Show a monitor the present rounds; return whether to stop."""
    monitor.begin(ensemble.intercept)
    stop = False
    for number in range(len(ensemble.rounds)):
        stop = monitor.add(ensemble.of_round(number), ensemble.step)
    return stop
