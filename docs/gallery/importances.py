"""Two importances: what moves the predictions, and what takes the money.

By gain, a feature counts as much as it moves the scores of these rows. By money, it counts what these rows pay for it.
A feature with much money and little gain is one to ask about.
"""

import matplotlib.pyplot as plt
import numpy as np

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
train, test = data.part("train"), data.part("test")
model = cf.CEGBClassifier(data.costs, tradeoff=3e-4).fit(train.X, train.y)
gain, money = (cf.importances(model, test.X, by=by) for by in ("gain", "money"))
names = list(gain)[::-1]
at = np.arange(len(names))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.barh(at + 0.2, [gain[name] for name in names], 0.4, label="by gain")
axes.barh(at - 0.2, [money[name] for name in names], 0.4, label="by money")
axes.set_yticks(at, names)
axes.set(xlabel="share")
axes.legend()
figure.savefig("importances.svg")
