"""Drive the kernels over tables of any size: cut rows into chunks, run stages, call opaque learners where needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.learners.bank import COLUMN, OPAQUE, TREE
from costframe.core.learners.bits import word_count
from costframe.core.learners.node_layout import lay_out_nodes
from costframe.core.threads import run_parallel, thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.node_layout import NodeLayout
    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.reading import ReadingMarks

    B = TypeVar("B")

__all__ = ["CHUNK", "StageRunner", "bank_outputs", "layout_leaves", "over_chunks", "predict_rows", "tree_leaves"]

CHUNK = 4096  # rows that one thread takes at a time


def over_chunks(function: Callable[[slice], B], n_rows: int, n_jobs: int | None) -> list[B]:
    """Apply `function` to consecutive slices of at most CHUNK rows, cut alike for any number of threads."""
    chunks = [slice(start, min(start + CHUNK, n_rows)) for start in range(0, n_rows, CHUNK)]
    return run_parallel(function, chunks, thread_count(n_jobs))


class StageRunner:
    """Scores stages on one chunk of rows; what it keeps between stages are opaque outputs and reading marks."""

    def __init__(
        self, bank: WeakLearnerBank, layout: StageLayout, X: NDArray[np.float64], marks: ReadingMarks | None = None
    ) -> None:
        self.bank, self.layout, self.marks = bank, layout, marks
        self.X = np.ascontiguousarray(X, np.float64)
        self.codes = code_values(layout.nodes, self.X, layout.used)
        self.opaque = np.full((len(X) if layout.n_opaque else 0, layout.n_opaque), np.nan)
        words = word_count(len(layout.used))
        self.masks = np.zeros((len(X) if marks else 0, words), np.uint64)
        self.spent = np.zeros((len(X) if marks else 0, 2))

    def run(self, stage: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score a stage: float64 (len(rows), K), K = 1 for a route."""
        from costframe.core.learners import kernels

        layout, marks = self.layout, self.marks
        begin, end = int(layout.stage_first[stage]), int(layout.stage_first[stage + 1])
        self._call_opaques(begin, end, rows)
        intercept = layout.intercept[stage, : 1 if layout.below[stage] >= 0 else layout.n_outputs]
        scores = np.empty((len(rows), len(intercept)))
        notes = kernels.SCORES if marks is None else marks.notes
        kernels.score_rows(
            self.X, self.codes, rows, layout.nodes.word, layout.nodes.categories.sets, begin, end,
            layout.kind, layout.place, layout.depth, layout.by_category, layout.width, layout.fill,
            layout.target_first, layout.target, layout.payload_first, layout.payload, intercept, self.opaque, scores,
            notes, layout.fresh, *(marks.arrays if marks else _no_marks()), self.masks, self.spent,
        )  # fmt: skip
        return scores

    def routed(self) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """Send all rows through the stages; yields (stage, rows that reach it, their scores), parents first."""
        layout = self.layout
        reached = {0: np.arange(len(self.X))}
        for stage in range(len(layout.below)):
            rows = reached.pop(stage)
            scores = self.run(stage, rows)
            if layout.below[stage] >= 0:
                up = scores[:, 0] > layout.threshold[stage]
                reached[int(layout.below[stage])], reached[int(layout.above[stage])] = rows[~up], rows[up]
            yield stage, rows, scores

    def _call_opaques(self, begin: int, end: int, rows: NDArray[np.int64]) -> None:
        layout = self.layout
        for use in begin + np.flatnonzero((layout.kind[begin:end] == OPAQUE) & layout.fresh[begin:end]):
            if not len(rows):
                return
            learner = self.bank.opaques[self.bank.index[layout.learner[use]]]
            first = int(layout.place[use])
            self.opaque[rows, first : first + learner.width] = learner(
                self.X[np.ix_(rows, np.array(learner.features, np.int64))]
            )


def _no_marks() -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
    return np.empty((0, 1), np.uint64), np.empty((0, 1), np.uint64), np.empty((0, 2)), np.empty(0)


def predict_rows(
    bank: WeakLearnerBank, layout: StageLayout, X: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Score all rows: float64 (rows, K) and the stage that each row ended at, int64 (rows,)."""
    scores, exits = np.empty((len(X), layout.n_outputs)), np.zeros(len(X), np.int64)
    if len(X) == 1 and not layout.n_opaque:
        exits[0] = _predict_one(layout, X, scores)
        return scores, exits

    def chunk(part: slice) -> None:
        for stage, rows, values in StageRunner(bank, layout, X[part]).routed():
            if layout.below[stage] < 0:
                if len(rows) == part.stop - part.start:
                    scores[part], exits[part] = values, stage
                else:
                    scores[part.start + rows], exits[part.start + rows] = values, stage

    over_chunks(chunk, len(X), n_jobs)
    return scores, exits


def _predict_one(layout: StageLayout, X: NDArray[np.float64], scores: NDArray[np.float64]) -> int:
    from costframe.core.learners.row_kernels import walk_row

    arguments: tuple[Any, ...] = (np.ascontiguousarray(X), *layout.row_arguments, scores)
    return walk_row(*arguments)


def code_values(nodes: NodeLayout, X: NDArray[np.float64], used: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Code the columns `used` of float64 rows, C-contiguous: uint32 (rows, code columns)."""
    from costframe.core.learners import kernels

    codes = np.empty((len(X), len(nodes.column_missing)), np.uint32)
    kernels.code_rows(X, used, nodes.cut_first, nodes.cut, nodes.column_first, nodes.column_missing, codes)
    known = nodes.categories
    if len(known.category):
        kernels.code_categories(X, used, known.first, known.category, known.column, codes)
    return codes


def layout_leaves(nodes: NodeLayout, X: NDArray[np.float64], leaves: NDArray[np.int32]) -> None:
    """Set leaves, int32 (rows, trees), to the node of the layout that each float64 row, C-contiguous, ends at."""
    from costframe.core.learners import kernels

    codes = code_values(nodes, X, np.arange(X.shape[1]))
    sets = nodes.categories.sets
    kernels.walk_leaves(codes, nodes.word, sets, nodes.root, nodes.depth, nodes.by_category, leaves)


def tree_leaves(trees: TreeTable, X: NDArray[np.float64], n_jobs: int | None = None) -> NDArray[np.int32]:
    """Find the leaf of every tree: int32 (rows, trees), node numbers counted from each tree's root."""
    nodes = lay_out_nodes(trees, X.shape[1])
    found = np.empty((len(X), len(trees)), np.int32)

    def chunk(part: slice) -> None:
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), found[part])

    over_chunks(chunk, len(X), n_jobs)
    return trees.node_positions.astype(np.int32)[nodes.origin][found]


def bank_outputs(bank: WeakLearnerBank, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate all learners: float64 (rows, sum of K_t)."""
    first = np.cumsum(bank.widths) - bank.widths
    outputs = np.empty((len(X), int(bank.widths.sum())))
    leaves = tree_leaves(bank.trees, X)
    for t in range(len(bank)):
        index, to = bank.index[t], slice(first[t], first[t] + bank.widths[t])
        if bank.kind[t] == TREE:
            at = bank.trees.value[bank.trees.first[index] + leaves[:, index].astype(np.int64)]
            outputs[:, to] = bank.trees.values[at[:, None] + np.arange(bank.widths[t])]
        elif bank.kind[t] == COLUMN:
            values = X[:, bank.column_feature[index]]
            outputs[:, first[t]] = np.where(np.isnan(values), bank.column_fill[index], values)
        else:
            outputs[:, to] = bank.opaques[index](X[:, list(bank.opaques[index].features)])
    return outputs
