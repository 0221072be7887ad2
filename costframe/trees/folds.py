"""Boosting without each fold in turn: out-of-fold scores, and out-of-fold regressions of many numbers.

All folds of a loss stop at the same round, that of the least loss over all rows: the few rows of one fold choose
nothing alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import define, field, frozen
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
from costframe.trees.nested_rounds import NestedRounds
from costframe.trees.patience import Patience
from costframe.trees.settings import TreeSettings

FoldFit = tuple[RowsToGrow, FoldRows, F8, F8]  # with scores and gains so far
_HESSIAN = 1e-3  # least of a leaf
_LARGEST = 4.0  # log odds of a leaf, before the step: for a rare class, a Newton step goes far beyond the optimum
_MOST_PER_ROW = 255  # largest count of a row
_CHUNK = 8  # rounds between looks at the losses


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
    nested : NestedRounds or None
        Scores after the rounds that other folds choose; None without patience, where nothing chooses.
    gain : float64 (d, d)
        Decrease of the loss from splits on one feature below tests of another; on the diagonal, from all splits on a
        feature.
    """

    scores: F8
    loss: float
    n_rounds: int
    nested: NestedRounds | None
    gain: F8
    _grow: Callable[[], tuple[Trees | None, LinearStart | None]] = field(repr=False)  # on all rows
    _made: tuple[BinMapper, F8, float, str] = field(repr=False)

    @classmethod
    def fit(
        cls,
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
        run = _Run.begin(_FoldEnsembles(data, rows, loss, settings, linear), fold, judged)
        while not run.is_over:
            run.go_on(n_threads)
        return run.end()

    @classmethod
    def race(
        cls,
        data: BinnedData,
        rows: Rows,
        loss: PointwiseLoss,
        fold: I8,
        ways: Sequence[tuple[TreeSettings, bool]],
        *,
        beat: float = np.inf,
    ) -> list[BoostedFolds]:
        """Boost as `fit` does in several ways side by side: each has settings, and whether it is linear.

        One ends early where it would not come to the least loss of all, or to `beat`.
        """
        runs = [_Run.begin(_FoldEnsembles(data, rows, loss, *way), fold) for way in ways]
        least = min([beat, *(run.patience.best for run in runs)])
        while left := [run for run in runs if not (run.is_over or run.patience.reach > least)]:
            for run in left:
                run.go_on()
            least = min([least, *(run.patience.best for run in left)])
        return [run.end() for run in runs]

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
            outputs = np.nonzero(has_splits)[1]
            trees = as_tree_table(mapper, nodes[has_splits], values[has_splits], sizes[has_splits], columns)
        weights = np.zeros((len(outputs), len(intercept)))
        weights[np.arange(len(outputs)), outputs] = step
        if start is not None:
            intercept, lines = start.intercept, start.trees(mapper, columns)
            weights = np.vstack([np.tile(np.eye(len(intercept)), (len(lines), 1)), weights])
            trees = TreeTable.concatenate([lines, trees])
        return trees, Answer(np.arange(len(trees)), weights, intercept, link)


@frozen(eq=False)
class _FoldEnsembles:
    """What the ensembles of all folds have in common, and how each begins and grows."""

    data: BinnedData
    rows: Rows
    loss: PointwiseLoss
    settings: TreeSettings
    linear: bool
    intercept: F8 = field(init=False)
    start: F8 = field(init=False)  # (n, K), the constant's scores
    y: F8 = field(init=False)

    @intercept.default
    def _fit_constant(self) -> F8:
        return self.loss.baseline(self.rows)

    @start.default
    def _repeat_constant(self) -> F8:
        return np.tile(self.intercept, (len(self.rows), 1))

    @y.default
    def _as_numbers(self) -> F8:
        return np.asarray(self.rows.y, np.float64)

    @property
    def _is_squared(self) -> bool:
        return isinstance(self.loss, SquaredLoss)

    def begin(self, sides: FoldRows) -> FoldFit:
        """Return an ensemble without trees, to grow on the first of both sides."""
        data, rows, settings, d = self.data, self.rows, self.settings, self.data.bins.shape[1]
        limits = settings.l2_regularization, min(settings.min_samples_leaf, len(rows) * _MOST_PER_ROW), _HESSIAN
        growing = rows_to_grow(data, rows, not self._is_squared, limits, settings, sides[0])
        scores = LinearStart.fit(data, rows, self.loss, sides[0]).scores(data) if self.linear else self.start.copy()
        return growing, sides, scores, np.zeros((d, d))

    def add_rounds(self, member: FoldFit, count: int) -> tuple[F8, F8, Trees]:
        """Add rounds; return the losses of held-out rows, their scores after each round, and the trees."""
        rows, loss, rate = self.rows, self.loss, self.settings.learning_rate
        (n_nodes, *structs), (inside, outside), scores, gain = member
        nodes = np.empty((count, loss.n_outputs, n_nodes, 5), np.int64)
        values, sizes = np.empty(nodes.shape[:3]), np.empty(nodes.shape[:2], np.int64)
        losses, by_round = np.zeros(count), np.empty((count, len(outside), loss.n_outputs))
        largest = np.inf if self._is_squared else _LARGEST
        fixed = loss.kind, self.y, rows.weight, rows.repeats, inside, outside, largest, rate, scores
        written = nodes, values, sizes, losses, by_round
        cells = len(inside) * self.data.bins.shape[1] * loss.n_outputs
        call_in_parts(lambda *some: engine.add_rounds(*structs, *fixed, *some, gain), written, cells, whole=True)
        return losses, by_round, (nodes, values, sizes)

    def sum_losses(self, scores: Sequence[F8], left_out: Sequence[NDArray[np.int32]]) -> float:
        """Return the loss of the rows left out, by the scores of each ensemble."""
        return float(sum(self.sum_each(scores, left_out).tolist()))

    def sum_each(self, scores: Sequence[F8], left_out: Sequence[NDArray[np.int32]]) -> F8:
        """Return the same by fold: float64 (folds,)."""
        rows, sums = self.rows, np.empty((len(left_out), 1))
        bits = rows.total_repeats.bit_length()
        for scores_of_fold, outside, loss in zip(scores, left_out, sums, strict=True):
            engine.sum_losses(self.loss.kind, self.y, rows.weight, scores_of_fold, outside, bits, 0, loss)
        return sums[:, 0]

    def grow_on_all(self, n_rounds: int) -> tuple[Trees | None, LinearStart | None]:
        """Grow one ensemble on all rows; return its trees and its linear start, if it has them."""
        sides = all_rows(self.rows)
        trees = self.add_rounds(self.begin(sides), n_rounds)[2] if n_rounds else None
        return trees, LinearStart.fit(self.data, self.rows, self.loss, sides[0]) if self.linear else None


@define(eq=False)
class _Run:
    """The ensembles of all folds, and what they have come to."""

    ensembles: _FoldEnsembles
    members: list[FoldFit]
    left_out: list[NDArray[np.int32]]
    total: float  # weight of the rows left out
    patience: Patience
    scores: F8  # (n, K), the best
    nested: NestedRounds | None

    @classmethod
    def begin(cls, ensembles: _FoldEnsembles, fold: I8, judged: Sequence[int] | None = None) -> _Run:
        """Begin without trees."""
        members = [ensembles.begin(sides) for sides in sides_of_folds(fold, judged)]
        left_out, scores = [outside for _, (_, outside), *_ in members], ensembles.start.copy()
        total = sum(exact_sum(ensembles.rows.weight[outside]) for outside in left_out)
        constant = ensembles.sum_losses([ensembles.start] * len(members), left_out) / total
        _put(scores, left_out, [begun[outside] for _, (_, outside), begun, _ in members])
        by_fold = ensembles.sum_each([scores] * len(members), left_out)
        patience = Patience(ensembles.settings.n_iter_no_change, constant, float(sum(by_fold.tolist())) / total)
        nested = None if patience.rounds is None else NestedRounds.begin(left_out, scores, by_fold)
        return cls(ensembles, members, left_out, total, patience, scores, nested)

    @property
    def is_over(self) -> bool:
        """Whether no round would follow."""
        done, most = self.patience.done, self.ensembles.settings.n_estimators
        return not self.ensembles.data.bins.shape[1] or done >= most or self.patience.is_over

    def go_on(self, n_threads: int = 1) -> None:
        """Add some rounds."""
        patience, left = self.patience, self.ensembles.settings.n_estimators - self.patience.done
        count = left if patience.rounds is None else min(_CHUNK, left)
        added = run_parallel(partial(self.ensembles.add_rounds, count=count), self.members, n_threads)
        by_fold, scores = np.array([losses for losses, _, _ in added]), [by_round for _, by_round, _ in added]
        place = patience.note(by_fold.sum(axis=0) / self.total)
        if place is not None:
            _put(self.scores, self.left_out, [by_round[place] for by_round in scores])
        if self.nested is not None:
            self.nested.follow(by_fold, scores)

    def end(self) -> BoostedFolds:
        """Return the result."""
        ensembles, n_best = self.ensembles, self.patience.n_best
        gain = np.asarray(sum(gain for *_, gain in self.members))
        grow = partial(ensembles.grow_on_all, n_best)  # the number of rounds is known only now
        made = ensembles.data.mapper, ensembles.intercept, ensembles.settings.learning_rate, ensembles.loss.link
        return BoostedFolds(self.scores, self.patience.best, n_best, self.nested, gain, grow, made)


def _put(scores: F8, places: Sequence[NDArray[np.int32]], parts: list[F8]) -> None:
    """Write the scores of parts of the rows at their places."""
    for place, part in zip(places, parts, strict=True):
        scores[place] = part
