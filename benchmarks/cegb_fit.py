"""Fitting CEGB with lazy prices and resources against LightGBM, lazy and plain, at equal leaves, trees and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from lightgbm_peer import table, train
from timing import FULL, THREADS, ratio, seconds

import costframe as cf
from costframe.datasets import read_table
from costframe_cegb import CEGBClassifier, CEGBRegressor

if TYPE_CHECKING:
    from collections.abc import Callable

    import lightgbm as lgb

ROUNDS, LEAVES, TRADEOFF = 100, 31, 1e-4
COVER = Path(__file__).resolve().parents[2] / "shared" / "data" / "cover"


def model(d: int, rounds: int, *, classes: bool = True) -> CEGBClassifier | CEGBRegressor:
    """CEGB, each feature at one and in need of one of five resources."""
    features = {f"x{f}": {"cost": 1.0, "needs": [f"r{f % 5}"]} for f in range(d)}
    prices = cf.CostModel.from_dict({"features": features, "resources": {f"r{g}": 1.0 for g in range(5)}})
    kind = CEGBClassifier if classes else CEGBRegressor
    return kind(prices, TRADEOFF, n_estimators=rounds, max_leaves=LEAVES, n_jobs=THREADS)


def peer(X: np.ndarray, y: np.ndarray, rounds: int, *, lazy: bool, classes: bool = True) -> lgb.Booster:
    """LightGBM, with the same price of every feature or none; it knows no resources."""
    prices = {"cegb_tradeoff": 1.0, "cegb_penalty_feature_lazy": [2 * TRADEOFF] * X.shape[1]} if lazy else {}
    return train(X, y, rounds, LEAVES, objective="binary" if classes else "regression", **prices)


def compare(title: str, X: np.ndarray, y: np.ndarray, repeats: int, *, classes: bool = True) -> None:
    """Print the two ratios of one table."""

    def ours() -> CEGBClassifier | CEGBRegressor:
        return model(X.shape[1], ROUNDS, classes=classes).fit(X, y)

    for lazy, goal in ((True, "<= 0.25"), (False, "<= 0.75")):
        against = f"{title} / LightGBM's {'lazy' if lazy else 'plain'}"
        theirs = _peer(X, y, lazy=lazy, classes=classes)
        ratio(against, ours, theirs, goal=goal, repeats=repeats)
    leaves = int((ours().bank_.trees.feature < 0).sum())
    print(f"{'':58s} leaves: {leaves} of CEGB's, at most {LEAVES * ROUNDS} of LightGBM's")


def _peer(X: np.ndarray, y: np.ndarray, *, lazy: bool, classes: bool) -> Callable[[], lgb.Booster]:
    return lambda: peer(X, y, ROUNDS, lazy=lazy, classes=classes)


def growth() -> None:
    """Print how the time grows with rows and with features; linear is 2 for twice as many, or less."""
    X, y = table(200_000, 100)
    sizes = [(50_000, 50), (100_000, 50), (200_000, 50), (100_000, 25), (100_000, 100)]
    times = {}
    for n, d in sizes:
        part = np.ascontiguousarray(X[:n, :d])
        times[n, d] = min(seconds(lambda part=part, n=n: model(part.shape[1], 50).fit(part, y[:n] > 0)) for _ in "123")
    for small, large in ((sizes[0], sizes[1]), (sizes[1], sizes[2]), (sizes[3], sizes[1]), (sizes[1], sizes[4])):
        title = f"time at {large[0]:,} x {large[1]} / at {small[0]:,} x {small[1]}"
        print(f"{title:58s} {times[large] / times[small]:5.2f}   (goal: <= 2)")


def compilation() -> None:
    """Print what the first fit of a fresh process takes, without and with a cache on disk."""
    code = f"{_LOAD}; X, y = table(1000, 5); print(seconds(lambda: model(5, 2).fit(X, y > 0)))"
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (float(_in_a_process(code, NUMBA_CACHE_DIR=folder)) for _ in range(2))
    print(f"{'first fit of a process: compiling / from the cache':58s} {cold:.1f} s / {warm:.2f} s")


def memory(n: int) -> None:
    """Print by how much the resident memory grows while fitting, beyond the libraries and the table."""
    cells = n * 50
    grown = {}
    for who in ("ours", "plain", "lazy"):
        fit = "model(50, 10).fit(X, y)" if who == "ours" else f"peer(X, y, 10, lazy={who == 'lazy'})"
        code = (
            f"{_LOAD}; X, y = table(2000); y = (y > 0) * 1; {fit}; X, y = table({n}); y = (y > 0) * 1; "
            f"Path('/proc/self/clear_refs').write_text('5'); before = resident('VmRSS'); {fit}; "
            "print(resident('VmHWM') - before)"
        )
        grown[who] = int(_in_a_process(code))
        print(f"{f'memory growth at {n:,} x 50, {who}':58s} {grown[who] / 2**20:7.0f} MiB")
    allowed = grown["plain"] + cells
    print(f"{'ours / (LightGBM plain + a byte a cell)':58s} {grown['ours'] / allowed:5.2f}   (goal: <= 1)")


_LOAD = "from cegb_fit import *; from cegb_fit import resident"


def resident(field: str) -> int:
    """Bytes, of this process (Linux)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _in_a_process(code: str, **environment: str) -> str:
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *sys.path])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)  # noqa: S603 # our own code
    return done.stdout.strip()


def main() -> None:
    X, y = table()
    compare("fit, 100,000 x 50, two classes", X, (y > 0).astype(np.int64), 3)
    compare("fit, 100,000 x 50, numbers", X, y, 3, classes=False)
    compilation()
    if not FULL:
        return
    if COVER.is_dir():
        part = read_table(COVER / "data.parquet", "label", COVER / "costs.toml").part("train")
        cover = np.ascontiguousarray(part.X, np.float64)
        compare(f"fit, cover, {len(cover):,} x {cover.shape[1]}, two classes", cover, np.asarray(part.y), 3)
    growth()
    memory(1_000_000)
    X, y = table(1_000_000)
    compare("fit, 1,000,000 x 50, two classes", X, (y > 0).astype(np.int64), 1)


if __name__ == "__main__":
    main()
