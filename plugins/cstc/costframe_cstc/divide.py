"""Splits of a node's rows by a single output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from costframe.plugin import B1, exact_sum
from costframe.stagewise import Evaluation, SoftTree, WeightedSum
from costframe_cstc.grow import FEWEST_ROWS
from costframe_cstc.halving import halving_threshold
from costframe_cstc.node_fits import Fitter, NodeFit
from costframe_cstc.refit import path_models

_TRIED = 12  # outputs to try at a node
_ENOUGH = 1e-9  # of the objective


def divide(fitter: Fitter, tree: SoftTree, depth: int, guard: Evaluation) -> SoftTree:
    """Split leaves above the last level, and split rows of routes to two leaves again, by one output each.

    A split must lower loss + lambda * cost on the training rows, and not raise it on the guard's rows.
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
    """Yield trees in which one output splits a node's rows in halves, with answers below and above."""
    train, bought = fitter.train, tree.bought(node)
    counts = train.counts
    inside = train.flow(tree).passes[:, node] > 0
    if exact_sum(counts[inside]) < 2 * FEWEST_ROWS:
        return
    fit = fitter.at(known, inside)
    for output in _worth_trying(fit, bought):
        scores = train.rows.outputs.columns(np.array([output])).times(np.ones(1))
        threshold = halving_threshold(scores[fit.at], train.rows.loss_weight[fit.at])
        halves = inside & ~(scores > threshold), inside & (scores > threshold)
        if min(exact_sum(counts[part]) for part in halves) < FEWEST_ROWS:
            continue
        route = np.zeros(tree.weights.shape[1])
        route[output] = 1.0
        below, above = (fitter.at(known, part).answer(bought | (route != 0)) for part in halves)
        yield tree.dividing(node, route, threshold, below, above)


def _worth_trying(fit: NodeFit, bought: B1) -> list[int]:
    """List few outputs that vary, in turns by gain minus price and by gain per price."""
    normal = fit.normal
    varying = np.flatnonzero(normal.varies)
    if len(varying) <= _TRIED:
        return varying.tolist()
    offers = fit.prices.after(bought).in_loss(fit.price).offers
    gain = 0.5 * np.square(normal.right).sum(axis=1) / np.maximum(np.diag(normal.gram), np.finfo(np.float64).tiny)
    free = np.finfo(np.float64).tiny * max(1.0, float(gain[varying].max()))  # to keep the worth of free outputs finite
    rate = gain / np.maximum(offers, free)
    ranks = (varying[np.argsort(-value[varying], kind="stable")] for value in (gain - offers, rate))
    mixed = np.stack(list(ranks), axis=1).ravel()
    first = np.sort(np.unique(mixed, return_index=True)[1])[:_TRIED]
    return [int(output) for output in mixed[first]]
