"""Linear models: scikit-learn's weights at the chosen ridge, the columns below a price, and the choice by tradeoff."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from costframe.gates import fit_linear
from costframe_baselines import LinearClassifier, LinearRegressor
from costframe_baselines import linear as module

COSTS = {
    "features": {
        "free": 0.0,
        "cheap": 1.0,
        "lab": {"cost": 0.5, "needs": ["blood"]},
        "once": {"cost": 0.0, "once": 600.0},
    },
    "resources": {"blood": 3.0},
}


def table(seed, n=300, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 100.0, 0.01, 3.0] + [0.0, 50.0, 1.0, -2.0]
    z = X @ [0.5, 0.01, 60.0, 0.2] - 60.0 + noise * rng.standard_normal(n)
    return X, z


X, Z = table(0)
Y = (Z > 0).astype(int)


def only(monkeypatch, ridge):
    monkeypatch.setattr(module, "RIDGES", (ridge,))


@pytest.mark.parametrize("ridge", [1.0, 1e-3])
@pytest.mark.parametrize("y", [Y, np.digitize(Z, [-0.5, 0.8])], ids=["two", "three"])
def test_its_weights_are_those_of_scikit_learn(monkeypatch, ridge, y):
    only(monkeypatch, ridge)
    ours = LinearClassifier(COSTS, 0.0).fit(X, y)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=1 / (ridge * len(X)), tol=1e-8, max_iter=1000))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.fit(X, y).predict_proba(X), atol=2e-4)


@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_its_ridge_regression_is_that_of_scikit_learn(monkeypatch, ridge):
    only(monkeypatch, ridge)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), weight.astype(int))
    ours = LinearRegressor(COSTS, 0.0).fit(X, Z, weight)
    theirs = make_pipeline(StandardScaler(), Ridge(ridge * len(repeated))).fit(X[repeated], Z[repeated])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_folds_choose_a_strong_ridge_for_noise_and_a_weak_one_for_clear_rows(monkeypatch):
    chosen = []

    def fit(H, rows, n_classes, ridge, **options):
        chosen.append(ridge)
        return fit_linear(H, rows, n_classes, ridge, **options)

    monkeypatch.setattr(module, "fit_linear", fit)
    LinearClassifier(COSTS, 0.0).fit(X, np.random.default_rng(3).permutation(Y))
    assert chosen[-1] >= 0.1
    z = table(5, noise=0.05)
    LinearClassifier(COSTS, 0.0).fit(z[0], (z[1] > 0).astype(int))
    assert chosen[-1] <= 1e-3


@pytest.mark.parametrize(
    ("price", "names"),
    [(0, {"free"}), (1, {"free", "cheap"}), (2, {"free", "cheap", "once"}), (3.5, {"free", "cheap", "lab", "once"})],
)
def test_a_price_includes_resources_and_a_share_of_the_once_price(price, names):
    model = LinearClassifier(COSTS, 0.0, max_price=price).fit(X, Y)
    assert set(model.predictor_.used_features) == names


def test_the_tradeoff_chooses_the_price_down_to_the_constant():
    used = [set(LinearClassifier(COSTS, tradeoff).fit(X, Y).predictor_.used_features) for tradeoff in (0, 0.05, 1e9)]
    assert used[0] == {"free", "cheap", "lab", "once"}
    assert used[-1] == {"free"}
    dear = {"features": dict.fromkeys(("a", "b", "c", "d"), 1.0)}
    assert not LinearRegressor(dear, 1e9).fit(X, Z).predictor_.used_features


def test_validation_rows_train_it_too():
    parts = LinearClassifier(COSTS, 0.0).fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    np.testing.assert_array_equal(parts.predict_proba(X), LinearClassifier(COSTS, 0.0).fit(X, Y).predict_proba(X))


def test_a_part_of_many_rows_chooses_the_ridge(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 100)
    whole, part = LinearRegressor(COSTS, 0.0).fit(X, Z), LinearRegressor(COSTS, 0.0).fit(X[::-1], Z[::-1])
    np.testing.assert_allclose(whole.predict(X), part.predict(X), rtol=1e-9)


def test_it_refuses_categories_and_wrong_prices():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list(COSTS["features"])).assign(free=pd.Categorical(["a", "b"] * 150))
    with pytest.raises(cf.CostframeError, match="free"):
        LinearClassifier(COSTS, 0.0).fit(frame, Y)
    with pytest.raises(cf.CostframeError, match="max_price"):
        LinearClassifier(COSTS, 0.0, max_price=-1).fit(X, Y)
