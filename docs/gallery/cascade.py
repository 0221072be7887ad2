"""A cascade of models: the planner buys the answers of dearer ones.

A linear model sees 6 columns for 1 cent, a forest 10 for 5, a boosted one all 30 for 25. The planner learns from their
answers out of fold. With thresholds, a model answers where it is so sure, in the order of prices. All on test rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets, ensemble, linear_model
from sklearn.model_selection import cross_val_predict

import costframe as cf

X, y = datasets.make_classification(6000, 30, n_informative=12, n_clusters_per_class=4, shuffle=False, random_state=0)
X, y = (part[np.random.default_rng(0).permutation(6000)] for part in (X, y))
price, sees, train = {"small": 1.0, "medium": 5.0, "large": 25.0}, (6, 10, 30), slice(2400)
forest, boosted = ensemble.RandomForestClassifier(20, random_state=0), ensemble.HistGradientBoostingClassifier()
answers = np.empty((6000, 3))
for m, model in enumerate([linear_model.LogisticRegression(), forest, boosted]):
    seen = X[:, : sees[m]]
    answers[:, m] = model.fit(seen[train], y[train]).predict_proba(seen)[:, 1]
    answers[train, m] = cross_val_predict(model, seen[train], y[train], method="predict_proba")[:, 1]  # not too sure
path = cf.PlannerClassifier(cf.CostModel.of(price)).fit_path(answers[train], y[train], scoring="accuracy")
test, truth = answers[2400:], y[2400:]
reports = [path.predictor(point).cost(test) for point in path.frontier()]
planned = sorted((report.mean, np.mean((report.predictions > 0.5) == truth)) for report in reports)
right, turns = (test > 0.5) == truth[:, None], []
for levels in [(a, b) for a in np.linspace(0.5, 1.01, 21) for b in np.linspace(0.5, 1.01, 21)]:
    by = np.argmax(np.c_[np.maximum(test, 1 - test)[:, :2] >= levels, np.ones(3600)], axis=1)  # who answers
    asked = (by[:, None] >= range(3)) & [levels[0] < 1, levels[1] < 1, True]  # nobody asks who is never so sure
    turns.append((np.mean(asked @ list(price.values())), right[np.arange(3600), by].mean()))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(*np.transpose(turns), ".", color="0.7", label="thresholds, at 441 pairs of levels")
axes.plot(*np.transpose(planned), "o-", label="planner")
axes.plot(list(price.values()), right.mean(axis=0), "k^", label="small, medium and large alone")
axes.set(xlabel="mean cost of a row, cents", ylabel="accuracy on test rows", ylim=(0.65, None))
axes.legend(loc="lower right")
figure.savefig("cascade.svg")
