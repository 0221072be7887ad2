"""The relaxed objectives of a soft tree, as one function of its weights and thresholds: eqs. 8 (Cronus) and 5 (CSTC).

    sum_i w_i sum_k c_i^k loss(s_i^k, y_i)  +  sum_k rho_k |beta^k|_1  +  relaxed cost

The loss counts at the node that answers a row, c = q (Cronus), or at every node it reaches, c = p (CSTC). The cost is
`RelaxedCost`: one way through all nodes, with node k's weights times the share d_k of rows that reach it (Cronus), or
one way to each exit, with the share of rows that leave there (CSTC). All scores of a node share the norms of its
weights.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from costframe.core.arrays import F8, I8
from costframe.core.cost.groups import PricedGroups
from costframe.core.sums import sum_over_rows
from costframe.stagewise.bank_rows import BankRows
from costframe.stagewise.flow import Flow
from costframe.stagewise.relaxed import RelaxedCost, auxiliary, floored_root
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.topology import Topology
from costframe.training.losses import PointwiseLoss

FLOOR = 1e-6  # of auxiliaries


@frozen(eq=False)
class Auxiliaries:
    """The auxiliaries of Lemma 1: with these fixed, parabolas bound the roots."""

    groups: F8  # (L, G): of each way and group: kappa and eta of Cronus
    weights: F8  # (K, C): of the l1 norms: sigma of Cronus


@frozen(eq=False)
class ScoredRows:
    """Scores, losses and flow of n rows; a change of one node changes one column of scores."""

    scores: F8  # (n, K, M)
    losses: F8  # (n, K)
    flow: Flow

    @classmethod
    def of(cls, tree: SoftTree, rows: BankRows, loss: PointwiseLoss, steepness: float) -> ScoredRows:
        """Score rows at all nodes."""
        scores = tree.scores(rows)
        losses = np.stack([loss.value(scores[:, k], rows.target) for k in range(len(tree))], axis=1)
        return cls(scores, losses, Flow.of(tree.topology, tree.routing(scores), tree.threshold, steepness))

    def moved(self, tree: SoftTree, rows: BankRows, loss: PointwiseLoss, node: int) -> ScoredRows:
        """Score rows again at one node."""
        scores, losses = self.scores.copy(), self.losses.copy()
        scores[:, node] = rows.times(tree.weights[node]) + tree.intercept[node]
        losses[:, node] = loss.value(scores[:, node], rows.target)
        flow = Flow.of(tree.topology, tree.routing(scores), tree.threshold, self.flow.steepness)
        return ScoredRows(scores, losses, flow)


@frozen(eq=False)
class Slopes:
    """Derivatives by the weights (k, C, M), intercepts (k, M) and thresholds (k,) of some nodes."""

    weights: F8
    intercept: F8
    threshold: F8


def slopes_at(
    nodes: I8,
    tree: SoftTree,
    rows: BankRows,
    loss: PointwiseLoss,
    outcome: ScoredRows,
    counted: F8,
    at_exit: F8,
    on_arrival: F8,
) -> Slopes:
    """Differentiate sum_ik counted_ik w_i loss_ik + exits_ik at_exit_ik + p_i^k on_arrival_ik by some nodes.

    `counted`, `at_exit` and `on_arrival`, float64 (n, K), count as constant. The first term changes with the scores in
    the loss, the other two with the flow of rows.
    """
    through = outcome.flow.score_gradient(at_exit, on_arrival)[:, nodes]
    by_score = np.empty((len(rows.target), len(nodes), tree.intercept.shape[1]))
    for place, node in enumerate(nodes):
        direct = (rows.loss_weight * counted[:, node])[:, np.newaxis] * loss.slope(outcome.scores[:, node], rows.target)
        by_score[:, place] = direct + np.outer(through[:, place], tree.direction[node])
    width = by_score.shape[1:]
    flat = by_score.reshape(-1, width[0] * width[1])
    weights = np.moveaxis(rows.rmatvec(flat).reshape(-1, *width), 0, 1)
    constants = sum_over_rows(np.hstack([flat, -through]))
    return Slopes(weights, constants[: -width[0]].reshape(width), constants[-width[0] :])


@frozen(eq=False)
class RelaxedObjective:
    """The objective for rows and C outputs.

    Attributes
    ----------
    rows : BankRows
    loss : PointwiseLoss
    cost : RelaxedCost
        In units of loss.
    l1 : float64 (K,)
        rho.
    steepness : float
        gamma.
    cascade : bool
        True for eq. 8 of Cronus, false for eq. 5 of CSTC.
    """

    rows: BankRows
    loss: PointwiseLoss
    cost: RelaxedCost
    l1: F8
    steepness: float
    cascade: bool

    @classmethod
    def of_chain(
        cls, rows: BankRows, loss: PointwiseLoss, groups: PricedGroups, l1: F8, steepness: float
    ) -> RelaxedObjective:
        """Return eq. 8 of Cronus, with one rho for each of K stages."""
        return cls(rows, loss, RelaxedCost.chain(groups, len(l1), FLOOR), l1, steepness, cascade=True)

    @classmethod
    def of_tree(
        cls, rows: BankRows, loss: PointwiseLoss, groups: PricedGroups, topology: Topology, l1: float, steepness: float
    ) -> RelaxedObjective:
        """Return eq. 5 of CSTC."""
        cost = RelaxedCost(groups, topology.paths, FLOOR)
        return cls(rows, loss, cost, np.full(len(topology), l1), steepness, cascade=False)

    def outcome(self, tree: SoftTree) -> ScoredRows:
        """Score the rows."""
        return ScoredRows.of(tree, self.rows, self.loss, self.steepness)

    def reach(self, flow: Flow) -> tuple[F8, F8]:
        """Return d (K,) and p^l (L,), the arguments of `RelaxedCost`."""
        share = self.rows.share
        if self.cascade:
            return sum_over_rows(flow.passes, share), np.ones(1)
        return np.ones(len(self.l1)), sum_over_rows(flow.exits, share)

    def value(self, tree: SoftTree, outcome: ScoredRows | None = None) -> float:
        """Return the objective, with roots floored as in `RelaxedCost`."""
        outcome = self.outcome(tree) if outcome is None else outcome
        flow = outcome.flow
        losses = (self._counted(flow) * outcome.losses).sum(axis=1, keepdims=True)
        loss = float(sum_over_rows(losses, self.rows.loss_weight)[0])
        roots = floored_root(np.square(tree.weights).sum(axis=2), self.cost.floor).sum(axis=1)
        return float(loss + self.l1 @ roots) + self.cost.value(tree.weights, *self.reach(flow))

    def exact_cost(self, tree: SoftTree, outcome: ScoredRows | None = None) -> float:
        """Return lambda times the exact expected cost, with 0/1 in place of norms."""
        outcome = self.outcome(tree) if outcome is None else outcome
        return self.cost.exact_cost(tree.weights, *self.reach(outcome.flow))

    def auxiliaries(self, tree: SoftTree, outcome: ScoredRows) -> Auxiliaries:
        """Return the best auxiliaries in closed form, eq. 11 of Cronus."""
        squares = np.square(tree.weights).sum(axis=2)
        of_groups = self.cost.auxiliaries(tree.weights, self.reach(outcome.flow)[0])
        return Auxiliaries(of_groups, auxiliary(squares, self.cost.floor))

    def bound(self, tree: SoftTree, z: Auxiliaries, outcome: ScoredRows, node: int) -> tuple[float, Slopes]:
        """Return the objective with parabolas for roots, and its derivatives by one node.

        A change of one node also changes the probabilities of all nodes after it, in the loss and in the cost.
        """
        rows, flow, (reach, share) = self.rows, outcome.flow, self.reach(outcome.flow)
        priced = self.cost.gradient(tree.weights, z.groups, reach, share)
        counted, losses = self._counted(flow), rows.loss_weight[:, np.newaxis] * outcome.losses
        lasso = 0.5 * (np.square(tree.weights).sum(axis=2) / z.weights + z.weights).sum(axis=1)
        value = float(sum_over_rows(counted * losses).sum() + self.l1 @ lasso)
        value += float(share @ priced.share)
        if self.cascade:
            at_exit, on_arrival = losses, np.outer(rows.share, priced.reach)
        else:
            at_exit, on_arrival = np.outer(rows.share, priced.share), losses
        slopes = slopes_at(np.array([node]), tree, rows, self.loss, outcome, counted, at_exit, on_arrival)
        slopes.weights[0] += priced.weights[node]
        slopes.weights[0] += self.l1[node] * tree.weights[node] / z.weights[node][:, np.newaxis]
        return value, slopes

    def curvature(self, z: Auxiliaries, outcome: ScoredRows, node: int) -> F8:
        """Return the bound's second derivatives by a node's weights, without those of the loss: float64 (C,)."""
        return np.asarray(
            self.cost.curvature(z.groups, *self.reach(outcome.flow))[node] + self.l1[node] / z.weights[node]
        )

    def _counted(self, flow: Flow) -> F8:
        return flow.exits if self.cascade else flow.passes
