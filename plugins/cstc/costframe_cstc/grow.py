"""Initialization from the top down: each node is fitted as if it were a leaf, and then divides its rows in two."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen

from costframe.stagewise.soft_tree import SoftTree, WeightedSum
from costframe.stagewise.thresholds import halving_threshold
from costframe.stagewise.topology import Topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_cstc.node_fits import Fitter

__all__ = ["Grown", "grow"]

_FEWEST = 10  # rows on each side of a route
_ROUNDING = 1e-6
_MOST = 1e300  # of an inflation
_LESS = (1.0, 0.5, 0.0)  # powers of an inflation that are tried until there is something to divide rows by


@frozen(eq=False)
class Grown:
    """A tree, and for each of its nodes an answer that could end it there."""

    tree: SoftTree
    answers: list[WeightedSum]


@define(eq=False)
class _Node:
    """A node in the making."""

    level: int
    inside: NDArray[np.bool_]
    bought: NDArray[np.bool_]
    prior: WeightedSum
    classifier: WeightedSum = field(init=False)
    answer: WeightedSum = field(init=False)
    direction: NDArray[np.float64] = field(init=False)
    threshold: float = field(init=False, default=0.0)
    children: tuple[int, int] = field(init=False, default=(-1, -1))


def grow(fitter: Fitter, depth: int, inflation: float) -> Grown:
    """Fit node after node; a node of level l buys at prices times inflation^(depth - l), l = 1..depth.

    A node is a leaf already before the last level if it buys nothing, or its rows cannot be divided.
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
    return _grown(nodes)


def _power(inflation: float, levels: int) -> float:
    """Return inflation^levels, or what is as good as infinite."""
    with np.errstate(over="ignore"):
        return float(min(np.float_power(inflation, levels), _MOST))


def _fit_node(
    fitter: Fitter, node: _Node, inflation: float, *, last: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Fit a node, and return the rows that go below and above, or None if it is to be a leaf."""
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
    enough = min(float(counts[below].sum()), float(counts[above].sum())) >= _FEWEST - _ROUNDING
    return (below, above) if enough and np.isfinite(node.threshold) else None


def _leading(scores: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direction in which scores (n, M) vary most: float64 (M,), its largest component positive."""
    if scores.shape[1] == 1:
        return np.ones(1)
    share = weight / weight.sum()
    centered = scores - share @ scores
    leading = np.linalg.eigh(centered.T @ (share[:, np.newaxis] * centered))[1][:, -1]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax()]))


def _grown(nodes: list[_Node]) -> Grown:
    answers = [node.answer for node in nodes]
    shape = len(nodes), *answers[0].weights.shape
    nothing, ones = np.zeros((shape[0], shape[2])), np.ones((shape[0], shape[2]))
    topology = Topology(np.array([node.children for node in nodes], np.int64))
    tree = SoftTree(topology, np.zeros(shape), nothing, ones, np.zeros(shape[0]))
    for number, node in enumerate(nodes):
        if topology.routes[number]:
            tree = tree.with_route(number, node.classifier.weights @ node.direction, node.threshold)
        else:
            tree = tree.with_answer(number, node.answer)
    return Grown(tree, answers)
