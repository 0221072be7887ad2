"""The planner's times: its fit, beside LightGBM's 42; its predictions, beside one LightGBM model; its inquiries.

    python benchmarks/planner.py [heart nhanes ...] [--growth]

Tables are those of ../shared/data. A fit is `fit_path` on train and valid, on two threads, on the wall and of
processors; LightGBM's are those of cegb_frontier.py. Predictions are those of the cheapest point within 1 % of the best
score, on 100,000 rows, beside LightGBM's plain model cut at the first round whose score on valid is the point's. An
inquiry is all that costframe does for a row: begin, ask until there is an answer, read it. `--growth` says how the
time of a fit grows with rows and with features.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from cegb_frontier import THREADS, fit_path, lightgbm_points, say_growth, shared_bench, warm_up
from lightgbm_peer import train
from timing import ratio

ROWS, ASKED = 100_000, 300
ROUNDS = 300
SIZES = (2_000, 20), (8_000, 20), (32_000, 20), (2_000, 80), (2_000, 400), (2_000, 2_000)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("tables", nargs="*")
    given.add_argument("--growth", action="store_true")
    asked = given.parse_args()
    if asked.growth:
        say_growth("planner", SIZES, lambda path: f"{len(path.trained.models)} sets")
        return
    common = shared_bench()
    warm_up("planner")
    for name in asked.tables or common.OPEN:
        table = common.Table(name)
        path = _fit(table)
        if table.classes:
            best = max(point.score for point in path.points)
            point = min((point for point in path.points if point.score >= 0.99 * best), key=lambda point: point.cost)
            predictor = path.predictor(point)
            _predict(table, predictor, point.score)
            _inquire(table, predictor)


def _fit(table: Any) -> Any:
    """Fit both sides, print times and their ratios, and return the planner's path."""
    path, times = fit_path(table, "planner")
    wall, busy = times["fit_s"], times["busy_s"]
    points = lightgbm_points(table)
    theirs = {key: sum(point[key] for point in points) for key in ("fit_s", "busy_s")}
    print(
        f"{table.name:8s} fit {wall:6.1f} s, {busy:6.1f} s of processors; LightGBM's {len(points)} "
        f"{theirs['fit_s']:6.1f} s, {theirs['busy_s']:6.1f} s: ratios {wall / theirs['fit_s']:.2f}, "
        f"{busy / theirs['busy_s']:.2f}   (goal: <= 0.5 of processor time)",
        flush=True,
    )
    return path


def _predict(table: Any, predictor: Any, score: float) -> None:
    """Compare predictions of many rows with those of a LightGBM model of the same score, or of its best."""
    objective = (
        {"objective": "binary"} if table.classes == 2 else {"objective": "multiclass", "num_class": table.classes}
    )
    booster = train(table.X["train"], table.y["train"], ROUNDS, learning_rate=0.1, **objective)
    ends = range(10, ROUNDS + 1, 10)
    reached = [table.score("valid", booster.predict(table.X["valid"], num_iteration=end)) for end in ends]
    rounds = next(
        (end for end, each in zip(ends, reached, strict=True) if each >= score), ends[int(np.argmax(reached))]
    )
    X = np.resize(table.X["test"], (ROWS, len(table.features)))
    ratio(
        f"{table.name}: predict {ROWS} rows / {rounds} rounds of LightGBM",
        lambda: predictor.predict(X, n_jobs=THREADS),
        lambda: booster.predict(X, num_iteration=rounds, num_threads=THREADS),
        goal="<= 1",
    )


def _inquire(table: Any, predictor: Any) -> None:
    """Print the time that an inquiry takes, all trips together."""
    rows = [dict(zip(predictor.feature_names, row, strict=True)) for row in table.X["test"][:ASKED].tolist()]
    times, trips = [], []
    for row in [rows[0], *rows]:  # the first may compile
        before, inquiry = time.process_time(), predictor.inquire()
        while needs := inquiry.needs:
            inquiry.supply({name: row[name] for name in needs})
        trips.append(inquiry.answer.rounds)
        times.append(time.process_time() - before)
    shown = f"median {1e6 * statistics.median(times[1:]):.0f} us, {statistics.mean(trips[1:]):.1f} trips"
    print(f"{table.name}: inquiry of a row {shown}   (goal: < 200 us)\n", flush=True)


if __name__ == "__main__":
    main()
