"""Estimators of a plan take other prices and another tradeoff when they predict, others refuse them by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from costframe.core.errors import CostModelError, ParameterError
from costframe_cegb import CEGBClassifier
from costframe_planner import PlannerClassifier, PlannerRegressor

QUICK = {"max_tries": 8, "n_estimators": 20, "n_sets": 5, "max_leaves": 4, "n_jobs": 1}
TERMS = [
    {"costs": [500.0, 0.0, 0.0, 1.0]},
    {"tradeoff": 2.0},
    {"costs": {"features": {"a": 0, "b": 9, "c": 0, "d": 0}}, "tradeoff": 1},
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    return X, (X["a"] + X["b"] + 0.5 * rng.normal(size=200) > 0).astype(int)


@pytest.mark.parametrize("terms", TERMS)
def test_an_estimator_hands_terms_to_its_plan(table, terms):
    X, y = table
    model = PlannerClassifier(**QUICK).fit(X, y)
    p = model.predictor_.predict(X, **terms)
    assert (p != model.predictor_.predict(X)).any()
    shuffled = X[list("dbca")]  # prices are those of the training columns, whatever the order of the rows to predict
    np.testing.assert_array_equal(model.predict_proba(shuffled, **terms)[:, 1], p)
    np.testing.assert_array_equal(model.predict(shuffled, **terms), p > 0.5)
    scores = model.decision_function(shuffled, **terms)
    np.testing.assert_array_equal(scores, model.predictor_.decision_function(X, **terms))
    report = model.cost(shuffled, **terms)
    np.testing.assert_array_equal(report.per_row, model.predictor_.cost(X, **terms).per_row)
    np.testing.assert_array_equal(report.predictions, p)
    assert (model.cost(X, **terms, max_cost=1.0).per_row <= 1).all()


def test_a_regressor_hands_terms_to_its_plan(table):
    X, _ = table
    model = PlannerRegressor(**QUICK).fit(X, X["a"] + X["b"])
    assert np.ptp(model.predict(X, tradeoff=1e6)) == 0
    assert model.cost(X, tradeoff=1e6).mean == 0
    assert np.ptp(model.predict(X, costs=[0, 0, 0, 0], tradeoff=1e6)) > 0


def test_terms_that_cannot_be_are_named(table):
    X, y = table
    model = PlannerClassifier(**QUICK).fit(X, y)
    with pytest.raises(ParameterError, match=r"^tradeoff: expected a number >= 0"):
        model.predict(X, tradeoff=-1)
    with pytest.raises(CostModelError, match=r"^costs: expected 4 prices"):
        model.predict(X, costs=[1, 2])
    with pytest.raises(ParameterError, match=r"^budget: expected max_cost, unavailable, costs or tradeoff"):
        model.predict_proba(X, budget=3)
    other = CEGBClassifier().fit(X, y)
    for method in (other.predict, other.predict_proba, other.decision_function, other.cost):
        with pytest.raises(ParameterError, match=r"^tradeoff: expected None, for CEGBClassifier .* got 2"):
            method(X, tradeoff=2)
        method(X, tradeoff=None)
    with pytest.raises(ParameterError, match=r"^costs: expected None, for CEGBClassifier"):
        other.predict(X, costs=[1, 1, 1, 1])
    assert other.cost(X, costs=[2, 2, 2, 2]).mean == 2 * other.cost(X).mean
