"""The second phase: weights and thresholds of all stages at once, at fixed supports, where the cost is exact.

    sum_i sum_k w_i q_i^k 1/2 (y_i - s_i^k)^2 + lambda p_i^k a_ik

is minimized, a_ik being what stage k adds to the cost of row i if it comes there. A stage may weigh everything that was
evaluated up to it. Unlike eq. 8, this does not fall when weights only shrink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from scipy.optimize import minimize

from costframe.stagewise.systems import scipy_blas_alone
from costframe_cronus.chain import Chain
from costframe_cronus.flow import Flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.seen import SeenRows

__all__ = ["SupportObjective", "descend"]

_MOST = 1e300
_LEAST = 1e-20  # of the largest variance: what varies less is as good as constant, and gives no scale


@frozen(eq=False)
class SupportObjective:
    """The loss and the exact expected cost of a chain whose stages evaluate given learners.

    Attributes
    ----------
    rows : SeenRows
        Of the U outputs.
    costs : float64 (n, K)
        a_ik.
    tradeoff, steepness : float
    """

    rows: SeenRows
    costs: NDArray[np.float64]
    tradeoff: float
    steepness: float

    def value(self, at: Chain) -> tuple[float, float]:
        """Return mean loss, and mean expected cost."""
        rows, scores = self.rows, at.scores(self.rows)
        flow = Flow.of(scores, at.threshold, self.steepness)
        loss = float(rows.in_mean @ (flow.exits * rows.losses(scores)).sum(axis=1))
        return loss, float(rows.share @ (flow.passes * self.costs).sum(axis=1))

    def total(self, at: Chain) -> float:
        """Return mean loss + lambda * mean expected cost."""
        loss, cost = self.value(at)
        return loss + self.tradeoff * cost

    def gradient(self, at: Chain) -> tuple[float, float, Chain]:
        """Return mean loss, mean expected cost, and the derivatives of loss + lambda * cost."""
        rows, w = self.rows, self.rows.in_mean[:, np.newaxis]
        scores = at.scores(rows)
        flow = Flow.of(scores, at.threshold, self.steepness)
        at_exit, arrival, exits = w * rows.losses(scores), rows.share[:, np.newaxis] * self.costs, flow.exits
        through = flow.by_scores(at_exit, self.tradeoff * arrival)
        by_score = w * exits * (scores - rows.target[:, np.newaxis])
        by_score[:, :-1] += through
        loss, cost = float((exits * at_exit).sum()), float((flow.passes * arrival).sum())
        return loss, cost, Chain(rows.back(by_score).T, by_score.sum(axis=0), -through.sum(axis=0))


@frozen(eq=False)
class _Search:
    """What moves as one vector, each part in a unit of its own; and what was seen there."""

    objective: SupportObjective
    start: Chain
    free: NDArray[np.bool_]
    penalty: NDArray[np.float64]
    scale: NDArray[np.float64]
    seen: dict[bytes, tuple[float, float, float]]

    @classmethod
    def of(
        cls, objective: SupportObjective, start: Chain, free: NDArray[np.bool_], penalty: NDArray[np.float64]
    ) -> _Search:
        variance = objective.rows.variance
        unit = 1.0 / np.sqrt(np.where(variance > _LEAST * variance.max(), variance, variance.max() or 1.0))
        scale = np.concatenate([np.broadcast_to(unit, free.shape)[free], np.ones(2 * len(free) - 1)])
        return cls(objective, start, free, penalty, scale, {})

    @property
    def begin(self) -> NDArray[np.float64]:
        start = self.start
        return np.concatenate([start.weights[self.free], start.intercept, start.threshold]) / self.scale

    def unpack(self, x: NDArray[np.float64]) -> Chain:
        weights, x, n_weights = np.zeros(self.free.shape), x * self.scale, int(self.free.sum())
        weights[self.free] = x[:n_weights]
        split = n_weights + len(self.free)
        return Chain(weights, x[n_weights:split], x[split:])

    def value(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return what is minimized, and its derivatives."""
        at = self.unpack(x)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, cost, slope = self.objective.gradient(at)
            moved = at.weights - self.start.weights
            total = loss + self.objective.tradeoff * cost + 0.5 * float(self.penalty @ np.square(moved).sum(axis=1))
        if not np.isfinite(total):  # a step that went too far
            return _MOST, np.zeros(len(x))
        self.seen[x.tobytes()] = (total, loss, cost)
        by_weight = slope.weights + self.penalty[:, np.newaxis] * moved
        return total, self.scale * np.concatenate([by_weight[self.free], slope.intercept, slope.threshold])


def descend(
    objective: SupportObjective,
    start: Chain,
    free: NDArray[np.bool_],
    penalty: NDArray[np.float64],
    other: SupportObjective,
    rounds: int,
) -> tuple[Chain, list[tuple[float, float, float]]]:
    """Minimize objective + 1/2 sum_k penalty_k |B^k - start|^2 and keep what is best on other rows.

    Parameters
    ----------
    start : Chain
    free : bool (K, U)
        Which weights may move; the others stay at zero.
    penalty : float64 (K,)
    other : SupportObjective
        Of the other rows.
    rounds : int
        Most iterations.

    Returns
    -------
    Chain
    list of (float, float, float)
        What was minimized, mean loss and mean cost after each iteration.
    """
    search = _Search.of(objective, start, free, penalty)
    best, least, path = start, other.total(start), []

    def look(x: NDArray[np.float64]) -> None:
        nonlocal best, least
        if x.tobytes() in search.seen:
            path.append(search.seen[x.tobytes()])
        search.seen.clear()
        now = other.total(search.unpack(x))
        if now < least:
            best, least = search.unpack(x), now

    options: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "callback": look, "options": {"maxiter": rounds}}
    with scipy_blas_alone():
        minimize(search.value, search.begin, **options)
    return best, path
