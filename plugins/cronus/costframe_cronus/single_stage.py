"""The single stage of Cronus (section 3.1): weights for a bank's learners that trade loss for cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.groups import PricedGroups
from costframe.core.relaxed import RelaxedCost, auxiliary
from costframe_cronus.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from costframe_cronus.normal import NormalEquations

__all__ = ["USUAL_RIDGE", "Reweighting", "in_loss", "reweight"]

USUAL_RIDGE = 1e-2

_MOST = 1e100  # prices in units of loss; more makes no difference, and its products are no doubles
_STRENGTHS = (1.0, 0.25, 0.0625)  # shares of the relaxed cost: norms also shrink, and so drop too much at full strength
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
    """

    tradeoff: float
    l1: float = 0.0
    rounds: int = 60
    floor: float = 1e-6
    drop: float = 1e-3
    paper_scale: bool = False


def in_loss(groups: PricedGroups, tradeoff: float) -> PricedGroups:
    """Turn prices into loss: lambda times each, or what is as good as infinite."""
    with np.errstate(over="ignore"):
        return PricedGroups(groups.member, np.minimum(groups.price * tradeoff, _MOST))


def reweight(
    normal: NormalEquations, groups: PricedGroups, settings: Reweighting, ridges: Sequence[float]
) -> Iterator[NDArray[np.float64]]:
    """Minimize eq. 4 approximately: for each ridge weights, float64 (C, M), exactly zero where nothing is evaluated.

    The relaxation, eq. 7, says which learners to keep; a ridge on these alone, in units of the outputs' mean variance,
    gives their weights, and what is not worth its exact price is then removed. With exact cost, and the ridge counted,
    the result is never worse than the fit without prices or the constant.
    """
    varying = np.flatnonzero(normal.varies)
    part, priced = normal.columns(varying), in_loss(groups, settings.tradeoff).restrict(varying)
    unit = float(np.diag(part.gram).sum()) / max(1, len(varying))
    supports = _supports(part, priced, settings, unit * USUAL_RIDGE)
    for ridge in ridges:
        weights = np.zeros(normal.right.shape)
        weights[varying] = _best(part, priced, supports, unit * ridge)
        yield weights


def _supports(
    normal: NormalEquations, groups: PricedGroups, settings: Reweighting, ridge: float
) -> list[NDArray[np.bool_]]:
    """Find learners that may be worth keeping, several times: bool (C,)."""
    everything = np.ones(len(normal.gram), np.bool_)
    full = _fit(normal, everything, ridge)
    free = not RelaxedCost(groups).charged(full[np.newaxis])
    if free and not settings.l1:
        return [everything]
    supports = [] if settings.l1 else [everything]
    for strength in (1.0,) if settings.paper_scale or free else _STRENGTHS:
        relaxed = _relaxed(normal, groups.times(strength), settings, full)
        size = np.sqrt(np.square(relaxed).sum(axis=1)) * normal.deviation
        supports.append(size >= settings.drop * np.sqrt(normal.target_variance))
    return supports


def _best(
    normal: NormalEquations, groups: PricedGroups, supports: Sequence[NDArray[np.bool_]], ridge: float
) -> NDArray[np.float64]:
    """Fit to each support, remove what is not worth its price, and keep what is best with exact cost."""
    exact = RelaxedCost(groups)

    def objective(weights: NDArray[np.float64]) -> float:
        return normal.loss(weights) + 0.5 * ridge * float(np.square(weights).sum()) + exact.charged(weights[np.newaxis])

    candidates = []
    for support in supports:
        fitted = _fit(normal, support, ridge)
        candidates.append(fitted if support.all() else prune(normal, groups, fitted, ridge))
    return min([*candidates, np.zeros(normal.right.shape)], key=objective)


def _fit(normal: NormalEquations, kept: NDArray[np.bool_], ridge: float) -> NDArray[np.float64]:
    """Fit by ridge on a support; zero elsewhere."""
    weights, support = np.zeros(normal.right.shape), np.flatnonzero(kept)
    weights[support] = normal.columns(support).solve(np.full(len(support), ridge))
    return weights


def _relaxed(
    normal: NormalEquations, groups: PricedGroups, settings: Reweighting, full: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimize eq. 7 by alternating Lemma 1's auxiliaries with eqs. 13 and 14, from weights of one."""
    cost = RelaxedCost(groups)
    priced = 0.0 if settings.paper_scale else cost.value(full[np.newaxis])
    groups = groups.times(cost.charged(full[np.newaxis]) / priced) if priced > 0 else groups
    weights, active = np.ones_like(full), np.arange(len(full))
    deviation, unit = normal.deviation, np.sqrt(normal.target_variance)
    for _ in range(settings.rounds):
        here, part = RelaxedCost(groups.restrict(active), floor=settings.floor), normal.columns(active)
        now = weights[active]
        penalty = here.curvature(here.auxiliaries(now[np.newaxis]))[0]
        penalty = penalty + settings.l1 / auxiliary(np.square(now).sum(axis=1), settings.floor)
        after = part.solve(penalty)
        size = np.sqrt(np.square(after).sum(axis=1)) * deviation[active]
        moved = np.sqrt(np.square(after - now).sum(axis=1)) * deviation[active]
        weights = np.zeros_like(full)
        weights[active] = after
        active = active[size > _NEGLIGIBLE * unit]
        if not len(active) or moved.max() <= settings.floor * unit:
            break
    return weights
