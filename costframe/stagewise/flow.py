"""The flow of rows through a tree: probabilities to reach a node and to leave there."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from scipy.special import expit

from costframe.core.arrays import F8
from costframe.stagewise.topology import Topology


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
        payments = np.empty(self.passes.shape)
        for node in range(len(self.topology) - 1, -1, -1):
            if not self.topology.routes[node]:
                payments[:, node] = on_arrival[:, node] + at_exit[:, node]
                continue
            below, above = self._followed(node, at_exit, payments)
            up = self.up[:, node]
            payments[:, node] = on_arrival[:, node] + (1.0 - up) * below + up * above
        return payments

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
