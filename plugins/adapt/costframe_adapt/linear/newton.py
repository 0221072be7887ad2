"""The M-step of linear models: Newton's steps, each of which solves a quadratic with the penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_adapt.linear.division import Division

    F8 = NDArray[np.float64]

__all__ = ["ROUGH", "TIGHT", "TURN", "Effort", "minimize"]

_ENOUGH = 1e-11  # foreseen decrease, relative to the objective
_LEAST = 1e-4  # of the foreseen decrease that a step must bring
_SHORTEST = 2.0**-30


@frozen
class Effort:
    """How far an M-step goes: Newton's steps, those within each quadratic, and the latter's relative tolerance."""

    steps: int
    inner: int
    tolerance: float


ROUGH = Effort(3, 60, 1e-2)  # to see which starts are worth more
TURN = Effort(8, 500, 1e-4)  # enough for two classes; for more, further rounds bring more than further steps
TIGHT = Effort(100, 1000, 1e-5)


def minimize(division: Division, q: F8, weights: F8, effort: Effort = TIGHT) -> F8:
    """Minimize over the weights of gate and f1; the result is never worse than the start.

    Parameters
    ----------
    division : Division
    q : float64 (n,)
    weights : float64 (1 + K, C + 1)
        Where to begin.
    effort : Effort
    """
    scores = division.scores(weights)
    value, charge = division.smooth(scores, q), division.charge(weights)
    dual = np.zeros((len(weights), len(division.penalty.member)))
    for _ in range(effort.steps):
        gradient, target = _aim(division, scores, q, weights, dual, effort)
        way = target - weights
        promised = float((gradient * way).sum()) + division.penalty.value(target[:, :-1])
        promised -= division.penalty.value(weights[:, :-1])
        path, part = division.scores(way), 1.0
        while part > _SHORTEST:
            new = target if part == 1.0 else weights + part * way
            new_scores = scores + part * path
            new_value, new_charge = division.smooth(new_scores, q), division.charge(new)
            if new_value + new_charge <= value + charge + _LEAST * part * promised:
                break
            part /= 2
        else:
            return weights
        weights, scores, value, charge = new, new_scores, new_value, new_charge
        if -promised <= _ENOUGH * (value + charge):
            break
    return weights


def _aim(division: Division, scores: F8, q: F8, weights: F8, dual: F8, effort: Effort) -> tuple[F8, F8]:
    """Return the gradient, without penalty, and the minimizer of the quadratic around the weights."""
    from costframe_adapt.linear.prox_kernels import minimize_quadratic

    slope, curvature = division.slopes(scores, q)
    width = weights.shape[1]
    gradient = division.ridges * weights
    gradient[:, :-1] += slope @ division.Z
    gradient[:, -1] += slope.sum(axis=1)
    hessian = np.empty((len(weights), width, width))
    for k, root in enumerate(np.sqrt(curvature)):
        columns = np.column_stack([division.Z * root[:, np.newaxis], root])
        hessian[k] = columns.T @ columns
    hessian[:, np.arange(width), np.arange(width)] += division.ridges
    lipschitz = np.asarray(np.linalg.eigvalsh(hessian)[:, -1], np.float64) * (1 + 1e-9)
    penalty = division.penalty
    scale = np.append(penalty.scale, 1.0)
    groups = (penalty.first, penalty.member, penalty.radius, dual, penalty.disjoint)
    return gradient, minimize_quadratic(
        hessian, gradient, weights, lipschitz, scale, *groups, effort.inner, effort.tolerance
    )
