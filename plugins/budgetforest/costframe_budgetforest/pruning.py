"""Pruning of a forest for one tradeoff, and for a falling row of them."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.plugin import PathCollector
from costframe_budgetforest.judge import Judge
from costframe_budgetforest.program import Program, find_leaves, mean_losses, worth_keeping
from costframe_budgetforest.solve import Solution, equal_shares, solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from costframe.plugin import DeferredPath, TrainingData
    from costframe.trees import Predicted
    from costframe_budgetforest.forest import Forest
    from costframe_budgetforest.judge import ForestPoint

__all__ = ["PruneSettings", "Pruner", "prune_path"]

_LEVELS = 16  # programs to solve for a path
_NEARLY = 1e-3  # gain over the chord that a corner needs, as a share of the objective


@frozen
class PruneSettings:
    """How to prune."""

    loss: str
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
            error = mean_losses(forest, leaves, rows, settings.loss)
            if not last:
                forest, _ = forest.cut(worth_keeping(forest, error))
        return cls(forest, Program.of(forest, rows, data.prices, leaves, error), settings)

    def solve(self, tradeoff: float) -> Solution:
        """Return the pruning at a tradeoff."""
        how = self.settings
        return solve(self.program.at(tradeoff), self.share, tolerance=how.tolerance, max_iter=how.max_iter)

    def weigh(self, kept: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the loss and the cost of a pruning, as the program counts them."""
        loss, both = (self.program.at(each).objective(kept.astype(np.uint8)) for each in (0.0, 1.0))
        return loss, both - loss


def _falling(pruner: Pruner, tradeoffs: NDArray[np.float64]) -> Iterator[tuple[float, Solution]]:
    """Yield the prunings at given tradeoffs."""
    for tradeoff in tradeoffs.tolist():
        yield tradeoff, pruner.solve(tradeoff)


def _corners(pruner: Pruner) -> Iterator[tuple[float, Solution]]:
    """Yield prunings on the lower convex hull of training loss and cost, the widest step in cost first.

    Between two prunings on the hull the tradeoff at which both have the same objective finds a third, or shows that
    there is none.
    """
    tests = pruner.program.nodes.left >= 0
    ends = [pruner.weigh(np.zeros(len(tests), np.bool_)), pruner.weigh(tests)]
    steps = [(ends[0], ends[1])]
    for _ in range(_LEVELS):
        wide = [step for step in steps if step[1][1] > step[0][1] and step[0][0] > step[1][0]]
        if not wide:
            break
        low, high = max(wide, key=lambda step: step[1][1] - step[0][1])
        tradeoff = (low[0] - high[0]) / (high[1] - low[1])
        found = pruner.solve(tradeoff)
        steps.remove((low, high))
        middle = pruner.weigh(found.kept)
        if found.objective < (low[0] + tradeoff * low[1]) * (1.0 - _NEARLY) and low[1] < middle[1] < high[1]:
            steps += [(low, middle), (middle, high)]
            yield tradeoff, found


def prune_path(
    pruner: Pruner,
    whole: Forest,
    data: TrainingData,
    tradeoffs: NDArray[np.float64] | None,
    score: Callable[[Predicted], float] | None,
    progress: Callable[[float], None] | None,
) -> DeferredPath[ForestPoint]:
    """Prune at given tradeoffs, or where the best pruning changes; the first model of the path is the whole forest."""
    judge, models = Judge.of(data, score), PathCollector["ForestPoint"]()
    tree = whole.predictor(data.feature_names)
    models.add(judge.measure(tree, 0.0, len(whole.trees)), partial(whole.predictor, data.feature_names))
    count = _LEVELS if tradeoffs is None else len(tradeoffs)
    found = _corners(pruner) if tradeoffs is None else _falling(pruner, tradeoffs)
    tests = pruner.program.nodes.left >= 0
    ends = [(np.inf, np.zeros(len(tests), np.bool_)), (0.0, tests)]
    for done, (tradeoff, kept) in enumerate(chain(ends, ((each, one.kept) for each, one in found))):
        forest = pruner.forest.cut(kept)[0]
        tree = forest.predictor(data.feature_names)
        models.add(judge.measure(tree, tradeoff, len(tree.bank)), partial(forest.predictor, data.feature_names))
        models.drop_dominated()
        if progress is not None:
            progress(min(done / (count + 1), 1.0))
    return models.path(data.costs)
