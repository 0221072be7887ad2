"""How times are taken: both sides in one run, turn by turn, medians of several, ratios rather than seconds."""

from __future__ import annotations

import os
import resource
import statistics
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads of a peer would slow the other side's turn

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import lightgbm as lgb

THREADS = 2


def ratio(title: str, ours: Callable[[], object], peer: Callable[[], object], *, goal: str, repeats: int = 9) -> None:
    """Print the median time of ours over the peer's; the first call of each, which may compile, is apart.

    On a busy machine the time of all processors together is steadier, and is printed as well.
    """
    first = seconds(ours)
    seconds(peer)
    times, work = [], []
    for _ in range(repeats):
        before = time.process_time()
        mine = seconds(ours)
        between = time.process_time()
        times.append((mine, seconds(peer)))
        work.append((between - before, time.process_time() - between))
    mine, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    busy = min(column[0] for column in work) / min(column[1] for column in work)
    title = f"{title:58s} {mine * 1e3:10.3f} ms / {theirs * 1e3:10.3f} ms"
    print(f"{title} = {mine / theirs:5.2f}, of processor time {busy:5.2f}   (goal: {goal})", flush=True)
    if first > 10 * mine:
        print(f"{'':58s} first call, with compilation or its cache: {first:.2f} s")


def seconds(function: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


@contextmanager
def clock() -> Iterator[dict[str, float]]:
    """Give a dict that has, at the end, the "seconds" that passed, and those of all processors together, "busy"."""
    spent: dict[str, float] = {}
    start, busy = time.perf_counter(), time.process_time()
    yield spent
    spent |= {"seconds": time.perf_counter() - start, "busy": time.process_time() - busy}


def peak_memory() -> float:
    """Return the most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def draw_table(n: int = 100_000, d: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with interactions, curvature and noise; the target is a number, its sign a class."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.2 * X[:, 3:20].sum(axis=1) + 0.1 * random.standard_normal(n)
    return X, y


def train_lightgbm(X: np.ndarray, y: np.ndarray, rounds: int = 100, leaves: int = 31, **parameters: Any) -> lgb.Booster:
    """Fit LightGBM with its defaults."""
    import lightgbm as lgb

    settings = {"objective": "regression", "num_leaves": leaves, "verbosity": -1, "num_threads": THREADS, **parameters}
    return lgb.train(settings, lgb.Dataset(X, y, params={"verbosity": -1, "num_threads": THREADS}), rounds)
