"""Costframe's algorithms by name, LightGBM, and the planner's prototype: points of cost and score on one table.

A point is {"val", "val_cost", "test", "test_cost"}: the side's own estimates, by which it is chosen, and the score and
exact cost on test.
"""

from __future__ import annotations

import os
import pickle
import runpy
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve
from cegb_frontier import SCORES, SHARED, SMALL, costs_of, lightgbm_points
from peers_catboost import catboost_points
from peers_gdfs import gdfs_points

import costframe as cf
from costframe.frontier.paths import has_path
from costframe.frontier.sweep import fit_all, trials
from costframe.frontier.trial import silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from costframe.frontier.trial import Fitted

POINTS = 42  # of a path; LightGBM has as many models
LEAVES = ("cegb", "miser")  # algorithms that are told how small leaves may be, as LightGBM is


def task_of(table: Any) -> str:
    return "classification" if table.classes else "ranking"


def installed(table: Any) -> list[str]:
    """Return the names of all installed algorithms that have the table's task and take as many classes."""
    names = []
    for name, one in cf.algorithms().items():
        kind = one.classifier if table.classes else one.ranker
        if kind is None:
            continue
        tags = kind().__sklearn_tags__().classifier_tags
        if tags is None or tags.multi_class or table.classes <= 2:
            names.append(name)
    return names


def fitted(data: Any, split: int, name: str, score: str, keep: Path | None) -> list[Fitted]:
    """Fit an algorithm as `costframe compare` does, and measure its points; or read what was kept, without models."""
    kept = None if keep is None else keep / f"{data.name}-{split}-{name}.pickle"
    if kept is not None and kept.exists():
        return list(pickle.loads(kept.read_bytes()))  # noqa: S301 - our own file
    given: dict[str, Any] = {"n_jobs": 2}
    if name in LEAVES:
        given["min_samples_leaf"] = 5 if len(data.part("train").y) <= SMALL else 20
    trial = trials(data, score, None, given)(name)
    found = fit_all(trial, None, POINTS if has_path(trial) else None, None, silent)
    found = [evolve(each, model=None) for each in found]
    if kept is not None:
        kept.write_bytes(pickle.dumps(found))
    return found


def algorithm_points(table: Any, split: int, name: str, keep: Path | None) -> list[dict[str, float]]:
    """Return the points of an algorithm's path, or of its sweep if it has none."""
    points = [each.point for each in fitted(as_dataset(table), split, name, SCORES[table.metric], keep)]
    return [
        {"val": one.score, "val_cost": one.cost, "test": one.test_score, "test_cost": one.test_cost} for one in points
    ]


def as_dataset(table: Any) -> Any:
    """Return the table's rows, parts and prices as a data set of costframe."""
    parts = ("train", "valid", "test")
    return cf.datasets.Dataset.from_arrays(
        np.concatenate([table.X[part] for part in parts]),
        np.concatenate([table.y[part] for part in parts]),
        costs_of(table),
        feature_names=table.features,
        split=np.repeat(parts, [len(table.y[part]) for part in parts]),
        qid=np.concatenate([table.q[part] for part in parts]) if table.q else None,
        task=task_of(table),
        name=table.name,
    )


def constant_point(table: Any) -> dict[str, float]:
    """Return the model that buys nothing and answers all rows alike; every side has it."""
    y = table.y["train"]
    share = np.bincount(np.searchsorted(np.unique(y), y)) / len(y)
    point = {}
    for part, key in (("valid", "val"), ("test", "test")):
        answers = np.tile(share, (len(table.y[part]), 1))
        point |= {key: float(table.score(part, answers if table.classes > 2 else answers[:, -1])), f"{key}_cost": 0.0}
    return point


def prototype_points(table: Any, split: int) -> list[dict[str, float]]:
    """Run ../shared/bench/planner_prototype.py on a table of classes and return its points."""
    if not table.classes:
        raise LookupError("the prototype is for classes")
    before, os.environ["NOREF"] = sys.argv, "1"
    sys.argv = ["planner_prototype.py", table.name, *([str(split)] if split else [])]
    try:
        return runpy.run_path(str(SHARED / "bench" / "planner_prototype.py"))["points"]
    finally:
        sys.argv = before
        del os.environ["NOREF"]


PEERS: dict[str, Callable[[Any, int], list[dict[str, float]]]] = {
    "LightGBM": lambda table, _split: lightgbm_points(table),
    "CatBoost": lambda table, _split: catboost_points(table),
    "GDFS": lambda table, _split: gdfs_points(table),
    "prototype": prototype_points,
}


def measure(side: str, table: Any, split: int, keep: Path | None) -> list[dict[str, float]]:
    """Return the points of a peer, or of an algorithm of costframe; split is the seed of the table's parts."""
    return PEERS[side](table, split) if side in PEERS else algorithm_points(table, split, side, keep)
