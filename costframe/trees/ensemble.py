"""A sum of trees while it grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, evolve, field

from costframe.core.arrays import F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer


@define(eq=False)
class Ensemble:
    """A growing sum of trees; `finish` makes the predicting model.

    Attributes
    ----------
    intercept : float64 (K,)
    step : float
        Weight of every tree, the learning rate.
    tables, outputs : list
        Trees, and the output of each.
    rounds : list of int
        Number of trees after each round.
    """

    intercept: F8
    step: float
    link: str
    tables: list[TreeTable] = field(factory=list)
    outputs: list[int] = field(factory=list)
    rounds: list[int] = field(factory=list)

    def append(self, trees: list[tuple[int, TreeTable]]) -> None:
        """Add a round's trees, each with its output."""
        self.tables += [table for _, table in trees]
        self.outputs += [k for k, _ in trees]
        self.rounds.append(len(self.tables))

    def fork(self) -> Ensemble:
        """Return an independent copy, which shares trees."""
        return evolve(self, tables=self.tables.copy(), outputs=self.outputs.copy(), rounds=self.rounds.copy())

    @property
    def last_round(self) -> list[tuple[int, TreeTable]]:
        """The trees of the last round, each with its output."""
        return self.of_round(len(self.rounds) - 1)

    def of_round(self, number: int) -> list[tuple[int, TreeTable]]:
        """Return the trees of a round, each with its output."""
        trees = slice(self.rounds[number - 1] if number else 0, self.rounds[number])
        return list(zip(self.outputs[trees], self.tables[trees], strict=True))

    def prefix(self, n_rounds: int) -> Ensemble:
        """Return the first rounds, which share trees."""
        count = self.rounds[n_rounds - 1] if n_rounds else 0
        return evolve(self, tables=self.tables[:count], outputs=self.outputs[:count], rounds=self.rounds[:n_rounds])

    def finish(self, feature_names: Sequence[str], n_rounds: int | None = None) -> StageTree:
        """Return the model of the first `n_rounds` rounds, all by default."""
        ensemble = self if n_rounds is None else self.prefix(n_rounds)
        count = len(ensemble.tables)
        weights = np.zeros((count, len(self.intercept)))
        weights[np.arange(count), ensemble.outputs] = self.step
        bank = WeakLearnerBank.from_trees(TreeTable.concatenate(ensemble.tables), feature_names)
        return StageTree(bank, (Answer(np.arange(count), weights, self.intercept, self.link),))
