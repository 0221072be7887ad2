"""Missing because nobody ordered it: a leak that looks like skill.

In the records doctors ordered the scan for patients whom they thought ill, so a missing scan tells their opinion. At
prediction every scan that the model asks for is made, and the opinion is gone. Train on rows in which the scan was
ordered for all, or for some drawn by chance.
"""

import numpy as np

import costframe as cf

rng = np.random.default_rng(0)
n = 6000
age, scan, hidden = rng.normal(size=(3, n))
ill = (0.5 * age + scan + 2 * hidden + rng.normal(size=n) > 0).astype(int)
suspected = hidden + 0.3 * rng.normal(size=n) > 0.5  # the doctor sees what no column has
records = np.column_stack([age, np.where(suspected, scan, np.nan)])
trial = np.column_stack([age, scan])  # the scan was made for everybody
prices, fit, test = {"age": 0.0, "scan": 50.0}, slice(0, 3000), slice(3000, n)

print(f"ill: {ill[test].mean():.0%}")
for name, rows in (("records", records), ("a trial", trial)):
    model = cf.CEGBClassifier(prices, tradeoff=1e-4).fit(rows[fit], ill[fit])
    seems, service = (model.predict(each[test]) for each in (rows, trial))
    seem, true = (seems == ill[test]).mean(), (service == ill[test]).mean()
    print(f"trained on {name}: accuracy seems {seem:.3f}, is {true:.3f} in service: {service.mean():.0%} called ill")
