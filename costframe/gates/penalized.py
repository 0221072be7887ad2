"""Linear scores with norms of priced groups of weights as the penalty: Newton's steps, and logistic regression.

A weight that a norm holds at zero is exactly zero, so its column is not acquired.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from attrs import frozen

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.cost.groups import PricedGroups
from costframe.core.sums import exact_sum, product, sum_over_rows, sum_products
from costframe.training.losses import log_loss_slopes, log_losses

RIDGE = 1e-6  # on weights of standardized columns and on intercepts, to keep them finite
REFIT = 1e-3  # ridge that takes the place of the penalty
_ALIKE = 1e-12  # standard deviation, relative to the largest value, of a column that counts as constant
_LEAST = 1e-4  # of the predicted decrease: a step must reach it
_SHORTEST = 2.0**-30


@frozen(eq=False)
class GroupNorms:
    """sum_j radius_j * sqrt(sum of squares of (weight / scale) over all outputs and the columns of group j).

    Attributes
    ----------
    first : int64 (J + 1,)
    member : int64 (entries,)
        The columns of group j, ascending, from first[j] on. Groups differ, and smaller groups come first: one pass from
        the leaves to the root is then exact for nested groups with one scale.
    radius : float64 (J,)
        Positive.
    scale : float64 (C,)
        Positive: the unit of each column's weights in the penalty.
    """

    first: I8
    member: I8
    radius: F8
    scale: F8

    @classmethod
    def of_groups(cls, groups: PricedGroups, columns: I8, scale: F8) -> GroupNorms:
        """Keep some columns, in the given order, and add up the prices of groups with the same columns."""
        prices: dict[tuple[int, ...], float] = {}
        member = groups.restrict(columns).member
        for g, price in enumerate(groups.price.tolist()):
            held = tuple(sorted(member.indices[member.indptr[g] : member.indptr[g + 1]].tolist()))
            if held and price > 0:
                prices[held] = prices.get(held, 0.0) + price
        order = sorted(prices, key=lambda held: (len(held), held))
        return cls(
            np.cumsum([0, *map(len, order)]),
            np.array([column for held in order for column in held], np.int64),
            np.array([prices[held] for held in order], np.float64),
            scale,
        )

    @classmethod
    def none(cls, n_columns: int) -> GroupNorms:
        """Make no penalty for a number of columns."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), np.ones(n_columns))

    @property
    def disjoint(self) -> bool:
        """Whether no column is in two groups."""
        return len(np.unique(self.member)) == len(self.member)

    def value(self, weights: F8) -> float:
        """Return the penalty of weights (M, C)."""
        if not len(self.radius):
            return 0.0
        squares = np.square(weights / self.scale).sum(axis=0)[self.member]
        return float(self.radius @ np.sqrt(np.add.reduceat(squares, self.first[:-1])))


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


@frozen(eq=False)
class Standardized:
    """The columns that vary, with their means and standard deviations, float64 (C',) each."""

    chosen: I8
    mean: F8
    spread: F8

    @classmethod
    def of(cls, H: F8, weight: F8) -> Standardized:
        """Measure columns, (n, C), of rows with weights."""
        share = weight / exact_sum(weight)
        mean = sum_over_rows(H, share)
        spread = np.sqrt(sum_over_rows(np.square(H - mean), share))
        chosen = np.flatnonzero(spread > _ALIKE * np.abs(H).max(axis=0, initial=0.0))
        return cls(chosen, mean[chosen], spread[chosen])

    def columns(self, H: F8) -> F8:
        """Scale the chosen columns of rows, (n, C)."""
        return np.ascontiguousarray((H[:, self.chosen] - self.mean) / self.spread)

    def weights(self, raw: F8) -> F8:
        """Turn weights of raw columns, (1 + K, C + 1), into those of standardized columns, (1 + K, C' + 1)."""
        chosen = raw[:, self.chosen]
        return np.column_stack([chosen * self.spread, raw[:, -1] + chosen @ self.mean])

    def raw(self, weights: F8, n_columns: int) -> F8:
        """Turn weights of standardized columns into those of raw columns."""
        found = np.zeros((len(weights), n_columns + 1))
        found[:, self.chosen] = weights[:, :-1] / self.spread
        found[:, -1] = weights[:, -1] - found[:, self.chosen] @ self.mean
        return found


@frozen(eq=False)
class _CrossEntropy:
    """The mean cross-entropy of rows with weights of mean one; see `PenalizedObjective`."""

    columns: F8
    y: I8
    weight: F8
    norms: GroupNorms
    ridge: float

    @property
    def ridges(self) -> F8:
        return np.append(np.full(self.columns.shape[1], self.ridge), RIDGE)

    def smooth(self, scores: F8) -> float:
        return float(self.weight @ log_losses(scores.T, self.y)) / len(self.y)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        slope, bent = log_loss_slopes(self.y, scores)
        share = self.weight / len(self.y)
        return share * slope, share * bent


def fit_logistic(
    H: F8, y: I8, n_classes: int, weight: F8, groups: PricedGroups | None = None, *, ridge: float = REFIT
) -> F8:
    """Fit logistic regression with the penalty sum_G price_G * norm of the weights of G, or a ridge in its place.

    Parameters
    ----------
    H : float64 (n, C)
        Finite columns in any units.
    y : int64 (n,)
        Class codes.
    n_classes : int
        Two classes have one score, more have one each.
    weight : float64 (n,)
        Positive.
    groups : PricedGroups, optional
        Of the C columns, with prices in units of loss; for single columns this is l1 with weights. By default none.
    ridge : float
        Without groups: half of it times the squared weights of standardized columns is added to the mean loss.

    Returns
    -------
    float64 (K, C + 1)
        Intercepts last; zeros are exact.
    """
    weight = weight * (len(weight) / weight.sum())
    columns = Standardized.of(H, weight)
    few = columns.columns(H)
    if groups is None:
        norms = GroupNorms.none(len(columns.chosen))
    else:
        norms = GroupNorms.of_groups(groups, columns.chosen, columns.spread)
    objective = _CrossEntropy(few, y, weight, norms, ridge if groups is None else RIDGE)
    begin = np.zeros((1 if n_classes == 2 else n_classes, few.shape[1] + 1))
    return columns.raw(minimize(objective, begin), H.shape[1])
