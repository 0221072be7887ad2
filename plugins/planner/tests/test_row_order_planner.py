"""The planner's models do not depend on the order of rows, to the last bit."""

import numpy as np
import pytest

import costframe as cf
from costframe_planner import PlannerClassifier, PlannerRanker, PlannerRegressor

N, D = 260, 5
COSTS = cf.CostModel.of(
    {
        "features": {
            f"x{f}": {"cost": 0.1 * f + 0.1, "needs": ["r"] if f > 2 else [], "once": 3.0 * f} for f in range(D)
        },
        "resources": {"r": 0.7},
    }
)
KINDS = {
    "classifier": PlannerClassifier,
    "classes": PlannerClassifier,
    "regressor": PlannerRegressor,
    "ranker": PlannerRanker,
}


def table(kind, seed=0, n=N):
    """Draw rows, some of them twice, and some of them many times; a column of few values may hold categories."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, D)) < 0.05, np.nan, rng.normal(size=(n, D)))
    X[:, 1] = rng.integers(0, 4, n)
    score = np.nan_to_num(X[:, 0] + X[:, 2] * X[:, 3]) + (X[:, 1] == 2) + 0.5 * rng.normal(size=n)
    y = {
        "classifier": score > 0,
        "classes": np.digitize(score, [-0.5, 1.0]),
        "regressor": 10 * score,
        "ranker": np.digitize(score, [0.0, 1.5]),
    }[kind]
    source = np.arange(n)
    source[: n // 10], source[-n // 10 :] = n // 2, source[n // 4 : n // 4 + n // 10]
    return X[source], y[source], rng.choice([0.5, 1.0, 1.75], n), rng.integers(0, 25, n) if kind == "ranker" else None


def fit(kind, data, order, **more):
    X, y, weight, qid = (None if each is None else each[order] for each in data)
    usual = {"tradeoff": 0.02, "n_estimators": 6, "max_tries": 6, "n_sets": 4, "max_leaves": 4}
    return KINDS[kind](COSTS, **usual | more).fit(X, y, weight, **({} if qid is None else {"qid": qid}))


def assert_same(one, other, X):
    plan, again = one.predictor_, other.predictor_
    features, others = ([tuple(stop.features) for stop in each.stops] for each in (plan, again))
    assert features == others
    for bank, others in ((plan.bank, again.bank), (plan.gains_bank, again.gains_bank)):
        assert len(bank) == len(others)
        assert np.array_equal(bank.trees.threshold, others.trees.threshold)
        assert np.array_equal(bank.trees.values, others.trees.values)
    assert np.array_equal(plan.decision_function(X), again.decision_function(X))
    assert np.array_equal(plan.cost(X, COSTS).per_row, again.cost(X, COSTS).per_row)
    assert np.array_equal(one.predict(X, max_cost=0.9), other.predict(X, max_cost=0.9))


@pytest.mark.parametrize(
    ("more", "weighted"), [({}, False), ({}, True), ({"max_leaves": None}, False)], ids=["plain", "weighted", "samples"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_has_no_effect(kind, more, weighted, monkeypatch):
    if more:
        monkeypatch.setattr("costframe_planner.planner._QUICK_ROWS", 90)
        monkeypatch.setattr("costframe_planner.models._ROWS_TO_TRY", 70)
    X, y, weight, qid = table(kind)
    data = X, y, weight if weighted else None, qid
    whole = fit(kind, data, slice(None), **more)
    assert len(whole.predictor_.stops) > 1
    assert_same(whole, fit(kind, data, np.random.default_rng(1).permutation(N), **more), X)
