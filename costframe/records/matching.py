"""Donors by like predictions: regressions of what rows lack on what they have, and rows that are near in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from costframe.core.arrays import B1, F8, I8

DONORS = 5  # nearest ones, of which chance takes one
_MOST_ROWS = 20_000  # from which a regression learns
_FEWEST = 10  # rows with a value, else chance alone matches
_ROUNDS, _RATE = 40, 0.15  # of a regression


def predict_alike(given: F8, targets: F8, known: B1, rng: np.random.Generator) -> F8:
    """Return predictions of targets, float64 (n, t), from columns that are given, in like units: float64 (n, any).

    They learn from a bootstrap of the rows whose targets are `known`, so that copies differ as models do.
    """
    from threadpoolctl import threadpool_limits

    rows = rng.choice(np.flatnonzero(known), min(int(known.sum()), _MOST_ROWS)) if known.any() else np.empty(0)
    # regressions are small, and on a busy machine threads wait for each other
    with threadpool_limits(1, user_api="openmp"):
        predictions = list(_regress(given, targets, rows.astype(np.int64), known))
    return np.column_stack(predictions) if predictions else np.zeros((len(given), 1))


def _regress(given: F8, targets: F8, rows: I8, made: B1) -> Iterator[F8]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    for target in targets.T:
        known = rows[~np.isnan(target[rows])]
        if len(known) >= _FEWEST:
            model = HistGradientBoostingRegressor(
                learning_rate=_RATE, max_iter=_ROUNDS, max_leaf_nodes=8, early_stopping=False, random_state=0
            )
            values = model.fit(given[known], np.clip(target[known], -1e300, 1e300)).predict(given)
            spread = float(values[made].std())
            if spread > 0:
                yield (values - values[made].mean()) / spread


def draw_near(giving: F8, taking: F8, rng: np.random.Generator) -> I8:
    """Return for each row of `taking`, float64 (m, any), the place of one of the nearest rows of `giving`."""
    from scipy.spatial import cKDTree

    count = min(DONORS, len(giving))
    near = np.asarray(cKDTree(giving).query(taking, k=count)[1]).reshape(len(taking), count)
    return np.asarray(near[np.arange(len(taking)), rng.integers(0, count, len(taking))])
