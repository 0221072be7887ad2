"""Newton's steps for convex functions of linear scores, with norms of priced groups of weights as the penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.arrays import F8
from costframe.core.sums import product, sum_products
from costframe.training.group_norms import GroupNorms

_LEAST = 1e-4  # of the predicted decrease: a step must reach it
_SHORTEST = 2.0**-30


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


TIGHT = Effort(100, 1000, 1e-5)  # the usual one


class PenalizedObjective(ABC):
    """A convex function of M scores of each row, linear in C columns and a constant.

    Weights are (M, C + 1), the constant last. The objective is `smooth` of the scores, plus the norms of the weights
    without constants, plus half of the ridges times the squares of all weights.
    """

    @property
    @abstractmethod
    def columns(self) -> F8:
        """Columns: float64 (n, C)."""

    @property
    @abstractmethod
    def norms(self) -> GroupNorms:
        """Of the columns' weights."""

    @property
    @abstractmethod
    def ridges(self) -> F8:
        """Of each weight, positive: float64 (C + 1,)."""

    @abstractmethod
    def smooth(self, scores: F8) -> float:
        """Return the value at scores (M, n)."""

    @abstractmethod
    def slopes(self, scores: F8) -> tuple[F8, F8]:
        """Return derivatives by each score and upper bounds of curvatures: float64 (M, n) each."""

    @staticmethod
    def scores_of(columns: F8, weights: F8) -> F8:
        """Return the scores of rows: float64 (M, n) for weights (M, C + 1)."""
        return np.ascontiguousarray(product(columns, weights[:, :-1].T).T) + weights[:, -1:]

    def penalty(self, weights: F8) -> float:
        """Return the norms and ridges of weights."""
        return self.norms.value(weights[:, :-1]) + float((np.square(weights) @ self.ridges).sum()) / 2

    def minimize(self, weights: F8, effort: Effort = TIGHT) -> F8:
        """Minimize over the weights, float64 (M, C + 1), from given ones; the result is never worse than these."""
        design = np.column_stack([self.columns, np.ones(len(self.columns))])
        scores = self.scores_of(self.columns, weights)
        value, penalty = self.smooth(scores), self.penalty(weights)
        dual = np.zeros((len(weights), len(self.norms.member)))
        for _ in range(effort.steps):
            gradient, target = _aim(self, design, scores, weights, dual, effort)
            way = target - weights
            promised = float((gradient * way).sum()) + self.norms.value(target[:, :-1])
            promised -= self.norms.value(weights[:, :-1])
            path, part = self.scores_of(self.columns, way), 1.0
            while part > _SHORTEST:
                new = target if part == 1.0 else weights + part * way
                new_scores = scores + part * path
                new_value, new_penalty = self.smooth(new_scores), self.penalty(new)
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
