"""How time and memory grow with columns, and with resources in a chain: tables that should be linear.

    python benchmarks/widths.py columns                 # CEGB, few trees: 1,000 rows, and up to 100,000 columns
    python benchmarks/widths.py resources --quick

Each size is measured in a process of its own, after a fit or a cost of a small size, which compiles. The peak includes
what is given: the table, or the prices.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import costframe as cf
from harness.points import markdown
from harness.timing import THREADS, clock, peak_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, TREES = 1000, 10
SIZES = {"columns": (12_500, 25_000, 50_000, 100_000), "resources": (16_250, 32_500, 65_000, 130_000)}
STEPS = {
    "columns": ("check", "fit", "cost", "save and load"),
    "resources": ("check", "save and load", "select", "cost"),
}
Step = tuple[str, "Callable[[], object]"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axis", choices=list(SIZES))
    parser.add_argument("--quick", action="store_true", help="the two smallest sizes only")
    asked = parser.parse_args()
    head = [asked.axis, *(f"{step}, s" for step in STEPS[asked.axis]), "before, GB", "peak, GB"]
    print(markdown(head, []), flush=True)
    for size in SIZES[asked.axis][: 2 if asked.quick else None]:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            print(f"| {' | '.join(pool.submit(measure, asked.axis, size).result())} |", flush=True)


def measure(axis: str, size: int) -> list[str]:
    """Return the cells of a row: the size, the seconds of each step, and the memory before and at most."""
    steps = by_columns if axis == "columns" else by_resources
    for _, step in steps(50):
        step()
    before, cells = peak_memory(), [f"{size:,}"]
    for _, step in steps(size):
        with clock() as spent:
            step()
        cells.append(f"{spent['seconds']:.1f}")
    return [*cells, f"{before:.2f}", f"{peak_memory():.2f}"]


def by_columns(d: int) -> Iterator[Step]:
    """Yield the steps from a table with d columns to a fitted and loaded model."""
    random = np.random.default_rng(0)
    X = random.standard_normal((ROWS, d))
    y = (X[:, :8].sum(axis=1) + random.standard_normal(ROWS) > 0).astype(int)
    model = cf.estimator("cegb", "classification", tradeoff=1e-3, n_estimators=TREES, n_jobs=THREADS)
    yield "check", lambda: model.training_data(X, y)
    yield "fit", lambda: model.fit(X, y)
    yield "cost", lambda: model.cost(X)
    yield "save and load", lambda: _reload(model)


def by_resources(n: int) -> Iterator[Step]:
    """Yield the steps from n resources, each of which needs the next one, to the cost of rows."""
    d = min(n, 3000)
    first = np.random.default_rng(0).integers(0, n, d).tolist()
    resources = {f"r{i}": {"cost": 1.0, "needs": [f"r{i + 1}"] if i + 1 < n else []} for i in range(n)}
    features = {f"x{f}": {"cost": 1.0, "needs": [f"r{r}"]} for f, r in enumerate(first)}
    made: list[cf.CostModel] = []
    yield "check", lambda: made.append(cf.CostModel.from_dict({"features": features, "resources": resources}))
    yield "save and load", lambda: _reload_prices(made[0])
    yield "select", lambda: made[0].select(made[0].names)
    bank = cf.WeakLearnerBank.columns(made[0].names, list(range(0, d, 10)))
    tree = cf.StageTree(bank, [cf.Answer(np.arange(len(bank)), np.ones((len(bank), 1)), [0.0])], made[0])
    yield "cost", lambda: tree.cost(np.ones((ROWS, d)))


def _reload(model: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cf.save(model, Path(folder) / "model")
        cf.load(Path(folder) / "model")


def _reload_prices(costs: cf.CostModel) -> None:
    with tempfile.TemporaryDirectory() as folder:
        costs.save(Path(folder) / "prices.json")
        cf.CostModel.load(Path(folder) / "prices.json")


if __name__ == "__main__":
    main()
