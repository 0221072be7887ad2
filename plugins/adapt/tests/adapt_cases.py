"""Tables, prices and expensive models that tests of Adapt share."""

from functools import cache

import numpy as np
import xgboost
from bank_cases import COSTS, EVERY_PRICE, NAMES, table
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe.adoption.given.fitted_model import PrefittedWarning
from costframe_adapt import AdaptClassifier
from costframe_cegb import CEGBClassifier

__all__ = [
    "COSTS", "EVERY_PRICE", "FEATURES", "NAMES", "QUICK", "PrefittedWarning", "expensive", "fitted", "steps", "table",
    "three_classes", "uneven",
]  # fmt: skip

FEATURES = cf.CostModel.from_dict({
    "features": dict.fromkeys("abcd", 1.0) | {name: {"cost": 2.0, "needs": ["lab"]} for name in "efgh"},
    "resources": {"lab": {"cost": 10.0, "needs": ["visit"]}, "visit": 3.0},
})  # fmt: skip
QUICK = {"n_estimators": 12}


def three_classes(seed, n):
    """A cheap look tells one class from the others, a dear one these apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    y = np.where(X[:, 0] + X[:, 1] > 0, np.where(X[:, 4] > 0, 2, 1), 0)
    X[:, [0, 1]] += 0.2 * rng.standard_normal((n, 2))
    return X, y


def uneven(n, seed=0):
    """Weights that are no whole numbers."""
    return np.random.default_rng(seed).choice([0.5, 1.0, 1.5, 2.0], n)


def steps():
    """Answer as a chance: b only where a leaves doubts, e and f only then."""
    got = yield ["a"]
    if got["a"] < -1.5:
        return 0.02
    got = yield ["a", "b"]
    if got["a"] + got["b"] < -0.5:
        return 0.05
    got = yield ["a", "b", "e", "f"]
    return 0.95 if got["e"] + got["f"] > 0.2 and got["a"] + got["b"] > 0.4 else 0.1


def chance(rows):
    """Answer what the table's making says, of the columns a, b, e and f."""
    return 1 / (1 + np.exp(-8 * np.minimum(rows[:, 0] + rows[:, 1] - 0.5, rows[:, 2] + rows[:, 3] - 0.2)))


class OwnLogistic(LogisticRegression):
    """A class with its own probabilities, which can only be called."""

    def predict_proba(self, X):
        return super().predict_proba(X)


@cache
def expensive(kind):
    """Return a fitted model that was trained on other rows, and the features to give it (None: it says so itself)."""
    X, y = table(99, 2500)
    if kind == "forest":
        return RandomForestClassifier(12, max_depth=7, random_state=0).fit(X, y), None
    if kind == "xgboost":
        return xgboost.XGBClassifier(n_estimators=25, max_depth=4, n_jobs=1).fit(X, y), None
    if kind == "logistic":
        return OwnLogistic().fit(X[:, [0, 1, 4, 5]], y), list("abef")
    if kind == "cegb":
        return CEGBClassifier(COSTS, 1e-4, n_estimators=25).fit(X, y), None
    if kind == "stepped":
        return cf.SteppedPredictor(NAMES, steps), None
    return chance, list("abef")


def fitted(kind, costs=FEATURES, tradeoff=2.5e-3, **settings):
    """Put a gate in front of an expensive model."""
    model, features = expensive(kind)
    X, y = table(1, 500)
    proba = model(X[:, [NAMES.index(name) for name in features]]) if kind == "callable" else None
    given = model if features is None else (model, features)
    asked = AdaptClassifier(costs, tradeoff, expensive=given, **QUICK | settings)
    if kind == "stepped":
        proba = model.predict(X)
    elif kind != "callable":
        read = X if features is None else X[:, [NAMES.index(name) for name in features]]
        proba = model.predict_proba(read)
    return asked.fit(X, y, expensive_proba=proba)
