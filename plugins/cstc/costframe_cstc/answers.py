"""Fits of answers to the rows of each node, and pruning of subtrees by held-out rows.

A fit begins with the parent's answer, and learners bought on the way are free.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.plugin import coarse, exact_sum, product, sum_over_rows, sum_products
from costframe.stagewise import NormalEquations, Squared, WeightedSum, fit_at_price, minimize_smooth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.plugin import BankOutputs, SampledPrices
    from costframe.stagewise import Evaluation, Loss, SoftTree

__all__ = ["Fitter", "NodeFit", "path_models", "prune", "refine", "refit"]

_ROUNDS = 15  # few, so that rounding has no effect
_SHRINK = 0.5  # a node's ridge is multiplied by its share of the rows to minus this power
_ERRORS = 1.0  # a subtree must gain this many standard errors of its gain


@frozen(eq=False)
class Fitter:
    """Fits answers to training rows.

    Attributes
    ----------
    train : Evaluation
        The training rows.
    ridge : float
        In units of the outputs' median variance, for all rows.
    """

    train: Evaluation
    ridge: float

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

    def at(self, prior: WeightedSum, inside: NDArray[np.bool_]) -> NodeFit:
        """Begin fits with a prior at a node with the rows `inside`, bool (n,)."""
        return NodeFit(self, prior, np.flatnonzero(inside))


@frozen(eq=False)
class NodeFit:
    """Fits answers to the rows of a node, from a prior.

    By weighted least squares it approximates Newton's step of the scores from the prior. For other losses than the
    square it then minimizes the loss over the same learners.

    Attributes
    ----------
    fitter : Fitter
    prior : WeightedSum
    at : int64 (rows,)
    """

    fitter: Fitter
    prior: WeightedSum
    at: NDArray[np.int64]

    def answer(self, bought: NDArray[np.bool_], inflation: float = 1.0) -> WeightedSum:
        """Fit an answer that may buy learners worth their price times `inflation`; `bought`, bool (C,), are free."""
        normal, ridge = self.normal, self.fitter.ridge_for(self._share)
        weights = fit_at_price(normal, self.prices.after(bought), inflation * self.price, ridge)
        return self._refined(weights, normal.intercept(weights))

    def free_answer(self, bought: NDArray[np.bool_]) -> WeightedSum:
        """Fit an answer by bought learners, bool (C,)."""
        used = np.flatnonzero(bought)
        normal = NormalEquations.of(self._outputs.columns(used), *self._response)
        varying, weights = np.flatnonzero(normal.varies), np.zeros(self.prior.weights.shape)
        ridge = self.fitter.ridge_for(self._share) * normal.unit
        weights[used[varying]] = normal.columns(varying).solve(np.full(len(varying), ridge))
        return self._refined(weights, normal.intercept(weights[used]))

    @cached_property
    def _outputs(self) -> BankOutputs:
        return self.fitter.train.rows.outputs.rows(self.at)

    @cached_property
    def _share(self) -> float:
        return exact_sum(self.fitter.train.rows.share[self.at])

    @cached_property
    def _offset(self) -> NDArray[np.float64]:
        return self.prior.scores(self._outputs)

    @cached_property
    def _response(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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

    def _refined(self, weights: NDArray[np.float64], constant: NDArray[np.float64]) -> WeightedSum:
        """Add a step to the prior."""
        rows, loss, prior = self.fitter.train.rows, self.fitter.train.loss, self.prior
        if not isinstance(loss, Squared):
            used, weight = np.flatnonzero(weights.any(axis=1)), rows.loss_weight[self.at]
            total, H = exact_sum(weight), self._outputs.columns(used).block(slice(0, len(self.at)))
            squares, mean = np.split(sum_over_rows(np.hstack([np.square(H), H]), weight / total), 2)
            unit = float(np.median(squares - np.square(mean))) if len(used) else 0.0
            ridge = self.fitter.ridge_for(self._share) * max(unit, 0.0) * self._weight / total
            start = weights[used], constant
            found, constant = refine(loss, H, rows.target[self.at], weight, self._offset, start, ridge)
            weights = np.zeros(weights.shape)
            weights[used] = found
        return WeightedSum(prior.weights + weights, prior.constant + constant)


def refine(
    loss: Loss,
    H: NDArray[np.float64],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    offset: NDArray[np.float64],
    start: tuple[NDArray[np.float64], NDArray[np.float64]],
    penalty: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimize sum_i w_i loss(offset_i + c + D'h_i) / sum_i w_i + penalty / 2 |D|^2: weights (U, M), constants (M,)."""
    share, width = weight / exact_sum(weight), target.shape[1]
    mean = sum_over_rows(H, share)
    centered = H - mean
    unit = np.sqrt(sum_over_rows(np.square(centered), share))
    unit = 1.0 / np.where(unit > 0, unit, 1.0)

    def unpack(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        free = x.reshape(-1, width)
        return unit[:, np.newaxis] * free[:-1], free[-1]

    def value(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, constant = unpack(x)
        scores = offset + product(centered, weights) + constant
        slope = loss.slope(scores, target)
        by_weight = unit[:, np.newaxis] * (sum_products(centered, share[:, np.newaxis] * slope) + penalty * weights)
        sums = sum_over_rows(np.column_stack([loss.value(scores, target), slope]), share)
        total = float(sums[0]) + 0.5 * penalty * float(np.square(weights).sum())
        return total, np.append(by_weight, sums[1:])

    begin = coarse(np.vstack([start[0] / unit[:, np.newaxis], start[1] + mean @ start[0]]).ravel())
    found = minimize_smooth(value, begin, {"maxiter": _ROUNDS})
    weights, constant = unpack(found.x if found.fun <= value(begin)[0] else begin)
    return weights, constant - mean @ weights


def path_models(fitter: Fitter, tree: SoftTree) -> list[WeightedSum]:
    """Fit an answer for each node over the learners bought on the way to it."""
    passes = fitter.train.flow(tree).passes > 0
    found = [fitter.constant]
    for node, parent in enumerate(tree.topology.parent.tolist()):
        if node:
            inside, prior = passes[:, parent], found[parent]
            known = fitter.at(prior, inside).free_answer(tree.bought(node)) if inside.any() else prior
            found.append(known)
    return found


def refit(fitter: Fitter, tree: SoftTree) -> tuple[SoftTree, list[WeightedSum]]:
    """Fit all answers again; return also an answer for each node as a leaf."""
    passes = fitter.train.flow(tree).passes > 0
    answers: list[WeightedSum] = []
    for node, prior in enumerate(path_models(fitter, tree)):
        inside = passes[:, node]
        answers.append(fitter.at(prior, inside).answer(tree.bought(node)) if inside.any() else prior)
        if not tree.topology.routes[node]:
            tree = tree.with_answer(node, answers[node])
    return tree, answers


def prune(held_out: Evaluation, tree: SoftTree, answers: Sequence[WeightedSum]) -> SoftTree:
    """Turn nodes into leaves, from the last on, unless this raises loss + lambda * cost.

    A rise within one standard error may be chance, and does not keep a subtree.

    Parameters
    ----------
    held_out : Evaluation
    tree : SoftTree
    answers : sequence of WeightedSum
        Of each node as a leaf.
    """
    now = held_out.row_totals(tree)
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        # earlier nodes keep their numbers, as these go level by level
        ended = tree.ending_at(node, answers[node])
        without = held_out.row_totals(ended)
        saved = without - now
        if saved.sum() <= _ERRORS * held_out.error(saved):
            tree, now = ended, without
    return tree
