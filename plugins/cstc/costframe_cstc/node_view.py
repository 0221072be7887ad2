"""The objective as one node sees it while the others stay: its bound, and the bound's derivatives by that node.

When a node moves, so do the probabilities of all nodes after it, in the loss and in the cost. What follows a row that
goes up or down is fixed meanwhile, and so are the rows that come to the node: the rest is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit

from costframe_cstc.objective import output_squares
from costframe_cstc.outcome import Outcome
from costframe_cstc.sides import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.classifiers import Classifiers
    from costframe_cstc.objective import Auxiliaries, RelaxedObjective

__all__ = ["NodeSlopes", "NodeView"]

_NOTHING = 1e-9  # the probability to come to a node that is taken for none
_WORTH_COPYING = 0.8  # of the rows come, or fewer: products with a copy of theirs cost less


@frozen(eq=False)
class NodeSlopes:
    """Derivatives by what one node has.

    Attributes
    ----------
    weights : float64 (C, M)
    intercept : float64 (M,)
    threshold : float
        Zero for a leaf.
    """

    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    threshold: float


@frozen(eq=False)
class NodeView:
    """One node of a tree, the m rows that come to it, and what follows.

    Attributes
    ----------
    objective : RelaxedObjective
    node : int
    rows : SeenRows
        Those that come; they count in means of loss as often as they come, w_i p_i^k.
    comes : float64 (m,)
        share_i p_i^k.
    loss : float
        What is lost elsewhere.
    share : float64 (K,)
        q of rows that are answered elsewhere.
    sides : Side, Side
        Below and above.
    """

    objective: RelaxedObjective
    node: int
    rows: SeenRows
    comes: NDArray[np.float64]
    loss: float
    share: NDArray[np.float64]
    sides: tuple[Side, Side]

    @classmethod
    def of(cls, objective: RelaxedObjective, at: Classifiers, outcome: Outcome, node: int) -> NodeView | None:
        """Look at a node; None if no row comes there."""
        rows, flow = objective.rows, objective.flow(at, outcome)
        here = flow.passes[:, node] > _NOTHING
        if not rows.in_mean[here].any():
            return None
        if here.mean() > _WORTH_COPYING:
            here[:] = True
        moving = np.outer(here, at.topology.paths[:, node])
        loss = np.where(moving, 0.0, objective.counted(flow) * outcome.losses).sum(axis=1)
        share = rows.share @ np.where(moving, 0.0, flow.exits)
        passes = flow.passes[here, node]
        there = _only(rows, here, rows.in_mean[here] * passes)
        part = Outcome(outcome.routing[here], outcome.losses[here])
        below, above = (Side.of(objective, at, part, there.in_mean, (node, side)) for side in (0, 1))
        lost = float(rows.in_mean @ loss)
        return cls(objective, node, there, rows.share[here] * passes, lost, share, (below, above))

    def ends(self, up: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q, where rows are answered, for probabilities (m,) to go up: float64 (K,)."""
        share = self.share.copy()
        for side, chance in zip(self.sides, (1.0 - up, up), strict=True):
            share[side.nodes] += (self.comes * chance) @ side.ends
        return share

    def up(self, at: Classifiers, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities to go up, float64 (m,), for scores (m, M)."""
        routing = scores @ at.direction[self.node]
        return np.asarray(expit(self.objective.steepness * (routing - at.threshold[self.node])))

    def scores(self, at: Classifiers) -> NDArray[np.float64]:
        """Score the rows that come: float64 (m, M)."""
        return np.asarray(self.rows.times(at.weights[self.node]) + at.intercept[self.node])

    def bound(self, at: Classifiers, z: Auxiliaries) -> tuple[float, NodeSlopes]:
        """Return the bound of the objective, parabolas in place of roots, and its derivatives by this node.

        Parameters
        ----------
        at : Classifiers
            Those of the view, but for what this node has.
        z : Auxiliaries
        """
        objective, node, (below, above) = self.objective, self.node, self.sides
        w, r, scores = self.rows.in_mean, objective.routing_loss, self.scores(at)
        lost, up = objective.loss.value(scores, self.rows.target), self.up(at, scores)
        share = self.ends(up)
        priced = objective.cost.bound_gradient(at.weights, z.groups, share=share)
        counted = r + (1.0 - r) * (below.answered * (1.0 - up) + above.answered * up)
        value = self.loss + float(w @ (counted * lost) + (1.0 - up) @ below.loss + up @ above.loss)
        lasso = 0.5 * (output_squares(at.weights) / z.weights + z.weights).sum(axis=1)
        value += float(share @ priced.share + objective.l1 @ lasso)
        after_below, after_above = (
            side.loss + side.answered * (1.0 - r) * w * lost + self.comes * (side.ends @ priced.share[side.nodes])
            for side in self.sides
        )
        through = objective.steepness * up * (1.0 - up) * (after_above - after_below)
        by_score = (w * counted)[:, np.newaxis] * objective.loss.slope(scores, self.rows.target)
        by_score += np.outer(through, at.direction[node])
        by_weight = self.rows.back(by_score) + priced.weights[node]
        by_weight += objective.l1[node] * at.weights[node] / z.weights[node][:, np.newaxis]
        return value, NodeSlopes(by_weight, by_score.sum(axis=0), -float(through.sum()))

    def curvature(self, at: Classifiers, z: Auxiliaries) -> NDArray[np.float64]:
        """Return the bound's second derivatives by the node's weights, without those of the loss: float64 (C,)."""
        share, node = self.ends(self.up(at, self.scores(at))), self.node
        return np.asarray(
            self.objective.cost.curvature(z.groups, share=share)[node] + self.objective.l1[node] / z.weights[node]
        )


def _only(rows: SeenRows, here: NDArray[np.bool_], in_mean: NDArray[np.float64]) -> SeenRows:
    """Take some rows, their outputs written out if they fit, and count them by new weights in means of loss."""
    if here.all():
        return evolve(rows, in_mean=in_mean)
    outputs = evolve(rows.outputs, codes=rows.outputs.codes[here], dense=rows.outputs.dense[here])
    matrix = None if rows.matrix is None else rows.matrix[here]
    part = evolve(
        rows, outputs=outputs, target=rows.target[here], weight=rows.weight[here], in_mean=in_mean, matrix=matrix
    )
    return part if matrix is not None else part.columns(np.arange(outputs.shape[1]))
