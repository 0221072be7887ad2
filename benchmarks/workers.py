"""Training over workers of a dask cluster: time, memory and bytes sent by rows, features, workers and trees.

    python benchmarks/workers.py                 # CEGB beside xgboost.dask, on a cluster of processes on this machine
    python benchmarks/workers.py --quick

Each line is one cluster of its own, on which both fit the same partitions, trees of 31 leaves, one thread a worker.
Bytes are those that cross the loopback interface during a fit, dask's own messages included, and those of the model
behind it: for each split, the sums of one child's histogram, and for each other worker and way.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import xgboost
from dask.distributed import Client, LocalCluster, wait
from xgboost import dask as xgboost_dask

import costframe as cf
from harness.points import markdown

LEAVES, BINS, PARTITIONS = 31, 256, 8
USUAL = (400_000, 50, 2, 50)  # rows, features, workers, trees
AXES = ((100_000, 1_600_000), (25, 100), (1, 3), (25, 100))  # others
QUICK = (20_000, 10, 2, 10)
HEAD = (
    "rows", "features", "workers", "trees", "seconds", "XGBoost", "MB sent", "by the model", "XGBoost",
    "peak GB of a worker", "XGBoost",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one small size")
    asked = parser.parse_args()
    sizes = [QUICK] if asked.quick else [USUAL, *_others()]
    print(markdown(list(HEAD), []), flush=True)
    for size in sizes:
        print(f"| {' | '.join(measure(*size))} |", flush=True)


def _others() -> list[tuple[int, ...]]:
    """Change each number of the usual size in turn."""
    return [(*USUAL[:axis], value, *USUAL[axis + 1 :]) for axis, values in enumerate(AXES) for value in values]


def measure(rows: int, features: int, workers: int, trees: int) -> list[str]:
    """Fit both on the same partitions, each on a cluster of its own, and return the cells of a line."""
    (ours, sent, peak), (theirs, their_sent, their_peak) = (
        run_alone(fit, rows, features, workers, trees) for fit in (fit_costframe, fit_xgboost)
    )
    groups = -(-features // 4)  # of columns, with two words a bin
    model = 2 * (workers - 1) * trees * LEAVES * groups * BINS * 64 / 1e6
    return [
        *(f"{value:,}" for value in (rows, features, workers, trees)),
        f"{ours:.1f}", f"{theirs:.1f}", f"{sent:,.0f}", f"{model:,.0f}", f"{their_sent:,.0f}",
        f"{peak:.2f}", f"{their_peak:.2f}",
    ]  # fmt: skip


def run_alone(fit: Any, rows: int, features: int, workers: int, trees: int) -> tuple[float, float, float]:
    """Return seconds, megabytes sent and peak gigabytes of a worker, of a fit on a new cluster."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        X, y = draw(rows, features)
        few, labels = draw(8_000, features)
        fit(client, few, labels, 1)  # compiles
        X, y = client.persist([X, y])
        wait([X, y])
        before, began = loopback_bytes(), time.perf_counter()
        fit(client, X, y, trees)
        seconds, sent = time.perf_counter() - began, loopback_bytes() - before
        peak = max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values())
    return seconds, sent / 1e6, peak / 1e6


def draw(rows: int, features: int) -> tuple[Any, Any]:
    """Return rows and labels of two classes, in partitions."""
    random = da.random.default_rng(0)
    X = random.normal(size=(rows, features), chunks=(-(-rows // PARTITIONS), features))
    score = X[:, 0] * X[:, 1] + X[:, 2:8].sum(axis=1) + random.normal(size=rows, chunks=-(-rows // PARTITIONS))
    return X, (score > 0).astype(np.int64)


def fit_costframe(client: Any, X: Any, y: Any, trees: int) -> None:
    cf.CEGBClassifier(tradeoff=1e-4, n_estimators=trees, max_leaves=LEAVES, n_jobs=1).fit(X, y, client=client)


def fit_xgboost(client: Any, X: Any, y: Any, trees: int) -> None:
    settings = {
        "objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": LEAVES,
        "max_depth": 0, "eta": 0.1, "max_bin": BINS, "nthread": 1, "min_child_weight": 1e-3,
    }  # fmt: skip
    xgboost_dask.train(client, settings, xgboost_dask.DaskDMatrix(client, X, y), num_boost_round=trees)


def loopback_bytes() -> int:
    """Return the bytes that the loopback interface has sent since it began."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split()[9])


if __name__ == "__main__":
    xgboost.set_config(verbosity=0)
    main()
