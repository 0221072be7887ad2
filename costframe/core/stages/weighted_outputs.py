"""Weights of learners in an answer, and the weighted outputs that are expected at the nodes of trees."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from costframe.core.arrays import F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.stages.fallbacks import Fallbacks
from costframe.core.stages.run_stages import LeftOutputs, MeanOutputs
from costframe.core.stages.stages import Answer

Weights = Mapping[int, F8]  # of outputs (C, K), by learner


def weights_of(bank: WeakLearnerBank, answer: Answer) -> dict[int, F8]:
    """Return the weights of the outputs of each learner of an answer that has any but zero: float64 (C, K)."""
    first = np.cumsum([0, *bank.widths[answer.learners]])
    weights = [answer.weights[a:b] for a, b in pairwise(first)]
    return {int(t): w for t, w in zip(answer.learners, weights, strict=True) if w.any()}


def weighted_outputs(bank: WeakLearnerBank, weights: Weights, expected: MeanOutputs | Fallbacks) -> F8:
    """Return the weighted expected outputs of the nodes of some trees, tree by tree: float64 (nodes, K)."""
    table, known = bank.trees, LeftOutputs(bank, expected)
    width = next(iter(weights.values())).shape[1]
    parts = []
    for t, weight in weights.items():
        tree = bank.index[t]
        at = known.value[table.first[tree] : table.first[tree + 1]]
        total = np.zeros((len(at), width))
        for j, k in np.argwhere(weight):
            total[:, k] += weight[j, k] * known.values[at + j]
        parts.append(total)
    return np.concatenate(parts)
