"""Which learners matter when the cost is relaxed: eqs. 7 and 8 by alternation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.threads import run_parallel, thread_count
from costframe.stagewise.relaxed import RelaxedCost, auxiliary
from costframe.stagewise.systems import ShrinkingSystem, blas_side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.normal import NormalEquations

__all__ = ["STRENGTHS", "Reweighting", "kept", "relax", "relaxed_supports", "scale_of"]

STRENGTHS = (1.0, 0.25, 0.0625)  # shares of the relaxed cost: norms also shrink, and so drop too much at full strength
_NEGLIGIBLE = 1e-7  # of the labels' deviation: what moves scores by less leaves the alternation


@frozen
class Reweighting:
    """Numbers of the algorithm.

    Attributes
    ----------
    tradeoff, l1 : float
        lambda and rho of eq. 7.
    rounds : int
        Most alternations.
    floor : float
        Least auxiliary.
    drop : float
        A learner is dropped whose scores deviate by less, in units of the labels' deviation.
    paper_scale : bool
        Leave the relaxed cost as it is. Otherwise it is scaled to be the exact cost of the fit that knows no prices.
    relaxed : bool
        Whether a stage of a cascade tries the relaxed cost too.
    """

    tradeoff: float
    l1: float = 0.0
    rounds: int = 60
    floor: float = 1e-6
    drop: float = 1e-3
    paper_scale: bool = False
    relaxed: bool = True


def relaxed_supports(
    normal: NormalEquations,
    costs: Sequence[RelaxedCost],
    settings: Reweighting,
    earlier: NDArray[np.float64] | None = None,
    reach: NDArray[np.float64] | None = None,
) -> list[NDArray[np.bool_]]:
    """Relax several costs, side by side, and tell for each which learners matter: bool (C,)."""

    def support(cost: RelaxedCost) -> NDArray[np.bool_]:
        return kept(normal, relax(normal, cost, settings, earlier, reach), settings.drop)

    with blas_side_by_side():
        return run_parallel(support, costs, thread_count())


def scale_of(groups: PricedGroups, weights: NDArray[np.float64]) -> float:
    """Return what makes the relaxed cost of weights, (C, M), their exact cost; 1 if they cost nothing."""
    cost = RelaxedCost(groups.times(1.0 / max(1.0, groups.price.max(initial=0.0))))  # no sum overflows
    relaxed = cost.value(weights[np.newaxis])
    return cost.charged(weights[np.newaxis]) / relaxed if relaxed > 0 else 1.0


def kept(normal: NormalEquations, weights: NDArray[np.float64], drop: float) -> NDArray[np.bool_]:
    """Tell which learners' scores deviate by at least `drop` of the labels' deviation: bool (C,)."""
    size = np.sqrt(np.square(weights).sum(axis=1)) * normal.deviation
    return np.asarray(size >= drop * np.sqrt(normal.target_variance))


def relax(
    normal: NormalEquations,
    cost: RelaxedCost,
    settings: Reweighting,
    earlier: NDArray[np.float64] | None = None,
    reach: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Minimize eq. 7, or eq. 8 for a last stage: alternate eq. 11 with eqs. 13 and 14, from weights of one.

    Parameters
    ----------
    normal : NormalEquations
        Of the rows that reach the stage.
    cost : RelaxedCost
        Of a chain of k stages, in units of this loss.
    settings : Reweighting
    earlier, reach : float64 (k - 1, C, M), float64 (k,)
        Weights of the stages before, and d of all; by default the stage is the only one.
    """
    d = 1.0 if reach is None else float(reach[-1])
    bought = np.zeros(len(cost.groups.price))
    if earlier is not None:
        chain = np.concatenate([earlier, np.zeros((1, *normal.right.shape))])
        bought = np.square(RelaxedCost(cost.groups, cost.paths).auxiliaries(chain, reach)[0])
    groups, system = cost.groups, ShrinkingSystem(normal.gram, normal.right)
    now, deviation, unit = np.ones_like(normal.right), normal.deviation, np.sqrt(normal.target_variance)
    squares, live = np.square(now).sum(axis=1), np.ones(len(now), np.bool_)
    energies = groups.member @ squares
    for _ in range(settings.rounds):
        left = system.keep(live)
        if left is not None:
            now, squares, deviation = now[left], squares[left], deviation[left]
            groups = groups.restrict(np.flatnonzero(left))
        pull = groups.price / auxiliary(bought + d**2 * energies, settings.floor)
        after = system.solve(d**2 * (pull @ groups.member) + settings.l1 / auxiliary(squares, settings.floor))
        moved = np.sqrt(np.square(after - now).sum(axis=1)) * deviation
        now, squares = after, np.square(after).sum(axis=1)
        energies, live = groups.member @ squares, np.sqrt(squares) * deviation > _NEGLIGIBLE * unit
        if not live.any() or moved.max() <= settings.floor * unit:
            break
    weights = np.zeros_like(normal.right)
    weights[system.places] = now
    return weights
