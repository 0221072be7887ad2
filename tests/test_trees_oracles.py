"""At price zero the trees are those of scikit-learn, wherever both mean the same."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree

N, D = 2000, 6


def draw(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 200, (N, D)).astype(float)
    y = np.sin(X[:, 0] / 30) + X[:, 1] * X[:, 2] / 9000 + 0.3 * rng.standard_normal(N)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
        y += 0.5 * np.isnan(X[:, 3])
    return X, np.round(y * 1024) / 1024, rng


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_decision_trees(seed, weighted, missing):
    X, y, rng = draw(seed, missing)
    w = rng.integers(1, 8, N) / 4 if weighted else np.ones(N)
    oracle = DecisionTreeRegressor(max_depth=5, min_samples_leaf=7, random_state=0).fit(X, y, sample_weight=w)
    data = BinMapper.fit(X).transform(X)
    tree = grow_tree(data, -w * y, w if weighted else None, growth="breadth", max_depth=5, min_samples_leaf=7)
    assert tree.n_leaves == oracle.get_n_leaves()
    assert tree.outputs[tree.leaf_of_row] == pytest.approx(oracle.predict(X), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_histogram_boosting(seed, missing, l2):
    X, y, _ = draw(seed, missing)
    oracle = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, max_leaf_nodes=20, min_samples_leaf=5, l2_regularization=l2, early_stopping=False
    ).fit(X, y)
    start = y.mean()
    tree = grow_tree(BinMapper.fit(X).transform(X), start - y, max_leaves=20, min_samples_leaf=5, l2=l2)
    assert tree.n_leaves == oracle._predictors[0][0].get_n_leaf_nodes() == 20
    assert start + tree.outputs[tree.leaf_of_row] == pytest.approx(oracle.predict(X), rel=1e-5)


def test_histogram_boosting_with_hessians():
    X, y, rng = draw(5, missing=True)
    w = rng.integers(1, 8, N) / 4
    oracle = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, max_leaf_nodes=20, min_samples_leaf=5, early_stopping=False
    ).fit(X, y, sample_weight=w)
    start = np.average(y, weights=w)
    tree = grow_tree(BinMapper.fit(X).transform(X), w * (start - y), w, max_leaves=20, min_samples_leaf=5)
    assert start + tree.outputs[tree.leaf_of_row] == pytest.approx(oracle.predict(X), rel=1e-5)
