"""Weights of one node that trade loss for exact cost: supports by forward selection, ridge, and removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.core.cost.groups import PricedGroups
from costframe.core.threads import run_parallel, thread_count
from costframe.stagewise.forward import forward_select
from costframe.stagewise.pruning import prune
from costframe.stagewise.systems import blas_side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.normal import NormalEquations

__all__ = ["USUAL_RIDGE", "fit_at_price", "fit_at_ridges", "fit_ridge", "groups_in_loss", "in_loss", "nothing_pays"]

USUAL_RIDGE = 1e-2

_MOST = 1e100  # prices in units of loss; more makes no difference, and its products are no doubles
_LARGEST = np.finfo(np.float64).max


def groups_in_loss(groups: PricedGroups, tradeoff: float) -> PricedGroups:
    """Turn prices into loss: lambda times each, or what is as good as infinite."""
    with np.errstate(over="ignore"):
        return PricedGroups(groups.member, np.minimum(groups.price * min(tradeoff, _LARGEST), _MOST))


def in_loss(prices: SampledPrices, tradeoff: float) -> SampledPrices:
    """Turn prices into loss likewise."""
    return evolve(prices, groups=groups_in_loss(prices.groups, tradeoff))


def fit_at_price(normal: NormalEquations, prices: SampledPrices, price: float, ridge: float) -> NDArray[np.float64]:
    """Minimize mean 1/2 |y - a - B'h|^2 + ridge + price * cost, approximately.

    Parameters
    ----------
    normal : NormalEquations
        Of C outputs.
    prices : SampledPrices
        Of what is not yet bought.
    price : float
        In units of this loss, per unit of cost.
    ridge : float
        In units of the outputs' median variance.

    Returns
    -------
    float64 (C, M)
        Exactly zero where nothing is evaluated.
    """
    return next(fit_at_ridges(normal, prices, price, [ridge], ridge))


def fit_at_ridges(
    normal: NormalEquations, prices: SampledPrices, price: float, ridges: Sequence[float], usual: float = USUAL_RIDGE
) -> Iterator[NDArray[np.float64]]:
    """Fit as `fit_at_price` for each ridge, to supports that are selected with the usual one.

    By exact cost, and with the ridge, the result is never worse than the fit without prices or the constant.
    """
    varying = np.flatnonzero(normal.varies)
    part, priced = normal.columns(varying), in_loss(prices, price).restrict(varying)
    supports: Sequence[NDArray[np.bool_]] = []
    if not nothing_pays(part, priced, part.unit * min(ridges)):
        supports = [np.ones(len(varying), np.bool_), forward_select(part, priced, part.unit * usual)]
    for ridge in ridges:
        weights = np.zeros(normal.right.shape)
        weights[varying] = _fit_best(part, priced, supports, part.unit * ridge)
        yield weights


def nothing_pays(normal: NormalEquations, prices: SampledPrices, ridge: float) -> bool:
    """Tell whether one learner costs more than all of them together can lower loss + ridge: zero is best then.

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


def _fit_best(
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
