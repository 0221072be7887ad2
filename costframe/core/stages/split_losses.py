"""Losses of a model without rows by the set of features that a row has: sizes of the steps of its learners."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TREE
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.layout import StageLayout
from costframe.core.stages.run_stages import LeftOutputs, mean_outputs
from costframe.core.stages.set_losses import SetLosses
from costframe.core.sums import to_grid

_LARGEST = 1e100  # of a step


def losses_by_splits(bank: WeakLearnerBank, layout: StageLayout) -> SetLosses:
    """Return losses of a tree without rows, by the sizes of the steps of its learners."""
    sizes = np.nan_to_num(step_sizes(bank, layout), posinf=_LARGEST)
    scaled = to_grid(sizes / (float(sizes.max(initial=0.0)) or 1.0))
    every = np.eye(len(sizes), dtype=np.bool_)
    return SetLosses.untried(AbsenceLosses(0.0, every, scaled, np.zeros(len(sizes))))


def step_sizes(bank: WeakLearnerBank, layout: StageLayout) -> F8:
    """Return the squared steps of learners' outputs by feature, (U,); the leaves below a node count alike."""
    first, read = layout.reads
    sizes, of_trees = np.zeros(len(bank.feature_names)), np.zeros(len(bank.trees))
    for use in range(len(layout.learner)):
        weights = layout.weight_rows[layout.row[use] :][: layout.width[use]]
        weight = float((weights * weights).sum())
        if layout.kind[use] == TREE:
            of_trees[bank.index[layout.learner[use]]] += weight
        else:
            sizes[layout.used[read[first[use] : first[use + 1]]]] += weight
    with np.errstate(over="ignore", invalid="ignore"):
        _add_steps(bank, layout, of_trees, sizes)
    return np.asarray(sizes[layout.used])


def count_tests(bank: WeakLearnerBank, layout: StageLayout) -> I8:
    """Return how many nodes of trees, and other learners, read each feature that a model uses: int64 (U,)."""
    first, read = layout.reads
    is_tree = layout.kind == TREE
    of_others = [read[first[use] : first[use + 1]] for use in np.flatnonzero(~is_tree)]
    trees = bank.trees.restrict(np.unique(bank.index[layout.learner[is_tree]]).astype(np.int64))
    tested = np.searchsorted(layout.used, trees.feature[trees.feature >= 0])
    return np.bincount(np.concatenate([tested, *of_others]).astype(np.int64), minlength=len(layout.used))


def _add_steps(bank: WeakLearnerBank, layout: StageLayout, weight: F8, sizes: F8) -> None:
    """Add the squares of steps of trees' expected outputs, weighted tree by tree, to those of the features tested."""
    trees = bank.trees
    inner = np.flatnonzero(trees.feature >= 0)
    if not len(inner):
        return
    known = LeftOutputs(bank, mean_outputs(bank, np.empty((0, len(bank.feature_names))), np.empty(0), layout))
    owner = trees.tree_of_node[inner]
    share = weight[owner] * 0.5 ** (trees.node_levels()[inner] + 1.0)
    for side in (trees.left, trees.right):
        child = trees.first[owner] + side[inner]
        for k in range(int(trees.width.max())):
            has = trees.width[owner] > k
            step = known.values[known.value[child[has]] + k] - known.values[known.value[inner[has]] + k]
            np.add.at(sizes, trees.feature[inner[has]], share[has] * step * step)
