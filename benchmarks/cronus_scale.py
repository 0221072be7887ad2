"""How time and memory of Cronus grow with rows n, trees T of 16 leaves, and stages K: a table and a figure.

Each size is measured in a process of its own, whose peak memory includes the table and the bank. The bank is boosted
on few rows, as only its size matters here; the table is synthetic, with the paper's prices.

    python benchmarks/cronus_scale.py --quick             # small sizes, about a minute
    python benchmarks/cronus_scale.py                     # up to 100,000 rows or 2,000 trees
    python benchmarks/cronus_scale.py --paper             # 141,000 rows, 5,000 trees, 10 stages
    python benchmarks/cronus_scale.py --optimize cyclic   # also times the estimator's whole training
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

import costframe as cf
from costframe.core.groups import PricedGroups
from costframe.core.outputs import BankOutputs
from costframe.report.plot import COLORS, INK, MARKERS, PALE
from costframe_cronus import CronusClassifier
from costframe_cronus.cascade import CascadeSettings, initialize
from costframe_cronus.normal import NormalEquations
from costframe_cronus.single_stage import USUAL_RIDGE, Reweighting, reweight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

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
        """At which all features together cost as much as a fixed loss."""
        return LOSS_FOR_EVERYTHING / self.costs.full_cost()


@frozen(eq=False)
class Found:
    """What was measured of a size: seconds of each step, GB of memory before them and at most, learners of stages."""

    size: Size
    seconds: dict[str, float]
    work: dict[str, float]
    before: float
    peak: float
    used: list[int]


class Clock:
    """Times steps: seconds that pass, and seconds of all processors together, which are steadier on a busy machine."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.work: dict[str, float] = {}
        self.restart()

    def restart(self) -> None:
        """Begin a step."""
        self._start = time.perf_counter(), time.process_time()

    def note(self, step: str) -> None:
        """Note what has passed since the last restart."""
        self.seconds[step] = time.perf_counter() - self._start[0]
        self.work[step] = time.process_time() - self._start[1]


def measure(size: Size, optimize: str | None) -> Found:
    """Time the steps in this process."""
    problem, clock = Problem.of(size), Clock()
    clock.restart()
    outputs = BankOutputs.of(problem.bank, problem.X)
    clock.note("leaves")
    groups = PricedGroups.of_bank(problem.bank, problem.costs.select(problem.bank.feature_names))
    before, weight, target = _peak(), np.ones(size.n), 2 * problem.y - 1
    clock.restart()
    normal = NormalEquations.of(outputs, target[:, np.newaxis], weight)
    clock.note("sums over rows")
    next(reweight(normal, groups, Reweighting(problem.tradeoff), [USUAL_RIDGE]))
    clock.note("single stage")
    del normal
    clock.restart()
    settings = CascadeSettings(problem.tradeoff, n_stages=size.K)
    cascade = initialize(outputs, target, weight, np.where(target > 0, EMPHASIS, 1.0), groups, settings)
    clock.note("initialization")
    if optimize is not None:
        clock.restart()
        model: Any = CronusClassifier(problem.costs, problem.tradeoff, bank=problem.bank, n_stages=size.K)
        model.set_params(optimize=optimize).fit(problem.X, problem.y)
        clock.note("whole training")
    used = cascade.weights.astype(bool).sum(axis=1).tolist()
    return Found(size, clock.seconds, clock.work, before, _peak(), used)


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


COLUMNS = ("leaves", "sums over rows", *STEPS)
HEADINGS = ("n", "T", "K", *COLUMNS, "before, GB", "peak, GB", "learners of each stage")


def row(found: Found) -> list[str]:
    """Show one size as a row of the table; times as seconds / seconds of all processors."""
    times = found.seconds.items()
    steps = {step: f"{seconds:.1f} / {found.work[step]:.1f}" for step, seconds in times}
    size, used = found.size, " ".join(map(str, found.used))
    cells = [f"{size.n:,}", f"{size.T:,}", f"{size.K}", *(steps.get(step, "-") for step in COLUMNS)]
    return [*cells, f"{found.before:.2f}", f"{found.peak:.2f}", used]


def show(cells: Sequence[str]) -> None:
    """Print a row in Markdown."""
    print(f"| {' | '.join(f'{cell:>{len(name)}}' for cell, name in zip(cells, HEADINGS, strict=True))} |", flush=True)


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
    show(HEADINGS)
    show(["-" * len(name) for name in HEADINGS])
    measured: dict[Size, Found] = {}
    for size in (size for several in plan.values() for size in several):
        if size not in measured:
            measured[size] = measure_apart(size, options.optimize)
            show(row(measured[size]))
    if not alone:
        options.output.mkdir(parents=True, exist_ok=True)
        draw(options.output / "cronus_scale", {name: [measured[one] for one in sizes] for name, sizes in plan.items()})
        print(f"\nfigure in {options.output}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--paper", action="store_true", help="the size of the paper's Yahoo set only, which takes long")
    parser.add_argument("--optimize", help="also time CronusClassifier(optimize=...).fit")
    parser.add_argument("--size", type=int, nargs=3, metavar=("n", "T", "K"), help="this size only")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for the figure")
    return parser.parse_args()


if __name__ == "__main__":
    main()
