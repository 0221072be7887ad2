"""Costs and rounds by replaying rows one by one: slow, and true of any predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.report import Charges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.costs import CostModel
    from costframe.core.inquiry import Prediction
    from costframe.core.predictor import Predictor
    from costframe.core.price_arrays import PriceArrays

__all__ = ["replay", "replay_charges", "replay_rounds"]


def replay(predictor: Predictor, row: NDArray[np.float64], costs: CostModel, acquisition: str) -> Prediction:
    """Predict one row, float64 (d,), by an inquiry."""
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    inquiry = predictor.inquire(costs, acquisition)
    while needs := inquiry.needs:
        inquiry.supply({name: float(row[column[name]]) for name in needs})
    return inquiry.answer


def replay_rounds(
    predictor: Predictor, X: NDArray[np.float64], costs: CostModel, acquisition: str
) -> NDArray[np.int64]:
    """int64 (rows,): trips to the sources that each row takes."""
    return np.array([replay(predictor, row, costs, acquisition).rounds for row in X], np.int64)


def replay_charges(
    predictor: Predictor,
    X: NDArray[np.float64],
    costs: CostModel,
    prices: PriceArrays,
    weight: NDArray[np.float64],
    acquisition: str,
) -> Charges:
    """Charge rows of a predictor that can only be stepped; it is one stage, and prices acquisition alone."""
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    acquired = np.zeros((len(X), len(column)), np.bool_)
    cost, values = np.zeros(len(X)), []
    for i, row in enumerate(X):
        end = replay(predictor, row, costs, acquisition)
        acquired[i, [column[name] for name in end.acquired]] = True
        cost[i] = end.cost
        values.append(np.atleast_1d(end.value))
    resources = acquired @ prices.needs
    none = np.zeros(len(X))
    return Charges(
        acquired,
        cost,
        none,
        none,
        none,
        weight @ acquired,
        weight @ resources,
        np.array([float(weight.sum())]),
        np.array(values) if values else np.empty((0, 1)),
    )
