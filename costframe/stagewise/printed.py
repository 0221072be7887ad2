"""What the printed trainings of Cronus and CSTC share: a stage's convex start, and exact zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.relaxing import relax
from costframe.stagewise.soft_tree import SoftTree, WeightedSum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.bank_rows import BankRows

__all__ = ["LOG_ODDS", "as_log_odds", "drop_zeros", "energies", "relaxed_fit"]

LOG_ODDS = 2.0  # a score fitted to -1 and 1 by squares is half the log odds, and its sign is the class
_ZERO = 1e-4  # of the target's deviation: a weight that moves scores by less is a zero of the optimum


def relaxed_fit(
    rows: BankRows,
    passes: NDArray[np.float64],
    groups: PricedGroups,
    l1: float,
    bought: NDArray[np.float64] | None = None,
    reach: float = 1.0,
) -> WeightedSum:
    """Minimize a stage's relaxed objective as if it were the last, in closed form by turns (eqs. 11, 13 and 14).

    Parameters
    ----------
    rows : BankRows
    passes : float64 (n,)
        The rows' probabilities to reach the stage.
    groups : PricedGroups
        In units of loss.
    l1 : float
        rho.
    bought : float64 (G,), optional
        What the stages before contribute under the roots.
    reach : float
        What multiplies this stage's weights there, d_k.
    """
    come = rows.loss_weight * passes
    normal, total = NormalEquations.of(rows.outputs, rows.target, come), float(come.sum())
    varying, weights = np.flatnonzero(normal.varies), np.zeros(normal.right.shape)
    if len(varying):
        here = groups.restrict(varying).times(1.0 / total)  # the loss above is a mean over the rows that come
        weights[varying] = relax(normal.columns(varying), here, l1 / total, bought, reach)
    return WeightedSum(weights, normal.intercept(weights))


def energies(groups: PricedGroups, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum_c G_gc |B_c|^2: float64 (G,) for weights (C, M)."""
    return np.asarray(groups.member @ np.square(weights).sum(axis=1))


def drop_zeros(tree: SoftTree, rows: BankRows) -> SoftTree:
    """Set to zero the weights that a minimizer left next to it."""
    variance = rows.loss_weight @ np.square(rows.target - rows.loss_weight @ rows.target)
    size = np.sqrt(np.square(tree.weights).sum(axis=2) * rows.variance)
    matters = size >= _ZERO * np.sqrt(variance.max())
    return evolve(tree, weights=np.where(matters[:, :, np.newaxis], tree.weights, 0.0))


def as_log_odds(tree: SoftTree) -> SoftTree:
    """Let a tree fitted to -1 and 1 answer with log odds: no fit, and the class is the sign of the score."""
    return evolve(tree, calibration=np.tile([LOG_ODDS, 0.0], (len(tree), 1)))
