"""Rows over banks, small soft trees and prices, for tests of what is trained over a bank."""

import numpy as np
from bank_cases import COSTS, NAMES
from scipy import sparse

import costframe as cf
from costframe.core.learners.outputs import BankOutputs
from costframe.plugin import PricedGroups, Rows
from costframe.stagewise import BankRows, Evaluation, RelaxedObjective, SoftTree, Topology
from costframe.stagewise.pricing import Pricing
from costframe.stagewise.relaxed import RelaxedCost
from costframe.training.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

__all__ = ["RelaxedCost"]

LOSSES = {"squared": SquaredLoss(), "logistic": LogisticLoss(), "softmax": SoftmaxLoss(3)}


def outputs_of(H):
    """The columns of a matrix as learners."""
    return BankOutputs.of(cf.WeakLearnerBank.columns([f"x{f}" for f in range(H.shape[1])]), H)


def bank_rows(outputs, target, weight, emphasis=1.0):
    """Rows whose loss counts `emphasis` times their weight; outputs may be a matrix."""
    outputs, more = outputs_of(outputs) if isinstance(outputs, np.ndarray) else outputs, weight * emphasis
    return BankRows(outputs, target.reshape(len(target), -1), weight, more / more.sum())


def topology(seed, depth=3):
    """A chain, or a tree of up to `depth` levels, some of its nodes taken away."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        return Topology.chain(int(rng.integers(1, depth + 2)))
    found = Topology.full(depth)
    for _ in range(rng.integers(0, 4)):
        if len(found) > 1:
            found = found.without(int(rng.integers(1, len(found))))[0]
    return found


def targets(rng, kind, n, width):
    if kind == "softmax":
        return np.eye(width)[rng.integers(0, width, n)]
    return rng.standard_normal((n, width)) if kind == "squared" else rng.choice([-1.0, 1.0], (n, width))


def soft_tree(rng, tree, n_outputs, width):
    """Weights of all sizes, some of them zero."""
    weights = 0.5 * rng.standard_normal((len(tree), n_outputs, width)) * (rng.random((len(tree), n_outputs, 1)) < 0.8)
    direction = rng.standard_normal((len(tree), width)) if width > 1 else np.ones((len(tree), 1))
    constants, threshold = rng.standard_normal((len(tree), width)), rng.standard_normal(len(tree))
    return SoftTree(tree, weights, 0.3 * constants, direction, 0.3 * threshold)


def problem(seed, kind="squared", width=1, n=8, d=3, depth=3, steepness=4.0):
    """Rows of uneven weight, overlapping priced groups, and a tree over columns that resemble each other.

    The objective of a chain is eq. 8 of Cronus, that of other trees eq. 5 of CSTC.
    """
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    width = {"squared": width, "logistic": 1, "softmax": max(width, 2)}[kind]
    H = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    rows = bank_rows(H, targets(rng, kind, n, width), rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n))
    member = np.vstack([np.eye(d), rng.random((2, d)) < 0.6]).astype(float)
    groups = PricedGroups(sparse.csr_array(member), rng.choice([0.0, 0.05, 0.3], d + 2))
    if seed % 3 == 0:
        l1 = rng.choice([0.0, 0.05], len(tree))
        objective = RelaxedObjective.of_chain(rows, LOSSES[kind], groups, l1, steepness)
    else:
        l1 = rng.choice([0.0, 0.05])
        objective = RelaxedObjective.of_tree(rows, LOSSES[kind], groups, tree, l1, steepness)
    return H, objective, soft_tree(rng, tree, d, width)


def evaluation_of(
    bank, X, y, costs=COSTS, *, acquisition="path", tradeoff=2e-3, weight=None, loss="logistic", emphasis=1.0
):
    """Measure on labels 0 and 1 as -1 and 1, or by squares on numbers, with costs that are quick to find."""
    weight = np.ones(len(X)) if weight is None else weight
    outputs, target = BankOutputs.of(bank, X), 2.0 * y - 1.0 if loss == "logistic" else y * 1.0
    pricing = Pricing.of(bank, costs.select(NAMES), Rows(X, y, weight), outputs, acquisition)
    rows = bank_rows(outputs, target, weight, np.where(target > 0, emphasis, 1.0))
    return Evaluation(rows, pricing, LOSSES[loss], tradeoff, None, pricing.on_all_rows)
