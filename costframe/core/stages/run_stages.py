"""Stages evaluated on tables of rows, chunk by chunk, with calls of opaque learners and marks of the features read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.checks import check_choice
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.node_layout import code_values, path_masks, path_prices, tree_leaves
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE, TreeTable
from costframe.core.machine import over_chunks
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.fallbacks import Fallbacks
from costframe.core.stages.layout import StageLayout, lay_out
from costframe.core.stages.stages import Answer

ACQUISITIONS = ("path", "learner")
NO_MARKS = engine.Marks(engine.SCORES, False, np.empty((0, 1), np.uint64), np.empty(0))
_CELLS = 1 << 24  # of a table of rows and trees
_LEAF = 1e-6  # weight of each leaf, for nodes that no row reaches


class StageRunner:
    """A chunk of rows under evaluation, with the opaque outputs and reading marks that stages share."""

    def __init__(self, layout: StageLayout, X: F8, marks: engine.Record | None = None) -> None:
        self.layout, self.marks = layout, marks or NO_MARKS
        self.X = np.ascontiguousarray(X, np.float64)
        self.codes = code_values(layout.nodes, self.X, layout.used)
        self.opaque = np.full((len(X), layout.n_opaque), np.nan)
        self.masks = np.zeros((len(X) if marks else 0, layout.n_words), np.uint64)
        self.spent = np.zeros((len(X) if marks else 0, 2))

    def run(self, stage: int, rows: I8) -> F8:
        """Score some rows at a stage: float64 (len(rows), K), K = 1 for a route."""
        layout = self.layout
        self._call_opaques(stage, rows)
        scores = np.empty((len(rows), 1 if layout.below[stage] >= 0 else layout.n_outputs))
        engine.score_stage(
            self.X, self.codes, layout.packed, self.marks, self.opaque, self.masks, self.spent, rows, stage, scores
        )  # fmt: skip
        return scores

    def routed(self) -> Iterator[tuple[int, I8, F8]]:
        """Send all rows through the stages; yield (stage, rows that reach it, their scores), parents first."""
        layout = self.layout
        reached = {0: np.arange(len(self.X))}
        for stage in range(len(layout.below)):
            rows = reached.pop(stage)
            scores = self.run(stage, rows)
            if layout.below[stage] >= 0:
                up = scores[:, 0] > layout.threshold[stage]
                reached[int(layout.below[stage])], reached[int(layout.above[stage])] = rows[~up], rows[up]
            yield stage, rows, scores

    def opaque_outputs(self) -> F8:
        """Call opaque learners for all rows that reach them; return the outputs, NaN elsewhere: float64 (n, any)."""
        if self.layout.n_opaque:
            for _ in self.routed():
                pass
        return self.opaque

    def _call_opaques(self, stage: int, rows: I8) -> None:
        layout = self.layout
        if not layout.n_opaque or not len(rows):
            return
        begin, end = layout.stage_first[stage : stage + 2]
        for use in begin + np.flatnonzero((layout.kind[begin:end] == OPAQUE) & layout.fresh[begin:end]):
            learner = layout.opaque(int(use))
            first = int(layout.place[use])
            self.opaque[rows, first : first + learner.width] = learner(
                self.X[np.ix_(rows, np.array(learner.features, np.int64))]
            )


def predict_rows(layout: StageLayout, X: F8, n_jobs: int | None) -> tuple[F8, I8]:
    """Return the scores of all rows, float64 (rows, K), and the stages they end at, int64 (rows,)."""
    if len(X) == 1 and not layout.n_opaque:
        scores, end = layout.walk_row(X.tobytes())
        return np.frombuffer(scores)[None], np.array([end])
    scores, exits = np.empty((len(X), layout.n_outputs)), np.zeros(len(X), np.int64)

    def chunk(part: slice) -> None:
        for stage, rows, values in StageRunner(layout, X[part]).routed():
            if layout.below[stage] < 0:
                if len(rows) == part.stop - part.start:
                    scores[part], exits[part] = values, stage
                else:
                    scores[part.start + rows], exits[part.start + rows] = values, stage

    over_chunks(chunk, len(X), n_jobs)
    return scores, exits


def check_acquisition(acquisition: str) -> None:
    """Refuse a value other than "path" and "learner"."""
    check_choice("acquisition", acquisition, ACQUISITIONS)


def marks_for(layout: StageLayout, prices: PriceArrays, acquisition: str) -> engine.Record:
    """Return what to record of rows: features on the paths to leaves, or all that learners may read, and spending."""
    check_acquisition(acquisition)
    nodes, by_path, spent = layout.nodes, acquisition == "path", np.empty(0)
    masks = path_masks(nodes.parent, nodes.feature, len(layout.used)) if by_path else np.empty((0, 1), np.uint64)
    if prices.spends:
        spent = path_prices(nodes.parent, nodes.feature, prices.comparisons[1][layout.used])
    return engine.Marks(engine.SPENDING if prices.spends else engine.READS, by_path, masks, spent)


@frozen(eq=False)
class MeanOutputs:
    """Mean outputs of a bank's learners; see `Fallbacks`, which have them too."""

    node_values: F8
    column_values: F8
    opaque_values: F8


def mean_outputs(bank: WeakLearnerBank, X: F8, weight: F8, layout: StageLayout | None = None) -> MeanOutputs:
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


def _node_values(trees: TreeTable, X: F8, weight: F8) -> F8:
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


def _mean(values: F8, weight: F8) -> float:
    ok = np.isfinite(values) & (weight > 0)
    return float(np.average(values[ok], weights=weight[ok])) if ok.any() else 0.0
