"""The weights that a bank's outputs have in the model that it comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe import Answer, StageTree, WeakLearnerBank
from costframe.plugin import F8


def ensemble_weights(given: Any, bank: WeakLearnerBank) -> F8 | None:
    """Return the weights of a bank's outputs in its model, float64 (C,): for one answer of one score, or boosted trees.

    Return None for other models, and for a bank without learners.

    Parameters
    ----------
    given : object
        The value of the parameter `bank`.
    bank : WeakLearnerBank
        The result of `find_bank`.
    """
    model = given if isinstance(given, StageTree) else getattr(given, "predictor_", None)
    if not len(bank):
        return None
    if isinstance(model, StageTree):
        answer = model.stages[0]
        if len(model.stages) > 1 or not isinstance(answer, Answer) or len(answer.intercept) > 1:
            return None
        answer = answer.divided()
        if answer.blends:
            return None
        found = np.zeros(int(bank.widths.sum()))
        owner = np.repeat(np.arange(len(bank)), bank.widths)
        found[np.isin(owner, answer.learners)] = answer.weights[:, 0]
        return found
    return np.ones(len(bank)) if len(bank.trees) == len(bank) and (bank.widths == 1).all() else None
