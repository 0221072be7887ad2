"""Linear and logistic models: on standardized columns with a ridge or norms, near a prior, or from a start."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from scipy.special import expit

from costframe.core.arrays import F8, I8
from costframe.core.cost.groups import PricedGroups
from costframe.core.sums import coarse, exact_sum, product, sum_over_rows, sum_products
from costframe.training.blas import minimize_smooth
from costframe.training.data import Rows
from costframe.training.group_norms import GroupNorms
from costframe.training.losses import PointwiseLoss, log_loss_slopes, log_losses
from costframe.training.penalized import TIGHT, Effort, PenalizedObjective

_RIDGE = 1e-6  # on weights of standardized columns and on intercepts, to keep them finite
_REFIT = 1e-3  # ridge that takes the place of the penalty
_FEW_ROUNDS = 15  # of `refine`, so that rounding has no effect
_STEPS = 100  # of `fit_near`
_ENOUGH = 1e-12  # of the loss
_LEAST_RIDGE = 1e-12
_ROUGH = Effort(100, 1000, 1e-3, 1e-6)
_ALIKE = 1e-12  # standard deviation, relative to the largest value, of a column that counts as constant


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
        raw = np.zeros((len(weights), n_columns + 1))
        raw[:, self.chosen] = weights[:, :-1] / self.spread
        raw[:, -1] = weights[:, -1] - raw[:, self.chosen] @ self.mean
        return raw


@frozen(eq=False)
class _CrossEntropy(PenalizedObjective):
    """The mean cross-entropy of rows with weights of mean one; see `PenalizedObjective`."""

    columns: F8
    y: I8
    weight: F8
    norms: GroupNorms
    ridge: float

    @property
    def ridges(self) -> F8:
        return np.append(np.full(self.columns.shape[1], self.ridge), _RIDGE)

    def smooth(self, scores: F8) -> float:
        return float(self.weight @ log_losses(scores.T, self.y)) / len(self.y)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        slope, bent = log_loss_slopes(self.y, scores)
        share = self.weight / len(self.y)
        return share * slope, share * bent


def fit_logistic(
    H: F8,
    y: I8,
    n_classes: int,
    weight: F8,
    groups: PricedGroups | None = None,
    *,
    ridge: float = _REFIT,
    near: F8 | None = None,
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
    near : float64 (K, C + 1), optional
        Weights to begin at, for a rough fit: it ends where a step promises less than 1e-6 of the loss.

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
    objective = _CrossEntropy(few, y, weight, norms, ridge if groups is None else _RIDGE)
    begin = np.zeros((1 if n_classes == 2 else n_classes, few.shape[1] + 1)) if near is None else columns.weights(near)
    return columns.raw(objective.minimize(begin, TIGHT if near is None else _ROUGH), H.shape[1])


def fit_linear(H: F8, rows: Rows, n_classes: int, ridge: float, *, near: F8 | None = None) -> F8:
    """Fit linear regression, or logistic regression of classes, with a ridge: float64 (K, C + 1), intercepts last.

    Half of the ridge times the squared weights of standardized columns is added to the mean loss. Classes may begin
    `near` given weights, as those of another ridge; then they end where a step promises less than 1e-6 of the loss.
    """
    if n_classes:
        return fit_logistic(H, rows.y, n_classes, rows.weight, ridge=ridge, near=near)
    weight = rows.weight / rows.total_weight
    columns = Standardized.of(H, weight)
    few, mean = columns.columns(H), float(sum_over_rows(rows.y[:, np.newaxis], weight)[0])
    weighted = few * weight[:, np.newaxis]
    gram = sum_products(weighted, few) + ridge * np.eye(few.shape[1])
    slopes = np.linalg.solve(gram, sum_products(weighted, (rows.y - mean)[:, np.newaxis]))
    return columns.raw(np.append(slopes[:, 0], mean)[np.newaxis], H.shape[1])


def fit_near(inputs: F8, target: F8, weight: F8, start: F8, strength: float) -> F8:
    """Fit logistic regression of shares of ones near a start: float64 (C,), for few inputs, (C, n), and weights, (n,).

    It minimizes sum_i w_i [log(1 + exp(s_i)) - target_i s_i] + strength / 2 |weights - start|^2 by Newton's steps, with
    s the weighted sums of the inputs.
    """

    def look(free: F8) -> tuple[float, F8, F8]:
        """Return the objective, and the slopes and the curvature of its first part."""
        power = free @ inputs
        chance = expit(power)
        value = weight @ (np.logaddexp(0.0, power) - target * power)
        curved = (inputs * (weight * chance * (1.0 - chance))) @ inputs.T
        return (
            float(value + 0.5 * strength * np.square(free - start).sum()),
            inputs @ (weight * (chance - target)),
            curved,
        )

    at, (value, slopes, curved) = start, look(start)
    for _ in range(_STEPS):
        slope = slopes + strength * (at - start)
        step = np.linalg.solve(curved + (strength + _LEAST_RIDGE) * np.eye(len(start)), slope)
        while (now := look(at - step))[0] > value and np.abs(step).max() > _ENOUGH:
            step = step / 2.0
        if not now[0] < value * (1.0 - _ENOUGH):
            break
        at, (value, slopes, curved) = at - step, now
    return at


def refine(
    loss: PointwiseLoss, H: F8, target: F8, weight: F8, offset: F8, start: tuple[F8, F8], penalty: float
) -> tuple[F8, F8]:
    """Fit any loss from a start by a few rounds of L-BFGS: weights (U, M), constants (M,).

    It minimizes sum_i w_i loss(offset_i + c + D'h_i) / sum_i w_i + penalty / 2 |D|^2.
    """
    share, width = weight / exact_sum(weight), target.shape[1]
    mean = sum_over_rows(H, share)
    centered = H - mean
    unit = np.sqrt(sum_over_rows(np.square(centered), share))
    unit = 1.0 / np.where(unit > 0, unit, 1.0)

    def unpack(x: F8) -> tuple[F8, F8]:
        free = x.reshape(-1, width)
        return unit[:, np.newaxis] * free[:-1], free[-1]

    def value(x: F8) -> tuple[float, F8]:
        weights, constant = unpack(x)
        scores = offset + product(centered, weights) + constant
        slope = loss.slope(scores, target)
        by_weight = unit[:, np.newaxis] * (sum_products(centered, share[:, np.newaxis] * slope) + penalty * weights)
        sums = sum_over_rows(np.column_stack([loss.value(scores, target), slope]), share)
        total = float(sums[0]) + 0.5 * penalty * float(np.square(weights).sum())
        return total, np.append(by_weight, sums[1:])

    begin = coarse(np.vstack([start[0] / unit[:, np.newaxis], start[1] + mean @ start[0]]).ravel())
    solution = minimize_smooth(value, begin, {"maxiter": _FEW_ROUNDS})
    weights, constant = unpack(solution.x if solution.fun <= value(begin)[0] else begin)
    return weights, constant - mean @ weights
