"""CEGB's path against LightGBM's best of lazy and coupled penalties: quality and time side by side, both in one run.

    python benchmarks/cegb_frontier.py [heart thyroid synthetic ...] [--splits 3] [--greedy] [--growth]

Tables and figures are those of ../shared/bench: models are chosen on valid, scored on test, costed row by row with
resources; split 0 is the table's own, others are drawn by seed. LightGBM has its 42 fits, CEGB one `fit_path`, on two
threads each; only fits are timed, on the wall and of processors. Differences are paired over splits, with their
standard errors. "synthetic" is a ranking of thousands of queries. `--greedy` adds a path that does not look ahead for
resources, `--growth` says how the path's time grows with rows and with features.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from costframe.core.plugins.registry import estimator
from costframe.core.prices.costs import CostModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

SHARED = Path(__file__).resolve().parents[2] / "shared"
SCORES = {"acc": "accuracy", "auc": "roc_auc", "ap": "average_precision", "ndcg5": "ndcg@5"}
SMALL = 2000  # rows; below it LightGBM's side takes smaller leaves, and so do we
TRADEOFFS, LEAVES, THREADS = 10, (8, 31), 2
QUERIES = {"train": 1500, "valid": 500, "test": 1500}  # of the synthetic ranking


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("tables", nargs="*")
    given.add_argument("--splits", type=int, default=1)
    given.add_argument("--greedy", action="store_true")
    given.add_argument("--growth", action="store_true")
    asked = given.parse_args()
    common = shared_bench()
    if asked.growth:
        say_growth(
            "cegb",
            ((5_000, 20), (20_000, 20), (80_000, 20), (5_000, 80), (20_000, 80)),
            lambda path: (
                f"{len(path.branches)} branches of {sum(len(branch.rounds) for branch in path.branches)} rounds in all"
            ),
        )
        return
    print("budgets:", "  ".join(f"{share:.0%}" for share in common.BUDGETS), "of the cost of all features\n")
    warm_up()
    for name in asked.tables or common.OPEN:
        sides: dict[str, list[dict[str, Any]]] = {}
        for split in range(asked.splits):
            table = load(name, split)
            for side, points, times in _sides(table, greedy=asked.greedy):
                found = common.figures(points, full_cost(table)) | times
                sides.setdefault(side, []).append(found)
        for side, found in sides.items():
            say(name, side, found)
        compare(sides["CEGB's path"], sides["LightGBM"])
        print(flush=True)


def shared_bench() -> ModuleType:
    """Return the module that says what the figures are."""
    if not SHARED.exists():
        sys.exit(f"the tables are read from {SHARED.name}/ beside the project, which is not there")
    if (folder := str(SHARED / "bench")) not in sys.path:
        sys.path.insert(0, folder)
    import common

    return common


def load(name: str, split: int) -> Any:
    """Return a table of ../shared/data, split 0 as it comes, or the synthetic ranking that the number draws."""
    common = shared_bench()
    return _synthetic(common, split) if name == "synthetic" else common.Table(name, split or None)


def costs_of(table: Any) -> CostModel:
    found: CostModel = table.costs if hasattr(table, "costs") else CostModel.load(table.dir / "costs.toml")
    return found


def _synthetic(common: ModuleType, seed: int) -> Any:
    """Return a ranking of thousands of queries as a table; LightGBM cannot be told what a tree costs, so it is free."""
    from synthetic_ranking import make

    table = common.Table.__new__(common.Table)
    parts = {part: make(4 * seed + number, count) for number, (part, count) in enumerate(QUERIES.items())}
    table.name, table.metric, table.classes = "synthetic", "ndcg5", 0
    table.X = {part: rows.X for part, rows in parts.items()}
    table.y = {part: rows.grade for part, rows in parts.items()}
    table.q = {part: rows.qid for part, rows in parts.items()}
    prices = parts["train"].costs.features
    table.features, table.cost = [price.name for price in prices], np.array([price.cost for price in prices])
    table.needs, table.resource = np.zeros((len(prices), 0), bool), np.empty(0)
    table.costs = CostModel(prices)
    return table


def warm_up(algorithm: str = "cegb") -> None:
    """Compile, or load what was compiled."""
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((300, 4)), np.repeat(np.arange(30), 10)
    rows = {"X": X, "y": (X[:, 0] > 0).astype(int), "X_val": X, "y_val": (X[:, 0] > 0).astype(int)}
    estimator(algorithm, "classification", n_estimators=3).fit_path(**rows)
    estimator(algorithm, "ranking", n_estimators=3).fit_path(**rows, qid=qid, qid_val=qid)


def say_growth(algorithm: str, sizes: Sequence[tuple[int, int]], told: Callable[[Any], str]) -> None:
    """Print the time of a path on tables of several sizes, rows and features, and what is told of the path."""
    warm_up(algorithm)
    for n, d in sizes:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n + n // 3, d))
        y = (X[:, 0] * X[:, 1] + X[:, 2:8].sum(axis=1) + rng.standard_normal(len(X)) > 0).astype(int)
        model = estimator(algorithm, "classification", n_jobs=THREADS)
        before, busy = time.perf_counter(), time.process_time()
        path = model.fit_path(X[:n], y[:n], X_val=X[n:], y_val=y[n:])
        took = f"{time.perf_counter() - before:6.1f} s, {time.process_time() - busy:6.1f} s of processors"
        print(f"{n:7d} rows x {d:4d} features: {took}, {told(path)}", flush=True)


def _sides(table: Any, *, greedy: bool) -> list[tuple[str, list[dict[str, float]], dict[str, float]]]:
    kinds = [("LightGBM", lightgbm_points, {}), ("CEGB's path", _path, {})]
    if greedy and len(table.resource):
        kinds.append(("without looking ahead", _path, {"look_ahead": False}))
    out = []
    for side, measure, settings in kinds:
        points = measure(table, **settings)
        out.append((side, points, {key: sum(point[key] for point in points) for key in ("fit_s", "busy_s")}))
    return out


def full_cost(table: Any) -> float:
    return float(table.price(np.ones((1, len(table.features)), bool))[0])


def lightgbm_points(table: Any) -> list[dict[str, float]]:
    """Fit plain, lazy and coupled, as ../shared/bench/peers.py does."""
    import peers

    full = full_cost(table)
    asked = [("plain", 0.0, leaves) for leaves in LEAVES]
    asked += [
        (kind, float(tradeoff), leaves)
        for leaves in LEAVES
        for tradeoff in np.geomspace(1e-4, 3, TRADEOFFS) / full
        for kind in ("lazy", "coupled")
    ]
    points = []
    for kind, tradeoff, leaves in asked:
        before = time.process_time()
        point = peers.run_lgb(table, kind, tradeoff, leaves, full)
        points.append(point | {"busy_s": time.process_time() - before})  # with its predictions, a tenth of it
    return points


def fit_path(table: Any, name: str = "cegb", **asked: Any) -> tuple[Any, dict[str, float]]:
    """Fit an algorithm's path on two threads, and return it with its seconds, on the wall and of processors."""
    task = "classification" if table.classes else "ranking"
    settings: dict[str, Any] = {}
    if name == "cegb":
        settings = {"tradeoff": 0.0, "min_samples_leaf": 5 if len(table.X["train"]) <= SMALL else 20}
    model = estimator(name, task, costs=costs_of(table), n_jobs=THREADS, **settings)
    queries = {"qid": table.q["train"], "qid_val": table.q["valid"]} if table.q else {}
    before, busy = time.perf_counter(), time.process_time()
    path = model.fit_path(
        table.X["train"],
        table.y["train"],
        X_val=table.X["valid"],
        y_val=table.y["valid"],
        scoring=SCORES[table.metric],
        **queries,
        **asked,
    )
    return path, {"fit_s": time.perf_counter() - before, "busy_s": time.process_time() - busy}


def _path(table: Any, **asked: Any) -> list[dict[str, float]]:
    path, times = fit_path(table, **asked)
    points = []
    for point in path.frontier():
        predictor = path.predictor(point)
        report = predictor.cost(table.X["test"])
        test = float(table.score("test", report.predictions))
        points.append({"val": point.score, "val_cost": point.cost, "test": test, "test_cost": report.mean} | times)
        times = dict.fromkeys(times, 0.0)  # one fit for all points
    return points


def say(name: str, side: str, found: list[dict[str, Any]]) -> None:
    """Print means over splits; a budget that buys no model on some split is left out of its mean."""
    budgets = np.array([[np.nan if score is None else score for score in each["by_budget"]] for each in found])
    shown = "  ".join("  -   " if np.isnan(column).all() else f"{np.nanmean(column):.4f}" for column in budgets.T)
    means = {key: np.mean([each[key] for each in found]) for key in found[0] if key != "by_budget"}
    best = f"best {means['best_test']:.4f} @ {means['best_cost']:.2f}"
    cheap = f"within 1 % {means['within1_test']:.4f} @ {means['within1_cost']:.2f} ({means['saving']:.0%} saved)"
    times = f"{means['fit_s']:.1f} s, {means['busy_s']:.1f} s of processors"
    print(f"{name:8s} {side:26s} {shown}   {best}   {cheap}   {times}")


def compare(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """Print ratios of times, and differences at each budget with their standard errors over splits."""
    times = {key: sum(each[key] for each in ours) / sum(each[key] for each in theirs) for key in ("fit_s", "busy_s")}
    found = [
        np.array([[np.nan if s is None else s for s in each["by_budget"]] for each in side]) for side in (ours, theirs)
    ]
    gained = found[0] - found[1]
    gained = np.column_stack([gained, np.nanmean(gained, axis=1)])
    shown = []
    for column in gained.T:
        known = column[~np.isnan(column)]
        error = f" ± {known.std(ddof=1) / np.sqrt(len(known)):.4f}" if len(known) > 1 else ""
        shown.append(f"{known.mean():+.4f}{error}" if len(known) else "-")
    print(f"{'':8s} ours - LightGBM: {'  '.join(shown[:-1])}   in the mean {shown[-1]}")
    print(f"{'':8s} time ratio {times['fit_s']:.2f}, of processor time {times['busy_s']:.2f}")


if __name__ == "__main__":
    main()
