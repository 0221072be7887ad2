"""Finds learners worth keeping by taking them up one at a time, where a relaxation sees all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.sampled_prices import Purchases

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.sampled_prices import SampledPrices
    from costframe.linear.normal import NormalEquations

__all__ = ["take_up"]

_PATIENCE = 50  # learners taken up without finding anything better
_LEAST = 1e-9  # of an output's variance, below which it is a sum of others
_FREE = np.finfo(np.float64).tiny


def take_up(normal: NormalEquations, prices: SampledPrices, ridge: float) -> NDArray[np.bool_]:
    """Return which outputs to keep, bool (C,): the best of supports that each hold one more than the one before.

    The next output is the one that lowers loss + ridge by most beyond what it buys anew; where none is worth it, the
    one that lowers it by most for the money. Ridge regression on a growing support is a pivoted Cholesky factorization,
    so that all steps together cost as much as one fit.
    """
    n_outputs = len(normal.right)
    left, right = np.diag(normal.gram) + ridge, normal.right.copy()
    least = np.maximum(_LEAST * left, _FREE)
    factor: NDArray[np.float64] = np.empty((n_outputs, min(n_outputs, 64)), order="F")
    offers, taken = Purchases(prices), np.zeros(n_outputs, np.bool_)
    value, best, kept = 0.0, 0.0, 0
    order: list[int] = []
    while len(order) - kept < _PATIENCE and len(order) < n_outputs:
        gain = np.where(taken | (left <= least), -np.inf, 0.5 * np.square(right).sum(axis=1) / np.maximum(left, least))
        worth = gain - offers.price
        at = int(worth.argmax())
        if worth[at] <= 0:
            at = int((gain / np.maximum(offers.price, _FREE)).argmax())
        if gain[at] <= 0:
            break
        if len(order) == factor.shape[1]:
            factor = np.asfortranarray(np.hstack([factor, np.empty_like(factor)]))
        earlier = factor[:, : len(order)]
        column = np.asarray(normal.gram[:, at] - earlier @ earlier[at])
        column[at] += ridge
        column /= np.sqrt(left[at])
        factor[:, len(order)] = column
        right = right - np.outer(column, right[at] / np.sqrt(left[at]))
        left = left - np.square(column)
        taken[at] = True
        offers.take(at)
        order.append(at)
        value += worth[at]
        if value > best:
            best, kept = value, len(order)
    support = np.zeros(n_outputs, np.bool_)
    support[order[:kept]] = True
    return support
