"""Tables, split as they come or anew by seed; needs ../shared for all but "breast-cancer"."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads of a peer would slow the other side's turn

import attrs
import numpy as np

import costframe as cf
from costframe.datasets.splits import split_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import ModuleType

    from costframe.datasets import Dataset

SHARED = Path(__file__).resolve().parents[3] / "shared"
SCORES = {
    "letter": "accuracy",
    "thyroid": "accuracy",
    "heart": "roc_auc",
    "nhanes": "roc_auc",
    "cover": "average_precision",
    "mslr": "ndcg@5",
    "sat12": "accuracy",
    "synthetic": "ndcg@5",
    "breast-cancer": "roc_auc",
}
STORED = tuple(SCORES)[:7]  # in ../shared/data
QUERIES = {"train": 1500, "valid": 500, "test": 1500}  # of the synthetic ranking
OUTPUT: dict[str, Any] = {"type": Path, "default": Path(__file__).parents[1] / "figures", "help": "folder for pictures"}


def require_shared() -> None:
    """End with a message where there is no ../shared."""
    if not SHARED.is_dir():
        sys.exit(f"this reads tables and peers from the folder {SHARED.name} beside the project, which is not there")


def shared_module(name: str) -> ModuleType:
    """Import a module of ../shared/bench, or end with a message where there is none."""
    require_shared()
    if (folder := str(SHARED / "bench")) not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


@functools.lru_cache(maxsize=2)
def load_table(name: str, split: int) -> Any:
    """Return a table as peers read it (../shared/bench/common.py), with its prices as `costs`.

    Split 0 is a stored table's own, others are drawn by seed; a synthetic ranking is drawn anew for each.
    """
    kind = shared_module("common").Table
    if name == "synthetic":
        return _draw_ranking(kind.__new__(kind), split)
    table = kind(name, split or None)
    table.costs = cf.CostModel.load(table.dir / "costs.toml")
    return table


def _draw_ranking(table: Any, seed: int) -> Any:
    """Fill in a ranking of thousands of queries; LightGBM knows no price of a tree, so trees are free."""
    from harness.synthetic_ranking import draw_ranking

    parts = {part: draw_ranking(4 * seed + at, count) for at, (part, count) in enumerate(QUERIES.items())}
    table.name, table.metric, table.classes = "synthetic", "ndcg5", 0
    table.X = {part: rows.X for part, rows in parts.items()}
    table.y = {part: rows.grade for part, rows in parts.items()}
    table.q = {part: rows.qid for part, rows in parts.items()}
    prices = parts["train"].costs.features
    table.features, table.cost = [price.name for price in prices], np.array([price.cost for price in prices])
    table.needs, table.resource = np.zeros((len(prices), 0), bool), np.empty(0)
    table.costs = cf.CostModel(prices)
    return table


def as_dataset(table: Any) -> Dataset:
    """Return a table's rows, parts and prices as a data set of costframe."""
    parts = ("train", "valid", "test")
    return cf.datasets.Dataset.from_arrays(
        np.concatenate([table.X[part] for part in parts]),
        np.concatenate([table.y[part] for part in parts]),
        table.costs,
        feature_names=table.features,
        split=np.repeat(parts, [len(table.y[part]) for part in parts]),
        qid=np.concatenate([table.q[part] for part in parts]) if table.q else None,
        task="classification" if table.classes else "ranking",
        name=table.name,
    )


@functools.lru_cache(maxsize=2)
def load(name: str, split: int) -> Dataset:
    """Return a table as a data set, with its own split (0), or one that the number draws."""
    if name != "breast-cancer":
        return as_dataset(load_table(name, split))
    data = cf.datasets.load(name)
    return attrs.evolve(data, split=split_rows(data.y, None, len(data.y), split)[0]) if split else data


def fitting_rows(data: Dataset) -> dict[str, Any]:
    """Return what `fit` and `fit_path` are given by name: training rows, validation rows, queries."""
    train, valid = data.part("train"), data.part("valid")
    rows = {"X": train.X, "y": train.y, "X_val": valid.X, "y_val": valid.y}
    return rows if train.qid is None else rows | {"qid": train.qid, "qid_val": valid.qid}


def single_prices(costs: cf.CostModel) -> np.ndarray:
    """Return what each feature costs alone, with all that it needs: float64 (d,)."""
    prices = costs.select(costs.names)
    return np.asarray(prices.cost + prices.needs @ prices.resource_cost)


def options(
    doc: str | None,
    tables: Sequence[str] = (),
    *,
    known: Collection[str] = SCORES,
    free: Collection[str] = ("breast-cancer",),
    **flags: dict[str, Any],
) -> argparse.Namespace:
    """Parse the names of tables, all of `tables` by default, and flags by name; make the folder for output.

    All tables but those of `free` need ../shared.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if tables:
        parser.add_argument("tables", nargs="*", help=f"by default {' '.join(tables)}")
    for name, settings in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    chosen = parser.parse_args()
    if tables:
        chosen.tables = chosen.tables or list(tables)
        if unknown := [name for name in chosen.tables if name not in known]:
            parser.error(f"no table {unknown[0]!r}, there are {', '.join(known)}")
        if set(chosen.tables) - set(free):
            require_shared()
    if "output" in flags:
        chosen.output.mkdir(parents=True, exist_ok=True)
    return chosen
