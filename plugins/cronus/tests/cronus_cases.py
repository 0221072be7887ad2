"""Rows, prices and small problems that tests of the cascade share."""

import numpy as np
from bank_cases import COSTS, EVERY_PRICE, NAMES, boosted, table  # noqa: F401 - tests of the cascade take them from here
from scipy import sparse

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.evaluation import Evaluation, Pricing
from costframe.stagewise.rows import BankRows, Logistic, Squared
from costframe.stagewise.soft_tree import SoftTree
from costframe.training.data import Rows
from costframe_cronus.cronus import exact_stages, initialize


def bank_rows(outputs, target, weight, emphasis=1.0):
    """Rows whose loss counts `emphasis` times their weight."""
    more = weight * emphasis
    return BankRows(outputs, target.reshape(len(target), -1), weight, more / more.sum())


def plain_rows(H, target, weight, emphasis=1.0):
    """Rows whose outputs are given as a matrix."""
    bank = cf.WeakLearnerBank.columns([f"x{f}" for f in range(H.shape[1])])
    return bank_rows(BankOutputs.of(bank, H), target, weight, emphasis)


def start_at(rows, groups, settings):
    """Algorithm 2 by exact cost, where every learner acquires all it may read, whatever the rows are."""
    return initialize(rows, exact_stages(rows, lambda _: SampledPrices.whole(groups), settings), settings)


def evaluation_of(bank, X, y, costs=COSTS, *, acquisition="path", tradeoff=2e-3, weight=None, classes=True):
    """Measure on labels of two classes by cross-entropy, or on targets from -1 to 1 by emphasized squares."""
    weight = np.ones(len(X)) if weight is None else weight
    rows = Rows(X, y, weight)
    outputs, target = BankOutputs.of(bank, X), 2.0 * y - 1.0 if classes else y
    pricing = Pricing.of(bank, costs.select(NAMES), rows, outputs, acquisition)
    emphasis = 1.0 if classes else np.where(target > 0, 3.5, 1.0)
    rows = bank_rows(outputs, target, weight, emphasis)
    return Evaluation(rows, pricing, Logistic() if classes else Squared(), tradeoff)


def problem(seed, n=25, d=4, n_stages=3, steepness=4.0):
    """A small chain over columns that resemble each other, rows of uneven weight, and overlapping priced groups."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    target, w = np.sign(H[:, 0] + rng.standard_normal(n)), rng.uniform(0.5, 2, n)
    rows = plain_rows(H, target, w, np.where(target > 0, 3.5, 1.0))
    member = np.vstack([np.eye(d), rng.random((2, d)) < 0.6]).astype(float)
    groups = PricedGroups(sparse.csr_array(member), rng.choice([0.0, 0.05, 0.3], d + 2))
    chain = SoftTree.chain(0.5 * rng.standard_normal((n_stages, d)), 0.3 * rng.standard_normal(n_stages),
                  0.5 * rng.standard_normal(n_stages - 1))  # fmt: skip
    return H, rows, groups, chain, steepness
