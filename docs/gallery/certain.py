"""Certain answers early: the same classes for less.

Most rows are decided long before the last tree. `cf.certain` ends a row as soon as the rest cannot change its class,
for every model that is a sum of trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

import costframe as cf

data = cf.datasets.load("breast-cancer")
train, test = data.part("train"), data.part("test")
forest = RandomForestClassifier(60, max_depth=4, random_state=0).fit(train.X, train.y)
model = cf.adopt(forest, feature_names=data.feature_names)
early = cf.certain(model, "class")
whole, ended = model.cost(test.X, data.costs), early.cost(test.X, data.costs)
assert (early.predict(test.X) > 0.5).tolist() == (model.predict(test.X) > 0.5).tolist()

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.plot(np.sort(whole.per_row), label=f"all trees, {whole.mean:.1f} minutes in the mean")
axes.plot(np.sort(ended.per_row), label=f"until the class is certain, {ended.mean:.1f}")
axes.set(xlabel="rows, by cost", ylabel="minutes", ylim=(0, None))
axes.legend()
figure.savefig("certain.svg")
