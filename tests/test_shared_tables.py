"""Real tables with real prices: the exact cost against the plainest formula, and what compare says on them."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import costframe as cf
from costframe.datasets import read_table

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TABLES = ("heart", "thyroid", "nhanes", "letter")

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder shared/data is not beside the project")


def load(name):
    return read_table(SHARED / name / "data.parquet", "label", SHARED / name / "costs.toml")


def price(name, features, acquired):
    """Cost per row of an acquisition mask, straight from the file of prices; its resources have no needs."""
    table = tomllib.loads((SHARED / name / "costs.toml").read_text())
    entries = [e if isinstance(e, dict) else {"cost": e} for e in (table["features"][f] for f in features)]
    total = acquired @ np.array([e["cost"] for e in entries], float)
    for resource, cost in table.get("resources", {}).items():
        needed = acquired[:, [resource in e.get("needs", ()) for e in entries]].any(axis=1)
        total += cost * needed
    return total


@pytest.mark.parametrize("name", TABLES)
def test_reported_costs_are_the_prices_of_what_is_acquired(name):
    data = load(name)
    train, test = data.part("train"), data.part("test")
    model = cf.estimator("miser", costs=data.costs, tradeoff=0.01 / data.full_cost, n_estimators=40)
    report = model.fit(train.X, train.y).cost(test.X)
    np.testing.assert_allclose(report.per_row, price(name, data.feature_names, report.acquired))
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values())
    assert report.mean == pytest.approx(parts) == pytest.approx(report.per_row.mean())


def test_heart_pays_for_each_shared_visit_once():
    data = load("heart")
    train, test = data.part("train"), data.part("test")
    model = cf.estimator("miser", costs=data.costs, tradeoff=0.0, n_estimators=100).fit(train.X, train.y)
    report = model.cost(test.X)
    for resource, cost in (("blood", 2.1), ("thallium", 101.9), ("exercise", 86.3)):
        users = [f for f, name in enumerate(data.feature_names) if resource in needs(data.costs, name)]
        assert len(users) >= 2
        share = report.acquired[:, users].any(axis=1).mean()
        assert report.acquired[:, users].sum(axis=1).max() >= 2  # several features of it on one row, and still
        assert report.by_resource[resource] == pytest.approx(cost * share)


def needs(costs, name):
    return next(feature.needs for feature in costs.features if feature.name == name)


def test_a_tradeoff_saves_most_of_the_cost_of_heart():
    data = load("heart")
    train, valid, test = (data.part(part) for part in ("train", "valid", "test"))
    model = cf.estimator("miser", costs=data.costs, tradeoff=0.1 / data.full_cost)
    model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    assert model.cost(test.X).mean < 0.1 * data.full_cost
    assert model.score(test.X, test.y) > 0.7
