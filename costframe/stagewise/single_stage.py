"""The single stage of Cronus (section 3.1): weights for a bank's learners that trade loss for cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.cost.groups import PricedGroups
from costframe.core.threads import run_parallel, thread_count
from costframe.stagewise.forward import take_up
from costframe.stagewise.pruning import prune
from costframe.stagewise.relaxed import RelaxedCost
from costframe.stagewise.relaxing import STRENGTHS, relaxed_supports, scale_of
from costframe.stagewise.systems import blas_side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.normal import NormalEquations
    from costframe.stagewise.relaxing import Reweighting

__all__ = ["USUAL_RIDGE", "fit_best", "fit_ridge", "hopeless", "in_loss", "reweight"]

USUAL_RIDGE = 1e-2

_MOST = 1e100  # prices in units of loss; more makes no difference, and its products are no doubles
_LARGEST = np.finfo(np.float64).max


def in_loss(prices: SampledPrices, tradeoff: float) -> SampledPrices:
    """Turn prices into loss: lambda times each, or what is as good as infinite."""
    with np.errstate(over="ignore"):
        price = np.minimum(prices.groups.price * min(tradeoff, _LARGEST), _MOST)
    return evolve(prices, groups=PricedGroups(prices.groups.member, price))


def reweight(
    normal: NormalEquations, prices: SampledPrices, settings: Reweighting, ridges: Sequence[float]
) -> Iterator[NDArray[np.float64]]:
    """Minimize eq. 4 approximately: for each ridge weights, float64 (C, M), exactly zero where nothing is evaluated.

    Which learners to keep is tried in two ways: by the relaxation, eq. 7, and by taking them up one at a time. A ridge
    on these alone, in units of the outputs' median variance, gives their weights, and what is not worth its price is
    then removed. With exact cost, and the ridge counted, the result is never worse than the fit without prices or the
    constant.
    """
    varying = np.flatnonzero(normal.varies)
    part, priced = normal.columns(varying), in_loss(prices, settings.tradeoff).restrict(varying)
    unit = part.unit
    supports: Sequence[NDArray[np.bool_]] = []
    if not hopeless(part, priced, unit * min(ridges)):
        supports = _supports(part, priced, settings, unit * USUAL_RIDGE)
    for ridge in ridges:
        weights = np.zeros(normal.right.shape)
        weights[varying] = fit_best(part, priced, supports, unit * ridge)
        yield weights


def _supports(
    normal: NormalEquations, prices: SampledPrices, settings: Reweighting, ridge: float
) -> list[NDArray[np.bool_]]:
    """Find learners that may be worth keeping, several times: bool (C,)."""
    everything = np.ones(len(normal.gram), np.bool_)
    groups = prices.priced(everything)
    full = fit_ridge(normal, everything, ridge)
    free = not RelaxedCost(groups).charged(full[np.newaxis])
    if free and not settings.l1:
        return [everything]
    scaled = groups if settings.paper_scale else groups.times(scale_of(groups, full))
    strengths = (1.0,) if settings.paper_scale or free else STRENGTHS
    costs = [RelaxedCost(scaled.times(strength)) for strength in strengths]
    found = relaxed_supports(normal, costs, settings)
    if settings.l1:
        return found
    return [everything, *found] if settings.paper_scale else [everything, take_up(normal, prices, ridge), *found]


def hopeless(normal: NormalEquations, prices: SampledPrices, ridge: float) -> bool:
    """Tell whether already one learner costs more than all of them together can lower loss + ridge: zero is best then.

    Prices are those of an exact cost.
    """
    nothing = 0.5 * normal.target_variance
    cheapest = float(prices.offers.min(initial=np.inf))
    if cheapest <= 0 or cheapest > nothing:
        return cheapest > 0
    with blas_side_by_side():
        full = fit_ridge(normal, np.ones(len(normal.right), np.bool_), ridge)
    return bool(cheapest > (1 + 1e-9) * (nothing - _ridged(normal, full, ridge)))


def _ridged(normal: NormalEquations, weights: NDArray[np.float64], ridge: float) -> float:
    return normal.loss(weights) + 0.5 * ridge * float(np.square(weights).sum())


def fit_best(
    normal: NormalEquations, prices: SampledPrices, supports: Sequence[NDArray[np.bool_]], ridge: float
) -> NDArray[np.float64]:
    """Fit to each support, remove what is not worth its price, and keep what is best with exact cost."""

    def objective(weights: NDArray[np.float64]) -> float:
        return _ridged(normal, weights, ridge) + prices.cost(np.asarray(weights.any(axis=1)))

    def fit(support: NDArray[np.bool_]) -> NDArray[np.float64]:
        fitted = fit_ridge(normal, support, ridge)
        return fitted if support.all() else prune(normal, prices.priced(support), fitted, ridge)

    with blas_side_by_side():
        candidates = run_parallel(fit, supports, thread_count())
    return min([*candidates, np.zeros(normal.right.shape)], key=objective)


def fit_ridge(normal: NormalEquations, kept: NDArray[np.bool_], ridge: float) -> NDArray[np.float64]:
    """Fit by ridge on a support; zero elsewhere."""
    weights, support = np.zeros(normal.right.shape), np.flatnonzero(kept)
    weights[support] = normal.columns(support).solve(np.full(len(support), ridge))
    return weights
