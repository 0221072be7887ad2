"""Fits that experiments share: paths of models, boosted trees as they are added, and the unit of tradeoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from harness.points import measure, prefix
from harness.tables import fitting_rows

if TYPE_CHECKING:
    from costframe.datasets import Dataset
    from harness.points import Point

PREFIXES = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 80, 100)  # trees, in per cent


def constant_loss(data: Dataset) -> float:
    """Return the training loss of the best constant: the entropy of classes, or half the variance of numbers."""
    labels = data.part("train").y
    if not data.classes:
        return float(np.var(labels) / 2)
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-share @ np.log(share))


def tradeoffs(data: Dataset, most: float, least: float, count: int, *, cost: float | None = None) -> list[float]:
    """Return a geometric row, in units of the constant's loss per cost of all features, or per the cost given."""
    unit = constant_loss(data) / (data.full_cost if cost is None else cost)
    return (np.geomspace(most, least, count) * unit).tolist()


def path_points(data: Dataset, algorithm: str, score: str, settings: dict[str, Any], **given: Any) -> list[Point]:
    """Fit a path and measure its points; `settings` are the estimator's, `given` those of `fit_path`."""
    settings = {"costs": data.costs, "tradeoff": 0.0, "n_jobs": 1} | settings
    model: Any = cf.estimator(algorithm, data.task, **settings)
    path = model.fit_path(**fitting_rows(data), scoring=score, **given)
    return [measure(data, path.predictor(point), score) for point in path.frontier()]


def fit_on_train(data: Dataset, algorithm: str, tradeoff: float, **settings: Any) -> cf.StageTree:
    """Fit boosted trees to the training rows alone."""
    rows = {key: value for key, value in fitting_rows(data).items() if not key.endswith("_val")}
    settings = {"costs": data.costs, "tradeoff": tradeoff, "n_jobs": 1} | settings
    fitted: cf.StageTree = cf.estimator(algorithm, data.task, **settings).fit(**rows).predictor_
    return fitted


def prefix_points(data: Dataset, whole: cf.StageTree, score: str, **noted: Any) -> list[Point]:
    """Measure the models that the first trees make, the constant first."""
    counts = dict.fromkeys(len(whole.bank) * share // 100 for share in PREFIXES)
    return [measure(data, prefix(whole, count), score, **noted) for count in counts]
