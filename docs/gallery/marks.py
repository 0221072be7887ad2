"""Comparing honestly: what the marks of missing values tell.

Doctors scan those who look ill, and the records show whom. So the marks of missing scans, without any value, score well
above chance; a model that may use them seems good, and loses where whoever it asks for is scanned. Prices that say
`absent = "not made"` have each side scored on completed records.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

import costframe as cf

rng = np.random.default_rng(0)
n = 9000
age, scan = rng.normal(size=(2, n))
ill = (0.6 * age + scan + 1.5 * rng.normal(size=n) > 1.5).astype(int)
scanned = rng.random(n) < np.where(ill, 0.8, 0.15)
sides = {  # the column of scans in the records and in service, and what an empty one is
    "marks alone": (np.where(scanned, 1.0, np.nan), np.ones(n), "answer"),
    "filled with means": (np.where(scanned, scan, scan[scanned].mean()), scan, "answer"),
    "empty is an answer": (np.where(scanned, scan, np.nan), scan, "answer"),
    "completed": (np.where(scanned, scan, np.nan), scan, "not made"),
}
split, test = np.repeat(["train", "valid", "test"], n // 3), slice(2 * n // 3, n)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for place, (column, called, absent) in enumerate(sides.values()):
    prices = cf.CostModel.of({"age": 0.0, "scan": {"cost": 50.0, "absent": absent}})
    table, names = np.column_stack([age, column]), ["age", "scan"]
    data = cf.datasets.Dataset.from_arrays(table, ill, prices, feature_names=names, split=split)
    frontier = cf.Frontier.sweep(data, ["cegb"], score="roc_auc", cv=0, references=False)
    point = frontier.best()
    answers = frontier.model(point).predict_proba(np.column_stack([age, called])[test])[:, 1]
    found = {"stated": point.test_score, "in service": roc_auc_score(ill[test], answers)}
    for (label, score), up, color in zip(found.items(), (0.35, 0.0), ("0.7", "#0072B2"), strict=True):
        axes.barh(place + up, score, 0.35, color=color, label=label if place == 0 else None)
        axes.text(score, place + up, f" {score:.2f}", va="center")
axes.set(yticks=np.arange(len(sides)) + 0.17, yticklabels=sides, xlim=(0.5, 1.0), xlabel="ROC AUC")
axes.legend(loc="upper right")
figure.savefig("marks.svg")
