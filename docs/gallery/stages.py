"""The stages of a model: what it reads, and where rows leave.

Rows enter at the left. A box lists what a stage buys and shows the scores of its rows; the width of a line is the share
of rows that take it, and answers tell their mean cost.
"""

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
train, valid, test = (data.part(name) for name in ("train", "valid", "test"))
model = cf.PlannerClassifier(data.costs, tradeoff=6e-4).fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
cf.plot.StagesDisplay.from_estimator(model, test.X, test.y).figure_.savefig("stages.svg")
