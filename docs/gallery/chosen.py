"""Comparing honestly: the best of many, on the rows that chose it.

Each try reads four columns drawn by chance, of forty that tell little. The best try on 200 validation rows is stated
the better, the more were tried; what it is worth on fresh rows hardly grows. So whatever chose a model does not score
it: `costframe` chooses by estimates, and a comparison by scores on rows that nothing chose by.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
tries, n, d, repeats = 100, 200, 40, 20
stated, true = np.empty((repeats, tries)), np.empty((repeats, tries))
for repeat in range(repeats):
    X = rng.normal(size=(2 * n + 4_000, d))
    y = X @ rng.normal(size=d) * 0.06 + rng.normal(size=len(X)) > 0
    train, valid, fresh = slice(n), slice(n, 2 * n), slice(2 * n, None)
    for number in range(tries):
        columns = rng.permutation(d)[:4]
        model = LogisticRegression().fit(X[train][:, columns], y[train])
        stated[repeat, number] = model.score(X[valid][:, columns], y[valid])
        true[repeat, number] = model.score(X[fresh][:, columns], y[fresh])
best = [stated[:, :count].argmax(axis=1) for count in range(1, tries + 1)]
rows, counts = np.arange(repeats), np.arange(1, tries + 1)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for label, scores, style in (("stated, on the rows that chose", stated, "--"), ("on fresh rows", true, "-")):
    found = np.array([scores[rows, place] for place in best])
    error = found.std(axis=1, ddof=1) / np.sqrt(repeats)
    axes.plot(counts, found.mean(axis=1), style, label=label)
    axes.fill_between(counts, found.mean(axis=1) - error, found.mean(axis=1) + error, alpha=0.2)
axes.set(xscale="log", xlabel="models to choose from", ylabel="accuracy of the chosen one")
axes.legend()
figure.savefig("chosen.svg")
