"""Loans: an error costs what the loan is worth.

A refused good customer costs 300, a fraud the amount of the loan. The amount is known, so it is a free column, and the
price of an error is a factor of it. The planner asks the bureau where more is at stake.
"""

import numpy as np
import pandas as pd

import costframe as cf

rng = np.random.default_rng(0)
amount = rng.lognormal(7.5, 1.0, 4000)
form, bureau = rng.normal(size=(2, 4000))
fraud = form + 2 * bureau + rng.normal(size=4000) > 3.2
X = pd.DataFrame({"amount": amount, "form": form + rng.normal(size=4000), "bureau": bureau})
y = np.where(fraud, "fraud", "good")

errors = {"fraud": {"good": {"column": "amount", "times": 1.0}}, "good": {"fraud": 300.0}}
prices = cf.CostModel.of({"amount": 0.0, "form": 1.0, "bureau": 90.0}, errors=errors)
model = cf.PlannerClassifier(prices).fit(X[:3000], y[:3000])
test, truth = X[3000:], y[3000:]
report = model.cost(test, truth)
asked = report.acquired[:, 2]

print("loan           rows  bureau   bill")
for low, high in ((0, 1000), (1000, 3000), (3000, 10_000), (10_000, np.inf)):
    rows = ((test.amount >= low) & (test.amount < high)).to_numpy()
    print(f"{low:6} to {high:6.0f} {rows.sum():4}  {asked[rows].mean():5.0%}  {report.bill[rows].mean():6.1f}")
print(f"all together     {len(test)}  {asked.mean():5.0%}  {report.mean_bill:6.1f}")
