"""Boosting without each fold in turn: out-of-fold scores, and out-of-fold regressions of many numbers.

All folds of a loss stop at the same round, that of the least loss over all rows: the few rows of one fold choose
nothing alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.learners.tree_table import TreeTable
from costframe.core.machine import run_parallel
from costframe.core.stages.stages import Answer
from costframe.core.sums import exact_sum
from costframe.training.data import Rows
from costframe.training.losses import PointwiseLoss, SquaredLoss
from costframe.trees.bin_mapper import BinMapper, BinnedData
from costframe.trees.fold_rows import (
    FoldRows,
    RowsToGrow,
    Trees,
    all_rows,
    as_tree_table,
    call_in_parts,
    rows_to_grow,
    sides_of_folds,
)
from costframe.trees.linear_start import LinearStart
from costframe.trees.settings import TreeSettings

FoldFit = tuple[RowsToGrow, FoldRows, F8, F8]  # with scores and gains so far
_HESSIAN = 1e-3  # least of a leaf
_LEAST_GAIN = 1e-4  # of the constant's loss: patience counts rounds with less gain
_LARGEST = 4.0  # log odds of a leaf, before the step: for a rare class, a Newton step goes far beyond the optimum
_MOST_PER_ROW = 255  # largest count of a row
_CHUNK = 16  # rounds between looks at the losses


@frozen(eq=False)
class BoostedFolds:
    """The result of boosting on folds.

    Attributes
    ----------
    scores : float64 (n, K)
        Of each row, by the ensemble without its fold.
    loss : float
        Mean loss of these.
    n_rounds : int
        Rounds of every ensemble.
    gain : float64 (d, d)
        Decrease of the loss from splits on one feature below tests of another; on the diagonal, from all splits on a
        feature.
    """

    scores: F8
    loss: float
    n_rounds: int
    gain: F8
    _grow: Callable[[], tuple[Trees | None, LinearStart | None]] = field(repr=False)  # on all rows
    _made: tuple[BinMapper, F8, float, str] = field(repr=False)

    def whole(self, columns: I8 | None = None) -> tuple[TreeTable, Answer]:
        """Grow trees on all rows, and return them and their sum as the first learners of a bank.

        `columns`, int64 (k,), renumber the data's columns.
        """
        mapper, intercept, step, link = self._made
        trees, outputs = TreeTable.empty(), np.empty(0, np.int64)
        grown, start = self._grow()
        if grown is not None:
            nodes, values, sizes = grown
            has_splits = sizes > 1  # leave out trees without splits
            trees, outputs = (
                as_tree_table(mapper, nodes[has_splits], values[has_splits], sizes[has_splits], columns),
                np.nonzero(has_splits)[1],
            )
        weights = np.zeros((len(outputs), len(intercept)))
        weights[np.arange(len(outputs)), outputs] = step
        if start is not None:
            intercept, lines = start.intercept, start.trees(mapper, columns)
            weights = np.vstack([np.tile(np.eye(len(intercept)), (len(lines), 1)), weights])
            trees = TreeTable.concatenate([lines, trees])
        return trees, Answer(np.arange(len(trees)), weights, intercept, link)


def boost_folds(
    data: BinnedData,
    rows: Rows,
    loss: PointwiseLoss,
    fold: I8,
    settings: TreeSettings,
    *,
    judged: Sequence[int] | None = None,
    linear: bool = False,
    n_threads: int = 1,
) -> BoostedFolds:
    """Boost on the rows outside each fold, with equal rounds, while the out-of-fold loss falls.

    Parameters
    ----------
    data : BinnedData
        The columns to use.
    rows : Rows
    loss : PointwiseLoss
    fold : int64 (n,)
        The fold of each row.
    settings : TreeSettings
        With `n_iter_no_change` None it keeps all rounds.
    judged : sequence of int, optional
        The folds to leave out in turn; all by default. Rows of others have the constant's score.
    linear : bool
        Whether to begin at linear scores instead of a constant.
    n_threads : int
        Does not change the result.
    """
    intercept, d = loss.baseline(rows), data.bins.shape[1]
    start, y = np.tile(intercept, (len(rows), 1)), np.asarray(rows.y, np.float64)

    squared, counts = isinstance(loss, SquaredLoss), rows.repeats
    limits = settings.l2_regularization, min(settings.min_samples_leaf, len(rows) * _MOST_PER_ROW), _HESSIAN

    def begin(sides: FoldRows) -> FoldFit:
        growing = rows_to_grow(data, rows, not squared, limits, settings, sides[0])
        scores = LinearStart.fit(data, rows, loss, sides[0]).scores(data) if linear else start.copy()
        return growing, sides, scores, np.zeros((d, d))

    def add(member: FoldFit, count: int) -> tuple[F8, F8, Trees]:
        """Add rounds; return the losses of held-out rows, their scores after each round, and the trees."""
        (n_nodes, *structs), (inside, outside), scores, gain = member
        nodes = np.empty((count, loss.n_outputs, n_nodes, 5), np.int64)
        values, sizes = np.empty(nodes.shape[:3]), np.empty(nodes.shape[:2], np.int64)
        lost, kept = np.zeros(count), np.empty((count, len(outside), loss.n_outputs))
        largest = np.inf if squared else _LARGEST
        own = loss.kind, y, rows.weight, counts, inside, outside, largest, settings.learning_rate, scores
        written = nodes, values, sizes, lost, kept
        cells = len(inside) * d * loss.n_outputs
        call_in_parts(lambda *some: engine.add_rounds(*structs, *own, *some, gain), written, cells, whole=True)
        return lost, kept, (nodes, values, sizes)

    members = [begin(sides) for sides in sides_of_folds(fold, judged)]
    left_out = [sides[1] for _, sides, *_ in members]
    total = sum(exact_sum(rows.weight[outside]) for outside in left_out)

    def lose(scores: Sequence[F8]) -> float:
        bits, lost = rows.total_repeats.bit_length(), np.empty((len(left_out), 1))
        for each, outside, found in zip(scores, left_out, lost, strict=True):
            engine.sum_losses(loss.kind, y, rows.weight, each, outside, bits, 0, found)
        return float(sum(lost[:, 0].tolist())) / total

    none, best_scores = lose([start] * len(members)), start.copy()
    _put(best_scores, left_out, [scores[outside] for _, (_, outside), scores, _ in members])
    best, n_best = lose([best_scores] * len(members)), 0
    most, patience, mark, since, done = settings.n_estimators, settings.n_iter_no_change, best, 0, 0
    while d and done < most and (patience is None or since < patience):
        count = most if patience is None else min(_CHUNK, most - done)
        found = run_parallel(partial(add, count=count), members, n_threads)
        lost = np.sum([each[0] for each in found], axis=0) / total
        place = len(lost) - 1 if patience is None else int(np.argmin(lost))
        if patience is None or lost[place] < best:
            best, n_best = float(lost[place]), done + place + 1
            _put(best_scores, left_out, [kept[place] for _, kept, _ in found])
        for value in lost.tolist():
            since += 1
            if value < mark - _LEAST_GAIN * none:
                mark, since = value, 0
        done += count

    def grow() -> tuple[Trees | None, LinearStart | None]:
        """Grow the ensemble on all rows, whose number of rounds is known only now."""
        trees = add(begin(all_rows(rows)), n_best)[2] if n_best else None
        return trees, LinearStart.fit(data, rows, loss, all_rows(rows)[0]) if linear else None

    gain = np.asarray(sum(gain for *_, gain in members))
    return BoostedFolds(
        best_scores, best, n_best, gain, grow, (data.mapper, intercept, settings.learning_rate, loss.link)
    )


def _put(scores: F8, places: Sequence[NDArray[np.int32]], parts: list[F8]) -> None:
    """Write the scores of parts of the rows at their places."""
    for place, part in zip(places, parts, strict=True):
        scores[place] = part
