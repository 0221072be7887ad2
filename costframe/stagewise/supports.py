"""Weights and thresholds of all nodes at once, at fixed supports, where the expected cost is exact.

    sum_i sum_k w_i q_i^k loss(s_i^k, y_i) + lambda p_i^k a_ik

is minimized, a_ik being what node k adds to the cost of row i if it comes there. A node may weigh everything that is
evaluated up to it. Unlike a relaxed cost, this does not fall when weights only shrink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen
from scipy.optimize import minimize

from costframe.stagewise.objective import Outcome, Slopes, slopes_at
from costframe.stagewise.systems import scipy_blas_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.bank_rows import BankRows
    from costframe.stagewise.losses import Loss
    from costframe.stagewise.soft_tree import SoftTree

__all__ = ["SupportObjective", "descend"]

_MOST = 1e300
_LEAST = 1e-20  # of the largest variance: what varies less is as good as constant, and gives no scale


@frozen(eq=False)
class SupportObjective:
    """The loss and the exact expected cost of a tree whose nodes evaluate given learners.

    Attributes
    ----------
    rows : BankRows
        Of the U outputs.
    loss : Loss
    costs : float64 (n, K)
        a_ik.
    tradeoff, steepness : float
    """

    rows: BankRows
    loss: Loss
    costs: NDArray[np.float64]
    tradeoff: float
    steepness: float

    def value(self, tree: SoftTree, outcome: Outcome | None = None) -> tuple[float, float]:
        """Return mean loss, and mean expected cost."""
        rows, outcome = self.rows, self._outcome(tree) if outcome is None else outcome
        loss = float(rows.loss_weight @ (outcome.flow.exits * outcome.losses).sum(axis=1))
        return loss, float(rows.share @ (outcome.flow.passes * self.costs).sum(axis=1))

    def total(self, tree: SoftTree) -> float:
        """Return mean loss + lambda * mean expected cost."""
        loss, cost = self.value(tree)
        return loss + self.tradeoff * cost

    def gradient(self, tree: SoftTree) -> tuple[float, float, Slopes]:
        """Return mean loss, mean expected cost, and the derivatives of loss + lambda * cost."""
        rows, outcome = self.rows, self._outcome(tree)
        at_exit = rows.loss_weight[:, np.newaxis] * outcome.losses
        on_arrival = self.tradeoff * rows.share[:, np.newaxis] * self.costs
        everyone, exits = np.arange(len(tree)), outcome.flow.exits
        slopes = slopes_at(everyone, tree, rows, self.loss, outcome, exits, at_exit, on_arrival)
        return *self.value(tree, outcome), slopes

    def _outcome(self, tree: SoftTree) -> Outcome:
        return Outcome.of(tree, self.rows, self.loss, self.steepness)


@frozen(eq=False)
class _Search:
    """What moves as one vector, each part in a unit of its own."""

    objective: SupportObjective
    start: SoftTree
    free: NDArray[np.bool_]
    penalty: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(
        cls, objective: SupportObjective, start: SoftTree, free: NDArray[np.bool_], penalty: NDArray[np.float64]
    ) -> _Search:
        variance, (n_nodes, width) = objective.rows.variance, start.intercept.shape
        unit = 1.0 / np.sqrt(np.where(variance > _LEAST * variance.max(), variance, variance.max() or 1.0))
        weights = np.broadcast_to(unit[:, np.newaxis], start.weights.shape)[free]
        ones = np.ones(n_nodes * width + int(start.topology.routes.sum()))
        return cls(objective, start, free, penalty, np.concatenate([weights.ravel(), ones]))

    def pack(
        self, weights: NDArray[np.float64], intercept: NDArray[np.float64], threshold: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        routes = self.start.topology.routes
        return np.concatenate([weights[self.free].ravel(), intercept.ravel(), threshold[routes]])

    @property
    def begin(self) -> NDArray[np.float64]:
        return self.pack(self.start.weights, self.start.intercept, self.start.threshold) / self.scale

    def unpack(self, x: NDArray[np.float64]) -> SoftTree:
        start, x = self.start, x * self.scale
        weights, threshold, width = np.zeros(start.weights.shape), start.threshold.copy(), start.intercept.shape[1]
        split = int(self.free.sum()) * width
        weights[self.free] = x[:split].reshape(-1, width)
        threshold[start.topology.routes] = x[split + start.intercept.size :]
        intercept = x[split : split + start.intercept.size].reshape(start.intercept.shape)
        return evolve(start, weights=weights, intercept=intercept, threshold=threshold)

    def value(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the minimized sum and its derivatives."""
        at, penalty = self.unpack(x), self.penalty[:, np.newaxis, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            loss, cost, slope = self.objective.gradient(at)
            moved = at.weights - self.start.weights
            total = (
                loss
                + self.objective.tradeoff * cost
                + 0.5 * float(self.penalty @ np.square(moved).sum(axis=2).sum(axis=1))
            )
        if not np.isfinite(total):  # a step that went too far
            return _MOST, np.zeros(len(x))
        return total, self.scale * self.pack(slope.weights + penalty * moved, slope.intercept, slope.threshold)


def descend(
    objective: SupportObjective,
    start: SoftTree,
    free: NDArray[np.bool_],
    penalty: NDArray[np.float64],
    other: SupportObjective,
    rounds: int,
) -> SoftTree:
    """Minimize objective + 1/2 sum_k penalty_k |B^k - start|^2 and return the iterate best on other rows.

    Parameters
    ----------
    objective : SupportObjective
    start : SoftTree
    free : bool (K, U)
        Which weights may move; the others stay at zero.
    penalty : float64 (K,)
    other : SupportObjective
        Of the other rows.
    rounds : int
        Most iterations.
    """
    search = _Search.of(objective, start, free, penalty)
    best, least = start, other.total(start)

    def look(x: NDArray[np.float64]) -> None:
        nonlocal best, least
        tree = search.unpack(x)
        total = other.total(tree)
        if total < least:
            best, least = tree, total

    options: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "callback": look, "options": {"maxiter": rounds}}
    with scipy_blas_alone():
        minimize(search.value, search.begin, **options)
    return best
