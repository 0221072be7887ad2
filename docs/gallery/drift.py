"""Prices change: the planner buys otherwise, without training.

The price of the exercise test goes from a quarter to four times its own. A planner takes prices as an argument of the
prediction; boosted trees read what they read.
"""

import matplotlib.pyplot as plt

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
train, valid, test = (data.part(name) for name in ("train", "valid", "test"))
factors = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for kind, mark in ((cf.PlannerClassifier, "o-"), (cf.CEGBClassifier, "s--")):
    model = kind(data.costs, tradeoff=6e-4).fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    paid = []
    for factor in factors:
        prices = data.costs.to_dict()
        prices["resources"] = dict(prices["resources"]) | {"exercise": 86.3 * factor}
        paid.append(model.cost(test.X, costs=cf.CostModel.of(prices)).mean)
    axes.plot(factors, paid, mark, label=kind.__name__)
axes.set(xlabel="price of the exercise test, times", ylabel="CAD a patient", ylim=(0, None))
axes.legend()
figure.savefig("drift.svg")
