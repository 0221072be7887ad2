"""The single stage's estimators: their banks, their cost, and what they refuse."""

import numpy as np
import pytest
from bank_cases import bank_of_xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.errors import CostframeError
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.banks import default_max_features
from costframe.stagewise.relaxed import RelaxedCost
from costframe.training.duplicates import dominated_duplicates
from costframe_cronus import ReweightedClassifier, ReweightedRegressor
from costframe_miser import MiserClassifier


@parametrize_with_checks([ReweightedClassifier(n_estimators=20)])  # the shell of all estimators over a bank
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    data = cf.datasets.load("breast-cancer")
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    return X, y, data.costs, order[:200], order[200:400], order[400:]


@pytest.fixture(scope="module")
def bank(cancer):
    X, y, costs, first, _, _ = cancer
    return bank_of_xgboost(X[first], 2.0 * y[first] - 1, 80, costs.names, eta=0.1, colsample_bytree=0.1)


def test_the_cost_is_the_evaluators(cancer, bank):
    """Learner acquisition: the prices of what has a weight. By path: no more, and what an inquiry is charged."""
    X, y, costs, _, fit, test = cancer
    costs = cf.CostModel.from_dict(costs.to_dict() | {"split": 0.01, "learner": 0.1})
    model = ReweightedClassifier(costs, 3e-3, bank=bank).fit(X[fit], y[fit])
    report, prices = model.cost(X[test], acquisition="learner"), costs.select(costs.names)
    comparisons = BankOutputs.of(model.bank_, X[test]).comparisons(model.bank_, prices.split, np.ones(len(test)))
    groups = PricedGroups.of_bank(model.bank_, prices, comparisons=comparisons)
    assert report.mean == pytest.approx(RelaxedCost(groups).exact_cost(np.ones((1, len(model.bank_), 1))))
    used = [costs.names[f] for f in np.flatnonzero(np.diff(model.bank_.F.indptr))]
    assert len(used) > 2
    paid = sum(report.by_feature.values()) + sum(report.by_resource.values())
    assert paid == pytest.approx(costs.full_cost(used))
    by_path = model.cost(X[test])
    assert (by_path.per_row <= report.per_row + 1e-12).all()
    for row in X[test][:5]:
        inquiry = model.predictor_.inquire()
        while inquiry.needs:
            inquiry.supply({name: row[costs.names.index(name)] for name in inquiry.needs})
        at = np.flatnonzero((X[test] == row).all(axis=1))[0]
        assert inquiry.answer.cost == pytest.approx(by_path.per_row[at])
        assert inquiry.answer.value == model.predictor_.predict(row[None])[0]


def test_any_bank_will_do(cancer):
    X, y, costs, first, fit, test = cancer
    miser = MiserClassifier(costs, 1e-3, n_estimators=40).fit(X[first], y[first])
    forest = cf.adopt(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[first], y[first]), costs.names)
    for given in (miser, miser.bank_, miser.predictor_, forest, "columns", "boosted"):
        model = ReweightedClassifier(costs, 1e-3, bank=given).fit(X[fit], y[fit])
        assert model.score(X[test], y[test]) > 0.88
        assert model.cost(X[test]).mean < costs.full_cost()


def test_a_bank_of_a_model_without_names_reads_columns_by_position(cancer):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, costs, first, fit, test = cancer
    trained = lightgbm.LGBMClassifier(n_estimators=10, num_leaves=4, verbose=-1).fit(X[first], y[first])
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X[first], y[first])
    for given in (trained, forest):
        for prices in (costs, None):
            predictions = [
                ReweightedClassifier(prices, 1e-3, bank=bank).fit(X[fit], y[fit]).predict_proba(X[test])
                for bank in (cf.adopt(given), cf.adopt(given, costs.names if prices else [f"x{f}" for f in range(30)]))
            ]
            np.testing.assert_array_equal(*predictions)
    with pytest.raises(CostframeError, match=r"bank: expected .* StageTree as of cf\.adopt, .*got LGBMClassifier"):
        ReweightedClassifier(costs, bank=trained).fit(X, y)
    with pytest.raises(CostframeError, match="reads 'f"):
        ReweightedClassifier(bank=cf.adopt(forest)).fit(X[:, :20], y)


def test_many_classes_share_their_learners():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 6))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = ReweightedClassifier({"features": dict.fromkeys("abcdef", 1.0)}, 0.01, n_estimators=40).fit(
        X[:400], y[:400]
    )
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.cost(X[400:], acquisition="learner").mean <= 3
    assert model.predict_proba(X).shape == (600, 3)


def test_validation_data_choose_the_ridge():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 20))
    y = X[:, 0] + 2 * rng.standard_normal(120)
    rest = rng.standard_normal((2000, 20))
    target = rest[:, 0] + 2 * rng.standard_normal(2000)
    more = {"X_val": rest[:1000], "y_val": target[:1000]}
    models = [ReweightedRegressor(tradeoff=0, bank="columns", ridge=ridge).fit(X, y) for ridge in (1e-4, 1.0)]
    chosen = ReweightedRegressor(tradeoff=0, bank="columns").fit(X, y, **more)
    scores = [model.score(rest[1000:], target[1000:]) for model in (*models, chosen)]
    assert scores[0] < scores[1] <= scores[2] + 1e-3


def test_hardly_any_rows_and_no_prices_are_no_fault():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 3))
    y = X[:, 0] > 0
    free = {"features": dict.fromkeys("abc", 0.0)}
    for costs in (free, None):
        for tradeoff in (0.0, 0.01, 1e300):
            model = ReweightedClassifier(costs, tradeoff, n_estimators=60).fit(X, y)  # T > n
            assert np.isfinite(model.decision_function(X)).all()
    huge = {"features": {"a": 1e308, "b": 1e-300, "c": 1e200}}
    assert np.isfinite(ReweightedRegressor(huge, 1e10).fit(X, y).predict(X)).all()
    constant = ReweightedRegressor(tradeoff=0).fit(X, np.full(12, 3.25))
    np.testing.assert_allclose(constant.predict(X), 3.25)
    assert constant.cost(X).mean == 0


def test_copies_that_are_dearer_are_found():
    X = np.array([[1.0, 1.0, 1.0, 0.0, 0.0], [np.nan, np.nan, 2.0, -0.0, 0.0]])
    table = {"a": 2.0, "b": {"cost": 1.0, "needs": ["r"]}, "c": 0.0, "d": {"cost": 1, "once": 1}, "e": 1.0}
    prices = cf.CostModel.from_dict({"features": table, "resources": {"r": 0.5}}).select(tuple("abcde"))
    assert dominated_duplicates(X, prices).tolist() == [False, False, False, True, False]  # r may be there anyway
    same = cf.CostModel.uniform(tuple("abcde")).select(tuple("abcde"))
    assert dominated_duplicates(X, same).tolist() == [False, True, False, False, True]


def test_trees_read_few_columns():
    assert [round(default_max_features(d) * d) for d in (1, 2, 3, 4, 6, 30, 31, 500)] == [1, 1, 1, 2, 3, 3, 4, 50]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bank": "forest"}, "bank: expected 'boosted', 'columns'"),
        ({"bank": MiserClassifier()}, "bank: expected .* got MiserClassifier"),
        ({"bank": "columns", "n_estimators": 5}, "n_estimators: has no effect"),
        ({"bank": "columns", "random_state": "x"}, "random_state: expected a whole number"),
        ({"bank": cf.WeakLearnerBank.columns(["z"])}, "features: the bank reads 'z'"),
        ({"bank": cf.WeakLearnerBank.columns(["x0"], [])}, "bank: expected at least one learner"),
        ({"engine": "forest"}, "engine: expected 'priced' or 'cart'"),
        ({"recipe": "none"}, "recipe: expected None or 'paper'"),
        ({"ridge": 0.0}, "ridge: expected a number > 0"),
        ({"l1": -1, "recipe": "paper"}, "l1: expected a number >= 0"),
        ({"l1": 0.1}, "l1: has no effect with the default recipe"),
        ({"ridge": 0.1, "recipe": "paper"}, "ridge: has no effect with recipe='paper'"),
        ({"acquisition": "path", "recipe": "paper"}, "acquisition: has no effect"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(CostframeError, match=words):
        ReweightedClassifier(**settings).fit(X, X[:, 0] > 0)
