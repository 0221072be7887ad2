"""The synthetic experiment of the CSTC paper: models should buy signs first, and then one expensive feature.

Two signs at 1 each select the feature, of four at 10 each, that is the label; a perfect model pays 12 of 42 and makes
no error. Half of the seeds have the quadrants' means 3, 1, -1, -3, others have means from a normal distribution of
deviation 2.5. Tradeoffs are in units of half the squared error per cost: the paper's .01 to .08, of the whole square,
are .005 to .04 here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from costframe.report.stage_statistics import see_stages
from harness.tables import fitting_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.datasets import Dataset
    from costframe.report.stage_statistics import StageStatistics
    from harness.points import Point

MEANS, DEVIATION = (3.0, 1.0, -1.0, -3.0), 2.5
SIGNS = {"sign_x", "sign_z"}
PERFECT, NEAR, LEAST_ERROR = 12.0, 0.03, 0.01  # cost, its relative error, mean squared error
CLAIMED = (0.005, 0.01, 0.02, 0.04)


def draw_quadrants(seed: int) -> Dataset:
    """Draw 2,000 rows for each part; even seeds have drawn means."""
    means = MEANS if seed % 2 else np.random.default_rng([seed, 51]).normal(0, DEVIATION, 4).tolist()
    return cf.datasets.make_quadrants(means=means, random_state=seed)


def fit_quadrants(data: Dataset, tradeoff: float, recipe: str | None) -> Any:
    """Fit a tree of three levels to the columns."""
    settings = {"bank": "columns", "depth": 3, "recipe": recipe, "n_jobs": 1}
    model = cf.estimator("cstc", "regression", costs=data.costs, tradeoff=tradeoff, **settings)
    return model.fit(**fitting_rows(data))


def measure_quadrants(data: Dataset, tree: cf.StageTree) -> Point:
    """Return mean squared error and cost of test rows, whether both are perfect, and whether signs come first."""
    test = data.part("test")
    report = cf.ExpectedCost(data.costs).evaluate(tree, test.X, n_jobs=1)
    error = float(np.mean((report.predictions - test.y) ** 2))
    seen = see_stages(tree, data.costs.select(tree.feature_names), test.X, n_jobs=1)
    perfect = error < LEAST_ERROR and abs(report.mean / PERFECT - 1) <= NEAR
    return {"error": error, "cost": report.mean, "perfect": perfect, "ordered": _in_order(tree, seen, data)}


def _in_order(tree: cf.StageTree, seen: Sequence[StageStatistics], data: Dataset) -> bool:
    """Tell whether every path buys both signs, and one feature that is the label there at its last stage."""
    test, before = data.part("test"), {0: frozenset[str]()}
    for at, stage in enumerate(tree.stages):
        rows = seen[at].rows
        if rows is None or not len(rows):
            continue
        fresh = frozenset(one.name for one in seen[at].acquired)
        if isinstance(stage, cf.Route):
            if fresh - SIGNS:
                return False
            before |= dict.fromkeys((stage.below, stage.above), before[at] | fresh)
            continue
        dear = fresh - SIGNS
        if len(dear) != 1 or before[at] | fresh != SIGNS | dear:
            return False
        if (test.X[rows, data.feature_names.index(*dear)] != test.y[rows]).any():
            return False
    return True
