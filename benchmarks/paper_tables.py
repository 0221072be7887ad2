"""The tables of ../shared/data, split as they come or anew by seed."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from costframe.core.plugins.registry import registry
from costframe.core.prices.costs import CostModel, FeaturePrice
from costframe.datasets import read_table
from costframe.frontier.sweep import grid

if TYPE_CHECKING:
    from costframe.datasets import Dataset

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
SCORES = {
    "heart": "roc_auc",
    "sat12": "accuracy",
    "thyroid": "accuracy",
    "letter": "accuracy",
    "mslr": "ndcg@5",
    "nhanes": "roc_auc",
    "cover": "average_precision",
}
SPLITS = {"heart": 5, "sat12": 5, "thyroid": 3, "letter": 2, "mslr": 2, "nhanes": 2, "cover": 2}
COMPARISON = 1 / 4000  # of the cost of all features: a tree's four comparisons cost a thousandth of it


@functools.lru_cache(maxsize=2)
def load(name: str, split: int) -> Dataset:
    """Read a table; split 0 is its own, others are drawn by seed with parts of the same sizes, queries whole."""
    data = read_table(FOLDER / name / "data.parquet", "label", FOLDER / name / "costs.toml")
    if split == 0:
        return data
    random = np.random.default_rng([split, 2017])
    if data.qid is None:
        return attrs.evolve(data, split=random.permutation(data.split))
    _, first, query = np.unique(data.qid, return_index=True, return_inverse=True)
    return attrs.evolve(data, split=random.permutation(data.split[first])[query])


def costs_for(data: Dataset, kind: str) -> CostModel:
    """Return the table's prices ("true"), with a price of comparisons too, or all equal and without resources."""
    if kind == "equal":
        mean = data.full_cost / len(data.feature_names)
        return CostModel(tuple(FeaturePrice(name, mean) for name in data.feature_names), unit=data.costs.unit)
    if kind == "comparisons":
        return attrs.evolve(data.costs, split=COMPARISON * data.full_cost)
    return data.costs


def prices_alone(costs: CostModel) -> np.ndarray:
    """Return what each feature costs alone, with all that it needs: float64 (d,)."""
    prices = costs.select(costs.names)
    return np.asarray(prices.cost + prices.needs @ prices.resource_cost)


def equally_priced(data: Dataset) -> bool:
    """Whether all features cost the same, so that there is nothing to learn from prices."""
    return not data.costs.resources and len({feature.cost for feature in data.costs.features}) == 1


def tradeoffs(data: Dataset, count: int) -> list[float]:
    """Return 0 and a geometric grid, from where prices hardly count to where little is bought."""
    loss = np.log(2)
    if data.classes:
        share = np.unique(data.part("train").y, return_counts=True)[1] / len(data.part("train"))
        loss = -(share @ np.log(share))
    each = prices_alone(data.costs)
    return [0.0, *grid(data.full_cost, float(each[each > 0].min()), float(loss), count).tolist()]


def missing_algorithm(task: str) -> str | None:
    """Name an algorithm that the comparison needs and that does not have the task."""
    kind = {"classification": "classifier", "regression": "regressor", "ranking": "ranker"}[task]
    return next((name for name in ("cegb", "miser") if getattr(registry().algorithm(name), kind) is None), None)
