"""What each row buys: most patients answer questions only.

A column is a patient, a line a feature or resource, sorted by price; the shade tells in which trip it is bought. The
planner asks questions, and orders the exercise test for patients whose answers leave doubt.
"""

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
train, valid, test = (data.part(name) for name in ("train", "valid", "test"))
model = cf.PlannerClassifier(data.costs, tradeoff=6e-4).fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
display = cf.plot.RowAcquisitionDisplay.from_estimator(model, test.X, test.y)
display.figure_.savefig("row_purchases.svg")
