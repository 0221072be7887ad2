"""How time and memory of an algorithm grow with rows, features, learners, and levels or stages: a table.

    python benchmarks/scale.py cegb                      # paths, by rows and features; so is planner
    python benchmarks/scale.py cronus                    # whole trainings, by rows, trees and stages
    python benchmarks/scale.py cstc --given              # by rows, learners and depth, over a bank that is given
    python benchmarks/scale.py cronus --size 141000 5000 10 --profile

Each size is measured in a process of its own, whose peak memory includes the table and the bank. Tables are drawn;
trainings of Cronus and CSTC have the prices of the Yahoo set of their papers, and a fifth as many rows again to choose
by. `--profile` prints the functions of the algorithm's own package that took longest.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import os
import pstats
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

import costframe as cf
from harness.points import markdown
from harness.timing import THREADS, clock, peak_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

N_FEATURES = 519  # of the Yahoo set
PRICES = (1.0, 5.0, 20.0, 50.0, 100.0, 150.0, 200.0)
ROWS_OF_BANK = 2000  # a given bank is boosted on few rows, as only its size matters here
CHOSEN_BY = 5  # rows for each row to choose by
SHOWN = 12  # functions in a profile


@frozen
class Algorithm:
    """What is measured.

    Attributes
    ----------
    axes : tuple of str
        What grows; the second is a number of features for paths, else of learners.
    usual, quick : tuples of tuples of int
        Sizes on each axis; the others stay in the middle.
    setting : str or None
        The parameter that the third axis is; None for paths.
    positive : float
        Share of rows labeled 1.
    loss : float
        The tradeoff, in units of 1 / the cost of all features.
    """

    axes: tuple[str, ...]
    usual: tuple[tuple[int, ...], ...]
    quick: tuple[tuple[int, ...], ...]
    setting: str | None = None
    positive: float = 0.5
    loss: float = 0.0


ALGORITHMS = {
    "cegb": Algorithm(("rows", "features"), ((5_000, 20_000, 80_000), (20, 80)), ((500, 1000, 2000), (10, 20))),
    "planner": Algorithm(("rows", "features"), ((2_000, 8_000, 32_000), (20, 80, 400)), ((500, 1000), (10, 20))),
    "cronus": Algorithm(
        ("rows", "trees", "stages"),
        ((10_000, 30_000, 100_000), (250, 500, 1000, 2000), (1, 3, 10)),
        ((1000, 2000, 4000), (50, 100, 200), (1, 3, 10)),
        "n_stages",
        positive=0.08,
        loss=0.1,
    ),
    "cstc": Algorithm(
        ("rows", "learners", "depth"),
        ((10_000, 30_000, 100_000), (125, 250, 500), (2, 3, 4)),
        ((1000, 2000, 4000), (50, 100, 200), (2, 3, 4)),
        "depth",
        loss=5.0,  # where routes are worth their price
    ),
}


def main() -> None:
    asked = _options()
    kind = ALGORITHMS[asked.algorithm]
    sizes = [tuple(asked.size)] if asked.size else dict.fromkeys(_sizes(kind.quick if asked.quick else kind.usual))
    head = [*kind.axes, "seconds", "of processors", "before, GB", "peak, GB", "load", "model"]
    print(markdown(head, []), flush=True)
    for size in sizes:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            cells, profile = pool.submit(measure, asked, size).result()
        print(f"| {' | '.join(cells)} |{profile}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=list(ALGORITHMS))
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--size", type=int, nargs="+", help="this size only, a number for each axis")
    parser.add_argument("--given", action="store_true", help="give CSTC a bank boosted on few rows, as Cronus has")
    parser.add_argument("--optimize", choices=("full", "cyclic", "none"), help="of Cronus and CSTC, full by default")
    parser.add_argument("--profile", action="store_true", help=f"print the {SHOWN} functions that took longest")
    asked = parser.parse_args()
    if asked.size and len(asked.size) != (count := len(ALGORITHMS[asked.algorithm].axes)):
        parser.error(f"--size takes {count} numbers: {', '.join(ALGORITHMS[asked.algorithm].axes)}")
    return asked


def _sizes(grid: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, ...]]:
    """Yield sizes along each axis, the others in the middle."""
    middle = [values[len(values) // 2] for values in grid]
    for axis, values in enumerate(grid):
        yield from ((*middle[:axis], value, *middle[axis + 1 :]) for value in values)


def measure(asked: argparse.Namespace, size: tuple[int, ...]) -> tuple[list[str], str]:
    """Fit in this process; return the cells of a row, and the profile, if any."""
    kind = ALGORITHMS[asked.algorithm]
    rows, model = _path(asked.algorithm, *size) if kind.setting is None else _training(asked, kind, *size)
    fit = model.fit_path if kind.setting is None else model.fit
    before, profile = peak_memory(), cProfile.Profile()
    with clock() as spent:
        found = profile.runcall(fit, **rows) if asked.profile else fit(**rows)
    memory = [f"{before:.2f}", f"{peak_memory():.2f}", f"{os.getloadavg()[1]:.1f}"]
    cells = [*(f"{value:,}" for value in size), f"{spent['seconds']:.1f}", f"{spent['busy']:.1f}", *memory]
    return [*cells, _describe(found)], _longest(profile, asked.algorithm) if asked.profile else ""


def _path(algorithm: str, n: int, d: int) -> tuple[dict[str, Any], Any]:
    """Draw a table of two classes, and make the model whose path is fitted to it."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n + n // 3, d))
    y = (X[:, 0] * X[:, 1] + X[:, 2:8].sum(axis=1) + random.standard_normal(len(X)) > 0).astype(int)
    rows = {"X": X[:n], "y": y[:n], "X_val": X[n:], "y_val": y[n:]}
    return rows, cf.estimator(algorithm, "classification", n_jobs=THREADS)


def _training(
    asked: argparse.Namespace, kind: Algorithm, n: int, n_learners: int, levels: int
) -> tuple[dict[str, Any], Any]:
    """Draw normal features, and labels of a sparse sum and an interaction; make the model, with a bank if given."""
    random = np.random.default_rng(0)
    ends = np.cumsum([n, n // CHOSEN_BY, ROWS_OF_BANK])
    X = random.standard_normal((ends[-1], N_FEATURES), np.float32).astype(np.float64)
    beta = random.standard_normal(N_FEATURES) * (random.random(N_FEATURES) < 0.3) * random.lognormal(size=N_FEATURES)
    score = X @ beta / np.linalg.norm(beta) + 0.5 * np.tanh(X[:, 0] * X[:, 1])
    score += 0.3 * random.standard_normal(len(X))
    y = (score > np.quantile(score, 1 - kind.positive)).astype(np.float64)
    names = [f"x{f}" for f in range(N_FEATURES)]
    prices = dict(zip(names, random.choice(PRICES, N_FEATURES).tolist(), strict=True))
    costs = cf.CostModel.from_dict({"features": prices, "learner": 1.0})
    settings: dict[str, Any] = {"n_estimators": n_learners}
    if asked.given or asked.algorithm == "cronus":
        labels = 2 * y[ends[1] :] - 1
        settings = {"bank": cf.train_bank(X[ends[1] :], labels, n_estimators=n_learners, feature_names=names, n_jobs=1)}
    tradeoff = kind.loss / costs.full_cost()
    settings |= {"optimize": asked.optimize, str(kind.setting): levels, "n_jobs": 1}
    model = cf.estimator(asked.algorithm, "classification", costs=costs, tradeoff=tradeoff, **settings)
    train, valid = slice(n), slice(*ends[:2])
    return {"X": X[train], "y": y[train], "X_val": X[valid], "y_val": y[valid]}, model


def _describe(found: Any) -> str:
    if hasattr(found, "points"):
        return f"{len(found.points)} points"
    tree = found.predictor_
    return f"{len(tree.stages)} stages, {len(tree.bank)} learners"


def _longest(profile: cProfile.Profile, algorithm: str) -> str:
    """Return the functions of an algorithm's package that took longest, with all that they call, line by line."""
    stats = pstats.Stats(profile).get_stats_profile().func_profiles
    own = [(each.cumtime, name) for name, each in stats.items() if f"costframe_{algorithm}" in each.file_name]
    return "".join(f"\n  {seconds:8.1f} s {name}" for seconds, name in sorted(own, reverse=True)[:SHOWN])


if __name__ == "__main__":
    main()
