"""CEGB grows LightGBM's trees where the definitions coincide.

They coincide where no two splits gain the same, bins are the distinct values, limits are in hessians, and rows weigh
the same if there are prices.
"""

import numpy as np
import pytest

import costframe as cf
from costframe_cegb import CEGBClassifier, CEGBRegressor

lgb = pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[bench]'")

SETTINGS = {
    "verbosity": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "enable_bundle": False,
    "min_data_in_bin": 1,  # few distinct values: the bins are the values, in both
}
# LightGBM multiplies softmax's hessians p(1-p) by K/(K-1), Friedman's factor, and so takes smaller steps; we do not.
HESSIANS = {"numbers": 1.0, "two": 1.0, "three": 1.5}
LEAST_HESSIAN = {"numbers": 9.5, "two": 3.9, "three": 3.9}  # between sums that occur: LightGBM adds 1e-15 to each
COST = (0.2, 1.0, 0.5, 0.1, 3.0, 0.0)


def draw(kind, seed, missing=0.0, n=600, d=6):
    """Few distinct values a feature; labels that depend on four of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 6) / 4
    X[rng.random(X.shape) < missing] = np.nan
    Z = np.nan_to_num(X)
    score = Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + 0.5 * Z[:, 3] + 0.5 * rng.standard_normal(n)
    if kind == "numbers":
        return X, score.astype(np.float32).astype(float)  # as LightGBM keeps labels
    return X, np.digitize(score, [0.3] if kind == "two" else [-0.7, 0.7])


def ours(kind, X, y, costs, lam, **settings):
    """CEGB's predictions."""
    estimator = CEGBRegressor if kind == "numbers" else CEGBClassifier
    usual = {"n_estimators": 8, "max_leaves": 12, "learning_rate": 0.1, "n_jobs": 1, "min_samples_leaf": 1}
    model = estimator(costs, lam, **usual | settings).fit(X, y)
    return model.predictor_.predict(X)


def theirs(kind, X, y, least, **settings):
    """LightGBM's; what is measured in hessians is given in ours."""
    objective = {"numbers": "regression", "two": "binary", "three": "multiclass"}[kind]
    parameters = SETTINGS | {"objective": objective, "num_leaves": 12, "num_class": 3 if kind == "three" else 1}
    parameters |= {"learning_rate": HESSIANS[kind] * 0.1, "min_data_in_leaf": 0} | settings
    parameters["min_sum_hessian_in_leaf"] = HESSIANS[kind] * least
    booster = lgb.train(parameters, lgb.Dataset(X, y, params=parameters), 8)
    return booster.predict(X)


def assert_same(one, other):
    np.testing.assert_allclose(one, other, rtol=0, atol=2e-7)  # gradients are float32


@pytest.mark.parametrize("kind", HESSIANS)
@pytest.mark.parametrize(("missing", "lam", "split"), [(0.0, 0.002, 0.0), (0.2, 0.02, 0.0), (0.2, 0.002, 1.0)])
def test_with_lazy_prices_the_splits_are_lightgbms(kind, missing, lam, split):
    """Lazy 2 lambda c_f, split 2 lambda alpha: LightGBM's gain has no 1/2, and is measured with its hessians.

    What a row has met, in this or an earlier tree, is free for it.
    """
    X, y = draw(kind, 3, missing)
    costs = {"features": {f"x{f}": c for f, c in enumerate(COST)}, "split": split}
    mine = ours(kind, X, y, cf.CostModel.from_dict(costs), lam, min_hessian_leaf=LEAST_HESSIAN[kind])
    scale = 2 * lam / HESSIANS[kind]
    penalties = {"cegb_penalty_split": scale * split, "cegb_penalty_feature_lazy": [scale * c for c in COST]}
    assert_same(mine, theirs(kind, X, y, LEAST_HESSIAN[kind], **penalties))


def test_with_once_prices_stumps_are_lightgbms():
    """A tree of one split has no other leaf whose gains could go wrong, as they do in LightGBM 4."""
    X, y = draw("two", 1)
    once = (20, 10, 20, 90, 0, 5)
    costs = {"features": {f"x{f}": {"cost": 0, "once": o} for f, o in enumerate(once)}}
    mine = ours("two", X, y, costs, 0.1, n_estimators=20, max_leaves=2, min_hessian_leaf=3.9)
    settings = {"num_leaves": 2, "num_iterations": 20}
    assert_same(mine, theirs("two", X, y, 3.9, cegb_penalty_feature_coupled=[0.2 * o for o in once], **settings))
