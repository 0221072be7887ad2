"""Descents of a soft tree: on a relaxed objective, node by node, or on loss and exact cost at fixed supports.

The first, Algorithm 1 of Cronus and the cycles of CSTC, never raises the objective. The second minimizes

    sum_i sum_k w_i q_i^k loss(s_i^k, y_i) + lambda p_i^k a_ik

with a_ik for the cost that node k adds for row i if it reaches the node. A node may use all outputs of the nodes before
it. Unlike a relaxed cost, this cost does not fall when weights only shrink.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8, I8
from costframe.core.sums import exact_sum, sum_over_rows
from costframe.stagewise.bank_rows import BankRows
from costframe.stagewise.objective import RelaxedObjective, ScoredRows, Slopes, slopes_at
from costframe.stagewise.soft_tree import SoftTree
from costframe.training.blas import minimize_smooth
from costframe.training.losses import PointwiseLoss

_TURNS = 5  # most alternations between auxiliaries and one node
_STEPS = 20  # of the minimizer in each turn
_ENOUGH = 1e-5  # of the objective: less is no improvement
_LEAST = 1e-12  # of an output's mean square: an output that varies less counts as constant
_NOTHING = 1e-9  # a smaller probability to reach a node counts as zero
_MOST = 1e300
_NO_SCALE = 1e-20  # of the largest variance: an output that varies less gives no scale


@frozen(eq=False)
class _Moving:
    """The free parts of a tree as one vector: weights of centered outputs, and each part in a separate unit."""

    start: SoftTree
    nodes: I8  # (k,): the nodes with free constants
    free: B1  # (k, C): their free weights
    routes: B1  # (k,): whether their thresholds are free
    mean: F8  # (C,)
    unit: F8  # (parts,): of the free weights, constants and thresholds

    @property
    def begin(self) -> F8:
        """Pack the start into a vector."""
        at, nodes = self.start, self.nodes
        constants = at.intercept[nodes] + self.mean @ at.weights[nodes]
        return self._pack(at.weights[nodes], constants, at.threshold[nodes]) / self.unit

    def tree(self, x: F8) -> SoftTree:
        """Return the tree of a vector."""
        at, nodes, x = self.start, self.nodes, x * self.unit
        weights, intercept, threshold = at.weights.copy(), at.intercept.copy(), at.threshold.copy()
        free_weights, width = weights[nodes], intercept.shape[1]
        constants = np.cumsum([self.free.sum() * width, len(nodes) * width])
        free_weights[self.free] = x[: constants[0]].reshape(-1, width)
        weights[nodes] = free_weights
        intercept[nodes] = x[constants[0] : constants[1]].reshape(-1, width) - self.mean @ free_weights
        threshold[nodes[self.routes]] = x[constants[1] :]
        return evolve(at, weights=weights, intercept=intercept, threshold=threshold)

    def slopes(self, of_tree: Slopes) -> F8:
        """Turn derivatives by weights, constants and thresholds into derivatives by the vector."""
        about = of_tree.weights - self.mean[:, np.newaxis] * of_tree.intercept[:, np.newaxis]
        return self.unit * self._pack(about, of_tree.intercept, of_tree.threshold)

    def _pack(self, weights: F8, constants: F8, threshold: F8) -> F8:
        return np.concatenate([weights[self.free].ravel(), constants.ravel(), threshold[self.routes]])


@frozen
class Step:
    """An accepted step: the node that changed, the relaxed objective, and lambda times the exact expected cost."""

    node: int
    objective: float
    exact_cost: float


def cycle(objective: RelaxedObjective, tree: SoftTree, cycles: int, steps: list[Step]) -> SoftTree:
    """Minimize the objective node by node, the root first, until it no longer falls, for at most `cycles` cycles.

    Nodes without rows keep their values; only nodes that route have thresholds.
    """
    value = objective.value(tree)
    for _ in range(cycles):
        before = value
        for node in range(len(tree)):
            tree, value = minimize_node(objective, tree, node, _TURNS, steps)
        if value > before * (1 - _ENOUGH):
            break
    return tree


def minimize_node(
    objective: RelaxedObjective, tree: SoftTree, node: int, turns: int, steps: list[Step]
) -> tuple[SoftTree, float]:
    """Alternate closed-form auxiliaries with a descent at one node while the objective falls; return its value too."""
    outcome = objective.outcome(tree)
    value, rows = objective.value(tree, outcome), objective.rows
    come = rows.loss_weight * outcome.flow.passes[:, node]
    if not (come > _NOTHING * rows.loss_weight).any():
        return tree, value
    for _ in range(turns):
        moved = _descend(objective, tree, outcome, node, come)
        tried = outcome.moved(moved, rows, objective.loss, node)
        now = objective.value(moved, tried)
        if not now < value * (1 - _ENOUGH):
            break
        tree, outcome, value = moved, tried, now
        steps.append(Step(node, value, objective.exact_cost(tree, outcome)))
    return tree, value


def _descend(objective: RelaxedObjective, start: SoftTree, outcome: ScoredRows, node: int, come: F8) -> SoftTree:
    """Minimize the bound over one node's weights, constants and threshold, with row weights `come`, float64 (n,)."""
    rows, z, width = objective.rows, objective.auxiliaries(start, outcome), start.weights.shape[2]
    total = exact_sum(come)
    mean = rows.rmatvec(come[:, np.newaxis])[:, 0] / total
    curved = evolve(rows, loss_weight=come).variance + _LEAST * total * np.square(mean)
    curved += objective.curvature(z, outcome, node)
    of_weights = np.repeat(np.where(curved > 0, curved, 1.0), width)
    routes = (start.topology.routes & np.isfinite(start.threshold))[[node]]
    unit = 1.0 / np.sqrt(np.concatenate([of_weights, np.full(width + int(routes.sum()), total)]))
    moving = _Moving(start, np.array([node]), np.ones((1, len(mean)), np.bool_), routes, mean, unit)

    def bound(x: F8) -> tuple[float, F8]:
        tree = moving.tree(x)
        value, slopes = objective.bound(tree, z, outcome.moved(tree, rows, objective.loss, node), node)
        return value, moving.slopes(slopes)

    return moving.tree(minimize_smooth(bound, moving.begin, {"maxiter": _STEPS}).x)


@frozen(eq=False)
class SupportObjective:
    """The loss and the exact expected cost of a tree with fixed supports.

    Attributes
    ----------
    rows : BankRows
        Of the U outputs.
    loss : PointwiseLoss
    costs : float64 (n, K)
        a_ik.
    tradeoff, steepness : float
    """

    rows: BankRows
    loss: PointwiseLoss
    costs: F8
    tradeoff: float
    steepness: float

    def value(self, tree: SoftTree, outcome: ScoredRows | None = None) -> tuple[float, float]:
        """Return mean loss, and mean expected cost."""
        rows, outcome = self.rows, self._outcome(tree) if outcome is None else outcome
        losses = rows.loss_weight * (outcome.flow.exits * outcome.losses).sum(axis=1)
        costs = rows.share * (outcome.flow.passes * self.costs).sum(axis=1)
        loss, cost = sum_over_rows(np.stack([losses, costs], axis=1)).tolist()
        return loss, cost

    def total(self, tree: SoftTree) -> float:
        """Return mean loss + lambda * mean expected cost."""
        loss, cost = self.value(tree)
        return loss + self.tradeoff * cost

    def gradient(self, tree: SoftTree) -> tuple[float, float, Slopes]:
        """Return mean loss, mean expected cost, and the derivatives of loss + lambda * cost."""
        rows, outcome = self.rows, self._outcome(tree)
        at_exit = rows.loss_weight[:, np.newaxis] * outcome.losses
        on_arrival = self.tradeoff * rows.share[:, np.newaxis] * self.costs
        everyone, exits = np.arange(len(tree)), outcome.flow.exits
        slopes = slopes_at(everyone, tree, rows, self.loss, outcome, exits, at_exit, on_arrival)
        return *self.value(tree, outcome), slopes

    def _outcome(self, tree: SoftTree) -> ScoredRows:
        return ScoredRows.of(tree, self.rows, self.loss, self.steepness)


class SmoothObjective(Protocol):
    """Mean loss + lambda * mean cost of a tree, with derivatives."""

    @property
    def rows(self) -> BankRows:
        """The rows."""

    @property
    def tradeoff(self) -> float:
        """The price of cost in units of loss, lambda."""

    def total(self, tree: SoftTree) -> float:
        """Return mean loss + lambda * mean cost."""

    def gradient(self, tree: SoftTree) -> tuple[float, float, Slopes]:
        """Return mean loss, mean cost, and the derivatives of loss + lambda * cost."""


def descend(
    objective: SmoothObjective, start: SoftTree, free: B1, penalty: F8, other: SmoothObjective, rounds: int
) -> SoftTree:
    """Minimize objective + 1/2 sum_k penalty_k |B^k - start|^2; return the iterate that is best on other rows.

    Parameters
    ----------
    objective : SmoothObjective
    start : SoftTree
    free : bool (K, U)
        The weights that may change; the others stay zero.
    penalty : float64 (K,)
    other : SmoothObjective
        Of the other rows.
    rounds : int
        Most iterations.
    """
    variance, n_nodes = objective.rows.variance, len(start)
    unit = 1.0 / np.sqrt(np.where(variance > _NO_SCALE * variance.max(), variance, variance.max() or 1.0))
    of_weights = np.broadcast_to(unit[:, np.newaxis], start.weights.shape)[free]
    routes = start.topology.routes
    units = np.concatenate([of_weights.ravel(), np.ones(start.intercept.size + int(routes.sum()))])
    moving = _Moving(start, np.arange(n_nodes), free, routes, np.zeros(len(variance)), units)
    best, least = start, other.total(start)

    def value(x: F8) -> tuple[float, F8]:
        at = moving.tree(x)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, cost, slope = objective.gradient(at)
            moved = at.weights - start.weights
            pulled = 0.5 * float(penalty @ np.square(moved).sum(axis=2).sum(axis=1))
            total = loss + objective.tradeoff * cost + pulled
        if not np.isfinite(total):  # the step was too long
            return _MOST, np.zeros(len(x))
        back = slope.weights + penalty[:, np.newaxis, np.newaxis] * moved
        return total, moving.slopes(Slopes(back, slope.intercept, slope.threshold))

    def look(x: F8) -> None:
        nonlocal best, least
        tree = moving.tree(x)
        total = other.total(tree)
        if total < least:
            best, least = tree, total

    minimize_smooth(value, moving.begin, {"maxiter": rounds}, callback=look)
    return best
