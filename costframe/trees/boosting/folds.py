"""Boosting on all rows but those of a fold, fold by fold and in step: scores that no row had a part in.

All folds stop at the same round, that with the least loss over all rows: no fold's end is chosen by its own few rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.core.learners.tree_table import TreeTable
from costframe.core.stages.stages import Answer
from costframe.core.threads import run_parallel
from costframe.trees.boosting.losses import LogisticLoss, SquaredLoss
from costframe.trees.growing.prices import NoPrices
from costframe.trees.growing.room import room_for, task_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.training.data import Rows
    from costframe.trees.binning.bin_mapper import BinMapper, BinnedData
    from costframe.trees.boosting.losses import Loss
    from costframe.trees.growing.room import Room, Task
    from costframe.trees.settings import TreeSettings

__all__ = ["BoostedFolds", "as_trees", "boost_folds", "most_leaves", "unpriced"]

_HESSIAN = 1e-3  # of a leaf, at least
_LEAST_GAIN = 1e-4  # of the constant's loss: patience ends unless so much is gained
_LARGEST = 4.0  # log odds of a leaf, before the step: where a class is rare, a Newton step goes far beyond the best
_MOST_PER_ROW = 255  # what a row counts for, at most
_CHUNK = 16  # rounds between looks at the losses


@define(eq=False)
class _Member:
    """One ensemble under way, as the kernel writes it."""

    inside: NDArray[np.int32]
    outside: NDArray[np.int32]
    scores: NDArray[np.float64]
    gain: NDArray[np.float64]
    trees: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]] | None = None


@frozen(eq=False)
class BoostedFolds:
    """What boosting on folds gives.

    Attributes
    ----------
    scores : float64 (n, K)
        Of each row, by the ensemble that was grown without its fold.
    loss : float
        Mean loss of these.
    n_rounds : int
        Rounds of every ensemble.
    gain : float64 (d, d)
        What splits took off the loss, by the feature and by each other feature tested on the way to them; on the
        diagonal, what a feature's splits took off in all.
    """

    scores: NDArray[np.float64]
    loss: float
    n_rounds: int
    gain: NDArray[np.float64]
    _members: list[_Member] = field(repr=False)
    _made: tuple[BinMapper, NDArray[np.float64], float, str] = field(repr=False)

    def whole(self, columns: NDArray[np.int64] | None = None) -> tuple[TreeTable, Answer]:
        """Return the trees that were grown on all rows, and their sum where they are the first learners of a bank.

        `columns`, int64 (k,), are those that the data's columns are to be taken for.
        """
        mapper, intercept, step, link = self._made
        trees, outputs, grown = TreeTable.empty(), np.empty(0, np.int64), self._members[-1].trees
        if grown is not None:
            nodes, values, sizes = grown
            kept = sizes > 1  # one that does not split is none
            trees, outputs = as_trees(mapper, nodes[kept], values[kept], sizes[kept], columns), np.nonzero(kept)[1]
        weights = np.zeros((len(outputs), len(intercept)))
        weights[np.arange(len(outputs)), outputs] = step
        return trees, Answer(np.arange(len(outputs)), weights, intercept, link)


def boost_folds(
    data: BinnedData,
    rows: Rows,
    loss: Loss,
    fold: NDArray[np.int64],
    settings: TreeSettings,
    *,
    judged: Sequence[int] | None = None,
    whole: bool = True,
    n_threads: int = 1,
) -> BoostedFolds:
    """Boost on all rows but those of each fold, in step, as long as the loss of the folds left out falls.

    Parameters
    ----------
    data : BinnedData
        The rows' columns to use.
    rows : Rows
    loss : SquaredLoss, LogisticLoss or SoftmaxLoss
    fold : int64 (n,)
        The fold of each row.
    settings : TreeSettings
        Of which `n_iter_no_change` None grows and keeps all rounds.
    judged : sequence of int, optional
        The folds to leave out, each in turn; all by default. Rows of others have the constant's score.
    whole : bool
        Whether to grow an ensemble on all rows as well.
    n_threads : int
        Does not change the result.
    """
    intercept, d = loss.baseline(rows.y, rows.weight), data.bins.shape[1]
    start = np.tile(intercept, (len(rows), 1))
    members = []
    for number in np.unique(fold).tolist() if judged is None else judged:
        out = fold == number
        sides = np.flatnonzero(~out).astype(np.int32), np.flatnonzero(out).astype(np.int32)
        members.append(_Member(*sides, start.copy(), np.zeros((d, d))))
    parts = members.copy()
    if whole:
        everyone, nobody = np.arange(len(rows), dtype=np.int32), np.empty(0, np.int32)
        members.append(_Member(everyone, nobody, start.copy(), np.zeros((d, d))))
    boosting = _Boosting(data, rows, loss, settings, members, n_threads)
    boosting.run(start)
    made = data.mapper, intercept, settings.learning_rate, loss.link
    gain = np.asarray(sum(member.gain for member in parts))
    return BoostedFolds(boosting.best_scores, boosting.best, boosting.n_best, gain, members, made)


@define(eq=False)
class _Boosting:
    """The loop over chunks of rounds."""

    data: BinnedData
    rows: Rows
    loss: Loss
    settings: TreeSettings
    members: list[_Member]
    n_threads: int
    best: float = field(default=np.inf, init=False)
    n_best: int = field(default=0, init=False)
    best_scores: NDArray[np.float64] = field(init=False)

    def run(self, start: NDArray[np.float64]) -> None:
        """Add rounds until patience ends, then as many on all rows."""
        from costframe.trees.boosting.loss_kernels import sum_losses

        judged = [member for member in self.members if len(member.outside)]
        y, kind = np.asarray(self.rows.y, np.float64), self._kind
        total = float(sum(self.rows.weight[member.outside].sum() for member in judged))
        none = sum(sum_losses(kind, y, self.rows.weight, start, member.outside) for member in judged) / total
        self.best, self.best_scores = none, start.copy()
        patience, mark, since, done = self.settings.n_iter_no_change, none, 0, 0
        while self.data.bins.shape[1] and done < self.settings.n_estimators and (patience is None or since < patience):
            count = self.settings.n_estimators if patience is None else min(_CHUNK, self.settings.n_estimators - done)
            found = run_parallel(partial(self._add, count=count, y=y, kind=kind), judged, self.n_threads)
            lost = np.sum([each[0] for each in found], axis=0) / total
            place = len(lost) - 1 if patience is None else int(np.argmin(lost))
            if patience is None or lost[place] < self.best:
                self.best, self.n_best = float(lost[place]), done + place + 1
                for member, (_, kept) in zip(judged, found, strict=True):
                    self.best_scores[member.outside] = kept[place]
            for value in lost.tolist():
                since += 1
                if value < mark - _LEAST_GAIN * none:
                    mark, since = value, 0
            done += count
        for member in self.members[len(judged) :] if self.n_best else ():  # only now it is known how many rounds
            self._add(member, self.n_best, y, kind)

    @property
    def _kind(self) -> int:
        from costframe.trees.boosting.loss_kernels import LOGISTIC, SOFTMAX, SQUARED

        return (
            SQUARED
            if isinstance(self.loss, SquaredLoss)
            else LOGISTIC
            if isinstance(self.loss, LogisticLoss)
            else SOFTMAX
        )

    def _add(
        self, member: _Member, count: int, y: NDArray[np.float64], kind: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from costframe.trees.boosting.loss_kernels import SQUARED
        from costframe.trees.boosting.rounds_kernels import add_rounds

        data, rows, settings, n_outputs = self.data, self.rows, self.settings, member.scores.shape[1]
        most = most_leaves(settings, len(member.inside))
        nodes = np.empty((count, n_outputs, 2 * most - 1, 5), np.int64)
        values, sizes = np.empty(nodes.shape[:3]), np.empty((count, n_outputs), np.int64)
        lost, kept = np.zeros(count), np.empty((count, len(member.outside), n_outputs))
        fewest = min(settings.min_samples_leaf, len(rows) * _MOST_PER_ROW)
        task, room = unpriced(data, rows, kind != SQUARED, (settings.l2_regularization, fewest, _HESSIAN), most)
        add_rounds(
            task, room, NoPrices().state(), kind, y, rows.weight, rows.repeats, member.inside, member.outside,
            np.inf if kind == SQUARED else _LARGEST, settings.learning_rate, member.scores, nodes, values, sizes, lost,
            kept, member.gain,
        )  # fmt: skip
        member.trees = None if len(member.outside) else (nodes, values, sizes)
        return lost, kept


def most_leaves(settings: TreeSettings, n_rows: int) -> int:
    """Return the most leaves of a tree grown on `n_rows` rows."""
    return max(1, n_rows if settings.max_leaves is None else min(settings.max_leaves, n_rows))


def unpriced(
    data: BinnedData, rows: Rows, with_hessians: bool, limits: tuple[float, float, float], max_leaves: int
) -> tuple[Task, Room]:
    """Return what kernels need that grow many trees without prices; words are theirs to write.

    Categories are taken in order, by thresholds.
    """
    hessians = with_hessians or rows.uneven_weight is not None
    words = np.empty((len(rows), 2 if hessians else 1), np.int64)
    count_bits = int(rows.repeats.sum()).bit_length()
    task = task_for(data, words, count_bits, limits, max_leaves)._replace(categorical=np.zeros(0, np.bool_))
    return task, room_for(data, words.shape[1], 0, max_leaves, whole=True)


def as_trees(
    mapper: BinMapper,
    nodes: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.int64],
    columns: NDArray[np.int64] | None = None,
) -> TreeTable:
    """Make a table of trees that kernels wrote; features are columns of the data, or what `columns` takes them for.

    Parameters
    ----------
    mapper : BinMapper
    nodes, values, sizes : int64 (T, M, 5), float64 (T, M) or (T, M, K), int64 (T,)
        Of each tree its nodes, as `copy_tree` gives them, their outputs, and how many there are.
    columns : int64 (k,), optional
    """
    used = np.arange(nodes.shape[1]) < sizes[:, np.newaxis]
    feature, cell, missing, left, right = nodes[used].T
    leaf, width = feature < 0, values.shape[2] if values.ndim > 2 else 1
    threshold = np.where(leaf, 0.0, mapper.padded[np.maximum(feature, 0), np.where(leaf, 0, cell)])
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
