"""The gate and the cheap model over one bank, and the stage tree that they make with what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route
from costframe_adapt.accounts import Account

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.stages import Stage

__all__ = ["Front", "behind"]

STEEPNESS = 1.0  # soft routing sends a row on with the probability sigma(g) that training meant


@frozen(eq=False)
class Front:
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

    @property
    def answer(self) -> Answer:
        """The cheap model."""
        used = np.flatnonzero((self.cheap != 0).any(axis=1))
        link = "sigmoid" if self.cheap.shape[1] == 1 else "softmax"
        return Answer(used, self.cheap[used], self.cheap_intercept, link)

    def alone(self) -> StageTree:
        """Return the cheap model without a gate."""
        answer = self.answer
        return StageTree(
            self.bank.restrict(answer.learners), (evolve(answer, learners=np.arange(len(answer.learners))),)
        )

    def gate_alone(self) -> StageTree:
        """Return a model that answers with the gate's score."""
        return self._gate_of(self.gate != 0)

    def _gate_of(self, learners: NDArray[np.bool_]) -> StageTree:
        """Return the gate's score, or its part that these learners make."""
        used = np.flatnonzero(learners)
        return StageTree(
            self.bank.restrict(used), (Answer(np.arange(len(used)), self.gate[used], self.gate_intercept),)
        )

    @property
    def gated(self) -> bool:
        """Whether the gate tells rows apart."""
        return bool((self.gate != 0).any())

    def accounts(self, costs: CostModel, X: NDArray[np.float64], n_jobs: int | None = None) -> tuple[Account, Account]:
        """Return what the cheap model and the gate do on rows; a learner that both use is computed once."""
        cheap, gate = (Account.of(tree, costs, X, n_jobs) for tree in (self.alone(), self.gate_alone()))
        of_both = (self.gate != 0) & (self.cheap != 0).any(axis=1)
        if of_both.any():
            cheap = evolve(cheap, shared=Account.of(self._gate_of(of_both), costs, X, n_jobs).computed)
        return cheap, gate

    def before(self, full: StageTree, threshold: float) -> StageTree:
        """Return the composite: rows whose gate is above the threshold go on to `full`."""
        used = np.flatnonzero(self.gate != 0)
        route = Route(used, self.gate[used], self.gate_intercept, threshold, STEEPNESS, 1, 2)
        shift = len(self.bank)
        stages = (route, self.answer, *(behind(stage, 2, shift) for stage in full.stages))
        return StageTree(WeakLearnerBank.concatenate([self.bank, full.bank]), stages)


def behind(stage: Stage, n_stages: int, n_learners: int) -> Stage:
    """Return a stage as it reads behind so many stages, over a bank that begins with so many learners."""
    moved = evolve(stage, learners=stage.learners + n_learners)
    if isinstance(moved, Route):
        return evolve(moved, below=moved.below + n_stages, above=moved.above + n_stages)
    return moved
