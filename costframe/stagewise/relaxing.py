"""The optimum of one stage under the relaxed cost: eqs. 11, 13 and 14 of Cronus by turns, jointly convex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.stagewise.relaxed import auxiliary
from costframe.stagewise.systems import ShrinkingSystem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.normal import NormalEquations

__all__ = ["relax"]

_ROUNDS = 1000
_FLOOR = 1e-6  # least auxiliary; weights that should be zero end below it
_NEGLIGIBLE = 1e-7  # of the labels' deviation: what moves scores by less leaves the alternation


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

    That is eq. 7, and for a last stage eq. 8 or eq. 5 of CSTC.

    Parameters
    ----------
    normal : NormalEquations
        Of the rows that reach the stage.
    groups : PricedGroups
        In units of this loss.
    l1 : float
        rho, in the same units.
    bought : float64 (G,), optional
        What the stages before contribute under the roots, a of eq. 12; nothing by default.
    reach : float
        d_k of this stage.
    """
    before = np.zeros(len(groups.price)) if bought is None else bought
    system = ShrinkingSystem(normal.gram, normal.right)
    now, deviation, unit = np.ones_like(normal.right), normal.deviation, np.sqrt(normal.target_variance)
    squares, live = np.square(now).sum(axis=1), np.ones(len(now), np.bool_)
    energies = groups.member @ squares
    for _ in range(rounds):
        left = system.keep(live)
        if left is not None:
            now, squares, deviation = now[left], squares[left], deviation[left]
            groups = groups.restrict(np.flatnonzero(left))
        pull = groups.price / auxiliary(before + reach**2 * energies, floor)
        after = system.solve(reach**2 * (pull @ groups.member) + l1 / auxiliary(squares, floor))
        moved = np.sqrt(np.square(after - now).sum(axis=1)) * deviation
        now, squares = after, np.square(after).sum(axis=1)
        energies, live = groups.member @ squares, np.sqrt(squares) * deviation > _NEGLIGIBLE * unit
        if not live.any() or moved.max() <= floor * unit:
            break
    weights = np.zeros_like(normal.right)
    weights[system.places] = now
    return weights
