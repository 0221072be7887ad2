"""The spare ensemble of a fit: it answers where sets need what is unavailable.

Its rows are copies of the training rows that lack features at random, single ones or all behind a resource, so its
trees learn where to send absent values. It is learned at first need: nine of ten models of a study, and all those that
estimate others, are never asked without a feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe import WeakLearnerBank
from costframe.plugin import B1, I8, PointwiseLoss, Rows, Sampling, Spare, TrainingData
from costframe.trees import BinnedData, BoostedFolds, TreeSettings, lack_at_random
from costframe_planner.problem import Problem
from costframe_planner.stakes import Stakes

_MOST_ROWS, _CELLS = 20_000, 48_000  # rows, and copies of rows, about
_COPIES = 3, 16  # fewest and most of a row, beside itself
_SIZES = (5_000, 16), (np.inf, 32)  # largest number of rows, leaves
_STEP, _ROUNDS, _PATIENCE, _ROWS_IN_LEAF = 0.1, 300, 20, 5


@frozen(eq=False, slots=False)
class SpareOfFit:
    """What the spare ensemble of a fit is learned from, until it is."""

    data: BinnedData  # of at most 20,000 rows
    rows: Rows  # the same without columns
    fold: I8
    numbers: NDArray[np.uint64]  # a hash of each row
    stakes: Stakes | None
    loss: PointwiseLoss
    trees: TreeSettings
    needs: B1
    copies: int  # of each row, beside itself
    feature_names: tuple[str, ...]
    categories: Mapping[str, Any]
    sets: tuple[frozenset[int], ...]  # which tell more of its losses than single features do

    @classmethod
    def of(cls, problem: Problem, data: TrainingData, sets: Iterable[frozenset[int]] = ()) -> SpareOfFit:
        """Keep the rows with the least hashes; `sets` tell more of its losses than features."""
        chosen = np.sort(Sampling.least(problem.keys, _MOST_ROWS))
        leaves = next(leaves for limit, leaves in _SIZES if problem.n_rows <= limit)
        return cls(
            problem.coarse.take_rows(chosen),
            evolve(problem.rows, X=np.empty((len(problem.rows), 0))).take(chosen),
            problem.fold[chosen],
            problem.numbers[chosen],
            None if problem.stakes is None else problem.stakes.take(chosen),
            problem.loss,
            problem.trees(leaves, _STEP, _ROUNDS, _PATIENCE),
            problem.prices.needs,
            int(np.clip(_CELLS // min(problem.n_rows, _MOST_ROWS), *_COPIES)),
            data.feature_names,
            data.categories,
            tuple(dict.fromkeys([*problem.prices.bundles(), *filter(None, sets)])),
        )

    def learn(self) -> Spare:
        """Return the ensemble, which is learned once."""
        return self._learned

    @cached_property
    def _learned(self) -> Spare:
        """The ensemble, trained on the rows and copies of them.

        The loss of each copy, less that of the whole row, is regressed on what of each set the copy lacks.
        """
        n, times = len(self.rows), 1 + self.copies
        at = np.tile(np.arange(n), times)
        rows, trees = self.rows.take(at), evolve(self.trees, min_samples_leaf=_ROWS_IN_LEAF * times)
        masked, absent = lack_at_random(self.data, self.numbers, self.needs, self.copies)
        fitted = BoostedFolds.fit(masked, rows, self.loss, self.fold[at], trees, n_threads=trees.n_threads)
        stakes = None if self.stakes is None else self.stakes.take(at)
        losses = self.loss.by_row(rows.y, fitted.scores) if stakes is None else stakes.losses(fitted.scores)
        table, answer = fitted.whole()
        bank = evolve(WeakLearnerBank.from_trees(table, self.feature_names), categories=self.categories)
        return Spare.learn(bank, answer, losses, rows.weight, ~absent, n_whole=n, sets=self.sets)
