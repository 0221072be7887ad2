"""Stages evaluated on tables of rows, chunk by chunk, with calls of opaque learners and marks of the features read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe import engine
from costframe.core.checks import check_choice
from costframe.core.learners.bits import word_count
from costframe.core.learners.leaves import code_values
from costframe.core.learners.node_layout import path_counts, path_masks, path_prices
from costframe.core.learners.tree_table import OPAQUE, TREE
from costframe.core.stages.layout import READS, SCORES, SPENDING, ReadingMarks
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.layout import StageLayout


class StageRunner:
    """A chunk of rows under evaluation, with the opaque outputs and reading marks that stages share."""

    def __init__(self, layout: StageLayout, X: NDArray[np.float64], marks: ReadingMarks | None = None) -> None:
        self.layout, self.marks = layout, marks
        self.X = np.ascontiguousarray(X, np.float64)
        self.codes = code_values(layout.nodes, self.X, layout.used)
        self.opaque = np.full((len(X), layout.n_opaque), np.nan)
        words = word_count(len(layout.used))
        self.masks = np.zeros((len(X) if marks else 0, words), np.uint64)
        self.spent = np.zeros((len(X) if marks else 0, 2))

    def run(self, stage: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score some rows at a stage: float64 (len(rows), K), K = 1 for a route."""
        layout, marks = self.layout, self.marks or NO_MARKS
        begin, end = int(layout.stage_first[stage]), int(layout.stage_first[stage + 1])
        self._call_opaques(begin, end, rows)
        scores = np.empty((len(rows), 1 if layout.below[stage] >= 0 else layout.n_outputs))
        engine.score_stage(
            self.X, self.codes, layout.nodes.packed, layout.packed, marks.packed, self.opaque, self.masks, self.spent,
            rows, stage, scores,
        )  # fmt: skip
        if self.marks and len(read := marks.read[marks.read_first[begin] : marks.read_first[end]]):
            engine.note_all(self.masks, rows, read)
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
        if not layout.n_opaque:
            return
        for use in begin + np.flatnonzero((layout.kind[begin:end] == OPAQUE) & layout.fresh[begin:end]):
            if not len(rows):
                return
            learner = layout.opaque(int(use))
            first = int(layout.place[use])
            self.opaque[rows, first : first + learner.width] = learner(
                self.X[np.ix_(rows, np.array(learner.features, np.int64))]
            )


def predict_rows(
    layout: StageLayout, X: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scores of all rows, float64 (rows, K), and the stages they end at, int64 (rows,)."""
    if len(X) == 1 and not layout.n_opaque:
        found, end = layout.walk_row(bytes(8 * layout.n_outputs), X.tobytes())
        return np.frombuffer(bytearray(found))[None], np.array([end])
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


ACQUISITIONS = ("path", "learner")


_NONE = np.empty(0, np.int64)
# scores only
NO_MARKS = ReadingMarks(SCORES, False, np.empty((0, 1), np.uint64), _NONE, _NONE, np.empty((0, 2)), np.empty(0))


def check_acquisition(acquisition: str) -> None:
    """Refuse a value other than "path" and "learner"."""
    check_choice("acquisition", acquisition, ACQUISITIONS)


def marks_for(layout: StageLayout, prices: PriceArrays, acquisition: str) -> ReadingMarks:
    """Return the features that rows read: those tested on the path to the leaf, or all that a learner may read."""
    check_acquisition(acquisition)
    nodes, by_path, n_used = layout.nodes, acquisition == "path", len(layout.used)
    first, read = layout.reads()
    counts, is_tree = np.diff(first), layout.kind == TREE
    node_spent = np.zeros((len(nodes.parent), 2))
    if prices.spends:
        node_spent[:, 0] = path_prices(nodes.parent, nodes.feature, prices.comparisons[1][layout.used])
        if by_path:
            node_spent[:, 1] = path_counts(nodes.parent, nodes.feature, n_used)
        else:
            of_root = np.zeros(len(nodes.parent))
            of_root[layout.place[is_tree]] = counts[is_tree]
            node_spent[:, 1] = of_root[np.repeat(nodes.root, np.diff(np.append(nodes.root, len(nodes.parent))))]
    if by_path:  # trees are noted leaf by leaf
        read, first = read[np.repeat(~is_tree, counts)], np.cumsum([0, *np.where(is_tree, 0, counts)])
    return ReadingMarks(
        SPENDING if prices.spends else READS,
        by_path,
        path_masks(nodes.parent, nodes.feature, n_used) if by_path else NO_MARKS.node_mask,
        first,
        read,
        node_spent,
        counts.astype(np.float64),
    )
