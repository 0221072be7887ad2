"""Growth of a tree: from the top down, then by splits of leaves.

It fits each node as if it were a leaf, and then divides the node's rows in two by its scores. A leaf may later divide
its rows by a single output, tried with answers on both sides: this finds sides that differ in the learners worth buying
but not in their labels, which no fit to labels finds.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field

from costframe.plugin import exact_sum
from costframe.stagewise import SoftTree, Topology, WeightedSum, halving_threshold, in_loss
from costframe_cstc.answers import path_models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.stagewise import Evaluation, WeightedSum
    from costframe_cstc.answers import Fitter, NodeFit

__all__ = ["divide", "grow"]

_FEWEST = 10  # rows on each side of a route
_ROUNDING = 1e-6
_MOST = 1e300  # largest inflation
_LESS = (1.0, 0.5, 0.0)  # powers of the inflation to try until a node buys outputs to divide rows by
_TRIED = 12  # outputs to try at a node
_ENOUGH = 1e-9  # of the objective


@define(eq=False)
class _Node:
    """A node during growth."""

    level: int
    inside: NDArray[np.bool_]
    bought: NDArray[np.bool_]
    prior: WeightedSum
    classifier: WeightedSum = field(init=False)
    answer: WeightedSum = field(init=False)
    direction: NDArray[np.float64] = field(init=False)
    threshold: float = field(init=False, default=0.0)
    children: tuple[int, int] = field(init=False, default=(-1, -1))


def grow(fitter: Fitter, depth: int, inflation: float) -> tuple[SoftTree, list[WeightedSum]]:
    """Fit node after node; a node of level l pays prices times inflation^(depth - l), l = 1..depth.

    A node before the last level is a leaf if it buys nothing, or cannot divide its rows.

    Returns
    -------
    SoftTree, list of WeightedSum
        The tree, and an answer for each node as a leaf.
    """
    n_rows, n_outputs = fitter.train.rows.outputs.shape
    root = _Node(1, np.ones(n_rows, np.bool_), np.zeros(n_outputs, np.bool_), fitter.constant)
    nodes, waiting = [root], deque([root])
    while waiting:
        node = waiting.popleft()
        halves = _fit_node(fitter, node, _power(inflation, depth - node.level), last=node.level == depth)
        if halves is not None:
            bought = node.bought | node.classifier.used
            pair = [_Node(node.level + 1, half, bought, node.classifier) for half in halves]
            node.children = len(nodes), len(nodes) + 1
            nodes += pair
            waiting += pair
    topology = Topology(np.array([node.children for node in nodes], np.int64))
    tree = SoftTree.of_zeros(topology, *root.answer.weights.shape)
    for number, node in enumerate(nodes):
        if topology.routes[number]:
            tree = tree.with_route(number, node.classifier.weights @ node.direction, node.threshold)
        else:
            tree = tree.with_answer(number, node.answer)
    return tree, [node.answer for node in nodes]


def _power(inflation: float, levels: int) -> float:
    """Return inflation^levels, at most 1e300."""
    with np.errstate(over="ignore"):
        return float(min(np.float_power(inflation, levels), _MOST))


def _fit_node(
    fitter: Fitter, node: _Node, inflation: float, *, last: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Fit a node, and return the rows that go below and above, or None for a leaf."""
    fit = fitter.at(node.prior, node.inside)
    node.answer = fit.answer(node.bought)
    node.classifier, node.direction = node.answer, np.ones(node.prior.weights.shape[1])
    if last:
        return None
    if inflation != 1:
        for power in _LESS:
            node.classifier = fit.answer(node.bought, inflation**power)
            if node.classifier.used.any():
                break
    rows = fitter.train.rows
    scores = node.classifier.scores(rows.outputs)
    at = np.flatnonzero(node.inside)
    node.direction = _leading(scores[at], rows.loss_weight[at])
    score = (scores - node.classifier.constant) @ node.direction
    node.threshold = halving_threshold(score[at], rows.loss_weight[at])
    above = node.inside & (score > node.threshold)
    below = node.inside & ~above
    counts = fitter.train.counts
    enough = min(exact_sum(counts[side]) for side in (below, above)) >= _FEWEST - _ROUNDING
    return (below, above) if enough and np.isfinite(node.threshold) else None


def _leading(scores: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direction of largest variance of scores (n, M): float64 (M,), its largest component positive."""
    if scores.shape[1] == 1:
        return np.ones(1)
    share = weight / weight.sum()
    centered = scores - share @ scores
    leading = np.linalg.eigh(centered.T @ (share[:, np.newaxis] * centered))[1][:, -1]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax()]))


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
    if exact_sum(counts[inside]) < 2 * _FEWEST:
        return
    fit = fitter.at(known, inside)
    for output in _worth_trying(fit, bought):
        scores = train.rows.outputs.columns(np.array([output])).times(np.ones(1))
        threshold = halving_threshold(scores[fit.at], train.rows.loss_weight[fit.at])
        halves = inside & ~(scores > threshold), inside & (scores > threshold)
        if min(exact_sum(counts[half]) for half in halves) < _FEWEST:
            continue
        route = np.zeros(tree.weights.shape[1])
        route[output] = 1.0
        below, above = (fitter.at(known, half).answer(bought | (route != 0)) for half in halves)
        yield tree.dividing(node, route, threshold, below, above)


def _worth_trying(fit: NodeFit, bought: NDArray[np.bool_]) -> list[int]:
    """List few outputs that vary, in turns by gain minus price and by gain per price."""
    normal = fit.normal
    varying = np.flatnonzero(normal.varies)
    if len(varying) <= _TRIED:
        return varying.tolist()
    offers = in_loss(fit.prices.after(bought), fit.price).offers
    gain = 0.5 * np.square(normal.right).sum(axis=1) / np.maximum(np.diag(normal.gram), np.finfo(np.float64).tiny)
    free = np.finfo(np.float64).tiny * max(1.0, float(gain[varying].max()))  # to keep the worth of free outputs finite
    rate = gain / np.maximum(offers, free)
    ranks = (varying[np.argsort(-value[varying], kind="stable")] for value in (gain - offers, rate))
    mixed = np.stack(list(ranks), axis=1).ravel()
    first = np.sort(np.unique(mixed, return_index=True)[1])[:_TRIED]
    return [int(output) for output in mixed[first]]
