"""The linear program of pruning, and its solution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.engine import Record
from costframe.plugin import B1, F8, I8, CostModelError, PriceArrays, Rows, tree_leaves
from costframe_budgetforest.engine import (
    ForestNodes,
    Purchases,
    count_buyers,
    count_labels,
    count_purchases,
    fill_purchases,
    list_items,
    price_levels,
    prune_one_by_one,
    prune_trees,
    raise_shares,
)
from costframe_budgetforest.forest import Forest

_MOST = 1e100  # loss: nothing is worth it, and sums of it are finite
_LEVELS = 15  # prunings to compare, by how often a test was kept of late
_STEP = 2.0  # of the first iteration, in the exponent of shares
_MEMORY = 0.9
_EVERY = 5  # iterations between two comparisons
_SWEEPS = 3  # of trees that are pruned one by one


class Nodes(NamedTuple):
    """The fields of `ForestNodes`: all trees' nodes; parents come before their children."""

    tree_first: I8  # (trees + 1,)
    parent: I8  # -1 at roots
    left: I8
    right: I8  # -1 at leaves
    error: F8  # of a leaf there
    fixed: F8  # price of a test there that no other tree shares
    item_first: I8
    item: NDArray[np.int32]  # that a test buys first on its way
    up: I8  # the nearest node above that buys an item, or -1


def mean_losses(forest: Forest, leaves: I8, rows: Rows, loss: str) -> F8:
    """Return each node's share of the trees' mean loss if it is a leaf: float64 (nodes,).

    It is the sum over its rows of weight * loss / (T * weight of all rows). "error" is that of the tree's own vote,
    "squared" is the sum over classes of (share - label)^2 / 2.
    """
    trees, shares = forest.trees, forest.shares
    counts = np.zeros(shares.shape)
    count_labels(leaves, forest.parent, rows.y, rows.weight, counts)
    total = counts.sum(axis=1)
    if loss == "error":
        losses = total - counts[np.arange(len(counts)), shares.argmax(axis=1)]
    else:
        squares = (shares**2).sum(axis=1)
        losses = (total * (1.0 + squares) - 2.0 * (counts * shares).sum(axis=1)) / 2.0
    whole = np.maximum(total[trees.first[:-1]], np.finfo(np.float64).tiny)
    return np.asarray(losses / np.repeat(whole * len(trees), np.diff(trees.first)))


def check_prices(prices: PriceArrays) -> None:
    """Refuse prices that the program cannot have."""
    if prices.once.any():
        raise CostModelError("costs: BudgetPrune prunes row by row, and has no prices of the kind 'once'")
    if prices.reuse and (prices.cost < prices.reuse).any():
        name = prices.names[int(np.argmax(prices.cost < prices.reuse))]
        raise CostModelError(
            f"costs: BudgetPrune needs a 'reuse' price that is at most the price of each feature, {name!r} is cheaper"
        )


@frozen(eq=False)
class Program:
    """Minimize sum_h z_h error_h + lambda [sum_h x_h fixed_h + sum_ki weight_i price_k w_ki] over prunings.

    x_h is one where node h stays a test, z_h where it is a leaf; w_ki = 1 if row i pays for item k in any tree.
    """

    nodes: Nodes  # with `fixed` prices at lambda one
    purchases: Record  # `Purchases`: all pairs of a row and an item, and in each the nodes that buy it, as entries
    leaves: I8  # (n, T): as places among all nodes
    weight: F8  # (n,): sums to one
    price: F8  # (items,): of features and resources that a row pays for

    @classmethod
    def of(cls, forest: Forest, rows: Rows, prices: PriceArrays, leaves: I8, error: F8) -> Program:
        """Lay out the program; `leaves` are (n, T), and `error` is each node's as a leaf."""
        check_prices(prices)
        shared = np.concatenate([prices.cost - prices.reuse, prices.resource_cost])
        weight = rows.weight / rows.weight.sum()
        priced = shared > 0
        priced[: len(prices.cost)] |= prices.reuse > 0
        nodes = _lay_out(forest, prices, priced, error, leaves, weight)
        laid_out, sizes = ForestNodes(*nodes), np.zeros(2, np.int64)
        count_purchases(leaves, laid_out, len(shared), sizes)
        n_entries, n_pairs = sizes
        purchases = Purchases(
            np.zeros(n_pairs + 1, np.int64), np.zeros(n_pairs, np.int32), np.zeros(n_pairs, np.int32),
            np.zeros(n_entries, np.int32),
        )  # fmt: skip
        fill_purchases(leaves, laid_out, len(shared), purchases)
        return cls(nodes, purchases, leaves, weight, shared)

    def at(self, tradeoff: float) -> Program:
        """Return the program with its prices times lambda, at most `_MOST`."""
        with np.errstate(over="ignore"):
            fixed, price = (np.minimum(amount * tradeoff, _MOST) for amount in (self.nodes.fixed, self.price))
        return evolve(self, nodes=self.nodes._replace(fixed=fixed), price=price)

    def objectives(self, level: NDArray[np.uint8], count: int) -> F8:
        """Return the objectives of the prunings that keep the tests of a level >= 1, ..., >= count: float64 (count,).

        No node's level is above that of its parent.
        """
        nodes, sums = self.nodes, np.zeros(count + 1)
        price_levels(level, self.purchases, self.weight, self.price, sums)
        tests = nodes.left >= 0
        change = np.where(tests, nodes.error[nodes.left] + nodes.error[nodes.right] - nodes.error + nodes.fixed, 0.0)
        sums += np.bincount(level[tests], change[tests], count + 1)
        return np.asarray(np.cumsum(sums[:0:-1])[::-1] + nodes.error[nodes.tree_first[:-1]].sum())

    def objective(self, staying: NDArray[np.uint8]) -> float:
        """Return the objective of a pruning that keeps some tests."""
        return float(self.objectives(staying, 1)[0])


def _lay_out(
    forest: Forest, prices: PriceArrays, priced: B1, error: F8,
    leaves: I8, weight: F8,
) -> Nodes:  # fmt: skip
    """Return all nodes with the items that each test buys."""
    trees, parent = forest.trees, forest.parent
    need_first, need = prices.needed
    first, flags = np.zeros(trees.n_nodes + 1, np.int64), priced.astype(np.uint8)
    given = (parent, np.array(trees.feature), flags, need_first, need, first)
    item = np.zeros(list_items(*given, np.zeros(0, np.int32)), np.int32)
    list_items(*given, item)
    up = np.full(trees.n_nodes, -1, np.int64)
    buys = np.diff(first) > 0
    above = np.maximum(parent, 0)
    for nodes in _levels(parent):
        up[nodes] = np.where(buys[above[nodes]], above[nodes], up[above[nodes]])
    fixed = _fixed_prices(forest, prices, leaves, weight)
    if prices.reuse:  # each tree's first test of a feature is a use
        buyer = np.repeat(np.arange(trees.n_nodes), np.diff(first))
        uses = item == trees.feature[buyer]
        fixed[buyer[uses]] += prices.reuse * _mass(parent, leaves, weight)[buyer[uses]]
    return _nodes(forest, error)._replace(fixed=fixed, item_first=first, item=item, up=up)


def _nodes(forest: Forest, error: F8) -> Nodes:
    """Return all nodes without prices."""
    trees, tests = forest.trees, forest.trees.feature >= 0
    root = np.arange(trees.n_nodes) - trees.node_positions
    left, right = (np.where(tests, root + side, -1) for side in (trees.left, trees.right))
    none, zeros = np.full(trees.n_nodes, -1, np.int64), np.zeros(trees.n_nodes)
    first = np.zeros(trees.n_nodes + 1, np.int64)
    return Nodes(np.array(trees.first), forest.parent, left, right, error, zeros, first, np.zeros(0, np.int32), none)


def worth_keeping(forest: Forest, error: F8) -> B1:
    """Return the tests that a pruning keeps if all prices are zero, bool (nodes,): no price makes it keep others."""
    n_nodes = forest.trees.n_nodes
    staying, value = np.zeros(n_nodes, np.uint8), np.zeros(n_nodes)
    prune_trees(ForestNodes(*_nodes(forest, error)), np.zeros(n_nodes), value, staying)
    return staying > 0


def _fixed_prices(forest: Forest, prices: PriceArrays, leaves: I8, weight: F8) -> F8:
    """Return the price of each test's comparison, and at each root that of the tree."""
    trees, parent = forest.trees, forest.parent
    fixed, tests = np.zeros(trees.n_nodes), np.flatnonzero(trees.feature >= 0)
    fixed[tests] = prices.split[trees.feature[tests]]
    fixed[tests[parent[tests] < 0]] += prices.learner
    return fixed * _mass(parent, leaves, weight) if fixed.any() else fixed


def _mass(parent: I8, leaves: I8, weight: F8) -> F8:
    """Return the weight of the rows that reach each node: float64 (nodes,)."""
    mass = np.zeros(len(parent))
    mass += np.bincount(leaves.ravel(), np.repeat(weight, leaves.shape[1]), len(parent))
    for nodes in reversed(_levels(parent)):
        np.add.at(mass, parent[nodes], mass[nodes])
    return mass


def _levels(parent: I8) -> list[I8]:
    """Return the nodes below the roots, level by level."""
    levels, level = [], np.flatnonzero(parent < 0)
    children: I8 = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[children], np.arange(len(parent) + 1))
    while len(level):
        size = first[level + 1] - first[level]
        at = np.repeat(first[level] - np.cumsum(size) + size, size) + np.arange(size.sum())
        level = children[at]
        if len(level):
            levels.append(level)
    return levels


def find_leaves(forest: Forest, X: F8, n_jobs: int | None = None) -> I8:
    """Return each row's leaf in every tree as a place among all nodes: int64 (n, T)."""
    return np.asarray(tree_leaves(forest.trees, X, n_jobs) + forest.trees.first[:-1])


@frozen(eq=False)
class Solution:
    """A pruning."""

    kept: B1  # (nodes,): the tests that stay
    # objective, bound: its objective, and a lower bound on that of all prunings, up to the rounding of single
    # precision
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
    staying, best, bound, objective, done = np.zeros(n_nodes, np.uint8), np.zeros(n_nodes, np.uint8), -np.inf, np.inf, 0
    while done < max_iter:
        raise_shares(share, staying, factor, program.purchases, program.weight, program.price, load)
        prune_trees(nodes, load, value, staying)
        bound = max(bound, float(value[roots].sum()))
        rate = max(1.0 - _MEMORY, 1.0 / (done + 1))
        mean = (1.0 - rate) * mean + rate * staying
        factor = float(np.exp(_STEP / np.sqrt(done + 1.0)))
        if done % _EVERY == 0 or done == max_iter - 1:
            level = np.minimum(_LEVELS, mean * (_LEVELS + 1)).astype(np.uint8)
            objectives = program.objectives(level, _LEVELS)
            if objectives.min() < objective:
                objective = float(objectives.min())
                best = (level > objectives.argmin()).astype(np.uint8)
        done += 1
        if objective - bound <= tolerance * abs(objective):
            break
    nothing = program.objective(np.zeros(n_nodes, np.uint8))
    if nothing <= objective:
        best, objective = np.zeros(n_nodes, np.uint8), nothing
    if objective - bound > tolerance * abs(objective):
        best, objective = _improve(program, best, objective)
    return Solution(best > 0, objective, bound, done)


def _improve(program: Program, staying: NDArray[np.uint8], objective: float) -> tuple[NDArray[np.uint8], float]:
    """Prune each tree at its best given all others, until nothing changes or a few times."""
    nodes, now = ForestNodes(*program.nodes), staying.copy()
    count = np.zeros((len(program.weight), len(program.price)), np.int32)
    load, value = np.zeros(len(staying)), np.zeros(len(staying))
    count_buyers(program.leaves, nodes, now, count)
    for _ in range(_SWEEPS):
        prune_one_by_one(program.leaves, nodes, program.weight, program.price, now, count, load, value)
        reached = program.objective(now)
        if reached >= objective:
            break
        staying, objective = now.copy(), reached
    return staying, objective
