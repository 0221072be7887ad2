"""The spare ensemble of a fit: it answers where sets need what is unavailable.

Its rows are copies of the training rows that lack features at random, single ones or all behind a resource, so its
trees learn where to send absent values.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from attrs import evolve

from costframe import WeakLearnerBank
from costframe.plugin import Sampling, Spare, TrainingData
from costframe.trees import BoostedFolds, lack_at_random
from costframe_planner.problem import Problem

_MOST_ROWS, _CELLS = 20_000, 48_000  # rows, and copies of rows, about
_COPIES = 3, 16  # fewest and most of a row, beside itself
_SIZES = (5_000, 16), (np.inf, 32)  # largest number of rows, leaves
_STEP, _ROUNDS, _PATIENCE, _ROWS_IN_LEAF = 0.1, 300, 20, 5


def train_spare(problem: Problem, data: TrainingData, sets: Iterable[frozenset[int]] = ()) -> Spare:
    """Train the spare ensemble on copies of the rows that lack features; `sets` tell more of its losses than features.

    The loss of each copy, less that of the whole row, is regressed on what of each set the copy lacks.
    """
    chosen = np.sort(Sampling.least(problem.keys, _MOST_ROWS))
    most = min(problem.n_rows, _MOST_ROWS)
    count = int(np.clip(_CELLS // most, *_COPIES))
    at = np.tile(chosen, 1 + count)
    rows = evolve(problem.rows, X=np.empty((len(problem.rows), 0))).take(at)
    leaves = next(leaves for limit, leaves in _SIZES if problem.n_rows <= limit)
    trees = evolve(problem.trees(leaves, _STEP, _ROUNDS, _PATIENCE), min_samples_leaf=_ROWS_IN_LEAF * (1 + count))
    numbers, needs = problem.numbers[chosen], problem.prices.needs
    masked, absent = lack_at_random(problem.coarse.take_rows(chosen), numbers, needs, count)
    fitted = BoostedFolds.fit(masked, rows, problem.loss, problem.fold[at], trees, n_threads=problem.n_threads)
    stakes = None if problem.stakes is None else problem.stakes.take(at)
    losses = problem.loss.by_row(rows.y, fitted.scores) if stakes is None else stakes.losses(fitted.scores)
    table, answer = fitted.whole()
    bank = evolve(WeakLearnerBank.from_trees(table, data.feature_names), categories=data.categories)
    every = dict.fromkeys([*problem.prices.bundles(), *filter(None, sets)])
    return Spare.learn(bank, answer, losses, rows.weight, ~absent, n_whole=len(chosen), sets=every)
