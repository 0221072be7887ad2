"""Small tables, quick sides, and records of comparisons for tests."""

from __future__ import annotations

import numpy as np

import costframe as cf
from costframe.comparison import EstimatedModel
from costframe.comparison.records import (
    FORMAT,
    ModelFigures,
    PriceFacts,
    Record,
    SideFacts,
    SplitFacts,
    TableFacts,
)
from costframe.training.error_costs import ERROR_COST

PRICES = {"a": 1.0, "b": 2.0, "c": 4.0}
QUICK = {"points": 3, "cv": 0}


def table(name="one", seed=1, n=150, **more):
    """A table of two classes, which the dearest column tells best."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 2] + 0.5 * X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return cf.datasets.Dataset.from_arrays(X, y, PRICES, feature_names=tuple(PRICES), name=name, **more)


class Threshold:
    """An outsider that asks for one column, and answers by its sign."""

    def __init__(self, column, name="threshold"):
        self.column, self.name = column, name
        self.settings = {"column": column}

    def fit(self, seen):
        def steps():
            values = yield [self.column]
            return float(values[self.column] > 0)

        return [cf.SteppedPredictor(seen.feature_names, steps)]


class Boastful(Threshold):
    """An outsider whose own estimates are better than it is."""

    def fit(self, seen):
        return [EstimatedModel(model, 0.99, 0.001, 3.0) for model in super().fit(seen)]


class Failing:
    """An outsider that fails on one table."""

    def __init__(self, table):
        self.table, self.name = table, "failing"

    def fit(self, seen):
        if seen.name == self.table:
            raise RuntimeError("it cannot")
        return Threshold("a").fit(seen)


def record(table="one", repeat=0, side="ours", test=(0.5, 0.8), *, full=10.0, bills=False, error=None, **changes):
    """A record with a model that costs nothing, and one at half of the full price, with these test scores."""
    models = tuple(
        ModelFigures(
            name=f"{side}-{n}",
            tradeoff=0.0,
            rank=float(n),
            score=0.5,
            score_error=0.01,
            cost=cost,
            cost_error=0.0,
            test_score=score,
            test_error=0.01,
            test_cost=cost,
            features=n,
            rounds=1.0,
        )
        for n, (cost, score) in enumerate(zip((0.0, full / 2), test, strict=True))
    )
    facts = {
        "format": FORMAT,
        "table": TableFacts(table, f"t-{table}", 100, 3, "classification", 2),
        "split": SplitFacts(repeat, repeat, f"s-{table}-{repeat}", 60, 20, 20),
        "prices": PriceFacts("p", "CAD", full, bills),
        "side": SideFacts(side, "algorithm", "costframe", "0.1.0", {}, f"d-{side}"),
        "score": ERROR_COST if bills else "roc_auc",
        "fit": {"points": None, "cv": None},
        "versions": {"costframe": "0.1.0"},
        "seconds": 1.0,
        "processor_seconds": 1.0,
        "models": () if error else models,
        "error": error,
    }
    return Record(**(facts | changes))
