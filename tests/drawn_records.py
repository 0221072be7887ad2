"""Drawn records whose truth is known: who was tested is decided by columns, by the label, or by the value."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from scipy.special import expit

import costframe as cf

NAMES = ("a0", "a1", "b0", "b1")
TESTS = [2, 3]
PRICES: dict[str, Any] = {
    "features": {
        "a0": 0.0,
        "a1": 0.0,
        "b0": {"cost": 1.0, "needs": ["blood"]},
        "b1": {"cost": 1.0, "needs": ["blood"]},
    },
    "resources": {"blood": {"cost": 2.0, "absent": "not made"}},
}
ERRORS = {"errors": {0: {1: 60.0}, 1: {0: 120.0}}}


@frozen(eq=False)
class DrawnRecords:
    """Rows with all tests made, X, and as recorded, seen."""

    X: Any
    y: Any
    seen: Any
    made: Any


def draw_records(history: str, n: int, seed: int) -> DrawnRecords:
    """Return rows by one history: "columns", "label" or "value"."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    b[:, 0] += 0.4 * a[:, 0]
    y = (rng.random(n) < expit(-1 + a[:, 0] + 1.5 * b[:, 0])).astype(np.int64)
    look = {
        "columns": a[:, 0] - 0.5 * a[:, 1],
        "label": 0.7 * a[:, 0] + 2.0 * (y - 0.4),
        "value": 1.5 * b[:, 0],
    }[history]
    made = rng.random(n) < expit(look - 0.6)
    X = np.column_stack([a, b])
    seen = X.copy()
    seen[np.ix_(~made, np.array(TESTS))] = np.nan
    return DrawnRecords(X, y, seen, made)


def fit_frontier(scoring: str | None, *, errors: bool = False) -> cf.Frontier:
    """Return a frontier of two models, of all columns and of the free ones, from rows with all tests made."""
    costs = cf.CostModel.of(PRICES | ERRORS if errors else PRICES)
    train, valid = draw_records("columns", 3000, 99), draw_records("columns", 1000, 98)
    linear = {"tested": cf.estimator("linear", costs=costs), "free": cf.estimator("linear", costs=costs, max_price=0.0)}
    return cf.Frontier.fit(
        linear, train.X, train.y, X_val=valid.X, y_val=valid.y, costs=costs, scoring=scoring, cv=0, tradeoffs=[0.0]
    )
