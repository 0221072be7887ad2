"""Pruning of a forest for one tradeoff, and for a falling row of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.training.model_path import PathCollector
from costframe_budgetforest.judge import Judge
from costframe_budgetforest.program import Program, find_leaves, mean_losses, worth_keeping
from costframe_budgetforest.solve import Solution, equal_shares, solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.training.data import TrainingData
    from costframe.training.model_path import DeferredPath
    from costframe.trees.boosting.monitor import Predicted
    from costframe_budgetforest.forest import Forest
    from costframe_budgetforest.judge import ForestPoint

__all__ = ["Pruner", "PruneSettings", "default_tradeoffs", "prune_path"]

_LEVELS = 16
_LOWEST, _HIGHEST = 0.003, 30.0  # of the tradeoffs, in units of the loss without tests per cost of the whole forest


@frozen
class PruneSettings:
    """How to prune."""

    loss: str
    out_of_bag: bool
    tolerance: float
    max_iter: int
    n_threads: int = 1


@define(eq=False)
class Pruner:
    """A forest with its pruning program; shares of the last solution are the start of the next.

    Attributes
    ----------
    forest : Forest
        Without tests that no pruning keeps at any prices.
    program : Program
    """

    forest: Forest
    program: Program
    settings: PruneSettings
    share: NDArray[np.float32] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.share = equal_shares(self.program)

    @classmethod
    def of(cls, forest: Forest, data: TrainingData, settings: PruneSettings) -> Pruner:
        """Lay out the program of a forest on the training rows."""
        rows = data.train
        for last in (False, True):
            leaves = find_leaves(forest, rows.X, settings.n_threads)
            error = mean_losses(forest, leaves, rows, settings.loss, out_of_bag=settings.out_of_bag)
            if not last:
                forest, _ = forest.cut(worth_keeping(forest, error))
        return cls(forest, Program.of(forest, rows, data.prices, leaves, error), settings)

    def prune(self, tradeoff: float) -> tuple[Forest, Solution]:
        """Return the pruned forest and its solution."""
        how = self.settings
        solution = solve(self.program.at(tradeoff), self.share, tolerance=how.tolerance, max_iter=how.max_iter)
        return self.forest.cut(solution.kept)[0], solution


def default_tradeoffs(program: Program) -> NDArray[np.float64]:
    """Return falling tradeoffs, geometric, from almost no tests to almost no effect of prices: float64 (levels,)."""
    nodes, nothing = program.nodes, np.zeros(len(program.nodes.error), np.uint8)
    loss, tests = program.objective(nothing), (nodes.left >= 0).astype(np.uint8)
    cost = program.at(1.0).objective(tests) - program.at(0.0).objective(tests)
    if not (cost > 0 and loss > 0):
        return np.zeros(1)
    return np.geomspace(_HIGHEST, _LOWEST, _LEVELS) * (loss / cost)


def prune_path(
    pruner: Pruner,
    whole: Forest,
    data: TrainingData,
    tradeoffs: NDArray[np.float64] | None,
    score: Callable[[Predicted], float] | None,
    progress: Callable[[float], None] | None,
) -> DeferredPath[ForestPoint]:
    """Prune at falling tradeoffs; the first model of the path is the whole forest."""
    judge, models = Judge.of(data, score), PathCollector["ForestPoint"]()
    levels = default_tradeoffs(pruner.program) if tradeoffs is None else tradeoffs
    tree = whole.predictor(data.feature_names)
    models.add(judge.measure(tree, 0.0, len(whole.trees)), partial(whole.predictor, data.feature_names))
    for done, tradeoff in enumerate([*levels.tolist(), 0.0], 1):
        forest, _ = pruner.prune(tradeoff)
        tree = forest.predictor(data.feature_names)
        models.add(judge.measure(tree, tradeoff, len(tree.bank)), partial(forest.predictor, data.feature_names))
        models.drop_dominated()
        if progress is not None:
            progress(done / (len(levels) + 1))
    return models.path(data.costs)
