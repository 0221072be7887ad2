"""At tradeoff 0, scikit-learn's boosting; with once-prices, breadth first and in first order, Greedy Miser."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from costframe_cegb import CEGBClassifier, CEGBRegressor
from costframe_miser import MiserRegressor


def table(seed, missing):
    """Few distinct values: bins are the values, everywhere."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((500, 5)), 1)
    X[rng.random(X.shape) < missing] = np.nan
    Z = np.nan_to_num(X)
    return X, np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.3 * rng.standard_normal(500), rng.uniform(0.5, 2, 500)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(("weighted", "l2"), [(False, 0.0), (True, 1.0)])
def test_at_tradeoff_zero_it_is_scikit_learns_boosting(n_classes, missing, weighted, l2):
    X, score, weight = table(0, missing)
    y = score if n_classes == 0 else np.digitize(score, [-0.4, 0.4][: n_classes - 1])
    weight = weight if weighted else None
    same = {"min_samples_leaf": 9, "learning_rate": 0.2, "l2_regularization": l2}
    ours, oracle = (
        (CEGBClassifier, HistGradientBoostingClassifier)
        if n_classes
        else (CEGBRegressor, HistGradientBoostingRegressor)
    )
    model = ours(tradeoff=0, n_estimators=12, max_leaves=7, **same).fit(X, y, weight)
    reference = oracle(max_iter=12, max_leaf_nodes=7, early_stopping=False, **same).fit(X, y, weight)
    expected = reference.predict_proba(X) if n_classes else reference.predict(X)
    predicted = model.predict_proba(X) if n_classes else model.predict(X)
    np.testing.assert_allclose(predicted, expected, atol=2e-5)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_restricted_it_is_the_plugin_miser(missing, weighted):
    """For the squared loss; once-prices of a batch of n rows are prices of a row, times n."""
    X, y, weight = table(2, missing)
    weight = weight if weighted else None
    n = len(y) if weight is None else weight.sum()
    cost = {"x0": 0.0, "x1": 0.5, "x2": 1.0, "x3": 2.0, "x4": 0.1}
    once = {"features": {name: {"cost": 0.0, "once": n * c} for name, c in cost.items()}}
    same = {"n_estimators": 20, "learning_rate": 0.3, "max_depth": 3}
    limits = {"min_samples_leaf": 1, "min_hessian_leaf": 5}  # Miser's rows in a leaf are weight
    cegb = CEGBRegressor(once, 0.02, growth="breadth", **limits, **same).fit(X, y, weight)
    miser = MiserRegressor({"features": cost}, 0.02, min_samples_leaf=5, **same).fit(X, y, weight)
    np.testing.assert_array_equal(cegb.bank_.trees.feature, miser.bank_.trees.feature)
    np.testing.assert_allclose(cegb.predict(X), miser.predict(X), rtol=0, atol=1e-9)
    bought = {name for name in cost if miser.cost(X).by_feature[name] > 0}
    assert {"x1", "x2"} <= bought < {"x1", "x2", "x3", "x4"}
    assert cegb.believed_fixed_ == pytest.approx(n * sum(cost[name] for name in bought))
