"""Divides the rows of a last node by a single output, tried with answers on both sides.

Where the sides differ in what is worth buying, and not in their labels, no fit to labels finds what tells them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.stagewise.fitting import in_loss
from costframe.stagewise.thresholds import halving_threshold
from costframe_cstc.answers import path_models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.stagewise.evaluation import Evaluation
    from costframe.stagewise.soft_tree import SoftTree, WeightedSum
    from costframe_cstc.node_fits import Fitter, NodeFit

__all__ = ["divide"]

_MOST = 12  # outputs that are tried at a node
_FEWEST = 10.0  # rows on each side
_ENOUGH = 1e-9  # of the objective


def divide(fitter: Fitter, tree: SoftTree, depth: int, guard: Evaluation) -> SoftTree:
    """Divide leaves above the last level, and the rows of routes to two leaves anew, by one output each.

    It is done where loss + lambda * cost falls by it on the training rows, and on those of the guard does not rise.
    """
    train = fitter.train
    best, limit = train.total(tree), guard.total(tree)
    known = path_models(fitter, tree)
    for node in range(len(tree.topology) - 1, -1, -1):
        topology = tree.topology
        children = topology.children[node]
        if topology.paths[node].sum() >= depth or (children[0] >= 0 and topology.routes[children].any()):
            continue
        held = [tried for tried in _divided(fitter, tree, node, known[node]) if guard.total(tried) <= limit]
        totals = [train.total(tried) for tried in held]
        if held and min(totals) < best * (1 - _ENOUGH):
            tree, best = held[int(np.argmin(totals))], min(totals)
            limit, known = guard.total(tree), path_models(fitter, tree)
    return tree


def _divided(fitter: Fitter, tree: SoftTree, node: int, known: WeightedSum) -> Iterator[SoftTree]:
    """Yield the tree with a node that divides its rows in halves by one output, and answers below and above it."""
    train, bought = fitter.train, tree.bought(node)
    inside = train.flow(tree).passes[:, node] > 0
    if train.counts[inside].sum() < 2 * _FEWEST:
        return
    fit = fitter.at(known, inside)
    for output in _worth_trying(fit, bought):
        scores = train.rows.outputs.columns(np.array([output])).times(np.ones(1))
        threshold = halving_threshold(scores[fit.at], train.rows.loss_weight[fit.at])
        halves = inside & ~(scores > threshold), inside & (scores > threshold)
        if min(train.counts[half].sum() for half in halves) < _FEWEST:
            continue
        route = np.zeros(tree.weights.shape[1])
        route[output] = 1.0
        below, above = (fitter.at(known, half).answer(bought | (route != 0)) for half in halves)
        yield tree.dividing(node, route, threshold, below, above)


def _worth_trying(fit: NodeFit, bought: NDArray[np.bool_]) -> list[int]:
    """List few outputs that vary, by turns those that gain most beyond their price and those that do for the money."""
    normal = fit.normal
    varying = np.flatnonzero(normal.varies)
    if len(varying) <= _MOST:
        return varying.tolist()
    offers = in_loss(fit.prices.after(bought), fit.price).offers
    gain = 0.5 * np.square(normal.right).sum(axis=1) / np.maximum(np.diag(normal.gram), np.finfo(np.float64).tiny)
    free = np.finfo(np.float64).tiny * max(1.0, float(gain[varying].max()))  # so that nothing is infinitely worth it
    rate = gain / np.maximum(offers, free)
    ranks = (varying[np.argsort(-value[varying], kind="stable")] for value in (gain - offers, rate))
    mixed = np.stack(list(ranks), axis=1).ravel()
    first = np.sort(np.unique(mixed, return_index=True)[1])[:_MOST]
    return [int(output) for output in mixed[first]]
