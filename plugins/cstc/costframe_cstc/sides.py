"""What follows a row that leaves a node to one side, while that node alone moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe_cstc.flow import Flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_cstc.classifiers import Classifiers
    from costframe_cstc.objective import RelaxedObjective
    from costframe_cstc.outcome import Outcome

__all__ = ["Side"]


@frozen(eq=False)
class Side:
    """What follows for m rows that go to one side of a node.

    Attributes
    ----------
    answered : bool
        Whether the node itself answers them.
    loss : float64 (m,)
        What nodes beyond are expected to lose by them, times w_i.
    nodes : int64 (L,)
        Where they may be answered.
    ends : float64 (m, L)
        With which probability.
    """

    answered: bool
    loss: NDArray[np.float64]
    nodes: NDArray[np.int64]
    ends: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        objective: RelaxedObjective,
        at: Classifiers,
        outcome: Outcome,
        in_mean: NDArray[np.float64],
        way: tuple[int, int],
    ) -> Side:
        """Follow rows from a node to its child below, (node, 0), or above, (node, 1)."""
        topology, child = at.topology, int(at.topology.children[way])
        if child < 0:
            return cls(True, np.zeros(len(in_mean)), np.array([way[0]]), np.ones((len(in_mean), 1)))
        flow = Flow.of(topology, outcome.routing, _sent(at, *way), objective.steepness)
        after = topology.paths[:, child]
        loss = in_mean * (objective.counted(flow) * outcome.losses)[:, after].sum(axis=1)
        nodes = np.flatnonzero(after & topology.ends)
        return cls(False, loss, nodes, flow.exits[:, nodes])


def _sent(at: Classifiers, node: int, side: int) -> NDArray[np.float64]:
    """Return thresholds that send all rows to a node, and on to one of its sides: float64 (K,)."""
    threshold = at.threshold.copy()
    while node >= 0:
        threshold[node] = -np.inf if side else np.inf
        parent = int(at.topology.parent[node])
        node, side = parent, int(parent >= 0 and at.topology.children[parent, 1] == node)
    return threshold
