"""Trees of weighted sums of a bank's outputs, with soft routing.

A single answer is one node, Cronus a chain, CSTC a binary tree. Routing is soft in training and hard in use (`Flow`).
"""

from __future__ import annotations

import numpy as np
from attrs import Factory, evolve, field, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.outputs import BankOutputs
from costframe.core.sums import coarse
from costframe.stagewise.bank_rows import BankRows
from costframe.stagewise.topology import Topology

_ZERO = 1e-4  # of the target's deviation: weights that change scores by less are set to zero


@frozen(eq=False)
class WeightedSum:
    """M weighted sums of C outputs of a bank: weights, float64 (C, M), and constants, float64 (M,)."""

    weights: F8
    constant: F8

    @property
    def used(self) -> B1:
        """Which outputs have a weight other than zero: bool (C,)."""
        return np.asarray(self.weights.any(axis=1))

    def scores(self, outputs: BankOutputs) -> F8:
        """Return the sums for each row: float64 (n, M)."""
        used = np.flatnonzero(self.used)
        return outputs.columns(used).times(self.weights[used]) + self.constant


@frozen(eq=False)
class SoftTree:
    """K nodes with M scores each, s = B'h + b.

    Attributes
    ----------
    topology : Topology
    weights : float64 (K, C, M)
        beta^k.
    intercept : float64 (K, M)
    direction : float64 (K, M)
        A node routes by this weighted sum of its scores; ones for a single score.
    threshold : float64 (K,)
        theta^k: rows with a greater sum go up. It has no effect at leaves.
    calibration : float64 (K, 1 + M)
        The slope a and the constants c of each node's answer a s + c.
    """

    topology: Topology
    weights: F8
    intercept: F8
    direction: F8
    threshold: F8
    calibration: F8 = field(default=Factory(lambda self: _uncalibrated(*self.intercept.shape), takes_self=True))

    @classmethod
    def chain(cls, weights: F8, intercept: F8, threshold: F8) -> SoftTree:
        """Make a chain of weights (K, C), constants (K,) and thresholds (K - 1,)."""
        n_stages = len(weights)
        return cls(
            Topology.chain(n_stages),
            weights[:, :, np.newaxis],
            intercept[:, np.newaxis],
            np.ones((n_stages, 1)),
            np.append(threshold, 0.0),
        )

    @classmethod
    def of_zeros(cls, topology: Topology, n_outputs: int, width: int) -> SoftTree:
        """Make nodes whose weights are all zero."""
        n_nodes = len(topology)
        nothing, ones = np.zeros((n_nodes, width)), np.ones((n_nodes, width))
        return cls(topology, np.zeros((n_nodes, n_outputs, width)), nothing, ones, np.zeros(n_nodes))

    @classmethod
    def single(cls, answer: WeightedSum) -> SoftTree:
        """Make a single node."""
        ones = np.ones((1, len(answer.constant)))
        return cls(Topology.full(1), answer.weights[np.newaxis], answer.constant[np.newaxis], ones, np.zeros(1))

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.topology)

    @property
    def used(self) -> B1:
        """Which outputs each node uses: bool (K, C)."""
        return np.asarray(self.weights.any(axis=2))

    def bought(self, node: int) -> B1:
        """Which outputs the nodes before a node use: bool (C,)."""
        on = self.topology.paths[node].copy()
        on[node] = False
        return np.asarray(self.used[on].any(axis=0))

    def scores(self, rows: BankRows) -> F8:
        """Score rows at all nodes: float64 (n, K, M)."""
        n_nodes, n_outputs, width = self.weights.shape
        flat = np.moveaxis(self.weights, 0, 1).reshape(n_outputs, n_nodes * width)
        return rows.scores(flat, self.intercept.ravel()).reshape(-1, n_nodes, width)

    def routing(self, scores: F8) -> F8:
        """Turn scores (n, K, M) into those that nodes compare with thresholds: float64 (n, K)."""
        return np.asarray(np.einsum("ikm,km->ik", scores, self.direction))

    def answers(self, scores: F8) -> F8:
        """Turn scores (n, K, M) into the answers of nodes: float64 (n, K, M)."""
        return np.asarray(self.calibration[:, :1] * scores + self.calibration[:, 1:])

    def without_zeros(self, rows: BankRows) -> SoftTree:
        """Set negligible weights, which a minimizer leaves near zero, to zero."""
        variance = rows.loss_weight @ np.square(rows.target - rows.loss_weight @ rows.target)
        size = np.sqrt(np.square(self.weights).sum(axis=2) * rows.variance)
        matters = size >= _ZERO * np.sqrt(variance.max())
        return evolve(self, weights=np.where(matters[:, :, np.newaxis], self.weights, 0.0))

    def columns(self, used: I8) -> SoftTree:
        """Keep only the weights of some outputs."""
        return evolve(self, weights=self.weights[:, used])

    def spread(self, used: I8, n_outputs: int) -> SoftTree:
        """Undo `columns`."""
        weights = np.zeros((len(self.weights), n_outputs, self.weights.shape[2]))
        weights[:, used] = self.weights
        return evolve(self, weights=weights)

    def take(self, topology: Topology, nodes: I8) -> SoftTree:
        """Return a tree of another shape, made of these nodes."""
        parts = (self.weights, self.intercept, self.direction, self.threshold, self.calibration)
        return SoftTree(topology, *(part[nodes] for part in parts))

    def with_answer(self, node: int, answer: WeightedSum) -> SoftTree:
        """Replace the weights of a node, which then answers."""
        return self._with_node(node, answer.weights, answer.constant, np.ones(len(answer.constant)), 0.0)

    def with_route(self, node: int, weights: F8, threshold: float) -> SoftTree:
        """Replace the weights of a node by others, (C,), by which it routes."""
        first = np.zeros(self.intercept.shape[1])
        first[0] = 1.0
        return self._with_node(node, np.outer(weights, first), 0.0 * first, first, threshold)

    def _with_node(self, node: int, weights: F8, intercept: F8, direction: F8, threshold: float) -> SoftTree:
        changed = self.take(self.topology, np.arange(len(self)))
        changed.weights[node], changed.intercept[node], changed.direction[node] = weights, intercept, direction
        changed.threshold[node] = threshold
        return changed

    def coarse(self) -> SoftTree:
        """Round weights, constants and thresholds to a few digits, for the start of a descent."""
        parts = map(coarse, (self.weights, self.intercept, self.threshold))
        weights, intercept, threshold = parts
        return evolve(self, weights=weights, intercept=intercept, threshold=threshold)

    def with_threshold(self, threshold: F8) -> SoftTree:
        """Replace all thresholds, float64 (K,)."""
        return evolve(self, threshold=threshold)

    def ending_at(self, node: int, answer: WeightedSum) -> SoftTree:
        """Turn a node into a leaf, which answers all its rows."""
        return self.with_answer(node, answer).take(*self.topology.ending_at(node))

    def dividing(self, node: int, route: F8, threshold: float, below: WeightedSum, above: WeightedSum) -> SoftTree:
        """Let a leaf, or a route to two leaves, divide its rows by weights (C,) between two answers."""
        tree = self
        if not self.topology.routes[node]:
            topology, order = self.topology.dividing(node)
            tree = tree.take(topology, np.where(order < len(self), order, node))  # overwritten below
            node = int(np.flatnonzero(order == node)[0])
        first, second = tree.topology.children[node].tolist()
        return tree.with_route(node, route, threshold).with_answer(first, below).with_answer(second, above)

    def with_leaf(self, node: int, answer: WeightedSum) -> SoftTree:
        """Replace a route's exit by a leaf."""
        topology, order = self.topology.with_leaf(node)
        tree = self.take(topology, np.where(order < len(self), order, node))
        return tree.with_answer(int(np.flatnonzero(order == len(self))[0]), answer)

    def without_idle_routes(self) -> SoftTree:
        """Remove routes with infinite thresholds, which send all rows the same way."""
        idle = np.flatnonzero(self.topology.routes & np.isinf(self.threshold))
        if not len(idle):
            return self
        node, side = int(idle[0]), 0 if self.threshold[idle[0]] > 0 else 1
        if self.topology.children[node, side] >= 0:
            return self.take(*self.topology.bypassing(node, side)).without_idle_routes()
        tree = self.take(*self.topology.ending_at(node))  # all rows leave at this node
        tree.threshold[node] = 0.0
        return tree.without_idle_routes()


def _uncalibrated(n_nodes: int, n_scores: int) -> F8:
    return np.eye(1, 1 + n_scores).repeat(n_nodes, axis=0)
