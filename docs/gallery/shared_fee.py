"""Comparing honestly: a fee that features share.

The same models on the same rows, with their costs counted in three ways. The blood is drawn once for all tests of it.
Who adds the fee to each test states too much, who forgets it too little, and both by more for some models than for
others.
"""

import matplotlib.pyplot as plt

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
prices = data.costs.select(data.feature_names)
fees = prices.needs @ prices.resource_cost
ways = {
    "without the fee": cf.CostModel.of(dict(zip(data.feature_names, prices.cost, strict=True))),
    "paid once, as it is": data.costs,
    "with each test": cf.CostModel.of(dict(zip(data.feature_names, prices.cost + fees, strict=True))),
}
frontier = cf.Frontier.sweep(data, ["cegb"], cv=0, references=False)
models = [frontier.model(point) for point in sorted(frontier.non_dominated(), key=lambda point: point.cost)]
scores = [point.test_score for point in sorted(frontier.non_dominated(), key=lambda point: point.cost)]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
X = data.part("test").X
for (way, costs), style in zip(ways.items(), ("s--", "o-", "^:"), strict=True):
    axes.plot([model.cost(X, costs=costs).mean for model in models], scores, style, label=way)
axes.set(xlabel="mean cost per row", ylabel=f"{frontier.score_name} on test rows")
axes.legend()
figure.savefig("shared_fee.svg")
