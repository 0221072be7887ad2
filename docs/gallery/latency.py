"""Time: how long rows wait for their features.

Prices may have times in milliseconds. Fetches of one trip run side by side, trips follow one another. Trained on time,
the model does without the slow exercise test, but not without dear tests that take no time; that costs some accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np

import costframe as cf

times = {"blood": 40.0, "exercise": 300.0, "thallium": 120.0}
prices = cf.CostModel.of("prices.toml").to_dict()
prices["resources"] = {name: {"cost": prices["resources"][name], "time": time} for name, time in times.items()}
data = cf.datasets.read_table("heart.csv", target="ill", costs=cf.CostModel.of(prices))
train, valid, test = (data.part(name) for name in ("train", "valid", "test"))
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, costs, tradeoff in (("money", data.costs, 6e-4), ("time", data.costs.as_time(), 1e-3)):
    model = cf.PlannerClassifier(costs, tradeoff=tradeoff).fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    report = model.cost(test.X, costs=data.costs, latency=True)
    shares = np.linspace(0, 1, 101)
    accuracy = model.score(test.X, test.y)
    label = f"trained on {name}: accuracy {accuracy:.2f}, {report.mean:.0f} CAD"
    axes.plot(shares, report.latency_quantiles(shares), label=label)
axes.set(xlabel="share of rows", ylabel="milliseconds, at most", ylim=(-10, None))
axes.legend()
figure.savefig("latency.svg")
