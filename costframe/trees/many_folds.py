"""Out-of-fold regressions of many numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import frexp
from operator import methodcaller
from typing import NamedTuple

import numpy as np
from attrs import define, evolve, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.learners.tree_table import TreeTable
from costframe.core.machine import run_parallel
from costframe.core.sums import exact_sum
from costframe.training.data import Rows
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.fold_rows import (
    FoldRows,
    Trees,
    all_rows,
    as_tree_table,
    call_in_parts,
    rows_to_grow,
    sides_of_folds,
)
from costframe.trees.patience import Patience
from costframe.trees.scaling import power_of_two
from costframe.trees.settings import TreeSettings

_CHUNK = 4  # rounds between looks at the sums
_MOST_KEPT = 2**22  # numbers kept of these rounds; where one round has more, each is looked at


@frozen(eq=False)
class ManyFolds:
    """The result of a cross-fitted regression.

    Attributes
    ----------
    predictions : float64 (n, T)
        Of each row, by the regression without its fold.
    means : float64 (n_folds, T)
        Of the rows outside each fold; the regression without the fold starts there.
    place : int64 (n,)
        The row of `means` of each row.
    intercept : float64 (T,)
        Means over all rows.
    trees : TreeTable
        Of the regression on all rows, T outputs each.
    """

    predictions: F8
    means: F8
    place: I8
    intercept: F8
    trees: TreeTable

    @classmethod
    def fit(
        cls,
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
        hold the mean residuals of all targets. All regressions have equal rounds: those with the least sum of squared
        residuals out of fold, looked for until `n_iter_no_change` rounds have gained little; without it, all.
        """
        folds, place = sides_of_folds(fold), np.unique(fold, return_inverse=True)[1]
        columns = np.ascontiguousarray(targets.T)
        intercept = np.array([rows.mean(column) for column in columns])
        means = [_means(rows, columns, inside, intercept) for inside, _ in folds]
        unit = power_of_two(frexp(np.abs(targets - intercept).max(initial=0.0))[1])  # squares of losses may overflow
        found = cls((starts := np.array(means))[place], starts, place, intercept, TreeTable.empty())
        if not data.splittable.any():
            return found
        begun = [
            _Regression.begin(data, rows, (targets - start) / unit, sides, settings)
            for sides, start in zip(folds, means, strict=True)
        ]
        n_rounds, residuals = _boost_while_it_pays(begun, settings, n_threads)
        for (_, outside), residual in zip(folds, residuals, strict=True):
            found.predictions[outside] = targets[outside] - unit * residual
        if not whole or not n_rounds:
            return found
        everyone = _Regression.begin(data, rows, (targets - intercept) / unit, all_rows(rows), settings)
        nodes, values, sizes = everyone.add_rounds(n_rounds).trees
        trees = as_tree_table(data.mapper, nodes, settings.learning_rate * values, sizes)
        return evolve(found, trees=evolve(trees, values=trees.values * unit))

    def without_predictions(self) -> ManyFolds:
        """Return the regression on all rows alone, without what was predicted of each row."""
        none = np.empty((0, len(self.intercept)))
        return evolve(self, predictions=none, means=none, place=np.empty(0, np.int64))

    def shrunk(self, shares: F8) -> ManyFolds:
        """Return the regression with predictions drawn towards their means by shares, (T,); 1 leaves them."""
        start = self.means[self.place]
        predictions = start + shares * (self.predictions - start)
        values = (self.trees.values.reshape(-1, len(shares)) * shares).ravel()
        return evolve(self, predictions=predictions, trees=evolve(self.trees, values=values))


def _means(rows: Rows, columns: F8, inside: NDArray[np.int32], otherwise: F8) -> F8:
    """Return the means of targets, (T, n), over some rows: float64 (T,); `otherwise` where these weigh nothing."""
    weight = rows.weight[inside]
    total = exact_sum(weight)
    return np.array([exact_sum(column[inside] * weight) / total for column in columns]) if total > 0 else otherwise


class _Added(NamedTuple):
    """Rounds that were added: their trees, and the sums of squares and the residuals of held-out rows after each.

    From where no split gains there are no more trees.
    """

    trees: Trees
    lost: F8  # (rounds,)
    kept: F8  # (rounds, held-out rows, T)


@define(eq=False)
class _Regression:
    """A regression that grows on the first of both sides; see `FoldRows`."""

    held_out: NDArray[np.int32]
    lost: float  # sum of their squared residuals
    _residual: F8  # (n, T), from -1 to 1 at first
    _n_nodes: int
    _add: Callable[..., int]
    _cells: int
    _ended: bool = False  # no split gains

    @classmethod
    def begin(cls, data: BinnedData, rows: Rows, residual: F8, sides: FoldRows, settings: TreeSettings) -> _Regression:
        """Return a regression without trees."""
        limits = settings.l2_regularization, settings.min_samples_leaf, 0.0
        n_nodes, *structs = rows_to_grow(data, rows, False, limits, settings, sides[0])
        mix, largest = np.ones(residual.shape[1]), np.ones(1)
        fixed = rows.weight, rows.repeats, *sides, settings.learning_rate, residual, mix, largest
        lost = exact_sum(rows.weight[sides[1]] * (residual[sides[1]] ** 2).sum(axis=1))
        add = partial(engine.boost_many, *structs, *fixed)
        return cls(sides[1], lost, residual, n_nodes, add, len(sides[0]) * data.bins.shape[1])

    @property
    def kept(self) -> F8:
        """Residuals of held-out rows, (held-out rows, T)."""
        return self._residual[self.held_out]

    def add_rounds(self, count: int) -> _Added:
        """Add rounds."""
        nodes, sizes = np.empty((count, self._n_nodes, 5), np.int64), np.empty(count, np.int64)
        values = np.zeros((*nodes.shape[:2], self._residual.shape[1]))
        lost, kept = np.empty(count), np.empty((count, len(self.held_out), values.shape[2]))
        made = 0 if self._ended else call_in_parts(self._add, (nodes, values, sizes, lost, kept), self._cells)
        if made:
            self.lost = float(lost[made - 1])
        if made < count:
            self._ended, lost[made:], kept[made:] = True, self.lost, self.kept
        return _Added((nodes[:made], values[:made], sizes[:made]), lost, kept)


def _boost_while_it_pays(begun: list[_Regression], settings: TreeSettings, n_threads: int) -> tuple[int, list[F8]]:
    """Return the number of rounds with the least sum of squares, and each regression's held-out residuals then."""
    residuals, nothing = [each.kept for each in begun], sum(each.lost for each in begun)
    most, patience = settings.n_estimators, Patience(settings.n_iter_no_change, nothing, nothing)
    chunk = max(1, min(_CHUNK, _MOST_KEPT // max(1, sum(each.size for each in residuals))))
    while patience.done < most and not patience.is_over:
        added = run_parallel(methodcaller("add_rounds", min(chunk, most - patience.done)), begun, n_threads)
        place = patience.note(np.sum([one.lost for one in added], axis=0))
        if place is not None:
            residuals = [one.kept[place] for one in added]
        if not any(len(one.trees[2]) for one in added):
            break
    return patience.n_best, residuals
