"""Answers for the rows that come to a node: what was bought on the way is free, and says what to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.linear.normal import NormalEquations
from costframe_cstc.fits import fit_at_price, refine
from costframe_cstc.losses import Squared
from costframe_cstc.tree import WeightedSum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_cstc.judge import Judge

__all__ = ["Fitter"]

_SHRINK = 0.5  # a node's ridge grows with the inverse of its share of the rows, to this power


@frozen(eq=False)
class Fitter:
    """Fits to training rows.

    Attributes
    ----------
    judge : Judge
        Of these rows.
    ridge : float
        In units of the outputs' median variance, for all rows.
    """

    judge: Judge
    ridge: float

    def ridge_for(self, share: float) -> float:
        """Return the ridge of a node that a share of the rows comes to: few rows are told less from."""
        return self.ridge * share**-_SHRINK

    def constant(self) -> WeightedSum:
        """Return the best constant."""
        rows, loss = self.judge.rows, self.judge.loss
        width = rows.target.shape[1]
        nothing = np.zeros((0, width)), np.zeros(width)
        H, offset = np.zeros((len(rows.target), 0)), np.zeros(rows.target.shape)
        _, constant = refine(loss, H, rows.target, rows.in_mean, offset, nothing, 0.0)
        return WeightedSum(np.zeros((rows.outputs.shape[1], width)), constant)

    def answer(
        self, prior: WeightedSum, inside: NDArray[np.bool_], bought: NDArray[np.bool_], inflation: float = 1.0
    ) -> WeightedSum:
        """Fit an answer that may buy what is worth its price, which inflation multiplies, to the rows inside, (n,)."""
        judge, at = self.judge, np.flatnonzero(inside)
        share = judge.rows.share
        prices, _ = judge.pricing.drawn(np.where(inside, share, 0.0))
        price = inflation * judge.tradeoff * float(share[at].sum())
        offset, h, z = self._response(prior, at)
        outputs, weight = judge.rows.outputs.rows(at), judge.rows.in_mean[at] * h
        step = fit_at_price(outputs, z, weight, prices.after(bought), price, self.ridge_for(float(share[at].sum())))
        return self._refined(prior, WeightedSum(*step), at, offset, h)

    def free_answer(
        self, prior: WeightedSum, inside: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> WeightedSum:
        """Fit an answer by what is bought, to the rows inside, (n,)."""
        rows, at, used = self.judge.rows, np.flatnonzero(inside), np.flatnonzero(bought)
        offset, h, z = self._response(prior, at)
        normal = NormalEquations.of(rows.outputs.rows(at).columns(used), z, rows.in_mean[at] * h)
        varying, weights = np.flatnonzero(normal.varies), np.zeros(prior.weights.shape)
        ridge = self.ridge_for(float(rows.share[at].sum())) * normal.unit
        weights[used[varying]] = normal.columns(varying).solve(np.full(len(varying), ridge))
        return self._refined(prior, WeightedSum(weights, normal.intercept(weights[used])), at, offset, h)

    def _response(
        self, prior: WeightedSum, at: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the prior's scores, the loss's curvature there, and the step that a Newton method would take."""
        rows, loss = self.judge.rows, self.judge.loss
        offset = prior.scores(rows.outputs.rows(at))
        h = loss.curvature(offset)
        return offset, h, -loss.slope(offset, rows.target[at]) / h[:, np.newaxis]

    def _refined(
        self,
        prior: WeightedSum,
        step: WeightedSum,
        at: NDArray[np.int64],
        offset: NDArray[np.float64],
        h: NDArray[np.float64],
    ) -> WeightedSum:
        """Add a step to the prior; where the loss is no square, minimize it over the same learners first."""
        rows, loss, weights, constant = self.judge.rows, self.judge.loss, step.weights, step.constant
        if not isinstance(loss, Squared):
            used, weight = np.flatnonzero(step.used), rows.in_mean[at]
            share = weight / weight.sum()
            H = rows.outputs.rows(at).columns(used).block(slice(0, len(at)))
            unit = float(np.median(share @ np.square(H) - np.square(share @ H))) if len(used) else 0.0
            ridge = self.ridge_for(float(rows.share[at].sum())) * max(unit, 0.0) * float(share @ h)
            start = weights[used], constant
            found, constant = refine(loss, H, rows.target[at], weight, offset, start, ridge)
            weights = np.zeros(weights.shape)
            weights[used] = found
        return WeightedSum(prior.weights + weights, prior.constant + constant)
