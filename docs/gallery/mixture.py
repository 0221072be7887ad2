"""Comparing honestly: what a mixture of two models is.

A coin that falls for a share of the rows lets the dear model answer them, the cheap one the others. The cost of such a
mixture, and a score that is a mean over rows, lie on the line between both; ROC AUC does not, for it ranks the answers
of both models against each other. So a line between two points promises models only if the score is such a mean, or if
the mixed answers themselves are scored.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(0)
n = 500_000
cheap, dear = rng.normal(size=(2, n))
logit = -2.5 + 0.8 * cheap + 2.5 * dear
y = rng.random(n) < 1 / (1 + np.exp(-logit))
shares, coin = np.linspace(0, 1, 11), rng.random(n)
answers = 1 / (1 + np.exp(2.0 - 0.5 * cheap)), 1 / (1 + np.exp(-logit))
mixed = [np.where(coin < share, answers[1], answers[0]) for share in shares]
scores = {
    "ROC AUC": [roc_auc_score(y, p) for p in mixed],
    "accuracy": [((p > 0.5) == y).mean() for p in mixed],
}
figure, places = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for axes, (name, values) in zip(places, scores.items(), strict=True):
    axes.plot(shares, values, "o-", label="the mixture")
    axes.plot(shares[[0, -1]], [values[0], values[-1]], ":", color="0.4", label="the line between both")
    axes.set(xlabel="share of rows with the dear model", ylabel=name)
places[0].legend()
figure.savefig("mixture.svg")
