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
from costframe.core.errors import CostframeError
from costframe.plot import AcquisitionDisplay, FrontierDisplay, StagesDisplay
from costframe_cegb import CEGBClassifier, CEGBRegressor
from costframe_planner import PlannerClassifier

RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(200, 4)), 1)
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0).astype(int)
NAMES = ("x0", "x1", "x2", "x3")
PRICES = {
    "unit": "CAD",
    "features": {
        "x0": {"cost": 1.0, "needs": ["blood"]},
        "x1": {"cost": 2.0, "needs": ["blood"]},
        "x2": 4.0,
        "x3": 8.0,
    },
    "resources": {"blood": 3.0},
}


def steps():
    values = yield ["x1"]
    if values["x1"] > 0:
        values = yield ["x0"]
        return values["x0"]
    return -1.0


def test_features_of_a_stepped_model_explain_its_scores_together():
    model = cf.SteppedPredictor(("x0", "x1"), steps, costs=cf.CostModel.uniform(["x0", "x1"]))
    assert cf.importances(model, X[:, :2]) == {"x0": 0.5, "x1": 0.5}
    money = cf.importances(model, X[:, :2], by="money")
    share = (X[:, 1] > 0).mean()
    assert money == pytest.approx({"x1": 1 / (1 + share), "x0": share / (1 + share)})


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor], ids=lambda kind: kind.__name__)
def test_importances_by_gain_are_those_of_scikit_learn(kind):
    tree = kind(max_depth=4, random_state=0).fit(X, Y)
    found = cf.importances(cf.adopt(tree, NAMES), X)
    assert [found[name] for name in NAMES] == pytest.approx(tree.feature_importances_, abs=1e-6)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_importances_of_columns_are_shares_of_their_variance():
    bank = cf.WeakLearnerBank.columns(NAMES)
    tree = cf.StageTree(bank, (cf.Answer([0, 1, 3], [2.0, -1.0, 0.0], [5.0]),))
    spread = np.array([4.0, 1.0]) * X[:, :2].var(axis=0)
    found = cf.importances(tree, X)
    assert [found[name] for name in NAMES] == pytest.approx([*(spread / spread.sum()), 0.0, 0.0])


def test_raw_columns_explain_together_what_is_made_of_them():
    """In equal parts, however many made columns each is behind."""
    codes = np.c_[np.digitize(X[:, 0], [-1, 0, 1]), X[:, 1:]]
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), [0]), remainder="passthrough")
    opaque = cf.adopt(make_pipeline(encoder, KNeighborsClassifier()).fit(codes, Y), NAMES)
    assert cf.importances(opaque, codes) == dict.fromkeys(NAMES, 0.25)
    line = make_pipeline(PolynomialFeatures(2, include_bias=False, interaction_only=True), LinearRegression())
    line.fit(X[:, :2], X[:, 0] + X[:, 0] * X[:, 1])
    spread = np.array([X[:, 0].var(), (X[:, 0] * X[:, 1]).var()]) @ [[1, 0], [0.5, 0.5]]
    found = cf.importances(cf.adopt(line, NAMES[:2]), X[:, :2])
    assert [found[name] for name in NAMES[:2]] == pytest.approx(spread / spread.sum())


def test_money_is_that_of_a_feature_and_of_its_part_of_resources():
    bank = cf.WeakLearnerBank.columns(NAMES)
    costs = cf.CostModel.from_dict(PRICES)
    two = cf.StageTree(bank, (cf.Answer([0, 1, 2], [1.0, 1.0, 1.0], [0.0]),), costs)
    assert cf.importances(two, X, by="money") == pytest.approx({"x2": 0.4, "x1": 0.35, "x0": 0.25, "x3": 0.0})
    one = cf.StageTree(bank, (cf.Answer([0, 2], [1.0, 1.0], [0.0]),), costs)
    assert cf.importances(one, X, by="money") == pytest.approx({"x0": 0.5, "x2": 0.5, "x1": 0.0, "x3": 0.0})
    none = cf.StageTree(bank, (cf.Answer([], np.empty((0, 1)), [0.0]),), costs)
    assert set(cf.importances(none, X, by="money").values()) == {0.0}


def test_weights_count_rows():
    model = CEGBRegressor(PRICES, tradeoff=1e-3, n_estimators=5).fit(X, Y)
    weight = RNG.integers(0, 3, size=200)
    for by in ("gain", "money"):
        twice = cf.importances(model, np.repeat(X, weight, axis=0), by=by)
        assert cf.importances(model, X, by=by, sample_weight=weight) == pytest.approx(twice, abs=1e-6)


@pytest.mark.parametrize("kind", [CEGBClassifier, PlannerClassifier], ids=lambda kind: kind.__name__)
def test_fitted_estimators_have_importances_by_gain(kind):
    model = kind(PRICES, tradeoff=1e-4, n_estimators=8)
    assert not hasattr(model, "feature_importances_")
    model.fit(X, Y)
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances[3] < importances[0]
    found = cf.importances(model, X)
    assert [found[name] for name in NAMES] == pytest.approx(importances)
    chosen = SelectFromModel(kind(PRICES, tradeoff=1e-4, n_estimators=8), threshold="mean").fit(X, Y)
    assert chosen.get_support()[0]


def test_importances_survive_pickling_and_copies_without_the_rows():
    model = CEGBClassifier(PRICES, tradeoff=1e-4, n_estimators=8).fit(X, Y)
    wanted = model.feature_importances_
    packed = pickle.dumps(model)
    again = pickle.loads(packed)  # noqa: S301 - our own
    assert again.feature_importances_.tolist() == wanted.tolist()
    assert X.tobytes() in pickle.dumps(X)
    assert X.tobytes() not in packed
    shorter = model.with_predictor(model.predictor_, tradeoff=1e-4)
    assert shorter.feature_importances_.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cf.importances(DecisionTreeClassifier(), X), "got DecisionTreeClassifier; cf.adopt"),
        (lambda: cf.importances(CEGBClassifier(), X), "got CEGBClassifier, which is not fitted; call fit first"),
        (lambda: cf.importances(CEGBClassifier, X), "got the class CEGBClassifier; call it, and fit what it makes"),
        (lambda: cf.importances(3, X), "expected a fitted estimator or a Predictor, got 3"),
        (lambda: cf.save(CEGBClassifier(), "a.model"), "got CEGBClassifier; call fit first"),
        (
            lambda: StagesDisplay.of(CEGBClassifier(), X),
            "got CEGBClassifier, which is not fitted; call fit first",
        ),
        (lambda: AcquisitionDisplay.of(CEGBClassifier(), X), "got CEGBClassifier, which is not fitted"),
        (
            lambda: FrontierDisplay.from_estimator(CEGBClassifier(), X, Y),
            "got CEGBClassifier, which is not fitted",
        ),
        (lambda: cf.importances(CEGBClassifier(n_estimators=1).fit(X, Y), X, by="cover"), "'gain' or 'money'"),
    ],
    ids=["foreign", "unfitted", "class", "number", "save", "stages", "steps", "frontier", "by"],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(CostframeError, match=words):
        call()
