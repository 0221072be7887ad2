"""Stages evaluated on tables of rows, chunk by chunk, with calls of opaque learners and marks of the features read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from costframe.core.errors import ParameterError
from costframe.core.learners.bits import bit_sets, word_count
from costframe.core.learners.node_layout import code_values, mark_paths
from costframe.core.learners.tree_table import OPAQUE, TREE
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.layout import StageLayout


class StageRunner:
    """A chunk of rows under evaluation, with the opaque outputs and reading marks that stages share."""

    def __init__(
        self, bank: WeakLearnerBank, layout: StageLayout, X: NDArray[np.float64], marks: ReadingMarks | None = None
    ) -> None:
        self.bank, self.layout, self.marks = bank, layout, marks
        self.X = np.ascontiguousarray(X, np.float64)
        self.codes = code_values(layout.nodes, self.X, layout.used)
        self.opaque = np.full((len(X), layout.n_opaque), np.nan)
        words = word_count(len(layout.used))
        self.masks = np.zeros((len(X) if marks else 0, words), np.uint64)
        self.spent = np.zeros((len(X) if marks else 0, 2))

    def run(self, stage: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score some rows at a stage: float64 (len(rows), K), K = 1 for a route."""
        from costframe.core.learners.kernels import score_rows

        layout = self.layout
        self._call_opaques(int(layout.stage_first[stage]), int(layout.stage_first[stage + 1]), rows)
        scores = np.empty((len(rows), 1 if layout.below[stage] >= 0 else layout.n_outputs))
        score_rows(
            self.X, self.codes, rows, layout, stage, self.opaque, scores, self.marks or NO_MARKS, self.masks, self.spent
        )
        return scores

    def routed(self) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
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

    def opaque_outputs(self) -> NDArray[np.float64]:
        """Call opaque learners for all rows that reach them; return the outputs, NaN elsewhere: float64 (n, any)."""
        if self.layout.n_opaque:
            for _ in self.routed():
                pass
        return self.opaque

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


def predict_rows(
    bank: WeakLearnerBank, layout: StageLayout, X: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scores of all rows, float64 (rows, K), and the stages they end at, int64 (rows,)."""
    scores, exits = np.empty((len(X), layout.n_outputs)), np.zeros(len(X), np.int64)
    if len(X) == 1 and not layout.n_opaque:
        from costframe.core.learners.row_kernels import walk_row

        row = np.ascontiguousarray(X)
        exits[0] = walk_row(row, code_values(layout.nodes, row, layout.used), layout, scores)
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


ACQUISITIONS = ("path", "learner")


class ReadingMarks(NamedTuple):
    """What `kernels.score_rows` records, with the features and prices of each node and use."""

    notes: int
    node_mask: NDArray[np.uint64]  # (nodes, W)
    use_mask: NDArray[np.uint64]  # (L, W)
    node_spent: NDArray[np.float64]  # (nodes, 2): price of comparisons before a leaf, number of features read
    use_spent: NDArray[np.float64]  # (L,): number of features that a column or opaque learner reads


# scores only
NO_MARKS = ReadingMarks(0, np.empty((0, 1), np.uint64), np.empty((0, 1), np.uint64), np.empty((0, 2)), np.empty(0))


def check_acquisition(acquisition: str) -> None:
    """Refuse a value other than "path" and "learner"."""
    if acquisition not in ACQUISITIONS:
        raise ParameterError(f"acquisition: expected one of {', '.join(ACQUISITIONS)}, got {acquisition!r}")


def marks_for(bank: WeakLearnerBank, layout: StageLayout, prices: PriceArrays, acquisition: str) -> ReadingMarks:
    """Return the features that rows read: those tested on the path to the leaf, or all that a learner may read."""
    from costframe.core.learners.kernels import READS, SPENDING

    check_acquisition(acquisition)
    use_mask = _learner_masks(bank, layout)
    node_mask, spent = mark_paths(layout.nodes.parent, layout.nodes.feature, prices.split[layout.used])
    if acquisition == "learner":
        for use in np.flatnonzero(layout.kind == TREE):
            begin = int(layout.place[use])
            end = int(np.append(layout.nodes.root, len(node_mask))[np.searchsorted(layout.nodes.root, begin) + 1])
            node_mask[begin:end] = use_mask[use]
    node_spent = np.stack([spent, np.bitwise_count(node_mask).sum(axis=1)], axis=1)
    return ReadingMarks(
        SPENDING if prices.reuse > 0 or (prices.split > 0).any() else READS,
        node_mask,
        use_mask,
        np.ascontiguousarray(node_spent, np.float64),
        np.bitwise_count(use_mask).sum(axis=1).astype(np.float64),
    )


def _learner_masks(bank: WeakLearnerBank, layout: StageLayout) -> NDArray[np.uint64]:
    read = bank.F[layout.used][:, layout.learner].tocoo()
    feature, use = read.coords
    return bit_sets(use, feature, len(layout.learner), word_count(len(layout.used)))
