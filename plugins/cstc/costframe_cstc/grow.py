"""Growth of a tree from the top down, then by splits of leaves: answers of nodes, and pruning by held-out rows.

A fit begins with the parent's answer, and learners bought on the way are free.

It fits each node as if it were a leaf, and then divides the node's rows in two by its scores. A leaf may later divide
its rows by a single output, tried with answers on both sides: this finds sides that differ in the learners worth buying
but not in their labels, which no fit to labels finds.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from attrs import define, field

from costframe.plugin import B1, F8, exact_sum
from costframe.stagewise import SoftTree, Topology, WeightedSum
from costframe_cstc.halving import halving_threshold
from costframe_cstc.node_fits import Fitter

FEWEST_ROWS = 10  # rows on each side of a route
_ROUNDING = 1e-6
_MOST = 1e300  # largest inflation
_LESS = (1.0, 0.5, 0.0)  # powers of the inflation to try until a node buys outputs to divide rows by


@define(eq=False)
class _Node:
    """A node during growth."""

    level: int
    inside: B1
    bought: B1
    prior: WeightedSum
    classifier: WeightedSum = field(init=False)
    answer: WeightedSum = field(init=False)
    direction: F8 = field(init=False)
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
            pair = [_Node(node.level + 1, part, bought, node.classifier) for part in halves]
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


def _fit_node(fitter: Fitter, node: _Node, inflation: float, *, last: bool) -> tuple[B1, B1] | None:
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
    enough = min(exact_sum(counts[side]) for side in (below, above)) >= FEWEST_ROWS - _ROUNDING
    return (below, above) if enough and np.isfinite(node.threshold) else None


def _leading(scores: F8, weight: F8) -> F8:
    """Return the direction of largest variance of scores (n, M): float64 (M,), its largest component positive."""
    if scores.shape[1] == 1:
        return np.ones(1)
    share = weight / weight.sum()
    centered = scores - share @ scores
    leading = np.linalg.eigh(centered.T @ (share[:, np.newaxis] * centered))[1][:, -1]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax()]))
