"""Cyclic optimization (Algorithm 1): the relaxed objective, eq. 8, minimized over one stage at a time.

    1/2 sum_i w_i sum_k q_i^k (y_i - s_i^k)^2 + sum_k rho_k |B^k|_1 + relaxed cost of B under d

When stage k moves, so do q^j and d_j of the stages after it, in the loss and in the cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from scipy.optimize import minimize

from costframe.stagewise.relaxed import auxiliary, floored_root
from costframe.stagewise.systems import scipy_blas_alone
from costframe_cronus.chain import Chain
from costframe_cronus.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.stagewise.relaxed import RelaxedCost
    from costframe.stagewise.seen import SeenRows

__all__ = ["Auxiliaries", "RelaxedObjective", "cycle"]

_TURNS = 5  # of auxiliaries and stage, at most, before it is the next stage's turn
_STEPS = 20  # of the minimizer in each
_ENOUGH = 1e-4  # of the objective: less is no improvement


@frozen(eq=False)
class Auxiliaries:
    """Lemma 1: with these fixed, the roots of eq. 8 are parabolas, eq. 11.

    Attributes
    ----------
    groups : float64 (1, G)
        kappa and eta.
    weights : float64 (K, U)
        sigma.
    """

    groups: NDArray[np.float64]
    weights: NDArray[np.float64]


@frozen(eq=False)
class RelaxedObjective:
    """Eq. 8 for rows and U outputs.

    Attributes
    ----------
    rows : SeenRows
    cost : RelaxedCost
        Of a chain of K stages, in units of loss.
    l1 : float64 (K,)
        rho.
    steepness : float
        gamma.
    """

    rows: SeenRows
    cost: RelaxedCost
    l1: NDArray[np.float64]
    steepness: float

    def value(self, at: Chain, scores: NDArray[np.float64] | None = None) -> float:
        """Return eq. 8, roots floored as `RelaxedCost` has them."""
        scores = at.scores(self.rows) if scores is None else scores
        flow = Flow.of(scores, at.threshold, self.steepness)
        loss = self.rows.in_mean @ (flow.exits * self.rows.losses(scores)).sum(axis=1)
        roots = floored_root(np.square(at.weights), self.cost.floor).sum(axis=1)
        return float(loss + self.l1 @ roots) + self.cost.value(at.weights, self.rows.share @ flow.passes)

    def auxiliaries(self, at: Chain, scores: NDArray[np.float64]) -> Auxiliaries:
        """Return the best ones in closed form."""
        reach = self.rows.share @ Flow.of(scores, at.threshold, self.steepness).passes
        return Auxiliaries(self.cost.auxiliaries(at.weights, reach), auxiliary(np.square(at.weights), self.cost.floor))

    def bound(self, at: Chain, z: Auxiliaries, stage: int, scores: NDArray[np.float64]) -> tuple[float, Chain]:
        """Return the quadratic bound of eq. 8, and its derivatives by one stage; those of the others are left zero."""
        rows, w = self.rows, self.rows.in_mean[:, np.newaxis]
        flow = Flow.of(scores, at.threshold, self.steepness)
        exits, at_exit, reach = flow.exits, w * rows.losses(scores), rows.share @ flow.passes
        slope = self.cost.bound_gradient(at.weights, z.groups, reach)
        lasso = 0.5 * (np.square(at.weights) / z.weights + z.weights)
        value = float((exits * at_exit).sum() + self.l1 @ lasso.sum(axis=1))
        value += self.cost.bound(at.weights, z.groups, reach)
        by_score = rows.in_mean * exits[:, stage] * (scores[:, stage] - rows.target)
        by_threshold = np.zeros(at.threshold.shape)
        if stage < len(by_threshold):
            # A row that comes to stage j adds its share to d_j, and so d's price.
            through = flow.by_scores(at_exit, np.outer(rows.share, slope.reach))[:, stage]
            by_score = by_score + through
            by_threshold[stage] = -through.sum()
        by_weight, by_intercept = np.zeros(at.weights.shape), np.zeros(at.intercept.shape)
        by_weight[stage] = rows.back(by_score[:, np.newaxis])[:, 0] + slope.weights[stage]
        by_weight[stage] += self.l1[stage] * at.weights[stage] / z.weights[stage]
        by_intercept[stage] = by_score.sum()
        return value, Chain(by_weight, by_intercept, by_threshold)


def cycle(objective: RelaxedObjective, start: Chain, cycles: int) -> Iterator[tuple[int, float, Chain]]:
    """Minimize eq. 8 stage by stage; yields stage, eq. 8 and the chain after each accepted step, eq. 8 falling."""
    chain, scores = start, start.scores(objective.rows)
    value = objective.value(chain, scores)
    for _ in range(cycles):
        before = value
        for stage in range(len(chain.weights)):
            for _ in range(_TURNS):
                moved = _minimize_stage(objective, chain, stage, scores)
                tried = scores.copy()
                tried[:, stage] = objective.rows.times(moved.weights[stage][:, np.newaxis])[:, 0]
                tried[:, stage] += moved.intercept[stage]
                now = objective.value(moved, tried)
                if not now < value * (1 - _ENOUGH):
                    break
                chain, scores, value = moved, tried, now
                yield stage, value, chain
        if value > before * (1 - _ENOUGH):
            break


def _minimize_stage(objective: RelaxedObjective, chain: Chain, stage: int, scores: NDArray[np.float64]) -> Chain:
    """Minimize the bound at the chain over one stage's weights, constant and threshold."""
    z, rows = objective.auxiliaries(chain, scores), objective.rows
    n_outputs, routes = chain.weights.shape[1], stage < len(chain.threshold)
    reach = rows.share @ Flow.of(scores, chain.threshold, objective.steepness).passes
    curved = objective.cost.curvature(z.groups, reach)[stage] + objective.l1[stage] / z.weights[stage]
    unit = np.concatenate([1 / np.sqrt(rows.variance + curved + np.finfo(np.float64).tiny), np.ones(1 + routes)])

    def moved(x: NDArray[np.float64]) -> Chain:
        x = x * unit
        weights, intercept, threshold = chain.weights.copy(), chain.intercept.copy(), chain.threshold.copy()
        weights[stage], intercept[stage] = x[:n_outputs], x[n_outputs]
        threshold[stage : stage + routes] = x[n_outputs + 1 :]
        return Chain(weights, intercept, threshold)

    def value(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        at, now = moved(x), scores.copy()
        now[:, stage] = rows.times(at.weights[stage][:, np.newaxis])[:, 0] + at.intercept[stage]
        found, slope = objective.bound(at, z, stage, now)
        parts = [slope.weights[stage], slope.intercept[stage : stage + 1], slope.threshold[stage : stage + routes]]
        return found, unit * np.concatenate(parts)

    begin = np.concatenate([
        chain.weights[stage], chain.intercept[stage : stage + 1], chain.threshold[stage : stage + routes]
    ])  # fmt: skip
    with scipy_blas_alone():
        found: Any = minimize(value, begin / unit, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return moved(found.x)
