"""Scores of rows whose learners are given up where they need features that are absent, for many sets of features."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.node_layout import tree_leaves
from costframe.core.learners.tree_table import COLUMN, TREE
from costframe.core.stages.fallbacks import Fallbacks
from costframe.core.stages.run_stages import LeftOutputs, StageRunner
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer
from costframe.core.stages.weighted_outputs import weighted_outputs, weights_of


class PartialScores:
    """Rows, float64 (n, d), at the only stage of a model: their learners' outputs, whole and where they are left."""

    def __init__(self, tree: StageModel, X: F8, expected: Fallbacks) -> None:
        (answer,) = tree.stages
        assert isinstance(answer, Answer)  # noqa: S101 - a tree of one stage
        bank, layout = tree.bank, tree.layout
        self._intercept, self._place = answer.intercept, np.zeros(len(tree.feature_names), np.int64)
        self._place[layout.used] = np.arange(len(layout.used))
        weights = weights_of(bank, answer)
        of_trees = {t: each for t, each in weights.items() if bank.kind[t] == TREE}
        self._trees = bank.trees.restrict(bank.index[list(of_trees)].astype(np.int64)) if of_trees else None
        if self._trees is not None:
            self._values = weighted_outputs(bank, of_trees, expected)
            self._leaf: I8 = self._trees.first[:-1] + tree_leaves(self._trees, X, 1)
            self._levels = self._list_levels()
        known, runner = LeftOutputs(bank, expected), StageRunner(layout, X)
        opaque = runner.opaque_outputs()
        self._others: list[tuple[I8, F8, F8]] = []  # features read, outputs of rows, expected ones
        first, read = layout.reads
        for use in np.flatnonzero(layout.kind != TREE).tolist():
            t = int(layout.learner[use])
            if layout.kind[use] == COLUMN:
                f = layout.place[use]
                outputs = np.where(np.isnan(X[:, f]), layout.fill[use], X[:, f])[:, None]
            else:
                outputs = opaque[:, layout.place[use] :][:, : layout.width[use]]
            left = np.array(known.of(t, -1))
            self._others.append((read[first[use] : first[use + 1]], outputs @ weights[t], left @ weights[t]))
        self._n = len(X)

    def without(self, absent: B1) -> F8:
        """Score the rows without some of the U features that the model uses, bool (U,): float64 (n, K)."""
        scores = np.tile(self._intercept, (self._n, 1))
        if self._trees is not None:
            stop = np.arange(self._trees.n_nodes)
            for nodes, parents, place in self._levels:
                left = absent[place] | (stop[parents] != parents)
                stop[nodes] = np.where(left, stop[parents], nodes)
            for k in range(scores.shape[1]):
                scores[:, k] += self._values[stop, k][self._leaf].sum(axis=1)
        for reads, outputs, left in self._others:
            scores += left if absent[reads].any() else outputs
        return scores

    def _list_levels(self) -> list[tuple[I8, I8, I8]]:
        """Return the nodes of each level below the roots, their parents, and the features tested there."""
        trees = self._trees
        assert trees is not None  # noqa: S101 - the caller knows
        inner = np.flatnonzero(trees.feature >= 0)
        base = trees.first[trees.tree_of_node[inner]]
        nodes = np.concatenate([base + trees.left[inner], base + trees.right[inner]])
        parents, level = np.concatenate([inner, inner]), trees.node_levels()
        order = np.argsort(level[nodes], kind="stable")
        nodes, parents = nodes[order], parents[order]
        parts = np.flatnonzero(np.diff(level[nodes])) + 1
        place = self._place[trees.feature[parents]]
        return list(zip(*(np.split(each, parts) for each in (nodes, parents, place)), strict=True))
