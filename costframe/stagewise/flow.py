"""How rows flow through a stage tree, and how expected loss and cost change with the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.topology import Topology

__all__ = ["Flow"]


@frozen(eq=False)
class Flow:
    """Probabilities of n rows in a tree of K nodes: p^k of CSTC, p_i^k and q_i^k of Cronus.

    Attributes
    ----------
    topology : Topology
    up : float64 (n, K)
        sigma(gamma (s_i^k - theta^k)), the probability to go up from a node.
    passes : float64 (n, K)
        p_i^k, to come to a node.
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
        """Follow rows with routing scores (n, K) and thresholds (K,); those of leaves decide nothing."""
        return cls._along(topology, expit(steepness * (scores - threshold)), steepness)

    @classmethod
    def hard(cls, topology: Topology, scores: NDArray[np.float64], threshold: NDArray[np.float64]) -> Flow:
        """Route rows for good: up where the score is above the threshold."""
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

    def ahead(self, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a row that comes to a node is expected to pay from there on: float64 (n, K).

        It pays `on_arrival` at each node that it comes to, and `at_exit` where it is answered; both are float64 (n, K).
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

    def more_below(
        self, node: int, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return by how much more a row pays if a node sends it below than above: float64 (n,)."""
        below, above = self._followed(node, at_exit, self.ahead(at_exit, on_arrival))
        return below - above

    def by_scores(self, at_exit: NDArray[np.float64], on_arrival: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differentiate sum_ik exits_ik at_exit_ik + p_i^k on_arrival_ik by the routing scores: float64 (n, K).

        A threshold's derivative is minus the sum of its column. Both arguments are taken as constant.
        """
        ahead, slopes = self.ahead(at_exit, on_arrival), np.zeros(self.passes.shape)
        for node in np.flatnonzero(self.topology.routes).tolist():
            below, above = self._followed(node, at_exit, ahead)
            up = self.up[:, node]
            slopes[:, node] = self.passes[:, node] * self.steepness * up * (1.0 - up) * (above - below)
        return slopes

    def _followed(
        self, node: int, at_exit: NDArray[np.float64], ahead: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what a row pays from the children on, below and above."""
        below, above = (at_exit[:, node] if child < 0 else ahead[:, child] for child in self.topology.children[node])
        return below, above
