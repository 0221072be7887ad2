"""Removes learners, features and resources that are not worth their exact price, one at a time, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe_cronus.normal import solve_scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.groups import PricedGroups
    from costframe_cronus.normal import NormalEquations

__all__ = ["prune"]


def prune(
    normal: NormalEquations, groups: PricedGroups, weights: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Remove groups while loss + ridge + price falls; weights (C, M) are a ridge fit to their support.

    With M = S + ridge I and the weights b_R of what goes, refitting the rest costs 1/2 tr b_R' ((M^-1)_RR)^-1 b_R.
    """
    support = np.flatnonzero(weights.any(axis=1))
    while len(support):
        gone = _worst(normal.columns(support), groups.restrict(support), weights[support], ridge)
        if gone is None:
            break
        support = support[~gone]
        weights = np.zeros_like(weights)
        weights[support] = normal.columns(support).solve(np.full(len(support), ridge))
    return weights


def _worst(
    normal: NormalEquations, groups: PricedGroups, weights: NDArray[np.float64], ridge: float
) -> NDArray[np.bool_] | None:
    """Return which weights to remove, bool (C,), or None if all are worth their price."""
    inverse = solve_scaled(normal.gram + ridge * np.eye(len(weights)), np.eye(len(weights)))
    best, gone = 0.0, None
    for saved, inside in _savings(groups):
        if saved <= best:  # whatever goes, the loss does not fall
            break
        worth = saved - _lost(inverse, weights, inside)
        if worth > best:
            best, gone = worth, inside
    return gone


def _savings(groups: PricedGroups) -> list[tuple[float, NDArray[np.bool_]]]:
    """List, for each group with a price, what its removal saves, and the weights that go, bool (C,); most first."""
    member, size = groups.member, np.diff(groups.member.indptr)
    found = []
    for group in np.flatnonzero((groups.price > 0) & (size > 0)):
        inside = np.zeros(member.shape[1], np.bool_)
        inside[member.indices[member.indptr[group] : member.indptr[group + 1]]] = True
        emptied = ((member @ inside.astype(np.float64)) == size) & (size > 0)
        found.append((float(groups.price[emptied].sum()), inside))
    return sorted(found, key=lambda one: -one[0])


def _lost(inverse: NDArray[np.float64], weights: NDArray[np.float64], gone: NDArray[np.bool_]) -> float:
    """Tell by what loss + ridge rises if some weights go and the others are fitted anew."""
    places, part = np.flatnonzero(gone), weights[gone]
    return 0.5 * float((part * solve_scaled(inverse[np.ix_(places, places)], part)).sum())
