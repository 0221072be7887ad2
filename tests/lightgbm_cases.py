"""A small file of LightGBM, rows that are hardest on adopted models, and a comparison with the original on them."""

from __future__ import annotations

import numpy as np
import pytest

from costframe.adoption.lightgbm.adopt import adopt_lightgbm_file

TINY = 1.0000000180025095e-35
EXTREMES = [0.0, -0.0, TINY, -TINY, 1e-36, -1e-36, np.nextafter(TINY, 1), np.nextafter(-TINY, -1), 5e-324, -5e-324]
EXTREMES += [*[np.nan] * 6, np.inf, -np.inf, 1e300, 1.7e308, -1e300]
CODES = [0, 1, 2, 3, 5, 9, -1, -0.5, -1.5, 0.5, 2.999, 31, 32, 33, 1e6, 2.0**31, 2.0**32 + 1, -(2.0**31) - 1]


def import_lightgbm():
    """The library itself; a test that asks for it is skipped without it."""
    return pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[bench]'")


def hard_rows(predictor, n_rows, seed=0):
    """float64 (rows, features): thresholds and their neighbors, tiny, huge and missing values, odd categories."""
    rng, table = np.random.default_rng(seed), predictor.bank.trees
    rows = np.empty((n_rows, len(predictor.feature_names)))
    for f in range(rows.shape[1]):
        limits = table.threshold[(table.feature == f) & np.isfinite(table.threshold)]
        ties = [limits, np.nextafter(limits, np.inf), np.nextafter(limits, -np.inf)] if len(limits) else [CODES]
        pools = [
            np.concatenate(ties),
            np.concatenate(ties),
            EXTREMES,
            CODES,
            rng.integers(0, 300, 9),
            rng.normal(size=9),
        ]
        chosen = rng.integers(len(pools), size=n_rows)
        rows[:, f] = [rng.choice(pools[pool]) for pool in chosen]
    return rows


def assert_equal(predictor, booster, rows):
    """Raw scores to the last bit, predictions to rounding."""
    raw = booster.predict(rows, raw_score=True)
    np.testing.assert_array_equal(predictor.decision_function(rows, n_jobs=1), raw)
    np.testing.assert_allclose(predictor.predict(rows, n_jobs=1), booster.predict(rows), rtol=1e-13, atol=1e-15)


def read(data, where="model.txt"):
    return adopt_lightgbm_file(data, where)


TEXT = b"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=binary sigmoid:1
feature_names=age zone size
feature_infos=[0:99] -1:0:3:70 [0:1]
tree_sizes=300 90

Tree=0
num_leaves=4
num_cat=1
split_feature=0 1 2
split_gain=1 1 1
threshold=40.5 0 inf
decision_type=2 1 8
left_child=1 -1 -3
right_child=2 -2 -4
leaf_value=0.5 -0.25 0.125 2
cat_boundaries=0 3
cat_threshold=9 0 64
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
leaf_value=-0.0625
shrinkage=0.1


end of trees

feature_importances:
age=1

parameters:
[categorical_feature: 1]
end of parameters

pandas_categorical:null
"""
ROWS = np.array([[40.5, 0.9, 5.0], [np.nan, 70.0, 5.0], [40.0, 2.0, 5.0], [41.0, 0.0, np.inf], [41.0, 0.0, np.nan]])
SCORES = np.array([0.4375, 0.4375, -0.3125, 0.0625, 1.9375])
