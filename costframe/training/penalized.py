"""Newton's steps for convex functions of linear scores, with norms of priced groups of weights as the penalty."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.arrays import F8
from costframe.core.sums import product, sum_products
from costframe.training.group_norms import GroupNorms

_LEAST = 1e-4  # of the predicted decrease: a step must reach it
_SHORTEST = 2.0**-30


class PenalizedObjective(Protocol):
    """A convex function of M scores of each row, linear in C columns and a constant.

    Weights are (M, C + 1), the constant last. The objective is `smooth` of the scores, plus the norms of the weights
    without constants, plus half of the ridges times the squares of all weights.
    """

    @property
    def columns(self) -> F8:
        """Columns: float64 (n, C)."""

    @property
    def norms(self) -> GroupNorms:
        """Of the columns' weights."""

    @property
    def ridges(self) -> F8:
        """Of each weight, positive: float64 (C + 1,)."""

    def smooth(self, scores: F8) -> float:
        """Return the value at scores (M, n)."""

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        """Return derivatives by each score and upper bounds of curvatures: float64 (M, n) each."""


@frozen
class Effort:
    """Limits of a minimization.

    Attributes
    ----------
    steps : int
        Most Newton steps.
    inner : int
        Most proximal steps in each of them.
    tolerance : float
        Least length of a proximal step, relative to the first.
    enough : float
        It ends with a step whose predicted decrease is at most this share of the objective.
    """

    steps: int
    inner: int
    tolerance: float
    enough: float = 1e-11


# Stands below its class.
ROUGH = Effort(3, 60, 1e-2, 1e-6)


TURN = Effort(8, 500, 1e-4, 1e-7)


TIGHT = Effort(100, 1000, 1e-5)


def scores_of(columns: F8, weights: F8) -> F8:
    """Return the scores of rows: float64 (M, n) for weights (M, C + 1)."""
    return np.ascontiguousarray(product(columns, weights[:, :-1].T).T) + weights[:, -1:]


def penalty_of(objective: PenalizedObjective, weights: F8) -> float:
    """Return the norms and ridges of weights."""
    return objective.norms.value(weights[:, :-1]) + float((np.square(weights) @ objective.ridges).sum()) / 2


def minimize(objective: PenalizedObjective, weights: F8, effort: Effort = TIGHT) -> F8:
    """Minimize over the weights, float64 (M, C + 1), from given ones; the result is never worse than these."""
    design = np.column_stack([objective.columns, np.ones(len(objective.columns))])
    scores = scores_of(objective.columns, weights)
    value, penalty = objective.smooth(scores), penalty_of(objective, weights)
    dual = np.zeros((len(weights), len(objective.norms.member)))
    for _ in range(effort.steps):
        gradient, target = _aim(objective, design, scores, weights, dual, effort)
        way = target - weights
        promised = float((gradient * way).sum()) + objective.norms.value(target[:, :-1])
        promised -= objective.norms.value(weights[:, :-1])
        path, part = scores_of(objective.columns, way), 1.0
        while part > _SHORTEST:
            new = target if part == 1.0 else weights + part * way
            new_scores = scores + part * path
            new_value, new_penalty = objective.smooth(new_scores), penalty_of(objective, new)
            if new_value + new_penalty <= value + penalty + _LEAST * part * promised:
                break
            part /= 2
        else:
            return weights
        weights, scores, value, penalty = new, new_scores, new_value, new_penalty
        if -promised <= effort.enough * (value + penalty):
            break
    return weights


def _aim(objective: PenalizedObjective, design: F8, scores: F8, weights: F8, dual: F8, effort: Effort) -> tuple[F8, F8]:
    """Return the gradient, without norms, and the minimizer of the quadratic around the weights."""
    slope, curvature = objective.slopes(scores)
    width, norms = weights.shape[1], objective.norms
    hessian = np.zeros((len(weights), width, width))
    for k in np.flatnonzero(curvature.any(axis=1)):
        hessian[k] = design.T @ (design * curvature[k][:, np.newaxis])
    gradient = objective.ridges * weights + sum_products(design, slope.T).T
    hessian[:, np.arange(width), np.arange(width)] += objective.ridges
    scale = np.append(norms.scale, 1.0)
    groups = (norms.first, norms.member, norms.radius, dual, norms.disjoint)
    lipschitz = np.asarray(np.linalg.eigvalsh(hessian)[:, -1], np.float64) * (1 + 1e-9)
    target = np.empty(weights.shape)
    engine.minimize_quadratic(
        hessian, np.ascontiguousarray(gradient), np.ascontiguousarray(weights), lipschitz, scale, *groups,
        effort.inner, effort.tolerance, target,
    )  # fmt: skip
    return gradient, target
