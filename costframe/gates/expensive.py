"""What stands behind a gate, as training sees it: a stage tree, its answers on each row, and what it does there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.accounts import Account
    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["SURE", "ExpensiveModel", "ModelOutputs"]

SURE = 1e-6  # probabilities of the expensive model, and shares, are clipped to [SURE, 1 - SURE], as the authors do


@frozen(eq=False)
class ModelOutputs:
    """A model on some rows.

    Attributes
    ----------
    proba : float64 (n,) of class 1, or (n, M)
    loss : float64 (n,)
        -log P(y_i | x_i), of the probability clipped to [SURE, 1 - SURE].
    account : Account
    """

    proba: NDArray[np.float64]
    loss: NDArray[np.float64]
    account: Account

    @classmethod
    def of(cls, proba: NDArray[np.float64], y: NDArray[np.int64], account: Account) -> ModelOutputs:
        """Look up the labels' probabilities."""
        of_label = np.where(y == 1, proba, 1 - proba) if proba.ndim == 1 else proba[np.arange(len(y)), y]
        return cls(proba, np.asarray(-np.log(np.clip(of_label, SURE, 1 - SURE))), account)


@frozen(eq=False)
class ExpensiveModel:
    """The expensive model, or a composite that serves as one.

    Attributes
    ----------
    tree : StageTree
        Of the data's features; gives the probability of class 1, or those of more classes.
    train, held : ModelOutputs
        On training rows, where probabilities are out of fold if they can be; and on held-out rows.
    """

    tree: StageTree
    train: ModelOutputs
    held: ModelOutputs
