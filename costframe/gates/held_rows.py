"""Rows held out of the training of a gate, and the expensive model on them."""

from __future__ import annotations

from attrs import evolve

from costframe.adoption.given.model import FittedModel
from costframe.core.arrays import F8
from costframe.core.cost.accounts import Account
from costframe.gates.composite import ExpensiveModel
from costframe.gates.curve import ModelOutputs
from costframe.training.data import Rows, TrainingData
from costframe.training.sampling import Sampling


def hold_out(
    data: TrainingData, fitted: FittedModel, n_threads: int, *, paper: bool
) -> tuple[TrainingData, Rows, ExpensiveModel]:
    """Hold out rows if there are no validation rows; the paper's recipe then uses the training rows.

    Return the data to train on, the held-out rows, and the expensive model on both.
    """
    tree, proba = fitted.tree, fitted.proba
    rows, held, held_proba = data.train, data.valid, fitted.proba_val
    if held is None or held_proba is None:
        out = None if paper else Sampling(data).held_out()
        held, held_proba = (rows, proba) if out is None else (rows.take(out), proba[out])
        if out is not None:
            rows, proba = rows.take(~out), proba[~out]

    def on(part: Rows, values: F8) -> ModelOutputs:
        return ModelOutputs.of(values, part.y, Account.of(tree, data.costs, part.X, n_threads))

    return evolve(data, train=rows), held, ExpensiveModel(tree, on(rows, proba), on(held, held_proba))
