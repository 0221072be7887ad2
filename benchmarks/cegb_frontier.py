"""CEGB's path against LightGBM's best of lazy and coupled penalties: test score at each budget, both in one run.

    python benchmarks/cegb_frontier.py [heart thyroid ...] [--splits 3] [--greedy]

Tables and figures are those of ../shared/bench: models are chosen on valid, scored on test, costed row by row with
resources; split 0 is the table's own, others are drawn by seed. LightGBM has its 42 fits, CEGB one `fit_path`;
`--greedy` adds a path that does not look ahead for resources.
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

from costframe.core.costs import CostModel
from costframe.core.registry import estimator

if TYPE_CHECKING:
    from types import ModuleType

SHARED = Path(__file__).resolve().parents[2] / "shared"
SCORES = {"acc": "accuracy", "auc": "roc_auc", "ap": "average_precision", "ndcg5": "ndcg@5"}
SMALL = 2000  # rows; below it LightGBM's side takes smaller leaves, and so do we
TRADEOFFS, LEAVES = 10, (8, 31)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("tables", nargs="*")
    given.add_argument("--splits", type=int, default=1)
    given.add_argument("--greedy", action="store_true")
    asked = given.parse_args()
    common = shared_bench()
    print("budgets:", "  ".join(f"{share:.0%}" for share in common.BUDGETS), "of the cost of all features\n")
    for name in asked.tables or common.OPEN:
        sides: dict[str, list[dict[str, Any]]] = {}
        for split in range(asked.splits):
            table = common.Table(name, split or None)
            for side, points, seconds in _sides(table, greedy=asked.greedy):
                found = common.figures(points, full_cost(table)) | {"seconds": seconds}
                sides.setdefault(side, []).append(found)
        for side, found in sides.items():
            say(name, side, found)
        print(flush=True)


def shared_bench() -> ModuleType:
    """Return the module that says what the figures are."""
    if not SHARED.exists():
        sys.exit(f"the tables are read from {SHARED.name}/ beside the project, which is not there")
    if (folder := str(SHARED / "bench")) not in sys.path:
        sys.path.insert(0, folder)
    import common

    return common


def _sides(table: Any, *, greedy: bool) -> list[tuple[str, list[dict[str, float]], float]]:
    kinds = [("LightGBM", lightgbm_points, {}), ("CEGB's path", _path, {})]
    if greedy and len(table.resource):
        kinds.append(("without looking ahead", _path, {"look_ahead": False}))
    out = []
    for side, measure, settings in kinds:
        begun = time.perf_counter()
        out.append((side, measure(table, **settings), time.perf_counter() - begun))
    return out


def full_cost(table: Any) -> float:
    return float(table.price(np.ones((1, len(table.features)), bool))[0])


def lightgbm_points(table: Any) -> list[dict[str, float]]:
    """Fit plain, lazy and coupled, as ../shared/bench/peers.py does."""
    import peers

    full, points = full_cost(table), []
    for leaves in LEAVES:
        points.append(peers.run_lgb(table, "plain", 0, leaves, full))
        for tradeoff in np.geomspace(1e-4, 3, TRADEOFFS) / full:
            points += [peers.run_lgb(table, kind, float(tradeoff), leaves, full) for kind in ("lazy", "coupled")]
    return points


def _path(table: Any, **asked: Any) -> list[dict[str, float]]:
    costs = CostModel.load(table.dir / "costs.toml")
    task = "classification" if table.classes else "ranking"
    rows = 5 if len(table.X["train"]) <= SMALL else 20
    model = estimator("cegb", task, costs=costs, tradeoff=0.0, min_samples_leaf=rows, n_jobs=2)
    queries = {"qid": table.q["train"], "qid_val": table.q["valid"]} if table.q else {}
    path = model.fit_path(
        table.X["train"],
        table.y["train"],
        X_val=table.X["valid"],
        y_val=table.y["valid"],
        scoring=SCORES[table.metric],
        **queries,
        **asked,
    )
    points = []
    for point in path.frontier():
        predictor = path.predictor(point)
        report = predictor.cost(table.X["test"])
        test = float(table.score("test", report.predictions))
        points.append({"val": point.score, "val_cost": point.cost, "test": test, "test_cost": report.mean})
    return points


def say(name: str, side: str, found: list[dict[str, Any]]) -> None:
    """Print means over splits; a budget that buys no model on some split is left out of its mean."""
    budgets = np.array([[np.nan if score is None else score for score in each["by_budget"]] for each in found])
    shown = "  ".join("  -   " if np.isnan(column).all() else f"{np.nanmean(column):.4f}" for column in budgets.T)
    means = {key: np.mean([each[key] for each in found]) for key in found[0] if key != "by_budget"}
    best = f"best {means['best_test']:.4f} @ {means['best_cost']:.2f}"
    cheap = f"within 1 % {means['within1_test']:.4f} @ {means['within1_cost']:.2f} ({means['saving']:.0%} saved)"
    print(f"{name:8s} {side:26s} {shown}   {best}   {cheap}   {means['seconds']:.0f} s")


if __name__ == "__main__":
    main()
