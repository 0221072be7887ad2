"""How time and memory of Cronus grow with rows n, trees T of 16 leaves, and stages K: a table and a figure.

Each size is measured in a process of its own, whose peak memory includes the table and the bank. The bank is boosted
on few rows, as only its size matters here; the table is synthetic, with the paper's prices.

    python benchmarks/cronus_scale.py --quick             # small sizes, about a minute
    python benchmarks/cronus_scale.py                     # up to 100,000 rows or 2,000 trees
    python benchmarks/cronus_scale.py --paper             # 141,000 rows, 5,000 trees, 10 stages
    python benchmarks/cronus_scale.py --optimize cyclic   # also times the estimator's whole training
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
from attrs import frozen

import costframe as cf
from costframe.core.groups import PricedGroups
from costframe.core.outputs import BankOutputs
from costframe_cronus import CronusClassifier
from costframe_cronus.cascade import CascadeSettings, initialize
from costframe_cronus.normal import NormalEquations
from costframe_cronus.single_stage import USUAL_RIDGE, Reweighting, reweight

N_FEATURES = 519  # of the paper's Yahoo set
PRICES = (1.0, 5.0, 20.0, 50.0, 100.0, 150.0, 200.0)
ROWS_OF_BANK = 2000
POSITIVE = 0.08  # share of the rows
EMPHASIS = 3.5
LOSS_FOR_EVERYTHING = 0.1  # the tradeoff, in units of 1 / the price of all features
QUICK = {"n": (1000, 2000, 4000), "T": (50, 100, 200), "K": (1, 3, 10)}
USUAL = {"n": (10_000, 30_000, 100_000), "T": (250, 500, 1000, 2000), "K": (1, 3, 10)}
PAPER = (141_000, 5000, 10)
STEPS = ("single stage", "initialization", "whole training")
NAMES = {"n": "rows n", "T": "trees T", "K": "stages K"}


@frozen
class Size:
    """What is measured."""

    n: int
    T: int
    K: int


@frozen(eq=False)
class Problem:
    """A table, a bank, prices."""

    X: np.ndarray
    y: np.ndarray
    bank: cf.WeakLearnerBank
    costs: cf.CostModel

    @classmethod
    def of(cls, size: Size) -> Problem:
        """Draw normal features, and labels of a sparse sum and an interaction; boost the bank on other rows."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((size.n + ROWS_OF_BANK, N_FEATURES), np.float32).astype(np.float64)
        beta = rng.standard_normal(N_FEATURES) * (rng.random(N_FEATURES) < 0.3) * rng.lognormal(size=N_FEATURES)
        score = X @ beta / np.linalg.norm(beta) + 0.5 * np.tanh(X[:, 0] * X[:, 1])
        score += 0.3 * rng.standard_normal(len(X))
        y = (score > np.quantile(score, 1 - POSITIVE)).astype(np.float64)
        names = [f"x{f}" for f in range(N_FEATURES)]
        costs = cf.CostModel.from_dict(
            {"features": dict(zip(names, rng.choice(PRICES, N_FEATURES).tolist(), strict=True)), "learner": 1.0}
        )
        bank = cf.WeakLearnerBank.train(
            X[size.n :],
            2 * y[size.n :] - 1,
            n_estimators=size.T,
            max_depth=4,
            column_share=0.05,
            feature_names=names,
            n_jobs=1,
        )
        return cls(X[: size.n], y[: size.n], bank, costs)

    @property
    def tradeoff(self) -> float:
        return LOSS_FOR_EVERYTHING / self.costs.full_cost()


def measure(size: Size, optimize: str | None) -> dict[str, Any]:
    """Time the steps in this process; of its peak memory, in GB, what comes before them is told apart."""
    problem = Problem.of(size)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    outputs = BankOutputs.of(problem.bank, problem.X)
    seconds["leaves"] = time.perf_counter() - start
    groups = PricedGroups.of_bank(problem.bank, problem.costs.select(problem.bank.feature_names))
    before, weight, target = _peak(), np.ones(size.n), 2 * problem.y - 1
    start = time.perf_counter()
    normal = NormalEquations.of(outputs, target[:, np.newaxis], weight)
    seconds["sums over rows"] = time.perf_counter() - start
    next(reweight(normal, groups, Reweighting(problem.tradeoff), [USUAL_RIDGE]))
    seconds["single stage"] = time.perf_counter() - start
    del normal
    start = time.perf_counter()
    settings = CascadeSettings(problem.tradeoff, n_stages=size.K)
    cascade = initialize(outputs, target, weight, np.where(target > 0, EMPHASIS, 1.0), groups, settings)
    seconds["initialization"] = time.perf_counter() - start
    found = {
        "seconds": seconds,
        "before": before,
        "peak": _peak(),
        "used": cascade.weights.astype(bool).sum(1).tolist(),
    }
    if optimize is not None:
        start = time.perf_counter()
        model: Any = CronusClassifier(problem.costs, problem.tradeoff, bank=problem.bank, n_stages=size.K)
        model.set_params(optimize=optimize).fit(problem.X, problem.y)
        seconds["whole training"] = time.perf_counter() - start
        found["peak"] = _peak()
    return found


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1.024
