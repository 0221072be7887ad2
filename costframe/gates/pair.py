"""The gate and the cheap model over one bank, and the stage tree that they make with what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.accounts import Account
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.stages import Stage

__all__ = ["GatedPair"]

STEEPNESS = 1.0  # soft routing sends a row on with the probability sigma(g) that training meant


@frozen(eq=False)
class GatedPair:
    """A cheap model and a gate.

    Attributes
    ----------
    bank : WeakLearnerBank
        Of one output a learner.
    cheap : float64 (T, K)
        Weights of the scores f1.
    cheap_intercept : float64 (K,)
    gate : float64 (T,)
        Weights of g.
    gate_intercept : float
    """

    bank: WeakLearnerBank
    cheap: NDArray[np.float64]
    cheap_intercept: NDArray[np.float64]
    gate: NDArray[np.float64]
    gate_intercept: float

    @classmethod
    def without_gate(cls, tree: StageTree) -> GatedPair:
        """Take a model of one answer as a cheap model, with a gate that tells no rows apart."""
        answer = tree.stages[0]
        assert isinstance(answer, Answer)  # noqa: S101 - boosting makes one answer
        return cls(tree.bank, answer.weights, answer.intercept, np.zeros(len(tree.bank)), 0.0)

    @property
    def divides(self) -> bool:
        """Whether the gate tells rows apart."""
        return bool((self.gate != 0).any())

    def cheap_tree(self) -> StageTree:
        """Return the cheap model without a gate."""
        answer = self._answer
        return StageTree(
            self.bank.restrict(answer.learners), (evolve(answer, learners=np.arange(len(answer.learners))),)
        )

    def gate_tree(self, some: NDArray[np.bool_] | None = None) -> StageTree:
        """Return a model that answers with the gate's score, or with its part that some learners make."""
        used = np.flatnonzero(self.gate != 0 if some is None else some)
        return StageTree(
            self.bank.restrict(used), (Answer(np.arange(len(used)), self.gate[used], self.gate_intercept),)
        )

    def accounts(self, costs: CostModel, X: NDArray[np.float64], n_jobs: int | None = None) -> tuple[Account, Account]:
        """Return what the cheap model and the gate do on rows; a learner that both use is computed once."""
        cheap, gate = (Account.of(tree, costs, X, n_jobs) for tree in (self.cheap_tree(), self.gate_tree()))
        of_both = (self.gate != 0) & (self.cheap != 0).any(axis=1)
        if of_both.any():
            cheap = evolve(cheap, shared=Account.of(self.gate_tree(of_both), costs, X, n_jobs).computed)
        return cheap, gate

    def in_front_of(self, expensive: StageTree, threshold: float) -> StageTree:
        """Return the composite: rows whose gate is above the threshold go on to the expensive model."""
        used = np.flatnonzero(self.gate != 0)
        route = Route(used, self.gate[used], self.gate_intercept, threshold, STEEPNESS, 1, 2)
        stages = (route, self._answer, *(_moved(stage, 2, len(self.bank)) for stage in expensive.stages))
        return StageTree(WeakLearnerBank.concatenate([self.bank, expensive.bank]), stages)

    @property
    def _answer(self) -> Answer:
        used = np.flatnonzero((self.cheap != 0).any(axis=1))
        link = "sigmoid" if self.cheap.shape[1] == 1 else "softmax"
        return Answer(used, self.cheap[used], self.cheap_intercept, link)


def _moved(stage: Stage, n_stages: int, n_learners: int) -> Stage:
    """Return a stage as it reads behind n stages, over a bank that begins with other learners."""
    moved = evolve(stage, learners=stage.learners + n_learners)
    if isinstance(moved, Route):
        return evolve(moved, below=moved.below + n_stages, above=moved.above + n_stages)
    return moved
