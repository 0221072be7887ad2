"""How time and memory of Cronus grow with rows n, trees T of 16 leaves, and stages K: a table and a figure.

Each size is measured in a process of its own, whose peak memory includes the table and the bank. The bank is boosted
on few rows, as only its size matters here; the table is synthetic, with the paper's prices. Whole trainings have a
fifth as many rows again to choose by.

    python benchmarks/cronus_scale.py --quick                    # small sizes, about a minute
    python benchmarks/cronus_scale.py                            # up to 100,000 rows or 2,000 trees
    python benchmarks/cronus_scale.py --whole yes            # whole trainings instead, and what takes long in them
    python benchmarks/cronus_scale.py --whole yes --paper    # 141,000 rows, 5,000 trees, 10 stages
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scaling
from attrs import frozen
from scaling import Clock, Found, Problem

from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.bank_rows import BankRows
from costframe.stagewise.fitting import USUAL_RIDGE, fit_at_price
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.pricing import Pricing
from costframe.training.data import Rows
from costframe_cronus import CronusClassifier, by_exact_cost, train
from costframe_cronus.by_exact_cost import initialize
from costframe_cronus.settings import CascadeSettings

if TYPE_CHECKING:
    from costframe.stagewise.soft_tree import SoftTree

POSITIVE = 0.08  # share of the rows
EMPHASIS = 3.5
QUICK = {"n": (1000, 2000, 4000), "T": (50, 100, 200), "K": (1, 3, 10)}
USUAL = {"n": (10_000, 30_000, 100_000), "T": (250, 500, 1000, 2000), "K": (1, 3, 10)}
PAPER = (141_000, 5000, 10)
STEPS = ("single stage", "choice of settings", "initialization", "fixed supports", "whole training")
PARTS = ("leaves", "sums over rows", "single stage", "initialization")
WITHIN = ("choice of settings", "initialization", "fixed supports", "whole training")
NAMES = {"n": "rows n", "T": "trees T", "K": "stages K"}


@frozen
class Size:
    """What is measured."""

    n: int
    T: int
    K: int


def measure(size: Size, whole: str | None) -> Found:
    """Time the steps in this process."""
    problem, clock = Problem.of(size.n, size.T, POSITIVE), Clock()
    before = scaling.peak()
    used = (_parts if whole is None else _training)(problem, size, clock, whole)
    told = " ".join(map(str, used))
    return Found(size, clock.seconds, clock.work, before, scaling.peak(), os.getloadavg()[1], told)


def _parts(problem: Problem, size: Size, clock: Clock, _: str | None) -> list[int]:
    """Time the single stage and the initialization; return learners of the latter's stages."""
    with clock.step("leaves"):
        outputs = BankOutputs.of(problem.bank, problem.X)
    weight, target = np.ones(size.n), 2 * problem.y - 1
    costs, part = problem.costs.select(problem.bank.feature_names), Rows(problem.X, problem.y, weight)
    pricing = Pricing.of(problem.bank, costs, part, outputs, "path")
    with clock.step("single stage"):
        with clock.step("sums over rows"):
            normal = NormalEquations.of(outputs, target[:, np.newaxis], weight)
        fit_at_price(normal, pricing.at(weight), problem.tradeoff, USUAL_RIDGE)
    del normal
    emphasis = np.where(target > 0, EMPHASIS, 1.0)
    with clock.step("initialization"):
        rows = BankRows(outputs, target[:, np.newaxis], weight, emphasis / emphasis.sum())
        chain = initialize(rows, pricing.at, CascadeSettings(problem.tradeoff, n_stages=size.K))
    return [int(one) for one in chain.used.sum(axis=1)]


def _training(problem: Problem, size: Size, clock: Clock, _: str | None) -> list[int]:
    """Time the estimator, and steps within; return learners of the initialization's stages."""
    started: list[SoftTree] = []

    def start(*given: Any) -> Any:
        found = initialize(*given)
        started.append(found)
        return found

    train.pick_settings = clock.timed("choice of settings", train.pick_settings)
    by_exact_cost.initialize = clock.timed("initialization", start)
    by_exact_cost._at_supports = clock.timed("fixed supports", by_exact_cost._at_supports)  # noqa: SLF001
    model: Any = CronusClassifier(problem.costs, problem.tradeoff, bank=problem.bank, n_stages=size.K)
    with clock.step("whole training"):
        model.fit(problem.X, problem.y, X_val=problem.X_val, y_val=problem.y_val)
    return [int(one) for one in started[0].used.sum(axis=1)]


def main() -> None:
    options = _options()
    alone = Size(*PAPER) if options.paper else options.size and Size(*options.size)
    grid = QUICK if options.quick else USUAL
    plan = {"n": [alone]} if alone else scaling.sweeps(Size, grid, K=max(grid["K"]))
    columns = PARTS if options.whole is None else WITHIN
    found = scaling.run(plan, measure, options.whole, columns=columns, told="learners of each stage")
    if not alone:
        options.output.mkdir(parents=True, exist_ok=True)
        scaling.draw(options.output / "cronus_scale", "Cronus: time and memory", found, NAMES, STEPS)
        print(f"\nfigure in {options.output}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--paper", action="store_true", help="the size of the paper's Yahoo set only, which takes long")
    parser.add_argument("--whole", help="time CronusClassifier.fit instead")
    parser.add_argument("--size", type=int, nargs=3, metavar=("n", "T", "K"), help="this size only")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for the figure")
    return parser.parse_args()


if __name__ == "__main__":
    main()
