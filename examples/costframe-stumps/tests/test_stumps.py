"""The laws that every plugin keeps, in one line, and tests of this plugin alone."""

import numpy as np
import pytest
from costframe_stumps.estimators import StumpsClassifier, StumpsRanker, StumpsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe import Answer, Route, StageTree, WeakLearnerBank
from costframe.plugin import OpaqueLearner
from costframe.testing import check_algorithm

COSTS = {"features": {"a": 1.0, "b": {"cost": 2.0, "needs": ["r"], "once": 30.0}}, "resources": {"r": 3.0}}
EVERY_PRICE = {**COSTS, "split": 0.125, "learner": 0.25, "reuse": 0.5}


def rows(n=200):
    X = np.random.default_rng(0).standard_normal((n, 2))
    return X, X[:, 0] + 2 * X[:, 1]


def test_it_keeps_the_laws():
    check_algorithm("stumps")


def test_installing_it_is_enough():
    X, y = rows()
    model = cf.estimator("stumps", task="regression", costs=COSTS, tradeoff=1e-3).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("tradeoff", [0.0, 1e-3, 0.1])
def test_what_training_believes_it_pays_is_what_a_row_pays(tradeoff):
    from costframe_stumps.boosting import added_cost

    X, y = rows()
    model = StumpsRegressor(EVERY_PRICE, tradeoff, n_estimators=10).fit(X, y)
    bought, believed = np.zeros(2, bool), 0.0
    prices = model.costs_.select(("a", "b"))
    for feature in model.bank_.trees.feature[::3]:
        believed += added_cost(prices, bought, feature, len(X))
        bought[feature] = True
    report = model.cost(X)
    assert report.per_row == pytest.approx(believed - report.fixed / len(X))


def test_a_first_stump_is_the_best_of_all():
    X, y = rows(30)
    model = StumpsRegressor(tradeoff=0.0, n_estimators=1, learning_rate=1.0).fit(X, y)
    errors = []
    for column in X.T:
        for cut in np.sort(column)[:-1]:
            left = column <= cut
            errors.append(((y - np.where(left, y[left].mean(), y[~left].mean())) ** 2).mean())
    assert ((model.predict(X) - y) ** 2).mean() == pytest.approx(min(errors))


def test_validation_data_choose_the_number_of_stumps():
    X, y = rows()
    noise = np.random.default_rng(1).standard_normal(len(y)) * 3
    free = StumpsRegressor(tradeoff=0.0).fit(X, y + noise)
    chosen = StumpsRegressor(tradeoff=0.0).fit(X, y + noise, X_val=X, y_val=y)
    assert len(chosen.bank_) < len(free.bank_) == 100
    assert chosen.score(X, y) > free.score(X, y)


@pytest.mark.parametrize(
    "wrong", [{"n_estimators": 0}, {"n_estimators": 2.5}, {"learning_rate": 0.0}, {"learning_rate": 2}]
)
def test_settings_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(cf.CostframeError, match=next(iter(wrong))):
        StumpsRegressor(**wrong).fit(*rows())


@parametrize_with_checks(
    [StumpsClassifier(n_estimators=5), StumpsRegressor(n_estimators=5), StumpsRanker(n_estimators=5)]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_banks_of_columns_and_functions():
    names = ("age", "blood", "mri")
    columns = WeakLearnerBank.columns(names, [0])
    scan = WeakLearnerBank.opaque(names, [OpaqueLearner("scan", lambda rows: np.tanh(rows).sum(axis=1), (1, 2))])
    one, nothing = np.ones(1), np.empty(0, int)
    old = Route([0], one, -50.0, threshold=0.0, steepness=1.0, below=1, above=2)  # the score is age - 50
    tree = StageTree(columns + scan, (old, Answer(nothing, np.empty((0, 1)), [0.1]), Answer([1], one, [0.0])))
    costs = {"features": {"age": 1.0, "blood": 5.0, "mri": 120.0}}
    assert tree.cost([[30.0, 1.0, 2.0], [70.0, 1.0, 2.0]], costs=costs).per_row.tolist() == [1.0, 126.0]
