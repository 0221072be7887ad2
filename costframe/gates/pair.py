"""A cheap model and a gate, over one bank."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8
from costframe.core.cost.accounts import Account
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer, Route, renumber_stage
from costframe.gates.curve import CHEAP, EXPENSIVE, OperatingPoint

STEEPNESS = 1.0  # soft routing sends a row on with probability sigma(g), as in training


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
    cheap: F8
    cheap_intercept: F8
    gate: F8
    gate_intercept: float

    @classmethod
    def of(cls, cheap: StageTree, gate: StageTree | None = None) -> GatedPair:
        """Join a cheap model and a gate, of one answer each; without a gate, its weights are zero."""
        answer = cls._only_answer(cheap)
        if gate is None:
            return cls(cheap.bank, answer.weights, answer.intercept, np.zeros(len(cheap.bank)), 0.0)
        gating, (n_cheap, n_gate) = cls._only_answer(gate), (len(cheap.bank), len(gate.bank))
        return cls(
            WeakLearnerBank.concatenate([cheap.bank, gate.bank]),
            np.vstack([answer.weights, np.zeros((n_gate, len(answer.intercept)))]),
            answer.intercept,
            np.append(np.zeros(n_cheap), gating.weights[:, 0]),
            float(gating.intercept[0]),
        )

    @staticmethod
    def _only_answer(tree: StageTree) -> Answer:
        answer = tree.stages[0]
        assert isinstance(answer, Answer)  # noqa: S101 - boosting makes one answer
        return answer

    @property
    def has_gate(self) -> bool:
        """Whether the gate has weights."""
        return bool((self.gate != 0).any())

    def cheap_tree(self) -> StageTree:
        """Return the cheap model without a gate."""
        answer = self._answer
        return StageTree(
            self.bank.restrict(answer.learners), (evolve(answer, learners=np.arange(len(answer.learners))),)
        )

    def gate_tree(self, some: B1 | None = None) -> StageTree:
        """Return a model that answers with the gate's score, or with the part of it from some learners."""
        used = np.flatnonzero(self.gate != 0 if some is None else some)
        return StageTree(
            self.bank.restrict(used), (Answer(np.arange(len(used)), self.gate[used], self.gate_intercept),)
        )

    def accounts(self, costs: CostModel, X: F8, n_jobs: int | None = None) -> tuple[Account, Account]:
        """Return the accounts of the cheap model and of the gate on rows; both compute a shared learner only once."""
        cheap, gate = (Account.of(tree, costs, X, n_jobs) for tree in (self.cheap_tree(), self.gate_tree()))
        of_both = (self.gate != 0) & (self.cheap != 0).any(axis=1)
        if of_both.any():
            cheap = evolve(cheap, shared=Account.of(self.gate_tree(of_both), costs, X, n_jobs).computed)
        return cheap, gate

    def in_front_of(self, expensive: StageTree, threshold: float) -> StageTree:
        """Return the composite: rows with gate scores above the threshold go on to the expensive model."""
        used = np.flatnonzero(self.gate != 0)
        route = Route(used, self.gate[used], self.gate_intercept, threshold, STEEPNESS, 1, 2)
        stages = (route, self._answer, *(renumber_stage(stage, 2, len(self.bank)) for stage in expensive.stages))
        return StageTree(WeakLearnerBank.concatenate([self.bank, expensive.bank]), stages)

    @property
    def _answer(self) -> Answer:
        used = np.flatnonzero((self.cheap != 0).any(axis=1))
        link = "sigmoid" if self.cheap.shape[1] == 1 else "softmax"
        return Answer(used, self.cheap[used], self.cheap_intercept, link)

    def at(self, point: OperatingPoint, expensive: StageTree) -> StageTree:
        """Return the model at an operating point: both in front of an expensive model, or one of the two alone."""
        if point.kind == EXPENSIVE:
            return expensive
        return self.cheap_tree() if point.kind == CHEAP else self.in_front_of(expensive, point.threshold)
