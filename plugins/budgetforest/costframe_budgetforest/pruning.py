"""BudgetPrune: pruning of a forest, grown here or given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from costframe import Answer, StageTree
from costframe.adoption import GivenColumns, GivenModel
from costframe.plugin import B1, F8, DeferredPath, ParameterError, PathCollector, Rows, TrainingData, TreeTable
from costframe.trees import Scorer
from costframe_budgetforest.engine import count_labels, inherit_shares
from costframe_budgetforest.forest import Forest, HeldOutScorer
from costframe_budgetforest.program import (
    Program,
    Solution,
    equal_shares,
    find_leaves,
    mean_losses,
    solve,
    worth_keeping,
)

_NEARLY = 1e-9
_LEVELS = 16  # programs to solve for a path
_OF_CHORD = 1e-3  # gain over the chord that a corner needs, as a share of the objective


def read_forest(model: Any, data: TrainingData, classes: NDArray[Any], seed: int, *, framed: bool) -> Forest:
    """Fit the model if it is not fitted, and return its trees with class shares of all their nodes.

    Leaves keep the model's outputs; a node above them has the class shares of the training rows that reach it.

    Raises
    ------
    CostframeError
        If it is not a mean of trees with class probabilities, or does not know the classes.
    """
    columns = GivenColumns.choose(data.feature_names, None, "model")
    given = GivenModel(model, columns, proba=None, classes=classes, seed=seed, framed=framed)
    tree = given.fit_on(data.train, data)[1] if given.needs_fit else given.adopted()
    trees, outputs = _read_mean(tree, len(classes))
    return _with_shares(trees, outputs, data.train)


def _read_mean(tree: StageTree, n_classes: int) -> tuple[TreeTable, F8]:
    """Return the trees of a mean, and the shares of their leaves, float64 (nodes, K); refuse other models."""
    bank, answer = tree.bank, tree.stages[0]
    width = 1 if n_classes == 2 else n_classes
    if not isinstance(answer, Answer) or answer.link != "identity" or len(bank.trees) < len(bank):
        raise ParameterError(
            "model: expected a forest, a mean of trees with class probabilities, got one with "
            f"{len(tree.stages)} stage(s), {len(bank)} learners and the link {tree.links[0]!r}"
        )
    table = bank.trees.restrict(bank.index[answer.learners].astype(np.int64))
    columns, rest = len(answer.weights) // max(len(table), 1), answer.weights
    share = float(rest.max(initial=0.0))
    pattern = np.eye(columns)[:, -width:] if columns >= width else np.zeros((columns, width))
    if not len(table) or not share or not np.allclose(rest, share * np.tile(pattern, (len(table), 1)), atol=_NEARLY):
        raise ParameterError("model: expected a forest, whose trees all have the same weight, got other weights")
    at = np.maximum(table.value, 0)[:, None] + np.arange(columns)
    outputs = np.where((table.feature < 0)[:, None], table.values[at], 0.0)[:, -width:]
    constants = max(round(1.0 / share) - len(table), 0)
    if constants:  # trees without tests
        root = np.zeros((1, width)) + answer.intercept / (constants * share)
        alone = TreeTable.single([-1], [0.0], [False], [-1], [-1], root)
        table, outputs = _widen(table, outputs), np.vstack([outputs, np.repeat(root, constants, axis=0)])
        table = TreeTable.concatenate([table, *[alone] * constants])
    elif np.abs(answer.intercept).max() > _NEARLY:
        raise ParameterError("model: expected a forest, the mean of its trees, got a further constant")
    if width == 1:
        outputs = np.hstack([1.0 - outputs, outputs])
    return _widen(table, outputs[:, -width:]), outputs


def _widen(table: TreeTable, outputs: F8) -> TreeTable:
    """Return the trees with other outputs of their leaves, float64 (nodes, width)."""
    leaf, width = table.feature < 0, outputs.shape[1]
    return TreeTable(
        table.first, table.feature, table.threshold, table.missing_left, table.left, table.right,
        np.full(len(table), width), np.where(leaf, (np.cumsum(leaf) - 1) * width, -1), outputs[leaf].ravel(),
        table.category_count, table.categories, table.reading,
    )  # fmt: skip


def _with_shares(trees: TreeTable, outputs: F8, rows: Rows) -> Forest:
    """Set the class shares of inner nodes; a node that no row reaches has those of the node above."""
    forest = Forest(trees, outputs)
    leaves = find_leaves(forest, rows.X)
    counts = np.zeros((len(outputs), outputs.shape[1]))
    count_labels(leaves, forest.parent, rows.y, rows.weight, counts)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.full(outputs.shape, 1.0 / outputs.shape[1]), where=total > 0)
    inherit_shares(forest.parent, total[:, 0], shares)
    leaf = trees.feature < 0
    shares[leaf] = outputs[leaf]
    return Forest(trees, shares)


@frozen
class PruneSettings:
    """How to prune."""

    loss: str
    tolerance: float
    max_iter: int
    n_threads: int = 1


@define(eq=False)
class Pruner:
    """A forest with its pruning program; shares of the last solution are the start of the next."""

    forest: Forest  # without tests that no pruning keeps at any prices
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

    def weigh(self, staying: B1) -> tuple[float, float]:
        """Return the loss and the cost of a pruning, as the program counts them."""
        loss, both = (self.program.at(tradeoff).objective(staying.astype(np.uint8)) for tradeoff in (0.0, 1.0))
        return loss, both - loss


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
        solution = pruner.solve(tradeoff)
        steps.remove((low, high))
        middle = pruner.weigh(solution.kept)
        if solution.objective < (low[0] + tradeoff * low[1]) * (1.0 - _OF_CHORD) and low[1] < middle[1] < high[1]:
            steps += [(low, middle), (middle, high)]
            yield tradeoff, solution


def prune_path(
    pruner: Pruner,
    whole: Forest,
    data: TrainingData,
    tradeoffs: F8 | None,
    score: Scorer | None,
    progress: Callable[[float], None] | None,
) -> DeferredPath:
    """Prune at given tradeoffs, or where the best pruning changes; the first model of the path is the whole forest."""
    judge, models = HeldOutScorer.of(data, score), PathCollector()
    tree = whole.predictor(data.feature_names)
    models.add(judge.measure(tree, 0.0, len(whole.trees)), partial(whole.predictor, data.feature_names))
    count = _LEVELS if tradeoffs is None else len(tradeoffs)
    given = None if tradeoffs is None else ((tradeoff, pruner.solve(tradeoff)) for tradeoff in tradeoffs.tolist())
    solutions = _corners(pruner) if given is None else given
    tests = pruner.program.nodes.left >= 0
    ends = [(np.inf, np.zeros(len(tests), np.bool_)), (0.0, tests)]
    for done, (tradeoff, staying) in enumerate(
        chain(ends, ((tradeoff_of_solution, solution.kept) for tradeoff_of_solution, solution in solutions))
    ):
        forest = pruner.forest.cut(staying)[0]
        tree = forest.predictor(data.feature_names)
        models.add(judge.measure(tree, tradeoff, len(tree.bank)), partial(forest.predictor, data.feature_names))
        models.drop_dominated()
        if progress is not None:
            progress(min(done / (count + 1), 1.0))
    return models.path(data.costs)
