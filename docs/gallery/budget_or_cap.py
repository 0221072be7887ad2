"""Comparing honestly: a budget in the mean, or a cap for each row.

A dear test helps the few rows of which a cheap one leaves doubt. A budget lets these pay for what the others save, a
cap does not. So the same number is another task: what buys a fixed number of features for each row belongs beside caps,
what has a mean cost beside budgets.
"""

import matplotlib.pyplot as plt
import numpy as np

import costframe as cf

rng = np.random.default_rng(0)
cheap, scan, biopsy = rng.normal(size=(3, 9000))
logit = 4 * cheap + np.where(np.abs(cheap) < 0.5, 3 * scan + 3 * biopsy, 0)
X, y = np.column_stack([cheap, scan, biopsy]), (rng.random(9000) < 1 / (1 + np.exp(-logit))).astype(int)
prices = cf.CostModel.of({"cheap": 1.0, "scan": 8.0, "biopsy": 12.0})
path = cf.PlannerClassifier(prices).fit_path(X[:4000], y[:4000])
points = sorted(path.frontier(), key=lambda point: point.cost)
models, costs = [path.predictor(point) for point in points], np.array([point.cost for point in points])
test, truth, limits = X[4000:], y[4000:], np.arange(0.0, 23.0)
budgeted = [models[np.flatnonzero(costs <= limit)[-1]].predict(test) > 0.5 for limit in limits]
capped = [models[-1].predict(test, max_cost=limit) > 0.5 for limit in limits]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for label, answers, style in (
    ("budget: at most this in the mean", budgeted, "o-"),
    ("cap: at most this for each row", capped, "s--"),
):
    axes.plot(limits, [(each == truth).mean() for each in answers], style, label=label)
axes.set(xlabel="cost of a row", ylabel="accuracy on test rows")
axes.legend()
figure.savefig("budget_or_cap.svg")
