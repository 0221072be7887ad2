"""Logistic regression of one score or several, with norms of the weights of priced groups as the penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit, logsumexp, softmax

from costframe.core.accurate_sums import sum_over_rows
from costframe.core.exact_sums import exact_sum
from costframe.proximal.newton import GroupNorms, minimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups

    F8 = NDArray[np.float64]

__all__ = ["REFIT", "RIDGE", "Standardized", "cross_entropy_slopes", "fit_logistic"]

RIDGE = 1e-6  # on weights of standardized columns and on intercepts, to keep them finite
REFIT = 1e-3  # ridge that takes the place of the penalty
_ALIKE = 1e-12  # standard deviation, relative to the largest value, of a column that counts as constant


@frozen(eq=False)
class Standardized:
    """The columns that vary, with their means and standard deviations, float64 (C',) each."""

    chosen: NDArray[np.int64]
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


def cross_entropy_slopes(y: NDArray[np.int64], scores: F8) -> tuple[F8, F8]:
    """Return derivatives of the cross-entropy by each score, and curvatures: float64 (K, n) each, for scores (K, n).

    The curvatures are exact for two classes, K = 1. For more, each row has the smaller of two diagonals that are upper
    bounds of diag(p) - pp': p, and 2 p (1 - p), as the matrix is diagonally dominant.
    """
    two = len(scores) == 1
    chance = expit(scores) if two else softmax(scores, axis=0)
    right = y == (np.ones((1, 1)) if two else np.arange(len(chance))[:, np.newaxis])
    bent = chance * (1 - chance)
    if not two:
        bent = np.where(bent.sum(axis=0) < 1 / 2, 2 * bent, chance)
    return chance - right, bent


@frozen(eq=False)
class _CrossEntropy:
    """The mean cross-entropy of rows with weights of mean one; see `SmoothObjective`."""

    columns: F8
    y: NDArray[np.int64]
    weight: F8
    norms: GroupNorms
    ridge: float

    @property
    def ridges(self) -> F8:
        return np.append(np.full(self.columns.shape[1], self.ridge), RIDGE)

    def smooth(self, scores: F8) -> float:
        if len(scores) == 1:
            losses = np.logaddexp(0.0, scores[0]) - self.y * scores[0]
        else:
            losses = logsumexp(scores, axis=0) - scores[self.y, np.arange(len(self.y))]
        return float(self.weight @ losses) / len(self.y)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        slope, bent = cross_entropy_slopes(self.y, scores)
        share = self.weight / len(self.y)
        return share * slope, share * bent


def fit_logistic(H: F8, y: NDArray[np.int64], n_classes: int, weight: F8, groups: PricedGroups | None = None) -> F8:
    """Fit logistic regression with the penalty sum_G price_G * norm of the weights of G, or a small ridge in its place.

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
    objective = _CrossEntropy(few, y, weight, norms, REFIT if groups is None else RIDGE)
    begin = np.zeros((1 if n_classes == 2 else n_classes, few.shape[1] + 1))
    return columns.raw(minimize(objective, begin), H.shape[1])
