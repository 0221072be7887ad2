"""Cyclic optimization: the relaxed objective minimized over one node at a time, and never rising."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen
from scipy.optimize import minimize

from costframe.stagewise.systems import scipy_blas_alone
from costframe_cstc.node_view import NodeView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe_cstc.classifiers import Classifiers
    from costframe_cstc.objective import Auxiliaries, RelaxedObjective

__all__ = ["cycle"]

_TURNS = 5  # of auxiliaries and node, at most, before it is the next node's turn
_STEPS = 20  # of the minimizer in each
_ENOUGH = 1e-4  # of the objective: less is no improvement
_LEAST = 1e-12  # of an output's mean square: what varies less is as good as constant


def cycle(objective: RelaxedObjective, start: Classifiers, cycles: int) -> Iterator[tuple[int, float, Classifiers]]:
    """Minimize the objective node by node, the root first.

    Nodes that no row comes to stay as they are; thresholds move where a node has a child to send rows to.

    Parameters
    ----------
    objective : RelaxedObjective
    start : Classifiers
    cycles : int
        Most rounds over all nodes; it ends when one of them does not lower the objective by 1e-4 of it.

    Yields
    ------
    int
        The node that moved.
    float
        The objective, which falls from each to the next.
    Classifiers
        All of them after an accepted step.
    """
    at, outcome = start, objective.outcome(start)
    value = objective.value(at, outcome)
    for _ in range(cycles):
        before = value
        for node in range(len(at.topology)):
            view = NodeView.of(objective, at, outcome, node)
            if view is None:
                continue
            for _ in range(_TURNS):
                moved = _minimize_node(view, at, objective.auxiliaries(at))
                tried = outcome.moved(moved, objective.rows, objective.loss, node)
                now = objective.value(moved, tried)
                if not now < value * (1 - _ENOUGH):
                    break
                at, outcome, value = moved, tried, now
                yield node, value, at
        if value > before * (1 - _ENOUGH):
            break


@frozen(eq=False)
class _Search:
    """What one node has as a vector: outputs less their means, each in a unit of its own, so that none is far off.

    Attributes
    ----------
    start : Classifiers
    node : int
    mean : float64 (C,)
        Of outputs, over the rows that come.
    unit : float64 (C M + M [+ 1])
        Of weights, constants, and the threshold if it moves.
    """

    start: Classifiers
    node: int
    mean: NDArray[np.float64]
    unit: NDArray[np.float64]

    @classmethod
    def of(cls, view: NodeView, start: Classifiers, z: Auxiliaries) -> _Search:
        """Measure the rows that come to a node."""
        rows, node = view.rows, view.node
        total, width = float(rows.in_mean.sum()), start.weights.shape[2]
        mean = rows.back(rows.in_mean[:, np.newaxis])[:, 0] / total
        curved = rows.variance + _LEAST * total * np.square(mean) + view.curvature(start, z)
        ends = width + bool(start.topology.routes[node] and np.isfinite(start.threshold[node]))
        of_weights = np.repeat(np.where(curved > 0, curved, 1.0), width)
        return cls(start, node, mean, 1.0 / np.sqrt(np.concatenate([of_weights, np.full(ends, total)])))

    @property
    def begin(self) -> NDArray[np.float64]:
        at, node = self.start, self.node
        constants = at.intercept[node] + self.mean @ at.weights[node]
        parts = np.concatenate([at.weights[node].ravel(), constants, at.threshold[node : node + 1]])
        return parts[: len(self.unit)] / self.unit

    def unpack(self, x: NDArray[np.float64]) -> Classifiers:
        weights, intercept, threshold = self.start.weights.copy(), self.start.intercept.copy(), self.start.threshold
        x, split, width = x * self.unit, weights[self.node].size, weights.shape[2]
        weights[self.node] = x[:split].reshape(-1, width)
        intercept[self.node] = x[split : split + width] - self.mean @ weights[self.node]
        if len(x) > split + width:
            threshold = threshold.copy()
            threshold[self.node] = x[-1]
        return evolve(self.start, weights=weights, intercept=intercept, threshold=threshold)


def _minimize_node(view: NodeView, start: Classifiers, z: Auxiliaries) -> Classifiers:
    """Minimize the bound over one node's weights, constants and threshold."""
    search = _Search.of(view, start, z)

    def value(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        found, slopes = view.bound(search.unpack(x), z)
        by_weight = slopes.weights - np.outer(search.mean, slopes.intercept)
        parts = np.concatenate([by_weight.ravel(), slopes.intercept, [slopes.threshold]])
        return found, search.unit * parts[: len(x)]

    with scipy_blas_alone():
        found: Any = minimize(value, search.begin, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return search.unpack(found.x)
