"""How time and memory of Cronus grow with rows n, trees T of 16 leaves, and stages K: a table and a figure.

Each size is measured in a process of its own, whose peak memory includes the table and the bank. The bank is boosted
on few rows, as only its size matters here; the table is synthetic, with the paper's prices. Whole trainings have a
fifth as many rows again to choose by.

    python benchmarks/cronus_scale.py --quick                    # small sizes, about a minute
    python benchmarks/cronus_scale.py                            # up to 100,000 rows or 2,000 trees
    python benchmarks/cronus_scale.py --optimize full            # whole trainings instead, and what takes long in them
    python benchmarks/cronus_scale.py --optimize full --paper    # 141,000 rows, 5,000 trees, 10 stages
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from costframe_cronus.seen import SeenRows

import costframe as cf
from costframe.core.outputs import BankOutputs
from costframe.core.training import Rows
from costframe.linear.normal import NormalEquations
from costframe.linear.pricing import Pricing
from costframe.linear.relaxing import Reweighting
from costframe.linear.single_stage import USUAL_RIDGE, reweight
from costframe.report.plot import COLORS, INK, MARKERS, PALE
from costframe_cronus import CronusClassifier, cronus
from costframe_cronus.cascade import CascadeSettings, initialize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes

N_FEATURES = 519  # of the paper's Yahoo set
PRICES = (1.0, 5.0, 20.0, 50.0, 100.0, 150.0, 200.0)
ROWS_OF_BANK = 2000
POSITIVE = 0.08  # share of the rows
EMPHASIS = 3.5
CHOSEN_BY = 5  # rows for each row to choose by
LOSS_FOR_EVERYTHING = 0.1  # the tradeoff, in units of 1 / the price of all features
QUICK = {"n": (1000, 2000, 4000), "T": (50, 100, 200), "K": (1, 3, 10)}
USUAL = {"n": (10_000, 30_000, 100_000), "T": (250, 500, 1000, 2000), "K": (1, 3, 10)}
PAPER = (141_000, 5000, 10)
STEPS = ("single stage", "choice of settings", "initialization", "fixed supports", "whole training")
NAMES = {"n": "rows n", "T": "trees T", "K": "stages K"}


@frozen
class Size:
    """What is measured."""

    n: int
    T: int
    K: int


@frozen(eq=False)
class Problem:
    """A table, other rows to choose by, a bank, prices."""

    X: np.ndarray
    y: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    bank: cf.WeakLearnerBank
    costs: cf.CostModel

    @classmethod
    def of(cls, size: Size) -> Problem:
        """Draw normal features, and labels of a sparse sum and an interaction; boost the bank on other rows."""
        rng = np.random.default_rng(0)
        ends = np.cumsum([size.n, size.n // CHOSEN_BY, ROWS_OF_BANK])
        X = rng.standard_normal((ends[-1], N_FEATURES), np.float32).astype(np.float64)
        beta = rng.standard_normal(N_FEATURES) * (rng.random(N_FEATURES) < 0.3) * rng.lognormal(size=N_FEATURES)
        score = X @ beta / np.linalg.norm(beta) + 0.5 * np.tanh(X[:, 0] * X[:, 1])
        score += 0.3 * rng.standard_normal(len(X))
        y = (score > np.quantile(score, 1 - POSITIVE)).astype(np.float64)
        names = [f"x{f}" for f in range(N_FEATURES)]
        costs = cf.CostModel.from_dict(
            {"features": dict(zip(names, rng.choice(PRICES, N_FEATURES).tolist(), strict=True)), "learner": 1.0}
        )
        bank = cf.WeakLearnerBank.train(
            X[ends[1] :],
            2 * y[ends[1] :] - 1,
            n_estimators=size.T,
            max_depth=4,
            column_share=0.05,
            feature_names=names,
            n_jobs=1,
        )
        return cls(*(part[rows] for rows in (slice(size.n), slice(*ends[:2])) for part in (X, y)), bank, costs)

    @property
    def tradeoff(self) -> float:
        """At which all features together cost as much as a fixed loss."""
        return LOSS_FOR_EVERYTHING / self.costs.full_cost()


@frozen(eq=False)
class Found:
    """What was measured of a size.

    Seconds of each step, and of all processors; GB of memory before the steps and at most; the machine's load in the
    last minutes; learners of the initialization's stages.
    """

    size: Size
    seconds: dict[str, float]
    work: dict[str, float]
    before: float
    peak: float
    load: float
    used: list[int]


class Clock:
    """Times steps: seconds that pass, and seconds of all processors together, which are steadier on a busy machine."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.work: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add up what passes within a step."""
        begin = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin[0]
        self.work[name] = self.work.get(name, 0.0) + time.process_time() - begin[1]
        print(f"{name}: {self.seconds[name]:.0f} s, peak {_peak():.2f} GB", file=sys.stderr, flush=True)

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed as a step."""

        def run(*given: Any) -> Any:
            with self.step(name):
                return function(*given)

        return run


def measure(size: Size, optimize: str | None) -> Found:
    """Time the steps in this process."""
    problem, clock = Problem.of(size), Clock()
    before = _peak()
    used = (_parts if optimize is None else _training)(problem, size, clock, optimize)
    return Found(size, clock.seconds, clock.work, before, _peak(), os.getloadavg()[1], used)


def _parts(problem: Problem, size: Size, clock: Clock, _: str | None) -> list[int]:
    """Time the single stage and the initialization; return learners of the latter's stages."""
    with clock.step("leaves"):
        outputs = BankOutputs.of(problem.bank, problem.X)
    weight, target = np.ones(size.n), 2 * problem.y - 1
    costs, rows = problem.costs.select(problem.bank.feature_names), Rows(problem.X, problem.y, weight)
    pricing = Pricing.of(problem.bank, costs, rows, outputs, "path")
    with clock.step("single stage"):
        with clock.step("sums over rows"):
            normal = NormalEquations.of(outputs, target[:, np.newaxis], weight)
        next(reweight(normal, pricing.at(weight), Reweighting(problem.tradeoff), [USUAL_RIDGE]))
    del normal
    emphasis = np.where(target > 0, EMPHASIS, 1.0)
    with clock.step("initialization"):
        seen = SeenRows(outputs, target, weight, emphasis / emphasis.sum())
        chain = initialize(seen, pricing.at, CascadeSettings(problem.tradeoff, n_stages=size.K)).chain
    return [int(one) for one in np.count_nonzero(chain.weights, axis=1)]


def _training(problem: Problem, size: Size, clock: Clock, optimize: str | None) -> list[int]:
    """Time the estimator, and steps within; return learners of the initialization's stages."""
    started: list[cronus.Chain] = []

    def start(*given: Any) -> Any:
        found = initialize(*given)
        started.append(found.chain)
        return found

    cronus.choose = clock.timed("choice of settings", cronus.choose)
    cronus.initialize = clock.timed("initialization", start)
    cronus.at_supports = clock.timed("fixed supports", cronus.at_supports)
    model: Any = CronusClassifier(problem.costs, problem.tradeoff, bank=problem.bank, n_stages=size.K)
    with clock.step("whole training"):
        model.set_params(optimize=optimize).fit(problem.X, problem.y, X_val=problem.X_val, y_val=problem.y_val)
    return [int(one) for one in np.count_nonzero(started[0].weights, axis=1)]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1.024


def measure_apart(size: Size, optimize: str | None) -> Found:
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, size, optimize).result()


def sweeps(grid: dict[str, tuple[int, ...]]) -> dict[str, list[Size]]:
    """Return sizes by what changes; the others stay in the middle, and K at its largest."""
    middle = {name: values[-1] if name == "K" else values[len(values) // 2] for name, values in grid.items()}
    return {name: [Size(**{**middle, name: value}) for value in values] for name, values in grid.items()}


PARTS = ("leaves", "sums over rows", "single stage", "initialization")
WITHIN = ("choice of settings", "initialization", "fixed supports", "whole training")


def headings(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the table's headings."""
    return ("n", "T", "K", *columns, "before, GB", "peak, GB", "load", "learners of each stage")


def row(found: Found, columns: tuple[str, ...]) -> list[str]:
    """Show one size as a row of the table; times as seconds / seconds of all processors."""
    times = found.seconds.items()
    steps = {step: f"{seconds:.1f} / {found.work[step]:.1f}" for step, seconds in times}
    size, used = found.size, " ".join(map(str, found.used))
    cells = [f"{size.n:,}", f"{size.T:,}", f"{size.K}", *(steps.get(step, "-") for step in columns)]
    return [*cells, f"{found.before:.2f}", f"{found.peak:.2f}", f"{found.load:.1f}", used]


def show(cells: Sequence[str], names: Sequence[str]) -> None:
    """Print a row in Markdown."""
    print(f"| {' | '.join(f'{cell:>{len(name)}}' for cell, name in zip(cells, names, strict=True))} |", flush=True)


def draw(path: Path, found: dict[str, list[Found]]) -> None:
    """Write `path`.png and .svg: a panel of seconds for each of n, T and K, and below it one of memory."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(4.2 * len(found), 6.2), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Cronus: time and memory", x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    for place, (name, several) in enumerate(found.items()):
        upper = figure.add_subplot(2, len(found), place + 1)
        lower = figure.add_subplot(2, len(found), len(found) + place + 1)
        sizes = [getattr(one.size, name) for one in several]
        steps = [step for step in STEPS if step in several[0].seconds]
        for step, color, marker in zip(steps, COLORS, MARKERS, strict=False):
            upper.plot(sizes, [one.seconds[step] for one in several], color=color, marker=marker, ms=4, label=step)
        lower.plot(sizes, [one.peak for one in several], color=INK, label="peak")
        lower.plot(
            sizes, [one.before for one in several], color=PALE, marker="o", ms=4, ls="--", label="table and bank"
        )
        others = [f"{other} = {getattr(several[0].size, other):,}" for other in NAMES if other != name]
        upper.set_title(", ".join(others), loc="left", fontsize=10)
        for axes, unit in ((upper, "seconds"), (lower, "GB")):
            _axes(axes, NAMES[name], sizes, unit)
        upper.set_yscale("log")
        upper.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        upper.yaxis.set_major_formatter("{x:g}")
        upper.yaxis.set_minor_locator(NullLocator())
        lower.set_ylim(bottom=0)
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        figure.savefig(path.with_suffix(f".{kind}"), metadata=metadata)


def _axes(axes: Axes, name: str, sizes: list[int], unit: str) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(name)
    axes.set_ylabel(unit)
    axes.grid(visible=True, color="#e9e9e9", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5)


def main() -> None:
    options = _options()
    alone = Size(*PAPER) if options.paper else options.size and Size(*options.size)
    plan = {"n": [alone]} if alone else sweeps(QUICK if options.quick else USUAL)
    columns = PARTS if options.optimize is None else WITHIN
    names = headings(columns)
    show(names, names)
    show(["-" * len(name) for name in names], names)
    measured: dict[Size, Found] = {}
    for size in (size for several in plan.values() for size in several):
        if size not in measured:
            measured[size] = measure_apart(size, options.optimize)
            show(row(measured[size], columns), names)
    if not alone:
        options.output.mkdir(parents=True, exist_ok=True)
        draw(options.output / "cronus_scale", {name: [measured[one] for one in sizes] for name, sizes in plan.items()})
        print(f"\nfigure in {options.output}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--paper", action="store_true", help="the size of the paper's Yahoo set only, which takes long")
    parser.add_argument("--optimize", help="time CronusClassifier(optimize=...).fit instead")
    parser.add_argument("--size", type=int, nargs=3, metavar=("n", "T", "K"), help="this size only")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for the figure")
    return parser.parse_args()


if __name__ == "__main__":
    main()
