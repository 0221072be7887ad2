"""The same features for all rows, an outsider of comparisons: those of most contribution within each of some budgets.

The worth of a feature is its mean absolute contribution to the scores of LightGBM's model on all features (its SHAP
values), and resources are paid once; sets of the greatest sum are found as a linear program in whole numbers. Boosted
trees and a linear model are trained on each set. So does CoAI (G. Erion et al., *A cost-aware framework for the
development of AI models for healthcare applications*, Nature Biomedical Engineering 6, 2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from harness.penalties import LEAVES, fit_lightgbm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from costframe.comparison import SeenTable

BUDGETS = 16
ROUNDING = 1e-9


@frozen
class Knapsack:
    """Sets of features by their contributions, within sixteen budgets."""

    threads: int = 1
    name: str = "knapsack"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name."""
        return {"budgets": BUDGETS}

    def fit(self, seen: SeenTable) -> Iterator[cf.Predictor]:
        """Fit boosted trees and a linear model on each set."""
        if seen.task != "classification":
            raise cf.CostframeError(f"the knapsack is for classes, not for a {seen.task}")
        every, count = np.arange(len(seen.feature_names)), len(seen.feature_names)
        model = fit_lightgbm(seen, every, LEAVES[0], {}, self.threads)
        shares = model.predict(seen.train.X, pred_contrib=True).reshape(len(seen.train), -1, count + 1)
        worth, full = np.abs(shares[:, :, :count]).mean(axis=(0, 1)), seen.costs.full_cost(seen.feature_names)
        prices = seen.costs.select(seen.feature_names)
        least = prices.cost[prices.cost > 0].min(initial=full)
        for budget in np.unique(np.r_[np.geomspace(least, full, BUDGETS), full]):
            chosen = np.flatnonzero(fill(worth, seen.costs, seen.feature_names, float(budget)))
            if not len(chosen):
                continue
            boosted = fit_lightgbm(seen, chosen, LEAVES[0], {}, self.threads)
            names = [seen.feature_names[column] for column in chosen]
            yield cf.adopt(boosted, names).over(seen.feature_names, None)
            columns = ColumnTransformer([("chosen", SimpleImputer(), chosen)])
            linear = make_pipeline(columns, StandardScaler(), LogisticRegression(max_iter=1000))
            linear.fit(seen.train.X, seen.codes(seen.train.y))
            yield cf.adopt(linear, seen.feature_names)


def fill(worth: np.ndarray, costs: cf.CostModel, names: tuple[str, ...], budget: float) -> np.ndarray:
    """Return which features have the greatest sum of worth, float64 (d,), within a budget: bool (d,)."""
    prices = costs.select(names)
    d, r = prices.needs.shape
    needed = np.argwhere(prices.needs)
    paid = np.zeros((len(needed), d + r))  # a feature is at most its resource
    paid[np.arange(len(needed)), needed[:, 0]], paid[np.arange(len(needed)), d + needed[:, 1]] = 1, -1
    limits = [LinearConstraint(np.r_[prices.cost, prices.resource_cost][None], ub=budget * (1 + ROUNDING))]
    limits += [LinearConstraint(paid, ub=0)] if len(needed) else []
    found = milp(-np.r_[worth, np.zeros(r)], integrality=np.ones(d + r), bounds=Bounds(0, 1), constraints=limits)
    return np.asarray(found.x[:d] > 0.5)
