"""The printed trainings of Cronus and CSTC: a stage's convex start by eqs. 11, 13 and 14 of Cronus, and exact zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.relaxed import auxiliary
from costframe.stagewise.soft_tree import SoftTree, WeightedSum
from costframe.stagewise.systems import solve_scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.rows import BankRows

__all__ = ["LOG_ODDS", "as_log_odds", "drop_zeros", "energies", "fit_relaxed", "relax"]

LOG_ODDS = 2.0  # a score fitted to -1 and 1 by squares is half the log odds, and its sign is the class
_ZERO = 1e-4  # of the target's deviation: weights that change scores by less are set to zero
_ROUNDS = 1000
_FLOOR = 1e-6  # least auxiliary; weights that should be zero end below it
_NEGLIGIBLE = 1e-7  # of the labels' deviation: outputs that change scores by less leave the alternation


def relax(
    normal: NormalEquations,
    groups: PricedGroups,
    l1: float = 0.0,
    bought: NDArray[np.float64] | None = None,
    reach: float = 1.0,
    *,
    rounds: int = _ROUNDS,
    floor: float = _FLOOR,
) -> NDArray[np.float64]:
    """Minimize loss + rho |B|_1 + sum_g price_g sqrt(bought_g + d^2 sum_c G_gc |B_c|^2) from weights of one, (C, M).

    For a single stage this is eq. 7, for a last stage eq. 8 of Cronus or eq. 5 of CSTC.

    Parameters
    ----------
    normal : NormalEquations
        Of the rows that reach the stage.
    groups : PricedGroups
        In units of this loss.
    l1 : float
        rho, in the same units.
    bought : float64 (G,), optional
        The part of earlier stages under the roots, a of eq. 12; zero by default.
    reach : float
        d_k of this stage.
    """
    before = np.zeros(len(groups.price)) if bought is None else bought
    gram, right, places = normal.gram, normal.right, np.arange(len(normal.right))
    now, deviation, unit = np.ones_like(right), normal.deviation, np.sqrt(normal.target_variance)
    squares, live = np.square(now).sum(axis=1), np.ones(len(now), np.bool_)
    weighed = groups.member @ squares
    for _ in range(rounds):
        if not live.all():
            left = np.flatnonzero(live)
            gram, right, places = gram[np.ix_(left, left)], right[left], places[left]
            now, squares, deviation, groups = now[left], squares[left], deviation[left], groups.restrict(left)
        pull = groups.price / auxiliary(before + reach**2 * weighed, floor)
        after = solve_scaled(gram, right, reach**2 * (pull @ groups.member) + l1 / auxiliary(squares, floor))
        moved = np.sqrt(np.square(after - now).sum(axis=1)) * deviation
        now, squares = after, np.square(after).sum(axis=1)
        weighed, live = groups.member @ squares, np.sqrt(squares) * deviation > _NEGLIGIBLE * unit
        if not live.any() or moved.max() <= floor * unit:
            break
    weights = np.zeros_like(normal.right)
    weights[places] = now
    return weights


def fit_relaxed(
    rows: BankRows,
    passes: NDArray[np.float64],
    groups: PricedGroups,
    l1: float,
    bought: NDArray[np.float64] | None = None,
    reach: float = 1.0,
) -> WeightedSum:
    """Minimize a stage's relaxed objective as if it were the last, by closed forms in turns (eqs. 11, 13 and 14).

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
        The part of earlier stages under the roots.
    reach : float
        The factor d_k of this stage's weights under the roots.
    """
    come = rows.loss_weight * passes
    normal, total = NormalEquations.of(rows.outputs, rows.target, come), float(come.sum())
    varying, weights = np.flatnonzero(normal.varies), np.zeros(normal.right.shape)
    if len(varying):
        here = groups.restrict(varying).times(1.0 / total)  # the loss is a mean over the rows that reach the stage
        weights[varying] = relax(normal.columns(varying), here, l1 / total, bought, reach)
    return WeightedSum(weights, normal.intercept(weights))


def energies(groups: PricedGroups, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum_c G_gc |B_c|^2: float64 (G,) for weights (C, M)."""
    return np.asarray(groups.member @ np.square(weights).sum(axis=1))


def drop_zeros(tree: SoftTree, rows: BankRows) -> SoftTree:
    """Set negligible weights, which a minimizer leaves near zero, to zero."""
    variance = rows.loss_weight @ np.square(rows.target - rows.loss_weight @ rows.target)
    size = np.sqrt(np.square(tree.weights).sum(axis=2) * rows.variance)
    matters = size >= _ZERO * np.sqrt(variance.max())
    return evolve(tree, weights=np.where(matters[:, :, np.newaxis], tree.weights, 0.0))


def as_log_odds(tree: SoftTree) -> SoftTree:
    """Turn answers fitted to -1 and 1 into log odds without a fit: the class is the sign of the score."""
    return evolve(tree, calibration=np.tile([LOG_ODDS, 0.0], (len(tree), 1)))
