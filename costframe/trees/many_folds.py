"""Out-of-fold regressions of many numbers."""

from __future__ import annotations

from math import frexp

import numpy as np
from attrs import evolve, frozen
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
from costframe.trees.scaling import power_of_two
from costframe.trees.settings import TreeSettings


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
        hold the mean residuals of all targets.
        """
        folds, place = sides_of_folds(fold), np.unique(fold, return_inverse=True)[1]
        columns = np.ascontiguousarray(targets.T)
        intercept = np.array([rows.mean(column) for column in columns])
        means = [_means(rows, columns, inside, intercept) for inside, _ in folds]
        unit = power_of_two(frexp(np.abs(targets - intercept).max(initial=0.0))[1])  # squares of losses may overflow
        found = cls((starts := np.array(means))[place], starts, place, intercept, TreeTable.empty())
        if not data.splittable.any():
            return found

        def fit(sides: FoldRows, start: F8) -> tuple[F8, Trees]:
            residual, trees = _regress(data, rows, (targets - start) / unit, sides, settings)
            return targets[sides[1]] - unit * residual[sides[1]], trees

        tasks = [*zip(folds, means, strict=True), *([(all_rows(rows), intercept)] if whole else [])]
        fitted = run_parallel(lambda task: fit(*task), tasks, n_threads)
        for (_, outside), (predicted, _) in zip(folds, fitted, strict=False):
            found.predictions[outside] = predicted
        if not whole:
            return found
        nodes, values, sizes = fitted[-1][1]
        trees = as_tree_table(data.mapper, nodes, settings.learning_rate * values, sizes)
        return evolve(found, trees=evolve(trees, values=trees.values * unit))

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


def _regress(data: BinnedData, rows: Rows, residual: F8, sides: FoldRows, settings: TreeSettings) -> tuple[F8, Trees]:
    """Return the residuals, written over the targets, and the trees."""
    limits = settings.l2_regularization, settings.min_samples_leaf, 0.0
    n_nodes, *structs = rows_to_grow(data, rows, False, limits, settings, sides[0])
    nodes = np.empty((settings.n_estimators, n_nodes, 5), np.int64)
    values, sizes = np.zeros((*nodes.shape[:2], residual.shape[1])), np.empty(settings.n_estimators, np.int64)
    mix, largest = np.ones(residual.shape[1]), np.ones(1)  # residuals are from -1 to 1
    fixed = rows.weight, rows.repeats, *sides, settings.learning_rate, residual, mix, largest
    cells = len(sides[0]) * data.bins.shape[1]
    count = call_in_parts(lambda *some: engine.boost_many(*structs, *fixed, *some), (nodes, values, sizes), cells)
    return residual, (nodes[:count], values[:count], sizes[:count])
