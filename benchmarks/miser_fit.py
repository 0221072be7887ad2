"""Fitting Greedy Miser (depth 3) against LightGBM's plain fit of equally many leaves, binning included in both."""

from lightgbm_peer import table, train
from timing import THREADS, ratio

import costframe as cf
from costframe_miser import MiserClassifier, MiserRegressor

ROUNDS = 100


def main() -> None:
    X, y = table()
    prices = cf.CostModel.uniform([f"x{f}" for f in range(X.shape[1])])
    settings = {"n_estimators": ROUNDS, "learning_rate": 0.1, "min_samples_leaf": 20, "n_jobs": THREADS}
    ratio(
        f"Miser's fit, {len(X):,} x {X.shape[1]}, numbers / LightGBM's",
        lambda: MiserRegressor(prices, 1e-6, **settings).fit(X, y),
        lambda: train(X, y, ROUNDS, leaves=8),
        goal="<= 1",
        repeats=5,
    )
    leaves = (MiserRegressor(prices, 1e-6, **settings).fit(X, y).bank_.trees.feature < 0).sum()
    print(f"leaves: {leaves} of Miser's, at most {8 * ROUNDS} of LightGBM's")
    labels = y > 0
    ratio(
        f"Miser's fit, {len(X):,} x {X.shape[1]}, two classes / LightGBM's",
        lambda: MiserClassifier(prices, 1e-6, **settings).fit(X, labels),
        lambda: train(X, labels, ROUNDS, leaves=8, objective="binary"),
        goal="<= 1",
        repeats=5,
    )


if __name__ == "__main__":
    main()
