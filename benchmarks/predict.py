"""Predicting 100,000 x 50 rows with 100 trees of 31 leaves: against LightGBM, and with the exact cost report."""

import numpy as np
from lightgbm_peer import as_predictor, table, train
from timing import THREADS, ratio

import costframe as cf


def main() -> None:
    X, y = table()
    booster = train(X, y)
    predictor = as_predictor(booster)
    np.testing.assert_allclose(predictor.predict(X), booster.predict(X), rtol=1e-12)
    evaluator = cf.ExpectedCost(cf.CostModel.uniform(predictor.feature_names))
    ratio(
        "predict / LightGBM's predict of the same model",
        lambda: predictor.predict(X, n_jobs=THREADS),
        lambda: booster.predict(X, num_threads=THREADS),
        goal="<= 1, aim 0.33",
    )
    ratio(
        "predict with the exact cost report / predict alone",
        lambda: evaluator.evaluate(predictor, X, n_jobs=THREADS),
        lambda: predictor.predict(X, n_jobs=THREADS),
        goal="<= 1.3",
        repeats=21,
    )


if __name__ == "__main__":
    main()
