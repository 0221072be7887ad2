"""The classifiers of a tree, one a node: weights over the outputs of a bank, which predict and divide rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.topology import Topology

__all__ = ["Classifiers"]


@frozen(eq=False)
class Classifiers:
    """K nodes with M outputs each, over C outputs of a bank.

    Attributes
    ----------
    topology : Topology
    weights : float64 (K, C, M)
        beta^k.
    intercept : float64 (K, M)
    direction : float64 (K, M)
        What the outputs are weighed with to route; ones for a single output.
    threshold : float64 (K,)
        theta^k: a row goes up where its weighed output is above.
    """

    topology: Topology
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    direction: NDArray[np.float64]
    threshold: NDArray[np.float64]

    def scores(self, rows: SeenRows) -> NDArray[np.float64]:
        """Score rows at all nodes: float64 (n, K, M)."""
        n_nodes, n_outputs, width = self.weights.shape
        flat = np.moveaxis(self.weights, 0, 1).reshape(n_outputs, n_nodes * width)
        return rows.scores(flat, self.intercept.ravel()).reshape(-1, n_nodes, width)

    def routing(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what routes rows, float64 (n, K), for scores (n, K, M)."""
        return np.asarray(np.einsum("ikm,km->ik", scores, self.direction))

    def columns(self, used: NDArray[np.int64]) -> Classifiers:
        """Keep the weights of some outputs."""
        return evolve(self, weights=self.weights[:, used])

    def spread(self, used: NDArray[np.int64], n_outputs: int) -> Classifiers:
        """Undo `columns`."""
        weights = np.zeros((len(self.weights), n_outputs, self.weights.shape[2]))
        weights[:, used] = self.weights
        return evolve(self, weights=weights)
