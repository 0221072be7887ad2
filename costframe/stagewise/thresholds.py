"""Thresholds of routes: the best ones given payments."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8
from costframe.stagewise.flow import Flow
from costframe.stagewise.topology import Topology

_NEARLY = 1e-15
_TURNS = 10


def best_thresholds(topology: Topology, scores: F8, at_exit: F8, on_arrival: F8, threshold: F8) -> F8:
    """Move thresholds, the last node's first, each to its optimum given the others, until none moves.

    Parameters
    ----------
    topology : Topology
    scores : float64 (n, K)
        Routing scores of nodes.
    at_exit, on_arrival : float64 (n, K)
        Payments of a row at the node that answers it, and at each node that it reaches.
    threshold : float64 (K,)
        At the start.

    Returns
    -------
    float64 (K,)
        -inf sends all rows up, inf all down. A finite threshold that moved lies between two scores.
    """
    chosen = threshold.copy()
    for _ in range(_TURNS):
        before = chosen.copy()
        for node in np.flatnonzero(topology.routes)[::-1].tolist():
            flow = Flow.hard(topology, scores, chosen)
            inside = flow.passes[:, node] > 0
            more = flow.payment_difference(node, at_exit, on_arrival)[inside]
            chosen[node] = best_threshold(scores[inside, node], more, chosen[node])
        if (chosen == before).all():
            break
    return chosen


def best_threshold(scores: F8, more: F8, now: float) -> float:
    """Return the threshold with the least sum of `more`, float64 (n,), over the rows not above it.

    It keeps the threshold `now` if that is as good. A new one is half-way between two scores, (n,), or infinite if all
    rows are on one side.
    """
    order = np.argsort(scores, kind="stable")
    ascending, sums = scores[order], np.concatenate([[0.0], np.cumsum(more[order])])
    possible = np.concatenate([[True], np.diff(ascending) > 0, [True]]) if len(scores) else np.array([True])
    sums = np.where(possible, sums, np.inf)
    at = int(sums.argmin())
    if sums[at] >= sums[np.searchsorted(ascending, now, side="right")] - _NEARLY:
        return now
    if at in {0, len(scores)}:
        return -np.inf if at == 0 else np.inf
    return _between(ascending, at)


def _between(ascending: F8, at: int) -> float:
    middle = ascending[at - 1] + 0.5 * (ascending[at] - ascending[at - 1])
    return float(middle if middle < ascending[at] else ascending[at - 1])
