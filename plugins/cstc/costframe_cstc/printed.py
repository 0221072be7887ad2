"""CSTC as the paper prints it."""

from __future__ import annotations

import numpy as np

from costframe.plugin import F8, I8, PricedGroups
from costframe.stagewise import (
    BankRows,
    Evaluation,
    Flow,
    NormalEquations,
    RelaxedObjective,
    SoftTree,
    Step,
    Topology,
    WeightedSum,
    cycle,
    fit_relaxed,
)
from costframe_cstc.halving import halving_threshold
from costframe_cstc.settings import CSTCSettings

_CYCLES = 100  # of eq. 5


def train_as_printed(train: Evaluation, held_out: Evaluation, settings: CSTCSettings, steps: list[Step]) -> SoftTree:
    """Minimize eq. 5 over a full tree, prune it on held-out rows, and fine-tune the nodes that predict.

    The printed loss counts every level of the tree; so its lambda is the tradeoff times the number of levels.
    """
    groups = train.pricing.groups.in_loss(settings.depth * settings.tradeoff)
    topology = Topology.full(settings.depth)
    tree = fit_top_down(train.rows, groups, topology, settings)
    if settings.optimize:
        eq_5 = RelaxedObjective.of_tree(train.rows, train.loss, groups, topology, settings.l1, settings.steepness)
        tree = cycle(eq_5, tree.coarse(), _CYCLES, steps)
    tree = prune_by_loss(held_out, tree.without_zeros(train.rows))
    return fine_tune(train.rows, tree, settings.steepness)


def fit_top_down(rows: BankRows, groups: PricedGroups, topology: Topology, settings: CSTCSettings) -> SoftTree:
    """Fit nodes from the top, each as if it were a leaf, which is convex; each threshold halves the rows."""
    tree = SoftTree.of_zeros(topology, rows.outputs.shape[1], rows.target.shape[1])
    for node in range(len(topology)):
        passes = _passes(rows, tree, settings.steepness)[:, node]
        before = np.flatnonzero(topology.paths[node])[:-1]
        bought = np.asarray(sum((groups.energies(tree.weights[k]) for k in before), np.zeros(len(groups.price))))
        share = float(rows.share @ passes)
        fit = fit_relaxed(rows, passes, groups.times(share), settings.l1, bought)
        tree = tree.with_answer(node, fit)
        if topology.routes[node]:
            scores = fit.scores(rows.outputs).sum(axis=1)
            theta = halving_threshold(scores, rows.loss_weight * passes)
            tree.threshold[node] = theta if np.isfinite(theta) else scores[0]  # all scores are equal
    return tree


def prune_by_loss(held_out: Evaluation, tree: SoftTree) -> SoftTree:
    """Remove nodes from the bottom up while the loss on held-out rows does not rise."""
    least = held_out.measured_loss(tree)
    for node in range(len(tree) - 1, 0, -1):
        if not tree.topology.routes[node]:
            without = tree.take(*tree.topology.without(node))
            if (loss := held_out.measured_loss(without)) <= least:
                tree, least = without, loss
    return tree


def fine_tune(rows: BankRows, tree: SoftTree, steepness: float) -> SoftTree:
    """Fit each classifier that predicts again, without cost, on its support.

    A classifier that also routes keeps its routing weights, and its prediction becomes a leaf over the same learners.
    """
    passes = _passes(rows, tree, steepness)
    for node in np.flatnonzero(tree.topology.has_exit)[::-1].tolist():
        fit = _least_squares(rows, passes[:, node], np.flatnonzero(tree.used[node]))
        tree = tree.with_leaf(node, fit) if tree.topology.routes[node] else tree.with_answer(node, fit)
    return tree


def _passes(rows: BankRows, tree: SoftTree, steepness: float) -> F8:
    """Return the probabilities to reach nodes, p^k: float64 (n, K)."""
    return Flow.of(tree.topology, tree.routing(tree.scores(rows)), tree.threshold, steepness).passes


def _least_squares(rows: BankRows, passes: F8, support: I8) -> WeightedSum:
    normal = NormalEquations.of(rows.outputs.columns(support), rows.target, rows.loss_weight * passes)
    weights, varies = np.zeros((rows.outputs.shape[1], rows.target.shape[1])), np.flatnonzero(normal.varies)
    weights[support[varies]] = normal.columns(varies).solve(np.zeros(len(varies)))
    return WeightedSum(weights, normal.intercept(weights[support]))
