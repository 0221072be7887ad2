"""The spare ensemble of a fit: it answers where sets need what is unavailable.

Its rows are copies of the training rows that lack features at random, single ones or all behind a resource, so its
trees learn where to send absent values.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from costframe import WeakLearnerBank
from costframe.plugin import B1, F8, I8, Sampling, Spare, TrainingData
from costframe.trees import BinnedData, BoostedFolds
from costframe_planner.problem import Problem

_MOST_ROWS, _CELLS = 20_000, 48_000  # rows, and copies of rows, about
_COPIES = 3, 16  # fewest and most of a row, beside itself
_MOST_ABSENT = 0.9  # largest mean share of absent features of a copy
_SIZES = (5_000, 16), (np.inf, 32)  # largest number of rows, leaves
_STEP, _ROUNDS, _PATIENCE, _ROWS_IN_LEAF = 0.1, 300, 20, 5
_MISSING = 255  # bin of absent values


def train_spare(problem: Problem, data: TrainingData, sets: Iterable[frozenset[int]] = ()) -> Spare:
    """Train the spare ensemble on copies of the rows that lack features; `sets` tell more of its losses than features.

    The loss of each copy, less that of the whole row, is regressed on what of each set the copy lacks.
    """
    chosen = np.sort(Sampling.least(problem.keys, _MOST_ROWS))
    most = min(problem.n_rows, _MOST_ROWS)
    count = int(np.clip(_CELLS // most, *_COPIES))
    at = np.tile(chosen, 1 + count)
    there = ~_draw_absent(problem, chosen, count)
    rows = evolve(problem.rows, X=np.empty((len(problem.rows), 0))).take(at)
    leaves = next(leaves for limit, leaves in _SIZES if problem.n_rows <= limit)
    trees = evolve(problem.trees(leaves, _STEP, _ROUNDS, _PATIENCE), min_samples_leaf=_ROWS_IN_LEAF * (1 + count))
    masked = _mask(problem.coarse.take_rows(at), there)
    fitted = BoostedFolds.fit(masked, rows, problem.loss, problem.fold[at], trees, n_threads=problem.n_threads)
    stakes = None if problem.stakes is None else problem.stakes.take(at)
    losses = problem.loss.by_row(rows.y, fitted.scores) if stakes is None else stakes.losses(fitted.scores)
    table, answer = fitted.whole()
    bank = evolve(WeakLearnerBank.from_trees(table, data.feature_names), categories=data.categories)
    every = dict.fromkeys([*problem.prices.bundles(), *filter(None, sets)])
    return Spare.learn(bank, answer, losses, rows.weight, there, n_whole=len(chosen), sets=every)


def _mask(data: BinnedData, there: B1) -> BinnedData:
    bins = np.where(there, data.bins, np.uint8(_MISSING))
    return BinnedData(bins, np.ascontiguousarray(bins.T), data.mapper)


def _draw_absent(problem: Problem, chosen: I8, count: int) -> B1:
    """Draw which features rows and their copies lack, by hashes of the rows: bool (n * (1 + count), d).

    Rows themselves lack none. Half of the copies lack single features, the others all that share a resource.
    """
    numbers, d = problem.numbers[chosen], len(problem.prices.cost)
    alone, together = np.arange(d), _groups(problem)
    parts = [np.zeros((len(chosen), d), np.bool_)]
    for copy in range(count):
        seed = _mix(numbers + np.uint64((copy + 1) * 0x9E3779B97F4A7C15 % 2**64))
        share = _MOST_ABSENT * _uniform(seed)
        group = together if copy % 2 else alone
        columns = np.uint64(0xD1342543DE82EF95) * (group + 1).astype(np.uint64)
        parts.append(_uniform(_mix(seed[:, np.newaxis] ^ columns)) < share[:, np.newaxis])
    return np.concatenate(parts)


def _groups(problem: Problem) -> I8:
    """Return a number for each feature, the same for those whose first resource is the same: int64 (d,)."""
    needs = problem.prices.needs
    d, n_resources = needs.shape
    if not n_resources:
        return np.arange(d)
    return np.where(needs.any(axis=1), d + needs.argmax(axis=1), np.arange(d))


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes of numbers (SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _uniform(numbers: NDArray[np.uint64]) -> F8:
    """Return hashes as numbers from 0 to 1."""
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
