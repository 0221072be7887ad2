"""What measurements of growth share: synthetic tables with a bank, a clock, a process for each size, figures."""

from __future__ import annotations

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import fields, frozen

import costframe as cf
from costframe.frontier.plot import COLORS, INK, MARKERS, PALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

N_FEATURES = 519  # of the Yahoo set of the papers
PRICES = (1.0, 5.0, 20.0, 50.0, 100.0, 150.0, 200.0)
ROWS_OF_BANK = 2000
CHOSEN_BY = 5  # rows for each row to choose by
LOSS_FOR_EVERYTHING = 0.1  # the tradeoff, in units of 1 / the price of all features


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
    def of(cls, n: int, n_trees: int, positive: float) -> Problem:
        """Draw normal features, and labels of a sparse sum and an interaction; boost the bank on other rows.

        Parameters
        ----------
        n : int
            Rows; there are a fifth as many to choose by.
        n_trees : int
        positive : float
            Share of rows labeled 1, the others 0.
        """
        rng = np.random.default_rng(0)
        ends = np.cumsum([n, n // CHOSEN_BY, ROWS_OF_BANK])
        X = rng.standard_normal((ends[-1], N_FEATURES), np.float32).astype(np.float64)
        beta = rng.standard_normal(N_FEATURES) * (rng.random(N_FEATURES) < 0.3) * rng.lognormal(size=N_FEATURES)
        score = X @ beta / np.linalg.norm(beta) + 0.5 * np.tanh(X[:, 0] * X[:, 1])
        score += 0.3 * rng.standard_normal(len(X))
        y = (score > np.quantile(score, 1 - positive)).astype(np.float64)
        names = [f"x{f}" for f in range(N_FEATURES)]
        costs = cf.CostModel.from_dict(
            {"features": dict(zip(names, rng.choice(PRICES, N_FEATURES).tolist(), strict=True)), "learner": 1.0}
        )
        bank = cf.train_bank(
            X[ends[1] :],
            2 * y[ends[1] :] - 1,
            n_estimators=n_trees,
            max_depth=4,
            max_features=0.05,
            feature_names=names,
            n_jobs=1,
        )
        return cls(*(part[rows] for rows in (slice(n), slice(*ends[:2])) for part in (X, y)), bank, costs)

    @property
    def tradeoff(self) -> float:
        """At which all features together cost as much as a fixed loss."""
        return LOSS_FOR_EVERYTHING / self.costs.full_cost()


@frozen(eq=False)
class Found:
    """What was measured of a size.

    Seconds of each step, and of all processors; GB of memory before the steps and at most; the machine's load in the
    last minutes; what more there is to say.
    """

    size: Any
    seconds: dict[str, float]
    work: dict[str, float]
    before: float
    peak: float
    load: float
    told: str


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
        print(f"{name}: {self.seconds[name]:.0f} s, peak {peak():.2f} GB", file=sys.stderr, flush=True)

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed as a step."""

        def run(*given: Any, **settings: Any) -> Any:
            with self.step(name):
                return function(*given, **settings)

        return run


def peak() -> float:
    """Return the most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1.024


def apart(measure: Callable[..., Found], *given: Any) -> Found:
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, *given).result()


def sweeps(kind: Callable[..., Any], grid: Mapping[str, Sequence[int]], **at: int) -> dict[str, list[Any]]:
    """Return sizes by what changes; the others stay where they are told to, or in the middle."""
    middle = {name: values[len(values) // 2] for name, values in grid.items()} | at
    return {name: [kind(**{**middle, name: value}) for value in values] for name, values in grid.items()}


def run(
    plan: Mapping[str, Sequence[Any]], measure: Callable[..., Found], *given: Any, columns: Sequence[str], told: str
) -> dict[str, list[Found]]:
    """Measure each size once, in a process of its own, and print a table in Markdown.

    Parameters
    ----------
    plan : mapping of str to sequence of sizes
        By what changes.
    measure : callable
        Of a size and what is given.
    columns : sequence of str
        Steps to show.
    told : str
        Heading of what more there is to say.
    """
    axes = [field.name for field in fields(type(next(iter(plan.values()))[0]))]
    headings = [*axes, *columns, "before, GB", "peak, GB", "load", told]
    _show(headings, headings)
    _show(["-" * len(heading) for heading in headings], headings)
    measured: dict[Any, Found] = {}
    for size in (size for several in plan.values() for size in several):
        if size not in measured:
            measured[size] = apart(measure, size, *given)
            _show(_row(measured[size], columns, axes), headings)
    return {name: [measured[size] for size in several] for name, several in plan.items()}


def _row(found: Found, columns: Sequence[str], axes: Sequence[str]) -> list[str]:
    """Show one size as a row of the table; times as seconds / seconds of all processors."""
    steps = {step: f"{seconds:.1f} / {found.work[step]:.1f}" for step, seconds in found.seconds.items()}
    cells = [f"{getattr(found.size, name):,}" for name in axes] + [steps.get(step, "-") for step in columns]
    return [*cells, f"{found.before:.2f}", f"{found.peak:.2f}", f"{found.load:.1f}", found.told]


def _show(cells: Sequence[str], names: Sequence[str]) -> None:
    print(f"| {' | '.join(f'{cell:>{len(name)}}' for cell, name in zip(cells, names, strict=True))} |", flush=True)


def draw(
    path: Path, title: str, found: Mapping[str, Sequence[Found]], names: Mapping[str, str], known: Sequence[str]
) -> None:
    """Write `path`.png and .svg: a panel of seconds for each way to grow, and below it one of memory.

    Parameters
    ----------
    path : Path
    title : str
    found : mapping of str to sequence of Found
        By the attribute of sizes that grows.
    names : mapping of str to str
        What these attributes are.
    known : sequence of str
        The steps to draw.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(4.2 * len(found), 6.2), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    for place, (name, several) in enumerate(found.items()):
        upper = figure.add_subplot(2, len(found), place + 1)
        lower = figure.add_subplot(2, len(found), len(found) + place + 1)
        sizes = [getattr(one.size, name) for one in several]
        steps = [step for step in known if step in several[0].seconds]
        for step, color, marker in zip(steps, COLORS, MARKERS, strict=False):
            upper.plot(sizes, [one.seconds[step] for one in several], color=color, marker=marker, ms=4, label=step)
        lower.plot(sizes, [one.peak for one in several], color=INK, label="peak")
        lower.plot(
            sizes, [one.before for one in several], color=PALE, marker="o", ms=4, ls="--", label="table and bank"
        )
        others = [f"{other} = {getattr(several[0].size, other):,}" for other in names if other != name]
        upper.set_title(", ".join(others), loc="left", fontsize=10)
        for axes, unit in ((upper, "seconds"), (lower, "GB")):
            _axes(axes, names[name], sizes, unit)
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
    axes.legend(framealpha=0.85, edgecolor="none", fontsize=8.5)
