"""Categories: columns of texts, split by sets of them.

A column of texts, or of category dtype, needs no encoding and is one feature with one price; one-hot columns would be
many. A category that training has not seen goes the way of missing values.
"""

import numpy as np
import pandas as pd

import costframe as cf

rng = np.random.default_rng(0)
cities = np.array(["Bergen", "Lagos", "Lima", "Osaka", "Quito", "Turin"])
frame = pd.DataFrame({"city": rng.choice(cities, 3000), "income": rng.normal(size=3000)})
good = frame.city.isin(["Lima", "Osaka", "Turin"]) ^ (rng.random(3000) < 0.15)
y = np.where(good, "good", "bad")
model = cf.CEGBClassifier({"city": 1.0, "income": 10.0}, tradeoff=1e-3).fit(frame[:2000], y[:2000])
print(f"accuracy {model.score(frame[2000:], y[2000:]):.3f}, cost {model.cost(frame[2000:]).mean:.2f}")
for city in (*cities, "Paris"):
    answer = cf.predict_one(model, {"city": city, "income": 0.0})
    print(f"{city:7} good with {answer.value:.2f}")
