"""Boosting without each fold in turn: out-of-fold scores, and out-of-fold regressions of many numbers.

All folds of a loss stop at the same round, that of the least loss over all rows: the few rows of one fold choose
nothing alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import frexp
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.calls import check_call
from costframe.core.learners.tree_table import TreeTable
from costframe.core.machine import run_parallel
from costframe.core.stages.stages import Answer
from costframe.core.sums import exact_sum
from costframe.engine import Record
from costframe.training.data import Rows
from costframe.training.losses import PointwiseLoss, SquaredLoss
from costframe.trees.bin_mapper import BinMapper, BinnedData
from costframe.trees.linear_start import LinearStart
from costframe.trees.prices import NoPrices
from costframe.trees.room import new_room, task_for
from costframe.trees.scaling import power_of_two
from costframe.trees.settings import TreeSettings

FoldRows = tuple[NDArray[np.int32], NDArray[np.int32]]  # rows to grow on, and rows left out
RowsToGrow = tuple[int, Record, Record, Record]
FoldFit = tuple[RowsToGrow, FoldRows, F8, F8]  # with scores and gains so far
Trees = tuple[I8, F8, I8]  # nodes, values and sizes

_HESSIAN = 1e-3  # least of a leaf
_LEAST_GAIN = 1e-4  # of the constant's loss: patience counts rounds with less gain
_LARGEST = 4.0  # log odds of a leaf, before the step: for a rare class, a Newton step goes far beyond the optimum
_MOST_PER_ROW = 255  # largest count of a row
_CHUNK = 16  # rounds between looks at the losses
_CELLS_PER_CALL = 2**26  # of the engine: a part of a second


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
            kept = sizes > 1  # leave out trees without splits
            trees, outputs = _as_trees(mapper, nodes[kept], values[kept], sizes[kept], columns), np.nonzero(kept)[1]
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
        growing = _growing(data, rows, not squared, limits, settings, sides[0])
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
        _call_in_parts(lambda *some: engine.add_rounds(*structs, *own, *some, gain), written, cells, whole=True)
        return lost, kept, (nodes, values, sizes)

    members = [begin(sides) for sides in _sides(fold, judged)]
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
        trees = add(begin(_everyone(rows)), n_best)[2] if n_best else None
        return trees, LinearStart.fit(data, rows, loss, _everyone(rows)[0]) if linear else None

    gain = np.asarray(sum(gain for *_, gain in members))
    return BoostedFolds(
        best_scores, best, n_best, gain, grow, (data.mapper, intercept, settings.learning_rate, loss.link)
    )


def _put(scores: F8, places: Sequence[NDArray[np.int32]], parts: list[F8]) -> None:
    """Write the scores of parts of the rows at their places."""
    for place, part in zip(places, parts, strict=True):
        scores[place] = part


@frozen(eq=False)
class ManyFolds:
    """The result of a cross-fitted regression.

    Attributes
    ----------
    predictions : float64 (n, T)
        Of each row, by the regression without its fold.
    intercept : float64 (T,)
    trees : TreeTable
        Of the regression on all rows, T outputs each.
    """

    predictions: F8
    intercept: F8
    trees: TreeTable

    def shrunk(self, shares: F8) -> ManyFolds:
        """Return the regression with predictions drawn towards their means by shares, (T,); 1 leaves them."""
        predictions = self.intercept + shares * (self.predictions - self.intercept)
        values = (self.trees.values.reshape(-1, len(shares)) * shares).ravel()
        return evolve(self, predictions=predictions, trees=evolve(self.trees, values=values))


def regress_many(
    data: BinnedData,
    rows: Rows,
    targets: F8,
    fold: I8,
    settings: TreeSettings,
    *,
    whole: bool = True,
    n_threads: int = 1,
) -> ManyFolds:
    """Regress targets, float64 (n, T), on the columns, without each fold in turn and on all rows.

    The splits of each tree fit the mixture of targets with the largest residual (as in SketchBoost), and its leaves
    hold the mean residuals of all targets.
    """
    intercept = np.array([rows.mean(target) for target in np.ascontiguousarray(targets.T)])
    centered = targets - intercept
    unit = power_of_two(frexp(np.abs(centered).max(initial=0.0))[1])  # losses and their squares may have any size
    predictions, trees = np.tile(intercept, (len(rows), 1)), TreeTable.empty()
    if not data.splittable.any():
        return ManyFolds(predictions, intercept, trees)
    folds = _sides(fold)

    def fit(sides: FoldRows) -> tuple[F8, Trees]:
        residual, trees = _regress(data, rows, centered / unit, sides, settings)
        return targets[sides[1]] - unit * residual[sides[1]], trees

    fitted = run_parallel(fit, [*folds, _everyone(rows)] if whole else folds, n_threads)
    for (_, outside), (predicted, _) in zip(folds, fitted, strict=False):
        predictions[outside] = predicted
    if whole:
        nodes, values, sizes = fitted[-1][1]
        trees = _as_trees(data.mapper, nodes, settings.learning_rate * values, sizes)
        trees = evolve(trees, values=trees.values * unit)
    return ManyFolds(predictions, intercept, trees)


def _regress(data: BinnedData, rows: Rows, residual: F8, sides: FoldRows, settings: TreeSettings) -> tuple[F8, Trees]:
    """Return the residuals, written over the targets, and the trees."""
    limits = settings.l2_regularization, settings.min_samples_leaf, 0.0
    n_nodes, *structs = _growing(data, rows, False, limits, settings, sides[0])
    nodes = np.empty((settings.n_estimators, n_nodes, 5), np.int64)
    values, sizes = np.zeros((*nodes.shape[:2], residual.shape[1])), np.empty(settings.n_estimators, np.int64)
    mix, largest = np.ones(residual.shape[1]), np.ones(1)  # residuals are from -1 to 1
    own = rows.weight, rows.repeats, *sides, settings.learning_rate, residual, mix, largest
    cells = len(sides[0]) * data.bins.shape[1]
    count = _call_in_parts(lambda *some: engine.boost_many(*structs, *own, *some), (nodes, values, sizes), cells)
    return residual, (nodes[:count], values[:count], sizes[:count])


def _call_in_parts(
    call: Callable[..., Any], written: Sequence[NDArray[Any]], cells: int, *, whole: bool = False
) -> int:
    """Let the engine write arrays, whose items are rounds with this many cells, in calls that an interrupt may end.

    Return the number of rounds; a call that is not `whole` returns those of its arrays, and ends early with fewer.
    """
    count, step = len(written[0]), max(1, _CELLS_PER_CALL // max(1, cells))
    for first in range(0, count, step):
        check_call()
        some = slice(first, min(first + step, count))
        made = call(*(each[some] for each in written))
        if not whole and first + made < some.stop:
            return int(first + made)
    return count


def _sides(fold: I8, judged: Sequence[int] | None = None) -> list[FoldRows]:
    """Return the rows outside and inside each fold."""
    numbers = np.unique(fold).tolist() if judged is None else judged
    return [
        (np.flatnonzero(fold != number).astype(np.int32), np.flatnonzero(fold == number).astype(np.int32))
        for number in numbers
    ]


def _everyone(rows: Rows) -> FoldRows:
    return np.arange(len(rows), dtype=np.int32), np.empty(0, np.int32)


def _growing(
    data: BinnedData,
    rows: Rows,
    with_hessians: bool,
    limits: tuple[float, float, float],
    settings: TreeSettings,
    inside: NDArray[np.int32],
) -> RowsToGrow:
    """Return the most nodes of a tree, and structs to grow it without prices; by thresholds, categories too."""
    most = max(1, min(settings.max_leaves or len(inside), len(inside)))
    words = np.empty((len(rows), 2 if with_hessians or rows.uneven_weight is not None else 1), np.int64)
    count_bits, columns = rows.total_repeats.bit_length(), np.flatnonzero(data.splittable)
    task = task_for(data, words, count_bits, limits, columns, max_leaves=most, categorical=np.zeros(0, np.bool_))
    room = new_room(data, words.shape[1], 0, most)
    return 2 * most - 1, engine.Task(*task), engine.Room(*room), NoPrices().record()


def _as_trees(mapper: BinMapper, nodes: I8, values: F8, sizes: I8, columns: I8 | None = None) -> TreeTable:
    """Make a table of trees, (T, M, 5), (T, M) or (T, M, K) and (T,); `columns` renumber features."""
    used = np.arange(nodes.shape[1]) < sizes[:, np.newaxis]
    feature, cell, missing, left, right = nodes[used].T
    leaf, width = feature < 0, values.shape[2] if values.ndim > 2 else 1
    at = np.where(leaf, 0, mapper.cuts.first[np.maximum(feature, 0)] + cell)
    threshold = np.where(leaf, 0.0, mapper.cuts.cut[at])
    if columns is not None:
        feature = np.where(leaf, -1, columns[np.maximum(feature, 0)])
    return TreeTable(
        np.concatenate([[0], np.cumsum(sizes)]),
        feature,
        threshold,
        ~leaf & (missing == 1),
        np.where(leaf, -1, left),
        np.where(leaf, -1, right),
        np.full(len(sizes), width),
        np.where(leaf, (np.cumsum(leaf) - 1) * width, -1),
        values[used][leaf].ravel(),
    )
