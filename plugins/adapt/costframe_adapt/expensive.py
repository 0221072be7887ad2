"""What stands behind the gate, as training sees it: a stage tree, what it says of each row, and what it does there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe_adapt.problem import SURE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe_adapt.accounts import Account

__all__ = ["Full", "FullOn", "log_losses"]


@frozen(eq=False)
class FullOn:
    """The expensive model on some rows.

    Attributes
    ----------
    proba : float64 (n,) of class 1, or (n, M)
    loss : float64 (n,)
        -log P(y_i | x_i), of the clipped probability.
    account : Account
    """

    proba: NDArray[np.float64]
    loss: NDArray[np.float64]
    account: Account


@frozen(eq=False)
class Full:
    """The expensive model, or a composite that serves as one.

    Attributes
    ----------
    tree : StageTree
        Of the data's features; gives the probability of class 1, or those of more classes.
    train, seen : FullOn
        On training rows, where probabilities are out of fold if they can be; and on rows held out.
    """

    tree: StageTree
    train: FullOn
    seen: FullOn


def log_losses(proba: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return -log P(y_i), of probabilities clipped to [SURE, 1 - SURE]: float64 (n,) for (n,) of class 1, or (n, M)."""
    of_label = np.where(y == 1, proba, 1 - proba) if proba.ndim == 1 else proba[np.arange(len(y)), y]
    return np.asarray(-np.log(np.clip(of_label, SURE, 1 - SURE)))
