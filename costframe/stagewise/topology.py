"""The shape of a stage tree, the flow of rows through it, and the derivatives of loss and cost by node scores."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    children: NDArray[np.int64]

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
    def parent(self) -> NDArray[np.int64]:
        """The parent of each node, -1 for the root: int64 (K,)."""
        found = np.full(len(self), -1)
        for node, below_above in enumerate(self.children):
            found[below_above[below_above >= 0]] = node
        return found

    @cached_property
    def routes(self) -> NDArray[np.bool_]:
        """Which nodes have a child that is a node: bool (K,)."""
        return np.asarray((self.children >= 0).any(axis=1))

    @cached_property
    def has_exit(self) -> NDArray[np.bool_]:
        """Which nodes have an exit: bool (K,)."""
        return np.asarray((self.children < 0).any(axis=1))

    @cached_property
    def paths(self) -> NDArray[np.bool_]:
        """Which nodes (columns) are on the way to each node (rows), itself included: bool (K, K)."""
        found = np.eye(len(self), dtype=np.bool_)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                found[node] |= found[parent]
        return found

    def without(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Turn a node into an exit of its parent; return also the old numbers of the nodes left, in the new order."""
        return self._numbered(np.where(self.children == node, -1, self.children))

    def ending_at(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Remove the children of a node; return also the old numbers of the nodes left, in the new order."""
        children = self.children.copy()
        children[node] = -1
        return self._numbered(children)

    def dividing(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Give a leaf two children, K and K + 1; return also the old numbers of the nodes, in the new order."""
        children = np.vstack([self.children, [[-1, -1], [-1, -1]]])
        children[node] = len(self), len(self) + 1
        return self._numbered(children)

    def with_leaf(self, node: int) -> tuple[Topology, NDArray[np.int64]]:
        """Put a leaf, K, in place of a node's exit; return also the old numbers of the nodes, in the new order."""
        children = np.vstack([self.children, [[-1, -1]]])
        children[node, children[node] < 0] = len(self)
        return self._numbered(children)

    def bypassing(self, node: int, side: int) -> tuple[Topology, NDArray[np.int64]]:
        """Replace a node by its child below (0) or above (1); return also the old numbers of the nodes left."""
        stays = int(self.children[node, side])
        return self._numbered(np.where(self.children == node, stays, self.children), stays if node == 0 else 0)

    @staticmethod
    def _numbered(children: NDArray[np.int64], root: int = 0) -> tuple[Topology, NDArray[np.int64]]:
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
    up: NDArray[np.float64]
    passes: NDArray[np.float64]
    steepness: float

    @classmethod
    def of(
        cls, topology: Topology, scores: NDArray[np.float64], threshold: NDArray[np.float64], steepness: float
    ) -> Flow:
        """Compute the flow from routing scores (n, K) and thresholds (K,); those of leaves have no effect."""
        return cls._along(topology, expit(steepness * (scores - threshold)), steepness)

    @classmethod
    def hard(cls, topology: Topology, scores: NDArray[np.float64], threshold: NDArray[np.float64]) -> Flow:
        """Route each row one way: up where the score is above the threshold."""
        return cls._along(topology, (scores > threshold).astype(np.float64), np.inf)

    @classmethod
    def _along(cls, topology: Topology, up: NDArray[np.float64], steepness: float) -> Flow:
        passes = np.ones(up.shape)
        for node, (below, above) in enumerate(topology.children):
            if below >= 0:
                passes[:, below] = passes[:, node] * (1.0 - up[:, node])
            if above >= 0:
                passes[:, above] = passes[:, node] * up[:, node]
        return cls(topology, up, passes, steepness)

    @property
    def exits(self) -> NDArray[np.float64]:
        """q_i^k, the probability that a node answers a row: float64 (n, K)."""
        below, above = (self.topology.children < 0).T
        sides = np.where(below, 1.0 - self.up, 0.0) + np.where(above, self.up, 0.0)
        return np.asarray(self.passes * np.where(below & above, 1.0, sides))

    def expected_payments(self, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]) -> NDArray[np.float64]:
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

    def payment_difference(
        self, node: int, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the expected payment of each row below a node minus that above: float64 (n,)."""
        below, above = self._followed(node, at_exit, self.expected_payments(at_exit, on_arrival))
        return below - above

    def score_gradient(self, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate sum_ik exits_ik at_exit_ik + p_i^k on_arrival_ik by the routing scores: float64 (n, K).

        A threshold's derivative is minus the sum of its column. Both arguments count as constant.
        """
        ahead, slopes = self.expected_payments(at_exit, on_arrival), np.zeros(self.passes.shape)
        for node in np.flatnonzero(self.topology.routes).tolist():
            below, above = self._followed(node, at_exit, ahead)
            up = self.up[:, node]
            slopes[:, node] = self.passes[:, node] * self.steepness * up * (1.0 - up) * (above - below)
        return slopes

    def _followed(
        self, node: int, at_exit: NDArray[np.float64], ahead: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected payments of each row below and above a node."""
        below, above = (at_exit[:, node] if child < 0 else ahead[:, child] for child in self.topology.children[node])
        return below, above
