"""The single stage's estimators: their banks, classes, ridge, extremes, and what they refuse."""

import numpy as np
import pytest
from kit_cases import parametrize_laws
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe import CostframeError
from costframe.training.dominated import dominated_duplicates
from costframe_cronus import ReweightedClassifier, ReweightedRegressor
from costframe_miser import MiserClassifier


@parametrize_laws("reweighted")
def test_laws(check):
    check()


@parametrize_with_checks([ReweightedClassifier(n_estimators=20)])  # the shell of all estimators over a bank
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X, y, cf.datasets.load("breast-cancer").costs, order[:200], order[200:400], order[400:]


def test_any_bank_will_do_and_one_without_names_reads_columns_by_position(cancer):
    X, y, costs, first, fit, test = cancer
    miser = MiserClassifier(costs, 1e-3, n_estimators=40).fit(X[first], y[first])
    trained = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[first], y[first])
    for given in (miser, miser.bank_, miser.predictor_, cf.adopt(trained, costs.names), "columns", "boosted"):
        model = ReweightedClassifier(costs, 1e-3, bank=given).fit(X[fit], y[fit])
        assert model.score(X[test], y[test]) > 0.88
        assert model.cost(X[test]).mean < costs.full_cost()
    for prices, names in ((costs, costs.names), (None, [f"x{f}" for f in range(30)])):
        predictions = [
            ReweightedClassifier(prices, 1e-3, bank=bank).fit(X[fit], y[fit]).predict_proba(X[test])
            for bank in (cf.adopt(trained), cf.adopt(trained, names))
        ]
        np.testing.assert_array_equal(*predictions)
    with pytest.raises(CostframeError, match=r"bank: expected .* StageTree as of cf\.adopt, .*got RandomForest"):
        ReweightedClassifier(costs, bank=trained).fit(X, y)
    with pytest.raises(CostframeError, match="reads 'f"):
        ReweightedClassifier(bank=cf.adopt(trained)).fit(X[:, :20], y)


def test_validation_data_choose_the_ridge():
    rng = np.random.default_rng(2)
    X, rest = rng.standard_normal((40, 20)), rng.standard_normal((2000, 20))
    y, target = (rows[:, 0] + 2 * rng.standard_normal(len(rows)) for rows in (X, rest))
    usual = {"tradeoff": 0, "bank": "columns"}
    models = [ReweightedRegressor(ridge=ridge, **usual).fit(X, y) for ridge in (1e-4, 1.0)]
    models.append(ReweightedRegressor(**usual).fit(X, y, X_val=rest[:1000], y_val=target[:1000]))
    scores = [model.score(rest[1000:], target[1000:]) for model in models]
    assert scores[0] < scores[1] <= scores[2] + 1e-3


def test_copies_that_are_dearer_are_found():
    X = np.array([[1.0, 1.0, 1.0, 0.0, 0.0], [np.nan, np.nan, 2.0, -0.0, 0.0]])
    table = {"a": 2.0, "b": {"cost": 1.0, "needs": ["r"]}, "c": 0.0, "d": {"cost": 1, "once": 1}, "e": 1.0}
    prices = cf.CostModel.from_dict({"features": table, "resources": {"r": 0.5}}).select(tuple("abcde"))
    assert dominated_duplicates(X, prices).tolist() == [False, False, False, True, False]  # r may be there anyway
    same = cf.CostModel.uniform(tuple("abcde")).select(tuple("abcde"))
    assert dominated_duplicates(X, same).tolist() == [False, True, False, False, True]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bank": "forest"}, "bank: expected 'boosted', 'columns'"),
        ({"bank": cf.WeakLearnerBank.columns(["z"])}, "features: the bank reads 'z'"),
        ({"bank": cf.WeakLearnerBank.columns(["x0"], [])}, "bank: expected at least one learner"),
        ({"l1": 0.1}, "l1: has no effect with the default recipe"),
        ({"ridge": 0.1, "recipe": "paper"}, "ridge: has no effect with recipe='paper'"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(CostframeError, match=words):
        ReweightedClassifier(**settings).fit(X, X[:, 0] > 0)
