"""Fits at one node: which learners are worth their price there, and their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from costframe.stagewise.forward import take_up
from costframe.stagewise.single_stage import fit_best, hopeless, in_loss
from costframe.stagewise.systems import scipy_blas_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.normal import NormalEquations
    from costframe_cstc.losses import Loss

__all__ = ["fit_at_price", "refine"]

_ROUNDS = 15  # and what rounding does to the weights stays far below what matters


def fit_at_price(
    normal: NormalEquations, prices: SampledPrices, price: float, ridge: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimize mean 1/2 |z - c - D'h|^2 + ridge + price * cost, approximately.

    Parameters
    ----------
    normal : NormalEquations
        Of C outputs and what is to be fitted to, z, of M numbers.
    prices : SampledPrices
        Of what is not yet bought.
    price : float
        In units of this loss, per unit of cost.
    ridge : float
        In units of the outputs' median variance.

    Returns
    -------
    float64 (C, M), float64 (M,)
        Weights, exactly zero where nothing is evaluated, and constants.
    """
    varying, weights = np.flatnonzero(normal.varies), np.zeros(normal.right.shape)
    if len(varying):
        part, fresh = normal.columns(varying), in_loss(prices, price).restrict(varying)
        unit = ridge * part.unit
        if not hopeless(part, fresh, unit):
            supports = [np.ones(len(varying), np.bool_), take_up(part, fresh, unit)]
            weights[varying] = fit_best(part, fresh, supports, unit)
    return weights, normal.intercept(weights)


def refine(
    loss: Loss,
    H: NDArray[np.float64],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    offset: NDArray[np.float64],
    start: tuple[NDArray[np.float64], NDArray[np.float64]],
    penalty: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimize sum_i w_i loss(offset_i + c + D'h_i) / sum_i w_i + penalty / 2 |D|^2: weights (U, M), constants (M,)."""
    share, width = weight / weight.sum(), target.shape[1]
    mean = share @ H
    centered = H - mean
    unit = np.sqrt(share @ np.square(centered))
    unit = 1.0 / np.where(unit > 0, unit, 1.0)

    def unpack(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        free = x.reshape(-1, width)
        return unit[:, np.newaxis] * free[:-1], free[-1]

    def value(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, constant = unpack(x)
        scores = offset + centered @ weights + constant
        slope = share[:, np.newaxis] * loss.slope(scores, target)
        total = float(share @ loss.value(scores, target)) + 0.5 * penalty * float(np.square(weights).sum())
        by_weight = unit[:, np.newaxis] * (centered.T @ slope + penalty * weights)
        return total, np.vstack([by_weight, slope.sum(axis=0)]).ravel()

    begin = np.vstack([start[0] / unit[:, np.newaxis], start[1] + mean @ start[0]]).ravel()
    with scipy_blas_alone():
        found: Any = minimize(value, begin, jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS})
    weights, constant = unpack(found.x if found.fun <= value(begin)[0] else begin)
    return weights, constant - mean @ weights
