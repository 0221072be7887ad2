"""What tests of records share: rows of which somebody chose who gets the dear test."""

from __future__ import annotations

import numpy as np
import pandas as pd

import costframe as cf

PRICES = {
    "unit": "CAD",
    "features": {
        "age": 0.0,
        "crp": 1.0,
        "scan": {"cost": 20.0, "absent": "not made"},
    },
}
NAMES = [*PRICES["features"]]
SMALL = cf.CEGBClassifier(PRICES, n_estimators=12)


def table(n=600, seed=0, made=0.5):
    """Return all values, labels, and which rows had the scan: the ill ones, mostly."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)])
    y = (0.3 * X[:, 0] + 0.5 * X[:, 1] + 1.5 * X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y, rng.random(n) < made * np.where(y, 1.6, 0.4)


def records(*given, **how):
    """Return rows as records have them, as a data frame, and their labels."""
    X, y, made = table(*given, **how)
    X[~made, 2] = np.nan
    return pd.DataFrame(X, columns=NAMES), np.where(y, "ill", "well")
