"""The second phase: weights and thresholds of all stages at once, at fixed supports, where the cost is exact.

Minimizes sum_i sum_k [ w_i q_i^k 1/2 (y_i - s_i^k)^2 + lambda p_i^k a_ik ], with a_ik what stage k adds to the cost of row
i if it comes there. A stage may weigh everything that was evaluated up to it. In the supports this is exact, and no
longer homogeneous in the weights, as eq. 8 is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.optimize import minimize

from costframe_cronus.flow import Flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_cronus.seen import SeenRows

__all__ = ["SupportObjective", "Variables", "descend"]


@frozen(eq=False)
class Variables:
    """What moves: weights of a chain of K stages over U outputs.

    Attributes
    ----------
    weights : float64 (K, U)
    intercept : float64 (K,)
    threshold : float64 (K - 1,)
    """

    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    threshold: NDArray[np.float64]


@frozen(eq=False)
class SupportObjective:
    """The loss and the exact expected cost of a chain whose stages evaluate given learners.

    Attributes
    ----------
    rows : SeenRows
        Of the U outputs.
    price : float64 (n, K)
        lambda a_ik.
    steepness : float
    """

    rows: SeenRows
    price: NDArray[np.float64]
    steepness: float

    def value(self, at: Variables) -> tuple[float, float]:
        """Return mean loss, and lambda * mean expected cost."""
        rows = self.rows
        scores = rows.times(at.weights.T) + at.intercept
        flow = Flow.of(scores, at.threshold, self.steepness)
        losses = 0.5 * np.square(scores - rows.target[:, np.newaxis])
        return float(rows.in_mean @ (flow.exits * losses).sum(axis=1)), float(
            rows.share @ (flow.passes * self.price).sum(axis=1)
        )

    def gradient(self, at: Variables) -> tuple[float, Variables]:
        """Return loss + lambda * cost, and its derivatives."""
        rows, w = self.rows, self.rows.in_mean[:, np.newaxis]
        scores = rows.times(at.weights.T) + at.intercept
        flow = Flow.of(scores, at.threshold, self.steepness)
        wrong, exits = scores - rows.target[:, np.newaxis], flow.exits
        at_exit, on_arrival = 0.5 * w * np.square(wrong), rows.share[:, np.newaxis] * self.price
        through = flow.by_scores(at_exit, on_arrival)
        by_score = w * exits * wrong
        by_score[:, :-1] += through
        value = float((exits * at_exit).sum() + (flow.passes * on_arrival).sum())
        return value, Variables(rows.back(by_score).T, by_score.sum(axis=0), -through.sum(axis=0))


def descend(
    objective: SupportObjective,
    start: Variables,
    free: NDArray[np.bool_],
    penalty: NDArray[np.float64],
    judge: SupportObjective | None,
    rounds: int,
) -> Variables:
    """Minimize objective + 1/2 sum_k penalty_k |B^k|^2 from a start; keep the iterate that is best on other rows.

    Parameters
    ----------
    start : Variables
    free : bool (K, U)
        Which weights may move; the others stay at zero.
    penalty : float64 (K,)
    judge : SupportObjective, optional
        Of other rows. Without it the last iterate is kept.
    rounds : int
        Most iterations.
    """
    unit = 1.0 / np.sqrt(np.maximum(objective.rows.variance(), np.finfo(np.float64).tiny))
    scale = np.concatenate([np.broadcast_to(unit, free.shape)[free], np.ones(2 * len(free) - 1)])
    n_stages, n_weights = len(free), int(free.sum())

    def unpack(x: NDArray[np.float64]) -> Variables:
        weights, x = np.zeros(free.shape), x * scale
        weights[free] = x[:n_weights]
        return Variables(weights, x[n_weights : n_weights + n_stages], x[n_weights + n_stages :])

    def value(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        at = unpack(x)
        found, slope = objective.gradient(at)
        found += 0.5 * float(penalty @ np.square(at.weights).sum(axis=1))
        by_weight = slope.weights + penalty[:, np.newaxis] * at.weights
        return found, scale * np.concatenate([by_weight[free], slope.intercept, slope.threshold])

    best, least = start, np.inf if judge is None else sum(judge.value(start))

    def look(x: NDArray[np.float64]) -> None:
        nonlocal best, least
        if judge is not None and (now := sum(judge.value(unpack(x)))) < least:
            best, least = unpack(x), now

    begin = np.concatenate([start.weights[free], start.intercept, start.threshold]) / scale
    end = minimize(value, begin, jac=True, method="L-BFGS-B", callback=look, options={"maxiter": rounds})
    return unpack(end.x) if judge is None else best
