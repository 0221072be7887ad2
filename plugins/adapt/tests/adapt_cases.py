"""Tables, prices and expensive models that tests of Adapt share."""

from functools import cache

import numpy as np
from bank_cases import COSTS, EVERY_PRICE, NAMES, table
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe_cegb import CEGBClassifier

__all__ = [
    "EVERY_PRICE", "FEATURES", "LINEAR", "NAMES", "PAPER", "QUICK", "READ", "chance", "expensive", "steps",
    "table", "three_classes", "total", "uneven",
]  # fmt: skip

FEATURES = cf.CostModel.from_dict({
    "features": dict.fromkeys("abcd", 1.0) | {name: {"cost": 2.0, "needs": ["lab"]} for name in "efgh"},
    "resources": {"lab": {"cost": 10.0, "needs": ["visit"]}, "visit": 3.0},
})  # fmt: skip
QUICK = {"n_estimators": 12}
LINEAR = {"variant": "lin", "n_estimators": None}
PAPER = {"recipe": "paper", "full_share": 0.5}
READ = [0, 1, 4, 5]  # a, b, e, f


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
    """Return what to give as a model that was fitted to other rows, and its probabilities of any rows."""
    X, y = table(99, 2500)
    if kind == "logistic":
        model = OwnLogistic().fit(X[:, READ], y)
        return (model, list("abef")), lambda rows: model.predict_proba(rows[:, READ])
    model = CEGBClassifier(COSTS, 1e-4, n_estimators=25).fit(X, y)
    return model, model.predict_proba


def total(tree, rows, labels, tradeoff, costs):
    """Return mean loss + tradeoff * mean cost, with the rows' share of prices for a whole batch."""
    chances = tree.predict(rows)
    lost = -np.log(np.clip(np.where(labels == 1, chances, 1 - chances), 1e-6, 1 - 1e-6)).mean()
    report = tree.cost(rows, costs)
    once = costs.select(tree.feature_names).once / len(rows)
    return lost + tradeoff * (report.mean + (report.acquired @ once).mean())
