"""Importances of features: shares of the variance that they explain, and of the money that they cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.report import Charges
    from costframe.core.explanations.contributions import Contributions
    from costframe.core.prices.price_arrays import PriceArrays

_CELLS = 1 << 22  # of a table of rows and resources


def gain_shares(found: Contributions, n_features: int, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each feature in the variance that features explain, learner by learner: float64 (d,).

    Features behind a joint entry have equal parts of it.
    """
    means = weight @ found.squares
    gain = means[:n_features].copy()
    for joint, mean in zip(found.joint, means[n_features:], strict=True):
        gain[list(joint.reads)] += mean / max(1, len(joint.reads))
    return _shares(gain)


def money_shares(charges: Charges, prices: PriceArrays, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each feature in what rows pay for features and resources: float64 (d,).

    The features of a row that need a resource have equal parts of its price.
    """
    from scipy import sparse

    acquired = np.asarray(charges.acquired, np.bool_)
    paid = (weight @ acquired) * prices.cost
    used = np.flatnonzero(acquired.any(axis=0))
    first, entries = prices.direct_needs.restrict(used).listed()
    n_resources = len(prices.resource_cost)
    needs = sparse.csr_array((np.ones(len(entries)), entries, first), shape=(len(used), n_resources))
    step = max(1, _CELLS // max(1, n_resources, len(used)))
    for begin in range(0, len(acquired) if len(entries) else 0, step):
        own = acquired[begin : begin + step][:, used]
        needing = np.asarray((needs.T @ own.T.astype(np.float64)).T)  # features of a row that need each resource
        each = np.divide(prices.resource_cost, needing, out=np.zeros_like(needing), where=needing > 0)
        paid[used] += weight[begin : begin + step] @ (own * np.asarray((needs @ each.T).T))
    return _shares(paid)


def _shares(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale numbers >= 0 so that they add up to one; those that are not finite count as zero."""
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    total = float(sizes.sum())
    return sizes / total if total > 0 else sizes
