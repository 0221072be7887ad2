"""Mean outputs of learners, over rows without labels: of each inner node of a tree, of columns, of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.learners.leaves import tree_leaves
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.stages.layout import lay_out
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.stages import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.stages.fallbacks import Fallbacks
    from costframe.core.stages.layout import StageLayout

_CELLS = 1 << 24  # of a table of rows and trees
_LEAF = 1e-6  # weight of each leaf, for nodes that no row reaches


@frozen(eq=False)
class MeanOutputs:
    """Mean outputs of a bank's learners; see `Fallbacks`, which have them too."""

    node_values: NDArray[np.float64]
    column_values: NDArray[np.float64]
    opaque_values: NDArray[np.float64]


def mean_outputs(
    bank: WeakLearnerBank, X: NDArray[np.float64], weight: NDArray[np.float64], layout: StageLayout | None = None
) -> MeanOutputs:
    """Take weighted means over rows, float64 (rows, d): of a node's outputs, over the rows that reach the node.

    Opaque learners are evaluated for the rows that reach their stages; without a layout, for all rows. Without rows,
    the leaves below a node count alike, and the means of other learners are zero.
    """
    if layout is None:
        opaque = np.flatnonzero(bank.kind == OPAQUE)
        every = Answer(opaque, np.ones((int(bank.widths[opaque].sum()), 1)), [0.0])
        layout = lay_out(bank, (every,))
    columns = [
        _mean(np.where(np.isnan(X[:, f]), fill, X[:, f]), weight)
        for f, fill in zip(bank.column_feature, bank.column_fill, strict=True)
    ]
    opaques = np.zeros(sum(learner.width for learner in bank.opaques))
    outputs = StageRunner(layout, X).opaque_outputs()
    first = np.cumsum([0, *(learner.width for learner in bank.opaques)])
    for use in np.flatnonzero(layout.kind == OPAQUE):
        begin, place = first[bank.index[layout.learner[use]]], layout.place[use]
        for k in range(layout.width[use]):
            opaques[begin + k] = _mean(outputs[:, place + k], weight)
    return MeanOutputs(_node_values(bank.trees, X, weight), np.array(columns, np.float64), opaques)


class LeftOutputs:
    """The mean outputs of learners left at a node."""

    def __init__(self, bank: WeakLearnerBank, means: MeanOutputs | Fallbacks) -> None:
        self.bank, self.means = bank, means
        trees = bank.trees
        inner = np.where(trees.feature >= 0, trees.width[trees.tree_of_node], 0)
        first = np.cumsum(inner) - inner + len(trees.values)
        self.value = np.where(inner > 0, first, trees.value)  # like the tree table's, and for inner nodes
        self.values = np.concatenate([trees.values, means.node_values])
        self._opaque_first = np.cumsum([0, *(learner.width for learner in bank.opaques)])

    def of(self, t: int, node: int) -> list[float]:
        """Return the outputs of learner t, left at a node of the tree table; -1 is the root."""
        bank, index = self.bank, int(self.bank.index[t])
        if bank.kind[t] == TREE:
            first = int(self.value[bank.trees.first[index] if node < 0 else node])
            values = self.values
        elif bank.kind[t] == COLUMN:
            first, values = index, self.means.column_values
        else:
            first, values = int(self._opaque_first[index]), self.means.opaque_values
        outputs: list[float] = values[first : first + int(bank.widths[t])].tolist()
        return outputs


def _node_values(trees: TreeTable, X: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean output below each inner node, over the rows that reach it: float64 (any,)."""
    inner = trees.feature >= 0
    if not inner.any():
        return np.empty(0)
    mass = np.zeros(trees.n_nodes)
    step = max(1, _CELLS // len(trees))
    for begin in range(0, len(X), step):
        leaf = trees.first[:-1] + tree_leaves(trees, X[begin : begin + step], 1)
        mass += np.bincount(leaf.ravel(), np.repeat(weight[begin : begin + step], len(trees)), trees.n_nodes)
    mass += _LEAF
    mass[inner] = 0.0
    widest = int(trees.width.max())
    total = np.zeros((trees.n_nodes, widest))
    owner = trees.tree_of_node
    for k in range(widest):
        has = ~inner & (trees.width[owner] > k)
        total[has, k] = mass[has] * trees.values[trees.value[has] + k]
    base, level = trees.first[owner], trees.node_levels()
    for depth in range(int(level[inner].max()), -1, -1):
        nodes = np.flatnonzero(inner & (level == depth))
        left, right = base[nodes] + trees.left[nodes], base[nodes] + trees.right[nodes]
        mass[nodes] = mass[left] + mass[right]
        total[nodes] = total[left] + total[right]
    means = total[inner] / mass[inner][:, None]
    return np.asarray(means[np.arange(widest) < trees.width[owner[inner]][:, None]])


def _mean(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    ok = np.isfinite(values) & (weight > 0)
    return float(np.average(values[ok], weights=weight[ok])) if ok.any() else 0.0
