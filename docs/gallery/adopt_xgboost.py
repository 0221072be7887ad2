"""XGBoost: what a model saved as a file costs, and what for.

costframe reads the file itself. A tree buys a feature when a row reaches a split on it; a row pays once for each
feature and resource. Here the features themselves are free: three values of one measurement share its minutes.
"""

import matplotlib.pyplot as plt
from xgboost import XGBClassifier

import costframe as cf

data = cf.datasets.load("breast-cancer")
train, test = data.part("train"), data.part("test")
given = XGBClassifier(n_estimators=40, max_depth=3, n_jobs=1, random_state=0).fit(train.X, train.y == "malignant")
given.get_booster().feature_names = list(data.feature_names)
given.save_model("cells.json")

report = cf.adopt("cells.json").cost(test.X, data.costs)
paid = report.by_resource | report.by_feature
top = sorted(((name, cost) for name, cost in paid.items() if cost), key=lambda item: item[1])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.barh([name for name, _ in top], [cost for _, cost in top])
axes.set(xlabel=f"minutes a row; {report.mean:.1f} of {data.costs.full_cost():.1f} in all")
figure.savefig("adopt_xgboost.svg")
