"""Missing because nobody ordered it: a leak that looks like skill, and the cure.

In the records doctors ordered the scan for patients whose symptoms they saw, so a missing scan tells their opinion. At
prediction every scan that the model asks for is made, and the opinion is gone. Prices that say `absent = "not made"`
tell costframe so: it completes the scans that nobody made, learns from them, and states what a model does in service.
"""

import numpy as np

import costframe as cf

rng = np.random.default_rng(0)
n = 9000
age, scan = rng.normal(size=(2, n))
ill = (0.5 * age + scan + rng.normal(size=n) > 0.5).astype(int)
suspected = rng.random(n) < np.where(ill, 0.8, 0.1)  # symptoms, which no column has
records = np.column_stack([age, np.where(suspected, scan, np.nan)])
service = np.column_stack([age, scan])  # the scan is made for whom the model asks
fit, test = slice(0, 3000), slice(3000, n)

print(f"ill: {ill[test].mean():.0%}")
for absent in ("answer", "not made"):
    prices = cf.CostModel.of({"age": 0.0, "scan": {"cost": 50.0, "absent": absent}})
    model = cf.CEGBClassifier(prices, tradeoff=1e-4).fit(records[fit], ill[fit])
    called = model.predict(service[test])
    seems, true = (model.predict(records[test]) == ill[test]).mean(), (called == ill[test]).mean()
    print(f"an empty scan is {absent!r}: accuracy seems {seems:.3f}, is {true:.3f}: {called.mean():.0%} called ill")

split = np.where(np.arange(3000) < 1500, "train", np.where(np.arange(3000) < 2250, "valid", "test"))
data = cf.datasets.Dataset.from_arrays(records[fit], ill[fit], prices, feature_names=["age", "scan"], split=split)
frontier = cf.Frontier.sweep(data, ["cegb"], score="accuracy", cv=0)
point = frontier.best()
true = (frontier.model(point).predict(service[test]) == ill[test]).mean()
print(f"the best of all ways to learn, {point.name}: in the records it seems {point.recorded_score:.3f};", end=" ")
print(f"with the scans made {point.test_score:.3f} +- {point.test_error:.3f}, and {true:.3f} is true")
