"""Importances of features by gain and by money, for predictors of all kinds, and against other libraries."""

import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import costframe as cf
from costframe import CostframeError
from costframe.plot import StagesDisplay

RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(200, 4)), 1)
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0).astype(int)
NAMES = ("x0", "x1", "x2", "x3")
ON_BLOOD = {name: {"cost": cost, "needs": ["blood"]} for name, cost in (("x0", 1.0), ("x1", 2.0))}
PRICES = {"unit": "CAD", "features": {**ON_BLOOD, "x2": 4.0, "x3": 8.0}, "resources": {"blood": 3.0}}
BANK = cf.WeakLearnerBank.columns(NAMES)


def steps():
    values = yield ["x1"]
    if values["x1"] > 0:
        values = yield ["x0"]
        return values["x0"]
    return -1.0


def test_features_of_a_stepped_model_explain_its_scores_together():
    model = cf.SteppedPredictor(("x0", "x1"), steps, costs=cf.CostModel.uniform(["x0", "x1"]))
    assert cf.importances(model, X[:, :2]) == {"x0": 0.5, "x1": 0.5}
    share = (X[:, 1] > 0).mean()
    money = cf.importances(model, X[:, :2], by="money")
    assert money == pytest.approx({"x1": 1 / (1 + share), "x0": share / (1 + share)})


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_importances_by_gain_are_those_of_scikit_learn(kind):
    tree = kind(max_depth=4, random_state=0).fit(X, Y)
    found = cf.importances(cf.adopt(tree, NAMES), X)
    assert [found[name] for name in NAMES] == pytest.approx(tree.feature_importances_, abs=1e-6)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_importances_of_columns_are_shares_of_their_variance_and_of_what_is_made_of_them():
    """Raw columns explain in equal parts what is made of them, however many made columns each is behind."""
    tree = cf.StageTree(BANK, (cf.Answer([0, 1, 3], [2.0, -1.0, 0.0], [5.0]),))
    spread, found = np.array([4.0, 1.0]) * X[:, :2].var(axis=0), cf.importances(tree, X)
    assert [found[name] for name in NAMES] == pytest.approx([*(spread / spread.sum()), 0.0, 0.0])
    codes = np.c_[np.digitize(X[:, 0], [-1, 0, 1]), X[:, 1:]]
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), [0]), remainder="passthrough")
    opaque = cf.adopt(make_pipeline(encoder, KNeighborsClassifier()).fit(codes, Y), NAMES)
    assert cf.importances(opaque, codes) == dict.fromkeys(NAMES, 0.25)
    line = make_pipeline(PolynomialFeatures(2, include_bias=False, interaction_only=True), LinearRegression())
    line.fit(X[:, :2], X[:, 0] + X[:, 0] * X[:, 1])
    spread = np.array([X[:, 0].var(), (X[:, 0] * X[:, 1]).var()]) @ [[1, 0], [0.5, 0.5]]
    found = cf.importances(cf.adopt(line, NAMES[:2]), X[:, :2])
    assert [found[name] for name in NAMES[:2]] == pytest.approx(spread / spread.sum())


@pytest.mark.parametrize(
    ("reads", "shares"), [([0, 1, 2], [0.25, 0.35, 0.4, 0.0]), ([0, 2], [0.5, 0.0, 0.5, 0.0]), ([], [0.0] * 4)]
)
def test_money_is_that_of_a_feature_and_of_its_part_of_resources(reads, shares):
    answer = cf.Answer(reads, np.ones((len(reads), 1)), [0.0])
    found = cf.importances(cf.StageTree(BANK, (answer,), cf.CostModel.from_dict(PRICES)), X, by="money")
    assert [found[name] for name in NAMES] == pytest.approx(shares)


@pytest.mark.parametrize("kind", [cf.CEGBClassifier, cf.PlannerClassifier])
def test_fitted_estimators_have_importances_by_gain(kind):
    model = kind(PRICES, tradeoff=1e-4, n_estimators=8)
    assert not hasattr(model, "feature_importances_")
    wanted, weight = model.fit(X, Y).feature_importances_, RNG.integers(0, 3, size=200)
    assert [cf.importances(model, X)[name] for name in NAMES] == pytest.approx(wanted)
    assert SelectFromModel(kind(PRICES, tradeoff=1e-4, n_estimators=8), threshold="mean").fit(X, Y).get_support()[0]
    packed = pickle.dumps(model)  # without the rows
    assert pickle.loads(packed).feature_importances_.tolist() == wanted.tolist()  # noqa: S301 - our own
    assert X.tobytes() not in packed
    for by in ("gain", "money"):
        twice = cf.importances(model, np.repeat(X, weight, axis=0), by=by)
        assert cf.importances(model, X, by=by, sample_weight=weight) == pytest.approx(twice, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cf.importances(DecisionTreeClassifier(), X), "got DecisionTreeClassifier; cf.adopt"),
        (lambda: cf.importances(cf.CEGBClassifier, X), "got the class CEGBClassifier; call it, and fit what it makes"),
        (lambda: cf.save(cf.CEGBClassifier(), "a.model"), "got CEGBClassifier; call fit first"),
        (lambda: StagesDisplay.of(cf.CEGBClassifier(), X), "got CEGBClassifier, which is not fitted"),
        (lambda: cf.importances(cf.adopt(DecisionTreeClassifier().fit(X, Y)), X, by="cover"), "'gain' or 'money'"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(CostframeError, match=words):
        call()
