"""Removes learners, features and resources that are not worth their exact price, one at a time, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from costframe.stagewise.systems import ShrinkingInverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.normal import NormalEquations

__all__ = ["prune"]


def prune(
    normal: NormalEquations, groups: PricedGroups, weights: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Remove groups while loss + ridge + price falls; weights (C, M) are a ridge fit to their support."""
    support = np.flatnonzero(weights.any(axis=1))
    if not len(support):
        return weights
    fit = ShrinkingInverse(normal.gram, normal.right, support, ridge)
    while len(fit.support):
        gone = _worst(fit, groups.restrict(fit.support))
        if gone is None:
            break
        fit.remove(gone)
    if len(fit.support) == len(support):
        return weights
    found = np.zeros_like(weights)
    found[fit.support] = normal.columns(fit.support).solve(np.full(len(fit.support), ridge))
    return found


def _worst(fit: ShrinkingInverse, groups: PricedGroups) -> NDArray[np.int64] | None:
    """Return which weights to remove, by their place in the support, or None if all are worth their price.

    A group costs at least as much to lose as the one of its weights that costs most to lose alone: what this leaves no
    hope for is not looked at.
    """
    member, saved = _savings(groups)
    if not len(saved):
        return None
    at_least = np.maximum.reduceat(fit.lost_alone[member.indices], member.indptr[:-1])
    hope = saved - at_least
    best, gone = 0.0, None
    for group in np.argsort(-hope, kind="stable"):
        if hope[group] <= best:
            break
        inside = member.indices[member.indptr[group] : member.indptr[group + 1]]
        worth = float(saved[group]) - (fit.lost(inside) if len(inside) > 1 else float(at_least[group]))
        if worth > best:
            best, gone = worth, inside
    return gone


def _savings(groups: PricedGroups) -> tuple[Any, NDArray[np.float64]]:
    """List groups with a price that have weights, csr (g, c), and what the removal of each saves, (g,).

    That is the price of all groups that it empties.
    """
    size = np.diff(groups.member.indptr)
    some = np.flatnonzero((groups.price > 0) & (size > 0))
    member: Any = groups.member[some]
    shared = sparse.coo_array(member @ member.T)
    emptied = shared.data == size[some][shared.row]
    saved = np.bincount(shared.col[emptied], weights=groups.price[some][shared.row[emptied]], minlength=len(some))
    return member, np.asarray(saved, np.float64)
