"""Fitting CEGB with lazy prices and resources against LightGBM, lazy and plain, at equal leaves, trees and threads."""

from lightgbm_peer import table, train
from timing import THREADS, ratio

import costframe as cf
from costframe_cegb import CEGBRegressor

ROUNDS = 100


def main() -> None:
    X, y = table()
    d = X.shape[1]
    names = [f"x{f}" for f in range(d)]
    resources = {f"r{g}": 1.0 for g in range(5)}
    features = {name: {"cost": 1.0, "needs": [f"r{f % 5}"]} for f, name in enumerate(names)}
    prices = cf.CostModel.from_dict({"features": features, "resources": resources})
    settings = {"n_estimators": ROUNDS, "max_leaves": 31, "n_jobs": THREADS}
    tradeoff = 1e-4

    def ours() -> CEGBRegressor:
        return CEGBRegressor(prices, tradeoff, **settings).fit(X, y)

    lazy = {"cegb_tradeoff": 1.0, "cegb_penalty_feature_lazy": [2 * tradeoff] * d}
    trees = ours().bank_.trees
    print(f"leaves: {(trees.feature < 0).sum()} of CEGB's, at most {31 * ROUNDS} of LightGBM's")
    title = f"CEGB's fit, {len(X):,} x {d}, lazy and resources"
    ratio(f"{title} / LightGBM's lazy", ours, lambda: train(X, y, ROUNDS, **lazy), goal="<= 0.25", repeats=3)
    ratio(f"{title} / LightGBM's plain", ours, lambda: train(X, y, ROUNDS), goal="<= 0.75", repeats=3)


if __name__ == "__main__":
    main()
