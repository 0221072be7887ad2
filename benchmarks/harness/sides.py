"""Needs ../shared: costframe's algorithms and the peers beside them, each as points of cost and score on one table.

LightGBM's side has 42 fits: plain, and ten strengths of its lazy and coupled penalties, at two sizes of trees; it is
../shared/bench/peers.py. CatBoost has as many, see catboost_points.py, and GDFS one network, see gdfs_points.py. The
prototype is ../shared/bench/planner_prototype.py. "CEGB's path" has all points of one, by their scores on valid alone;
"no look-ahead" is the same without looking ahead for resources.
"""

from __future__ import annotations

import functools
import os
import pickle
import runpy
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

import costframe as cf
from costframe.frontier.paths import has_path
from costframe.frontier.tradeoffs import fit_all
from costframe.frontier.trial import silent, trial_maker
from harness.catboost_points import catboost_points
from harness.gdfs_points import gdfs_points
from harness.points import measure
from harness.tables import SCORES, SHARED, fitting_rows, load, load_table, shared_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from costframe.datasets import Dataset
    from costframe.frontier.trial import Fitted
    from harness.points import Point

POINTS = 42  # of a path; LightGBM has as many models
SMALL = 2000  # rows; below it LightGBM has smaller leaves, and so have the algorithms that are told
SMALLER_LEAVES = ("cegb", "miser")
TRADEOFFS, LEAVES = 10, (8, 31)


def fit_algorithm(data: Dataset, split: int, name: str, keep: Path | None) -> list[Fitted]:
    """Fit an algorithm as `costframe compare` does, and measure its points; or read what was kept, without models."""
    kept = None if keep is None else keep / f"{data.name}-{split}-{name}.pickle"
    if kept is not None and kept.exists():
        return list(pickle.loads(kept.read_bytes()))  # noqa: S301 - our own file
    settings: dict[str, Any] = {"n_jobs": 2}
    if name in SMALLER_LEAVES:
        settings["min_samples_leaf"] = least_leaf(data)
    trial = trial_maker(data, SCORES[data.name], None, settings)(name)
    found = fit_all(trial, None, POINTS if has_path(trial) else None, None, silent)
    found = [evolve(each, model=None) for each in found]
    if kept is not None:
        kept.write_bytes(pickle.dumps(found))
    return found


def least_leaf(data: Dataset) -> int:
    """Return how few rows a leaf may have, as LightGBM's side does."""
    return 5 if len(data.part("train")) <= SMALL else 20


def algorithm_points(name: str, table: str, split: int, keep: Path | None) -> list[Point]:
    """Return the points of an algorithm's path, or of its sweep if it has none."""
    points = [each.point for each in fit_algorithm(load(table, split), split, name, keep)]
    return [
        {"val": one.score, "val_cost": one.cost, "test": one.test_score, "test_cost": one.test_cost} for one in points
    ]


def lightgbm_points(name: str, split: int) -> list[Point]:
    """Fit plain, lazy and coupled, as ../shared/bench/peers.py does."""
    table, peers = load_table(name, split), shared_module("peers")
    full = table.costs.full_cost(table.features)
    points = []
    for leaves in LEAVES:
        points.append(peers.run_lgb(table, "plain", 0.0, leaves, full))
        for tradeoff in np.geomspace(1e-4, 3, TRADEOFFS) / full:
            points += [peers.run_lgb(table, kind, float(tradeoff), leaves, full) for kind in ("lazy", "coupled")]
    return points


def prototype_points(name: str, split: int) -> list[Point]:
    """Run ../shared/bench/planner_prototype.py on a table of classes and return its points."""
    if name == "synthetic" or not load_table(name, split).classes:
        raise LookupError("the prototype is for classes, on stored tables")
    before, os.environ["NOREF"] = sys.argv, "1"
    sys.argv = ["planner_prototype.py", name, *([str(split)] if split else [])]
    try:
        points: list[Point] = runpy.run_path(str(SHARED / "bench" / "planner_prototype.py"))["points"]
        return points
    finally:
        sys.argv = before
        del os.environ["NOREF"]


def path_points(name: str, split: int, *, look_ahead: bool = True) -> list[Point]:
    """Fit CEGB's path, and measure all its points."""
    data = load(name, split)
    settings = {"costs": data.costs, "min_samples_leaf": least_leaf(data), "n_jobs": 2}
    model: Any = cf.estimator("cegb", data.task, tradeoff=0.0, **settings)
    path = model.fit_path(**fitting_rows(data), scoring=SCORES[name], look_ahead=look_ahead)
    return [measure(data, path.predictor(point), SCORES[name]) for point in path.frontier()]


PEERS: dict[str, Callable[[str, int], list[Point]]] = {
    "LightGBM": lightgbm_points,
    "CatBoost": lambda name, split: catboost_points(load_table(name, split)),
    "GDFS": lambda name, split: gdfs_points(load_table(name, split)),
    "prototype": prototype_points,
    "CEGB's path": path_points,
    "no look-ahead": functools.partial(path_points, look_ahead=False),
}
USUAL = tuple(PEERS)[:4]


def points_of(side: str, table: str, split: int, keep: Path | None) -> list[Point]:
    """Return the points of a peer, or of an algorithm of costframe; split is the seed of the table's parts."""
    return PEERS[side](table, split) if side in PEERS else algorithm_points(side, table, split, keep)
