"""A cap for each row: no patient pays more.

The same model, without training again, answers under caps from 0 to all that it would spend. Each patient gets the best
answer that the cap allows.
"""

import matplotlib.pyplot as plt
import numpy as np

import costframe as cf

data = cf.datasets.load("breast-cancer")
train, test = data.part("train"), data.part("test")
model = cf.PlannerClassifier(data.costs, tradeoff=1e-3).fit(train.X, train.y)
caps = np.arange(0.0, 46.0, 3.0)
right = [(model.predict(test.X, max_cost=cap) == test.y).mean() for cap in caps]
paid = [model.cost(test.X, max_cost=cap).mean for cap in caps]

figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 5), layout="constrained")
above.plot(caps, right, "o-")
above.set(ylabel="accuracy")
below.plot(caps, paid, "o-", label="mean cost")
below.plot(caps, caps, ":", color="grey", label="the cap")
below.set(xlabel="cap, minutes a patient", ylabel="minutes", ylim=(0, None))
below.legend()
figure.savefig("cap.svg")
