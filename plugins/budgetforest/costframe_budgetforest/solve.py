"""The primal-dual solution of the pruning program, with a bound on its distance from the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.trees import ForestNodes, count_buyers, prune_one_by_one, prune_trees, raise_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_budgetforest.program import Program

__all__ = ["Solution", "equal_shares", "solve"]

_LEVELS = 15  # prunings to compare, by how often a test was kept of late
_STEP = 2.0  # of the first iteration, in the exponent of shares
_MEMORY = 0.9
_EVERY = 5  # iterations between two comparisons
_SWEEPS = 3  # of trees that are pruned one by one


@frozen(eq=False)
class Solution:
    """A pruning.

    Attributes
    ----------
    kept : bool (nodes,)
        The tests that stay.
    objective, bound : float
        Its objective, and a lower bound on that of all prunings, up to the rounding of single precision.
    n_iter : int
    """

    kept: NDArray[np.bool_]
    objective: float
    bound: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative distance between objective and bound."""
        return max(self.objective - self.bound, 0.0) / max(abs(self.objective), np.finfo(np.float64).tiny)


def equal_shares(program: Program) -> NDArray[np.float32]:
    """Return shares with which all trees pay the same for an item of a row: float32 (entries,)."""
    return np.ones(program.purchases.sizes["E"], np.float32)


def solve(program: Program, share: NDArray[np.float32], *, tolerance: float, max_iter: int) -> Solution:
    """Raise the dual until its gap to the best pruning is at most `tolerance`, or for `max_iter` iterations.

    The multiplier of row i, item k and tree t is beta_kit = weight_i price_k share_kit, with shares >= 0 that sum to
    one over trees. Given shares, each tree is pruned on its own by a dynamic program from the leaves up, and the sum of
    the minima is a lower bound. Trees that keep the test that buys the item raise their share by the factor
    exp(2 / sqrt(iteration)). The prunings with all tests that were kept in a share of the iterations, for several
    shares, are feasible; at the end, each tree is pruned at its best given the purchases of all others.

    Parameters
    ----------
    program : Program
        With its prices times lambda.
    share : float32 (entries,)
        Starting values; on return, the last ones, from which the next program can start.
    """
    nodes = ForestNodes(*program.nodes)
    n_nodes, roots = len(program.nodes.error), program.nodes.tree_first[:-1]
    load, value, mean, factor = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes), 1.0
    kept, found, bound, objective, done = np.zeros(n_nodes, np.uint8), np.zeros(n_nodes, np.uint8), -np.inf, np.inf, 0
    while done < max_iter:
        raise_shares(share, kept, factor, program.purchases, program.weight, program.price, load)
        prune_trees(nodes, load, value, kept)
        bound = max(bound, float(value[roots].sum()))
        rate = max(1.0 - _MEMORY, 1.0 / (done + 1))
        mean = (1.0 - rate) * mean + rate * kept
        factor = float(np.exp(_STEP / np.sqrt(done + 1.0)))
        if done % _EVERY == 0 or done == max_iter - 1:
            level = np.minimum(_LEVELS, mean * (_LEVELS + 1)).astype(np.uint8)
            objectives = program.objectives(level, _LEVELS)
            if objectives.min() < objective:
                objective = float(objectives.min())
                found = (level > objectives.argmin()).astype(np.uint8)
        done += 1
        if objective - bound <= tolerance * abs(objective):
            break
    nothing = program.objective(np.zeros(n_nodes, np.uint8))
    if nothing <= objective:
        found, objective = np.zeros(n_nodes, np.uint8), nothing
    if objective - bound > tolerance * abs(objective):
        found, objective = _improve(program, found, objective)
    return Solution(found > 0, objective, bound, done)


def _improve(program: Program, kept: NDArray[np.uint8], objective: float) -> tuple[NDArray[np.uint8], float]:
    """Prune each tree at its best given all others, until nothing changes or a few times."""
    nodes, now = ForestNodes(*program.nodes), kept.copy()
    count = np.zeros((len(program.weight), len(program.price)), np.int32)
    load, value = np.zeros(len(kept)), np.zeros(len(kept))
    count_buyers(program.leaves, nodes, now, count)
    for _ in range(_SWEEPS):
        prune_one_by_one(program.leaves, nodes, program.weight, program.price, now, count, load, value)
        reached = program.objective(now)
        if reached >= objective:
            break
        kept, objective = now.copy(), reached
    return kept, objective
