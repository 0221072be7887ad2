"""The relaxed global objective of a tree of classifiers.

    sum_k sum_i w_i [ e_i^k + r (p_i^k - e_i^k) ] loss(s_i^k, y_i)  +  sum_k rho_k |beta^k|_1
      +  sum_k q^k sum_g price_g sqrt( sum_{j on the way to k} sum_c G_gc |beta_c^j|^2 )

p_i^k is the probability that row i comes to node k, e_i^k that it is answered there, and q^k the mean of e_i^k. With r
= 1 the loss of every node counts in full, as the paper (eq. 5) has it; with r = 0 only where rows are answered, so that
no node buys, for an answer that it does not give, what its children have made cheap for it. Weights of several outputs
count together: |beta^k|_1 is the sum over c of the Euclidean norms of (beta_c1 ... beta_cM).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.stagewise.relaxed import RelaxedCost, auxiliary, floored_root
from costframe_cstc.flow import Flow
from costframe_cstc.outcome import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.classifiers import Classifiers
    from costframe_cstc.losses import Loss
    from costframe_cstc.topology import Topology

__all__ = ["Auxiliaries", "RelaxedObjective", "output_squares"]

_FLOOR = 1e-6


@frozen(eq=False)
class Auxiliaries:
    """Lemma 1: with these fixed, the roots are parabolas.

    Attributes
    ----------
    groups : float64 (K, G)
        One for each group on the way to each node.
    weights : float64 (K, C)
        Those of the l1 norms.
    """

    groups: NDArray[np.float64]
    weights: NDArray[np.float64]


def output_squares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum squares over the outputs of a node: float64 (..., C) for weights (..., C, M)."""
    return np.asarray(np.square(weights).sum(axis=-1))


@frozen(eq=False)
class RelaxedObjective:
    """The objective for rows and C outputs.

    Attributes
    ----------
    rows : SeenRows
        With targets (n, M).
    cost : RelaxedCost
        In units of loss; its ways are those to each of the K nodes.
    loss : Loss
    l1 : float64 (K,)
        rho.
    steepness : float
        gamma.
    routing_loss : float
        r.
    """

    rows: SeenRows
    cost: RelaxedCost
    loss: Loss
    l1: NDArray[np.float64]
    steepness: float
    routing_loss: float = 0.0

    @classmethod
    def of(
        cls,
        rows: SeenRows,
        groups: PricedGroups,
        topology: Topology,
        loss: Loss,
        *,
        l1: float = 0.0,
        steepness: float,
        routing_loss: float = 0.0,
    ) -> RelaxedObjective:
        """Relax the prices of groups, in units of loss, over the ways through a tree."""
        cost = RelaxedCost(groups, topology.paths, _FLOOR)
        return cls(rows, cost, loss, np.full(len(topology), l1), steepness, routing_loss)

    def outcome(self, at: Classifiers) -> Outcome:
        """Return what the nodes make of the rows."""
        return Outcome.of(at, self.rows, self.loss)

    def flow(self, at: Classifiers, outcome: Outcome) -> Flow:
        """Follow the rows through the tree."""
        return Flow.of(at.topology, outcome.routing, at.threshold, self.steepness)

    def counted(self, flow: Flow) -> NDArray[np.float64]:
        """Return e + r (p - e), how much of a row's loss counts at each node: float64 (n, K)."""
        exits = flow.exits
        return exits + self.routing_loss * (flow.passes - exits)

    def value(self, at: Classifiers, outcome: Outcome | None = None) -> float:
        """Return the objective, roots floored as `RelaxedCost` has them."""
        outcome = self.outcome(at) if outcome is None else outcome
        flow = self.flow(at, outcome)
        loss = self.rows.in_mean @ (self.counted(flow) * outcome.losses).sum(axis=1)
        roots = floored_root(output_squares(at.weights), self.cost.floor).sum(axis=1)
        return float(loss + self.l1 @ roots) + self.cost.value(at.weights, share=self.rows.share @ flow.exits)

    def charged(self, at: Classifiers, outcome: Outcome | None = None) -> float:
        """Return the expected cost itself, with 0/1 in place of norms: sum_l p^l c^l, each group once on a way."""
        flow = self.flow(at, self.outcome(at) if outcome is None else outcome)
        return self.cost.charged(at.weights, share=self.rows.share @ flow.exits)

    def auxiliaries(self, at: Classifiers) -> Auxiliaries:
        """Return the best ones in closed form."""
        return Auxiliaries(self.cost.auxiliaries(at.weights), auxiliary(output_squares(at.weights), self.cost.floor))
