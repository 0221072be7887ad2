"""Cyclic optimization (Algorithm 1 of Cronus): a relaxed objective minimized over one node at a time, never rising."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen
from scipy.optimize import minimize

from costframe.stagewise.systems import scipy_blas_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.objective import Auxiliaries, Outcome, RelaxedObjective
    from costframe.stagewise.soft_tree import SoftTree

__all__ = ["Step", "cycle", "minimize_node"]

_TURNS = 5  # of auxiliaries and node, at most, before it is the next node's turn
_STEPS = 20  # of the minimizer in each
_ENOUGH = 1e-5  # of the objective: less is no improvement
_LEAST = 1e-12  # of an output's mean square: what varies less is as good as constant
_NOTHING = 1e-9  # the probability to come to a node that is taken for none


@frozen
class Step:
    """One accepted step: the node that moved, the relaxed objective, and lambda times the exact expected cost."""

    node: int
    objective: float
    charged: float


def cycle(objective: RelaxedObjective, tree: SoftTree, cycles: int, steps: list[Step]) -> SoftTree:
    """Minimize the objective node by node, the root first, until it no longer falls or for a number of cycles.

    Nodes that no row comes to stay as they are; thresholds move at nodes that route.
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
    """Alternate closed-form auxiliaries with a descent of one node while the objective falls; return its value too."""
    outcome = objective.outcome(tree)
    value, rows = objective.value(tree, outcome), objective.rows
    come = rows.loss_weight * outcome.flow.passes[:, node]
    if not (come > _NOTHING * rows.loss_weight).any():
        return tree, value
    for _ in range(turns):
        moved = _descend(_Search.of(objective, tree, outcome, node, come))
        tried = outcome.moved(moved, rows, objective.loss, node)
        now = objective.value(moved, tried)
        if not now < value * (1 - _ENOUGH):
            break
        tree, outcome, value = moved, tried, now
        steps.append(Step(node, value, objective.charged(tree, outcome)))
    return tree, value


@frozen(eq=False)
class _Search:
    """What one node has as a vector: outputs about their means, each in a unit of its own, so that none is far off.

    Attributes
    ----------
    objective : RelaxedObjective
    start : SoftTree
    outcome : Outcome
        Of the start.
    z : Auxiliaries
    node : int
    mean : float64 (C,)
        Of outputs, over the rows that come.
    unit : float64 (C M + M [+ 1])
        Of weights, constants, and the threshold if it moves.
    """

    objective: RelaxedObjective
    start: SoftTree
    outcome: Outcome
    z: Auxiliaries
    node: int
    mean: NDArray[np.float64]
    unit: NDArray[np.float64]

    @classmethod
    def of(
        cls, objective: RelaxedObjective, start: SoftTree, outcome: Outcome, node: int, come: NDArray[np.float64]
    ) -> _Search:
        """Measure the rows that come to a node, float64 (n,)."""
        rows, z, width = objective.rows, objective.auxiliaries(start, outcome), start.weights.shape[2]
        total = float(come.sum())
        mean = rows.rmatvec(come[:, np.newaxis])[:, 0] / total
        curved = evolve(rows, loss_weight=come).variance + _LEAST * total * np.square(mean)
        curved += objective.curvature(z, outcome, node)
        of_weights = np.repeat(np.where(curved > 0, curved, 1.0), width)
        moves = bool(start.topology.routes[node] and np.isfinite(start.threshold[node]))
        unit = 1.0 / np.sqrt(np.concatenate([of_weights, np.full(width + moves, total)]))
        return cls(objective, start, outcome, z, node, mean, unit)

    @property
    def begin(self) -> NDArray[np.float64]:
        at, node = self.start, self.node
        constants = at.intercept[node] + self.mean @ at.weights[node]
        parts = np.concatenate([at.weights[node].ravel(), constants, at.threshold[node : node + 1]])
        return parts[: len(self.unit)] / self.unit

    def unpack(self, x: NDArray[np.float64]) -> SoftTree:
        weights, intercept, threshold = self.start.weights.copy(), self.start.intercept.copy(), self.start.threshold
        x, split, width = x * self.unit, weights[self.node].size, weights.shape[2]
        weights[self.node] = x[:split].reshape(-1, width)
        intercept[self.node] = x[split : split + width] - self.mean @ weights[self.node]
        if len(x) > split + width:
            threshold = threshold.copy()
            threshold[self.node] = x[-1]
        return evolve(self.start, weights=weights, intercept=intercept, threshold=threshold)

    def value(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the bound and its derivatives."""
        tree, objective = self.unpack(x), self.objective
        outcome = self.outcome.moved(tree, objective.rows, objective.loss, self.node)
        found, slopes = objective.bound(tree, self.z, outcome, self.node)
        by_weight = slopes.weights[0] - np.outer(self.mean, slopes.intercept[0])
        parts = np.concatenate([by_weight.ravel(), slopes.intercept[0], slopes.threshold])
        return found, self.unit * parts[: len(x)]


def _descend(search: _Search) -> SoftTree:
    """Minimize the bound over one node's weights, constants and threshold."""
    with scipy_blas_alone():
        found: Any = minimize(search.value, search.begin, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return search.unpack(found.x)
