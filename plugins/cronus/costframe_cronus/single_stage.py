"""The single stage of Cronus (section 3.1): weights for a bank's learners that trade loss for cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.groups import PricedGroups
from costframe.core.relaxed import RelaxedCost, auxiliary
from costframe.core.threads import run_parallel, thread_count
from costframe_cronus.linear import ShrinkingSystem, blas_side_by_side
from costframe_cronus.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from costframe_cronus.normal import NormalEquations

__all__ = [
    "STRENGTHS",
    "USUAL_RIDGE",
    "Reweighting",
    "fit_best",
    "fit_ridge",
    "hopeless",
    "in_loss",
    "kept",
    "relax",
    "relaxed_supports",
    "reweight",
    "scale_of",
]

USUAL_RIDGE = 1e-2

_MOST = 1e100  # prices in units of loss; more makes no difference, and its products are no doubles
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
    supports: Sequence[NDArray[np.bool_]] = []
    if not hopeless(part, priced, unit * min(ridges)):
        supports = _supports(part, priced, settings, unit * USUAL_RIDGE)
    for ridge in ridges:
        weights = np.zeros(normal.right.shape)
        weights[varying] = fit_best(part, priced, supports, unit * ridge)
        yield weights


def _supports(
    normal: NormalEquations, groups: PricedGroups, settings: Reweighting, ridge: float
) -> list[NDArray[np.bool_]]:
    """Find learners that may be worth keeping, several times: bool (C,)."""
    everything = np.ones(len(normal.gram), np.bool_)
    full = fit_ridge(normal, everything, ridge)
    free = not RelaxedCost(groups).charged(full[np.newaxis])
    if free and not settings.l1:
        return [everything]
    scaled = groups if settings.paper_scale else groups.times(scale_of(groups, full))
    strengths = (1.0,) if settings.paper_scale or free else STRENGTHS
    costs = [RelaxedCost(scaled.times(strength)) for strength in strengths]
    return [everything] * (not settings.l1) + relaxed_supports(normal, costs, settings)


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


def hopeless(normal: NormalEquations, groups: PricedGroups, ridge: float) -> bool:
    """Tell whether already one learner costs more than all of them together can lower loss + ridge: zero is best then.

    Prices are those of an exact cost; a group's price is asked of each of its weights.
    """
    nothing = 0.5 * normal.target_variance
    cheapest = float(np.asarray(groups.price @ groups.member).min(initial=np.inf))
    if cheapest <= 0 or cheapest > nothing:
        return cheapest > 0
    with blas_side_by_side():
        full = fit_ridge(normal, np.ones(len(normal.right), np.bool_), ridge)
    return bool(cheapest > (1 + 1e-9) * (nothing - _ridged(normal, full, ridge)))


def _ridged(normal: NormalEquations, weights: NDArray[np.float64], ridge: float) -> float:
    return normal.loss(weights) + 0.5 * ridge * float(np.square(weights).sum())


def scale_of(groups: PricedGroups, weights: NDArray[np.float64]) -> float:
    """Return what makes the relaxed cost of weights, (C, M), their exact cost; 1 if they cost nothing."""
    cost = RelaxedCost(groups)
    relaxed = cost.value(weights[np.newaxis])
    return cost.charged(weights[np.newaxis]) / relaxed if relaxed > 0 else 1.0


def kept(normal: NormalEquations, weights: NDArray[np.float64], drop: float) -> NDArray[np.bool_]:
    """Tell which learners' scores deviate by at least `drop` of the labels' deviation: bool (C,)."""
    size = np.sqrt(np.square(weights).sum(axis=1)) * normal.deviation
    return np.asarray(size >= drop * np.sqrt(normal.target_variance))


def fit_best(
    normal: NormalEquations, groups: PricedGroups, supports: Sequence[NDArray[np.bool_]], ridge: float
) -> NDArray[np.float64]:
    """Fit to each support, remove what is not worth its price, and keep what is best with exact cost."""
    exact = RelaxedCost(groups)

    def objective(weights: NDArray[np.float64]) -> float:
        return _ridged(normal, weights, ridge) + exact.charged(weights[np.newaxis])

    def fit(support: NDArray[np.bool_]) -> NDArray[np.float64]:
        fitted = fit_ridge(normal, support, ridge)
        return fitted if support.all() else prune(normal, groups, fitted, ridge)

    with blas_side_by_side():
        candidates = run_parallel(fit, supports, thread_count())
    return min([*candidates, np.zeros(normal.right.shape)], key=objective)


def fit_ridge(normal: NormalEquations, kept: NDArray[np.bool_], ridge: float) -> NDArray[np.float64]:
    """Fit by ridge on a support; zero elsewhere."""
    weights, support = np.zeros(normal.right.shape), np.flatnonzero(kept)
    weights[support] = normal.columns(support).solve(np.full(len(support), ridge))
    return weights


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
