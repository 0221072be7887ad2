"""Trees of weighted sums with soft routing, and the flow of rows through their topology.

A single answer is one node, Cronus a chain, CSTC a binary tree. Routing is soft in training and hard in use (`Flow`);
`as_stage_tree` makes the predictor: a route for each node that has a child, an answer for each exit.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from attrs import evolve, field, frozen
from scipy.special import expit

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.outputs import BankOutputs
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.core.sums import coarse
from costframe.stagewise.banks import BankRows


@frozen(eq=False)
class Topology:
    """A binary tree of K nodes, parents before their children.

    A node with two terminal children routes nothing: it is a leaf, and its terminal elements count as one. So every
    node has at most one exit, which answers with the node's prediction.

    Attributes
    ----------
    children : int64 (K, 2)
        The nodes below and above; -1 is a terminal element.
    """

    children: I8

    @classmethod
    def full(cls, depth: int) -> Topology:
        """Return the balanced tree of `depth` levels: 2^depth - 1 nodes, in the order of their levels."""
        count = 2**depth - 1
        numbers = 2 * np.arange(count)[:, np.newaxis] + [1, 2]
        return cls(np.where(numbers < count, numbers, -1))

    @classmethod
    def chain(cls, n_stages: int) -> Topology:
        """Return a chain: each node but the last answers the rows below its threshold, and the last one all others."""
        below_above = np.stack([np.full(n_stages, -1), np.arange(1, n_stages + 1)], axis=1)
        below_above[-1] = -1
        return cls(below_above)

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.children)

    @cached_property
    def parent(self) -> I8:
        """The parent of each node, -1 for the root: int64 (K,)."""
        found = np.full(len(self), -1)
        for node, below_above in enumerate(self.children):
            found[below_above[below_above >= 0]] = node
        return found

    @cached_property
    def routes(self) -> B1:
        """Which nodes have a child that is a node: bool (K,)."""
        return np.asarray((self.children >= 0).any(axis=1))

    @cached_property
    def has_exit(self) -> B1:
        """Which nodes have an exit: bool (K,)."""
        return np.asarray((self.children < 0).any(axis=1))

    @cached_property
    def paths(self) -> B1:
        """Which nodes (columns) are on the way to each node (rows), itself included: bool (K, K)."""
        found = np.eye(len(self), dtype=np.bool_)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                found[node] |= found[parent]
        return found

    def without(self, node: int) -> tuple[Topology, I8]:
        """Turn a node into an exit of its parent; return also the old numbers of the nodes left, in the new order."""
        return self._numbered(np.where(self.children == node, -1, self.children))

    def ending_at(self, node: int) -> tuple[Topology, I8]:
        """Remove the children of a node; return also the old numbers of the nodes left, in the new order."""
        children = self.children.copy()
        children[node] = -1
        return self._numbered(children)

    def dividing(self, node: int) -> tuple[Topology, I8]:
        """Give a leaf two children, K and K + 1; return also the old numbers of the nodes, in the new order."""
        children = np.vstack([self.children, [[-1, -1], [-1, -1]]])
        children[node] = len(self), len(self) + 1
        return self._numbered(children)

    def with_leaf(self, node: int) -> tuple[Topology, I8]:
        """Put a leaf, K, in place of a node's exit; return also the old numbers of the nodes, in the new order."""
        children = np.vstack([self.children, [[-1, -1]]])
        children[node, children[node] < 0] = len(self)
        return self._numbered(children)

    def bypassing(self, node: int, side: int) -> tuple[Topology, I8]:
        """Replace a node by its child below (0) or above (1); return also the old numbers of the nodes left."""
        stays = int(self.children[node, side])
        return self._numbered(np.where(self.children == node, stays, self.children), stays if node == 0 else 0)

    @staticmethod
    def _numbered(children: I8, root: int = 0) -> tuple[Topology, I8]:
        """Renumber the nodes below the root, level by level."""
        order = [root]
        for node in order:  # grows
            order += [int(child) for child in children[node] if child >= 0]
        number = np.full(len(children) + 1, -1)
        number[order] = np.arange(len(order))
        return Topology(number[children[order]]), np.array(order)


@frozen(eq=False)
class Flow:
    """Probabilities of n rows in a tree of K nodes: p^k of CSTC, p_i^k and q_i^k of Cronus.

    Attributes
    ----------
    topology : Topology
    up : float64 (n, K)
        sigma(gamma (s_i^k - theta^k)), the probability to go up from a node.
    passes : float64 (n, K)
        p_i^k, the probability to reach a node.
    steepness : float
        gamma.
    """

    topology: Topology
    up: F8
    passes: F8
    steepness: float

    @classmethod
    def of(cls, topology: Topology, scores: F8, threshold: F8, steepness: float) -> Flow:
        """Compute the flow from routing scores (n, K) and thresholds (K,); those of leaves have no effect."""
        return cls._along(topology, expit(steepness * (scores - threshold)), steepness)

    @classmethod
    def hard(cls, topology: Topology, scores: F8, threshold: F8) -> Flow:
        """Route each row one way: up where the score is above the threshold."""
        return cls._along(topology, (scores > threshold).astype(np.float64), np.inf)

    @classmethod
    def _along(cls, topology: Topology, up: F8, steepness: float) -> Flow:
        passes = np.ones(up.shape)
        for node, (below, above) in enumerate(topology.children):
            if below >= 0:
                passes[:, below] = passes[:, node] * (1.0 - up[:, node])
            if above >= 0:
                passes[:, above] = passes[:, node] * up[:, node]
        return cls(topology, up, passes, steepness)

    @property
    def exits(self) -> F8:
        """q_i^k, the probability that a node answers a row: float64 (n, K)."""
        below, above = (self.topology.children < 0).T
        sides = np.where(below, 1.0 - self.up, 0.0) + np.where(above, self.up, 0.0)
        return np.asarray(self.passes * np.where(below & above, 1.0, sides))

    def expected_payments(self, at_exit: F8, on_arrival: F8) -> F8:
        """Return the expected payment of each row from each node on: float64 (n, K).

        A row pays `on_arrival` at each node that it reaches, and `at_exit` at the node that answers it: float64 (n, K).
        """
        found = np.empty(self.passes.shape)
        for node in range(len(self.topology) - 1, -1, -1):
            if not self.topology.routes[node]:
                found[:, node] = on_arrival[:, node] + at_exit[:, node]
                continue
            below, above = self._followed(node, at_exit, found)
            up = self.up[:, node]
            found[:, node] = on_arrival[:, node] + (1.0 - up) * below + up * above
        return found

    def payment_difference(self, node: int, at_exit: F8, on_arrival: F8) -> F8:
        """Return the expected payment of each row below a node minus that above: float64 (n,)."""
        below, above = self._followed(node, at_exit, self.expected_payments(at_exit, on_arrival))
        return below - above

    def score_gradient(self, at_exit: F8, on_arrival: F8) -> F8:
        """Differentiate sum_ik exits_ik at_exit_ik + p_i^k on_arrival_ik by the routing scores: float64 (n, K).

        A threshold's derivative is minus the sum of its column. Both arguments count as constant.
        """
        ahead, slopes = self.expected_payments(at_exit, on_arrival), np.zeros(self.passes.shape)
        for node in np.flatnonzero(self.topology.routes).tolist():
            below, above = self._followed(node, at_exit, ahead)
            up = self.up[:, node]
            slopes[:, node] = self.passes[:, node] * self.steepness * up * (1.0 - up) * (above - below)
        return slopes

    def _followed(self, node: int, at_exit: F8, ahead: F8) -> tuple[F8, F8]:
        """Return the expected payments of each row below and above a node."""
        below, above = (at_exit[:, node] if child < 0 else ahead[:, child] for child in self.topology.children[node])
        return below, above


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
    calibration: F8 = field()

    @calibration.default
    def _uncalibrated(self) -> F8:
        return np.eye(1, 1 + self.intercept.shape[1]).repeat(len(self.intercept), axis=0)

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
        found = self.take(self.topology, np.arange(len(self)))
        found.weights[node], found.intercept[node], found.direction[node] = weights, intercept, direction
        found.threshold[node] = threshold
        return found

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


def stage_numbers(topology: Topology) -> tuple[I8, I8]:
    """Return the stage of each node, int64 (K,), and those below and above it, int64 (K, 2), level by level.

    Each exit of a node that routes is a separate stage.
    """
    node_stage, followers = np.zeros(len(topology), np.int64), np.full((len(topology), 2), -1)
    waiting, count = [0], 1
    for node in waiting:  # grows
        for side, child in enumerate(topology.children[node].tolist() if topology.routes[node] else ()):
            followers[node, side] = count
            if child >= 0:
                node_stage[child] = count
                waiting.append(child)
            count += 1
    return node_stage, followers


def as_stage_tree(
    bank: WeakLearnerBank,
    tree: SoftTree,
    link: str = "identity",
    steepness: float = 1.0,
) -> StageTree:
    """Return the predictor: routes and answers over the learners that have a weight.

    With the link "ranked", rows of later nodes rank above those of earlier ones.
    """
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    used = np.unique(owner[tree.used.any(axis=0)])
    node_stage, followers = stage_numbers(tree.topology)
    stages: dict[int, Stage] = {}

    def weighed(weights: F8) -> tuple[I8, F8]:
        learners = np.unique(owner[weights.any(axis=1)])
        return np.searchsorted(used, learners), weights[np.isin(owner, learners)]

    def answer(node: int, level: int) -> Answer:
        slope, constants = tree.calibration[node, 0], tree.calibration[node, 1:]
        learners, weights = weighed(tree.weights[node])
        level = level if link == "ranked" else 0
        return Answer(learners, slope * weights, slope * tree.intercept[node] + constants, link, level)

    for node, (below, above) in enumerate(followers.tolist()):
        level = int((~tree.topology.routes[:node] | tree.topology.has_exit[:node]).sum())
        if not tree.topology.routes[node]:
            stages[int(node_stage[node])] = answer(node, level)
            continue
        learners, weights = weighed((tree.weights[node] @ tree.direction[node])[:, np.newaxis])
        intercept = float(tree.intercept[node] @ tree.direction[node])
        threshold = float(tree.threshold[node])
        stages[int(node_stage[node])] = Route(
            learners, weights[:, 0], [intercept], threshold, steepness, below=below, above=above
        )
        for stage, child in zip((below, above), tree.topology.children[node], strict=True):
            if child < 0:
                stages[stage] = answer(node, level)
    return StageTree(bank.restrict(used), [stages[number] for number in range(len(stages))])
