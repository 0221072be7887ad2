"""Regressions of many numbers at once, cross-fitted: predictions of rows that had no part in them."""

from __future__ import annotations

from math import frexp
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.learners.tree_table import TreeTable
from costframe.core.threads import run_parallel
from costframe.trees.binning.scaling import power_of_two
from costframe.trees.boosting.folds import as_trees, most_leaves, unpriced
from costframe.trees.growing.prices import NoPrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.data import Rows
    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.settings import TreeSettings

__all__ = ["ManyFolds", "regress_many"]


@frozen(eq=False)
class ManyFolds:
    """What a cross-fitted regression gives.

    Attributes
    ----------
    predictions : float64 (n, T)
        Of each row, by the regression without its fold.
    intercept : float64 (T,)
    trees : TreeTable
        Of the regression on all rows, T outputs each.
    """

    predictions: NDArray[np.float64]
    intercept: NDArray[np.float64]
    trees: TreeTable


def regress_many(
    data: BinnedData,
    rows: Rows,
    targets: NDArray[np.float64],
    fold: NDArray[np.int64],
    settings: TreeSettings,
    *,
    whole: bool = True,
    n_threads: int = 1,
) -> ManyFolds:
    """Regress targets, float64 (n, T), on the columns of the data, without each fold in turn and on all rows.

    Each tree is grown for the mixture of targets in which most is left to explain (as in SketchBoost), and its leaves
    hold the mean of all of them.
    """
    intercept = np.average(targets, axis=0, weights=rows.weight)
    centered = targets - intercept
    unit = power_of_two(frexp(np.abs(centered).max(initial=0.0))[1])  # losses have any size, their squares as well
    everyone = np.arange(len(rows), dtype=np.int32)
    sides = [
        (np.flatnonzero(fold != number).astype(np.int32), np.flatnonzero(fold == number).astype(np.int32))
        for number in np.unique(fold).tolist()
    ]
    jobs = sides + ([(everyone, everyone[:0])] if whole else [])

    def fit(job: tuple[NDArray[np.int32], NDArray[np.int32]]) -> tuple[NDArray[np.float64], TreeTable | None]:
        residual, trees = _fit(data, rows, centered / unit, job, settings, keep=not len(job[1]))
        grown = None if trees is None else evolve(trees, values=trees.values * unit)
        return (targets - unit * residual)[job[1]], grown

    predictions, trees = np.tile(intercept, (len(rows), 1)), TreeTable.empty()
    for (_, outside), (found, grown) in zip(jobs, run_parallel(fit, jobs, n_threads), strict=True):
        predictions[outside] = found
        trees = trees if grown is None else grown
    return ManyFolds(predictions, intercept, trees)


def _fit(
    data: BinnedData,
    rows: Rows,
    residual: NDArray[np.float64],
    sides: tuple[NDArray[np.int32], NDArray[np.int32]],
    settings: TreeSettings,
    *,
    keep: bool,
) -> tuple[NDArray[np.float64], TreeTable | None]:
    """Return what is left of the targets, and the trees, with the step in their outputs, if they are to be kept."""
    from costframe.trees.boosting.many_kernels import boost_many

    if not data.splittable.any():
        return residual, TreeTable.empty() if keep else None
    most = most_leaves(settings, len(sides[0]))
    nodes = np.empty((settings.n_estimators, 2 * most - 1, 5), np.int64)
    values, sizes = np.zeros((*nodes.shape[:2], residual.shape[1])), np.empty(settings.n_estimators, np.int64)
    task, room = unpriced(data, rows, False, (settings.l2_regularization, settings.min_samples_leaf, 0.0), most)
    count = boost_many(
        task,
        room,
        NoPrices().state(),
        rows.weight,
        rows.repeats,
        *sides,
        settings.learning_rate,
        residual,
        nodes,
        values,
        sizes,
    )
    if not keep:
        return residual, None
    return residual, as_trees(data.mapper, nodes[:count], settings.learning_rate * values[:count], sizes[:count])
