"""What a user does first: fit, price, save, load, ask for one row; prints the file. Run, and checked by mypy, in CI."""

import sys

import costframe as cf
from costframe_miser import MiserClassifier

data = cf.datasets.load("breast-cancer")
train, test = data.part("train"), data.part("test")
model = MiserClassifier(data.costs, tradeoff=1e-3, n_estimators=5)
model.fit(train.X, train.y)
report: cf.CostReport = model.cost(test.X)
cf.save(model, "cells.model")
served = cf.load("cells.model")
answer: cf.Prediction = cf.predict_one(served, test.X[0])
if not 0 < report.mean < data.costs.full_cost() or answer.cost != report.per_row[0]:
    sys.exit(f"costs do not agree: {answer.cost}, {report.per_row[0]}, {report.mean}")
sys.stdout.write("cells.model\n")
