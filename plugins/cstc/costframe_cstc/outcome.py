"""What the nodes of a tree make of rows: where each would route them, and what it would lose by answering them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.seen import SeenRows
    from costframe_cstc.classifiers import Classifiers
    from costframe_cstc.losses import Loss

__all__ = ["Outcome"]


@frozen(eq=False)
class Outcome:
    """All that the objective takes of the scores of n rows at K nodes; when one node moves, so does one column.

    Attributes
    ----------
    routing : float64 (n, K)
        The scores that are compared with thresholds.
    losses : float64 (n, K)
    """

    routing: NDArray[np.float64]
    losses: NDArray[np.float64]

    @classmethod
    def of(cls, at: Classifiers, rows: SeenRows, loss: Loss) -> Outcome:
        """Score rows at all nodes."""
        scores = at.scores(rows)
        losses = np.stack([loss.value(scores[:, k], rows.target) for k in range(scores.shape[1])], axis=1)
        return cls(at.routing(scores), losses)

    def moved(self, at: Classifiers, rows: SeenRows, loss: Loss, node: int) -> Outcome:
        """Score rows anew at one node."""
        scores = rows.scores(at.weights[node], at.intercept[node])
        routing, losses = self.routing.copy(), self.losses.copy()
        routing[:, node], losses[:, node] = scores @ at.direction[node], loss.value(scores, rows.target)
        return Outcome(routing, losses)
