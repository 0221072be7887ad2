"""Answers fitted to the rows of a node, from those of its parent."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen

from costframe.plugin import B1, F8, I8, SampledPrices, exact_sum, sum_over_rows
from costframe.stagewise import Evaluation, NormalEquations, WeightedSum, fit_at_price, refine

_SHRINK = 0.5  # a node's ridge is multiplied by its share of the rows to minus this power


@frozen(eq=False)
class Fitter:
    """Fits answers to training rows."""

    train: Evaluation  # the training rows
    ridge: float  # in units of the outputs' median variance, for all rows

    def ridge_for(self, share: float) -> float:
        """Return the ridge of a node with this share of the rows; it is larger for few rows."""
        return float(self.ridge * share**-_SHRINK)

    @cached_property
    def constant(self) -> WeightedSum:
        """The best constant as an answer."""
        rows, loss = self.train.rows, self.train.loss
        width = rows.target.shape[1]
        nothing = np.zeros((0, width)), np.zeros(width)
        H, offset = np.zeros((len(rows.target), 0)), np.zeros(rows.target.shape)
        _, constant = refine(loss, H, rows.target, rows.loss_weight, offset, nothing, 0.0)
        return WeightedSum(np.zeros((rows.outputs.shape[1], width)), constant)

    def at(self, prior: WeightedSum, inside: B1) -> NodeFit:
        """Begin fits with a prior at a node with the rows `inside`, bool (n,)."""
        return NodeFit(self, prior, np.flatnonzero(inside))


@frozen(eq=False)
class NodeFit:
    """Fits answers to the rows of a node, from a prior.

    By weighted least squares it approximates Newton's step of the scores from the prior. For other losses than the
    square it then minimizes the loss over the same learners.
    """

    fitter: Fitter
    prior: WeightedSum
    at: I8  # (rows,)

    def answer(self, bought: B1, inflation: float = 1.0) -> WeightedSum:
        """Fit an answer that may buy learners worth their price times `inflation`; `bought`, bool (C,), are free."""
        normal, ridge = self.normal, self.fitter.ridge_for(self._share)
        weights = fit_at_price(normal, self.prices.after(bought), inflation * self.price, ridge)
        return self._refined(weights, normal.intercept(weights))

    def free_answer(self, bought: B1) -> WeightedSum:
        """Fit an answer by bought learners, bool (C,)."""
        used = np.flatnonzero(bought)
        normal = NormalEquations.of(self._outputs.columns(used), *self._response)
        varying, weights = np.flatnonzero(normal.varies), np.zeros(self.prior.weights.shape)
        ridge = self.fitter.ridge_for(self._share) * normal.unit
        weights[used[varying]] = normal.columns(varying).solve(np.full(len(varying), ridge))
        return self._refined(weights, normal.intercept(weights[used]))

    @cached_property
    def _outputs(self) -> Any:
        return self.fitter.train.rows.outputs.rows(self.at)

    @cached_property
    def _share(self) -> float:
        return exact_sum(self.fitter.train.rows.share[self.at])

    @cached_property
    def _offset(self) -> F8:
        return self.prior.scores(self._outputs)

    @cached_property
    def _response(self) -> tuple[F8, F8]:
        """The step of the scores, (rows, M), and the rows' weights, (rows,)."""
        rows, loss = self.fitter.train.rows, self.fitter.train.loss
        h = loss.curvature(self._offset)
        return -loss.slope(self._offset, rows.target[self.at]) / h[:, np.newaxis], rows.loss_weight[self.at] * h

    @cached_property
    def _weight(self) -> float:
        return float(self._response[1].sum())

    @property
    def price(self) -> float:
        """Loss, in units of `normal`, per unit of cost."""
        return self.fitter.train.tradeoff * self._share / self._weight

    @cached_property
    def normal(self) -> NormalEquations:
        """Normal equations of the step from the prior."""
        return NormalEquations.of(self._outputs, *self._response)

    @cached_property
    def prices(self) -> SampledPrices:
        """Prices of all learners for the rows of the node."""
        share = np.zeros(len(self.fitter.train.rows.share))
        share[self.at] = self.fitter.train.rows.share[self.at]
        return self.fitter.train.pricing.drawn(share)[0]

    def _refined(self, weights: F8, constant: F8) -> WeightedSum:
        """Add a step to the prior."""
        rows, loss, prior = self.fitter.train.rows, self.fitter.train.loss, self.prior
        if loss.link != "identity":
            used, weight = np.flatnonzero(weights.any(axis=1)), rows.loss_weight[self.at]
            total, H = exact_sum(weight), self._outputs.columns(used).block(slice(0, len(self.at)))
            squares, mean = np.split(sum_over_rows(np.hstack([np.square(H), H]), weight / total), 2)
            unit = float(np.median(squares - np.square(mean))) if len(used) else 0.0
            ridge = self.fitter.ridge_for(self._share) * max(unit, 0.0) * self._weight / total
            start = weights[used], constant
            refined, constant = refine(loss, H, rows.target[self.at], weight, self._offset, start, ridge)
            weights = np.zeros(weights.shape)
            weights[used] = refined
        return WeightedSum(prior.weights + weights, prior.constant + constant)
