"""Costs and rounds from inquiries, row by row: slow, and valid for any predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.report import Charges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.prices.costs import CostModel

__all__ = ["replay", "replay_charges", "replay_rounds"]


def replay(predictor: Predictor, row: NDArray[np.float64], costs: CostModel, how: ExpectedCost) -> Prediction:
    """Predict one row, float64 (d,), with an inquiry."""
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    inquiry = predictor.inquire(costs, how.acquisition, max_cost=how.max_cost, unavailable=how.unavailable)
    while needs := inquiry.needs:
        inquiry.supply({name: float(row[column[name]]) for name in needs})
    return inquiry.answer


def replay_rounds(
    predictor: Predictor, X: NDArray[np.float64], costs: CostModel, how: ExpectedCost
) -> NDArray[np.int64]:
    """Return the number of trips to the sources for each row: int64 (rows,)."""
    return np.array([replay(predictor, row, costs, how).rounds for row in X], np.int64)


def replay_charges(
    predictor: Predictor, X: NDArray[np.float64], costs: CostModel, weight: NDArray[np.float64], how: ExpectedCost
) -> Charges:
    """Charge rows of a predictor that can only be stepped, as one stage, for acquisition only."""
    prices = costs.select(predictor.feature_names)
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    acquired, cut = np.zeros((len(X), len(column)), np.bool_), np.zeros(len(X), np.bool_)
    cost, values = np.zeros(len(X)), []
    for i, row in enumerate(X):
        end = replay(predictor, row, costs, how)
        cut[i] = end.reason != "complete"
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
        cut if how.limited else None,
    )
