"""A chain of stages as a stage tree: routes that reject, with an answer for what each rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route

if TYPE_CHECKING:
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Stage
    from costframe_cronus.chain import Chain

__all__ = ["as_stage_tree"]


def as_stage_tree(
    bank: WeakLearnerBank, chain: Chain, links: list[tuple[float, float]] | None, steepness: float
) -> StageTree:
    """Make a chain of routes; stage k's answer is sigmoid(a s + b) of its score s, for (a, b) = links[k].

    Without links the answer ranks: it is k + s / (2 (1 + |s|)), k counted from 0, also where there is but one stage.
    A row is rejected where its score is less than theta, and a route passes on what exceeds its threshold.
    """
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    used = np.unique(owner[chain.weights.any(axis=0)])
    stages: list[Stage] = []
    for k, (weights, intercept) in enumerate(zip(chain.weights, chain.intercept, strict=True)):
        learners = np.unique(owner[weights != 0])
        of_stage = np.searchsorted(used, learners), weights[np.isin(owner, learners)]
        if k < len(chain.threshold):
            theta = float(np.nextafter(chain.threshold[k], -np.inf))
            stages.append(Route(*of_stage, [intercept], theta, steepness, 2 * k + 1, 2 * k + 2))
        if links is None:
            stages.append(Answer(*of_stage, [intercept], "ranked", k))
        else:
            slope, constant = links[k]
            stages.append(Answer(of_stage[0], slope * of_stage[1], [slope * intercept + constant], "sigmoid"))
    return StageTree(bank.restrict(used), stages)
