"""Fits at a grid of tradeoffs, whose scale follows from losses and prices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.study.fitted import Fitted
from costframe.study.progress import Progress
from costframe.study.rows import StudyRows
from costframe.study.trial import Trial, fit_at

APART = 1.3  # and between tradeoffs of a larger one, there is room for another


def fit_grid(trial: Trial, points: int, progress: Progress) -> list[Fitted]:
    """Fit at 0 and at a grid whose scale follows from the fit at 0.

    If the upper end of the grid gives constants only, these fits go between costs that differ most.
    """
    plain = fit_at(trial, 0.0, progress, 0, points)
    fits, model = [plain], plain.estimator
    for tradeoff in grid(*_cost_scales(model, plain.point.cost), _loss_of_constant(model, trial.train), points - 1):
        fits.append(fit_at(trial, float(tradeoff), progress, len(fits), points))
        if fits[-1].point.n_features == 0:  # all larger tradeoffs give constants too
            return fill(trial, fits, points, progress)
    return fits


def grid(cost: float, cheapest: float, loss: float, points: int) -> F8:
    """Return ascending tradeoffs, geometric, in units of loss / cost.

    Prices have no effect far below loss / cost, with the price of all features for one row, and the loss of the best
    constant, the largest possible gain. Models buy nothing near loss / cheapest, the least price above zero.
    """
    if not (cost > 0 and loss > 0):
        return np.empty(0)
    top = min(max(0.3 * cost / cheapest, 1.0), 30.0)
    return np.geomspace(1e-3, top, points) * (loss / cost)


def _cost_scales(model: Any, paid: float) -> tuple[float, float]:
    """Return the price of all features and of the cheapest one; if features are free, the cost of evaluation."""
    names = model.predictor_.feature_names
    prices = model.costs_.select(names).alone
    full = max(model.costs_.full_cost(names), paid)
    return full, float(min(prices[prices > 0], default=full / 10))


def _loss_of_constant(model: Any, rows: StudyRows) -> float:
    """Return the mean loss of the best constant: the entropy of the classes, or half the variance."""
    y = rows.codes(model)
    weight = np.ones(len(y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    if getattr(model, "classes_", None) is None:
        mean = np.average(y, weights=weight)
        return 0.5 * float(np.average((y - mean) ** 2, weights=weight))
    share = np.bincount(y, weights=weight) / weight.sum()
    return float(-np.sum(share[share > 0] * np.log(share[share > 0])))


def fill(trial: Trial, fits: Sequence[Fitted], points: int, progress: Progress) -> list[Fitted]:
    """Fit until there are `points`, each time between the neighboring tradeoffs whose costs on valid differ most."""
    ascending = sorted(fits, key=lambda fitted: fitted.point.tradeoff)
    while len(ascending) < points:
        gaps = [
            (abs(a.point.cost - b.point.cost), place)
            for place, (a, b) in enumerate(itertools.pairwise(ascending))
            if b.point.tradeoff > APART * a.point.tradeoff > 0
        ]
        if not gaps:
            break
        place = max(gaps)[1]
        middle = math.sqrt(ascending[place].point.tradeoff * ascending[place + 1].point.tradeoff)
        ascending.insert(place + 1, fit_at(trial, middle, progress, len(ascending), points))
    return ascending
