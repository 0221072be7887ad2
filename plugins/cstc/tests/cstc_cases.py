"""Small trees of classifiers, their rows and prices, that tests share."""

import numpy as np
from bank_cases import COSTS, NAMES
from scipy import sparse

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.evaluation import Evaluation, Pricing
from costframe.stagewise.objective import RelaxedObjective
from costframe.stagewise.rows import BankRows, Logistic, Softmax, Squared
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.topology import Topology
from costframe.training.data import Rows
from costframe_cstc.answers import Fitter
from costframe_cstc.grow import grow

LOSSES = {"squared": Squared(), "logistic": Logistic(), "softmax": Softmax()}


def topology(seed, depth=3):
    """A tree of up to `depth` levels, some of its nodes taken away."""
    rng, found = np.random.default_rng(seed), Topology.full(depth)
    for _ in range(rng.integers(0, 4)):
        if len(found) > 1:
            found = found.without(int(rng.integers(1, len(found))))[0]
    return found


def targets(rng, kind, n, width):
    if kind == "softmax":
        return np.eye(width)[rng.integers(0, width, n)]
    return rng.standard_normal((n, width)) if kind == "squared" else rng.choice([-1.0, 1.0], (n, width))


def bank_rows(H, target, weight, emphasis):
    """Rows whose outputs are given as a matrix."""
    bank = cf.WeakLearnerBank.columns([f"x{f}" for f in range(H.shape[1])])
    more = weight * emphasis
    return BankRows(BankOutputs.of(bank, H), target, weight, more / more.sum())


def soft_tree(rng, tree, n_outputs, width):
    """Weights of all sizes, some of whose weights are zero."""
    weights = 0.5 * rng.standard_normal((len(tree), n_outputs, width)) * (rng.random((len(tree), n_outputs, 1)) < 0.8)
    direction = rng.standard_normal((len(tree), width)) if width > 1 else np.ones((len(tree), 1))
    return SoftTree(tree, weights, 0.3 * rng.standard_normal((len(tree), width)), direction,
                       0.3 * rng.standard_normal(len(tree)))  # fmt: skip


def problem(seed, kind, width, n=8, d=3, depth=3, steepness=4.0):
    """Rows of uneven weight, overlapping priced groups, and a tree over columns that resemble each other."""
    rng, tree = np.random.default_rng(seed), topology(seed, depth)
    width = {"squared": width, "logistic": 1, "softmax": max(width, 2)}[kind]
    H = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    rows = bank_rows(H, targets(rng, kind, n, width), rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n))
    member = np.vstack([np.eye(d), rng.random((2, d)) < 0.6]).astype(float)
    groups = PricedGroups(sparse.csr_array(member), rng.choice([0.0, 0.05, 0.3], d + 2))
    objective = RelaxedObjective.of_tree(rows, LOSSES[kind], groups, tree, rng.choice([0.0, 0.05]), steepness)
    return H, objective, soft_tree(rng, tree, d, width)


def evaluation_of(bank, X, y, costs=COSTS, *, acquisition="path", tradeoff=2e-3, weight=None, loss="logistic"):
    """Measure on labels 0 and 1 as -1 and 1, or by squares on numbers."""
    rows = Rows(X, y, np.ones(len(X)) if weight is None else weight)
    outputs, target = BankOutputs.of(bank, X), (2.0 * y - 1.0 if loss == "logistic" else y * 1.0)[:, np.newaxis]
    pricing = Pricing.of(bank, costs.select(NAMES), rows, outputs, acquisition)
    rows_ = BankRows(outputs, target, rows.weight, rows.weight / rows.weight.sum())
    return Evaluation(rows_, pricing, LOSSES[loss], tradeoff, None, pricing.on_all_rows)


def grown_tree(train, depth=3, ridge=1.0, inflation=2.0):
    return grow(Fitter(train, ridge), depth, inflation)[0]
