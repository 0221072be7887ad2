"""scikit-learn's linear models, and ensembles of any of its models, nested: the same scores, labels and paths."""

import warnings

import numpy as np
import pytest
from adoption_cases import ADOPTS
from hypothesis import given
from hypothesis import strategies as st
from sklearn import ensemble as en
from sklearn import linear_model as lm
from sklearn import tree
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC, LinearSVR
from sklearn_cases import N_FEATURES, PAIR, SIGNAL, THREE, TWO, WHOLE, probabilities

import costframe as cf
from costframe.adoption import GivenColumns, GivenModel
from costframe.errors import AdoptionError

ROWS = np.concatenate([WHOLE, np.random.default_rng(1).normal(size=(60, N_FEATURES)) * 3])

# --- linear models -----------------------------------------------------------------------------------------------

CLASSIFIERS = [
    lm.LogisticRegression(),
    lm.LogisticRegressionCV(cv=2, Cs=2, scoring="accuracy", use_legacy_attributes=False, l1_ratios=(0.0,)),
    LinearDiscriminantAnalysis(),
    *(lm.SGDClassifier(loss=loss, random_state=0) for loss in ("log_loss", "modified_huber", "hinge")),
    LinearSVC(),
    lm.RidgeClassifier(),
    DummyClassifier(strategy="prior"),
    DummyClassifier(strategy="most_frequent"),
]
REGRESSORS = [
    lm.LinearRegression(fit_intercept=False),
    *(getattr(lm, name)() for name in ("Ridge", "RidgeCV", "Lars", "LassoLarsIC", "OrthogonalMatchingPursuit")),
    *(lm.Lasso(0.05), lm.ElasticNet(0.05), lm.LassoLars(0.01), lm.SGDRegressor(random_state=0), LinearSVR()),
    *(lm.BayesianRidge(), lm.ARDRegression(), lm.HuberRegressor(), lm.QuantileRegressor(alpha=0.01)),
    *(lm.PoissonRegressor(), lm.GammaRegressor(), lm.TweedieRegressor(power=1.5)),
    *(lm.TweedieRegressor(power=0), lm.TweedieRegressor(power=0, link="log")),
    lm.RANSACRegressor(random_state=0),
    DummyRegressor(strategy="median"),
]


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_linear_classifiers(model, target):
    adopted = cf.adopt(model.fit(WHOLE, target))
    if hasattr(model, "predict_proba"):
        predicted = adopted.predict(ROWS).reshape(len(ROWS), -1)
        np.testing.assert_allclose(predicted, probabilities(model, ROWS), rtol=1e-12, atol=1e-13)
    if hasattr(model, "decision_function"):
        np.testing.assert_allclose(adopted.decision_function(ROWS), model.decision_function(ROWS), rtol=0, atol=1e-12)
    far = np.concatenate([ROWS, 1000 * ROWS])  # their probabilities of 0 or 1 are equal, where scores are not
    np.testing.assert_array_equal(cf.FittedEstimator(adopted).predict(far), model.predict(far))
    if isinstance(model, lm.SGDClassifier):
        sparse = cf.adopt(model.sparsify())
        np.testing.assert_allclose(sparse.decision_function(ROWS), model.decision_function(ROWS), rtol=0, atol=1e-12)
        model.densify()


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_linear_regressors(model):
    model.fit(WHOLE, np.abs(SIGNAL) + 0.1)
    np.testing.assert_allclose(cf.adopt(model).predict(ROWS), model.predict(ROWS), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("model", [lm.LinearRegression(), lm.RidgeClassifier(), DummyRegressor()], ids=str)
def test_several_outputs(model):
    labels = is_classifier(model)
    model.fit(WHOLE, (PAIR > 0.3).astype(int) if labels else PAIR)
    wanted = (model.decision_function if labels else model.predict)(ROWS)
    np.testing.assert_allclose(cf.adopt(model).predict(ROWS), wanted, rtol=1e-12, atol=1e-12)
    assert cf.adopt(model).classes is None


def test_columns_without_weight_are_not_read_and_what_lacks_a_value_has_no_prediction():
    model = lm.Lasso(0.2).fit(WHOLE, WHOLE[:, 1] - WHOLE[:, 3])
    adopted = cf.adopt(model, list("abcd"))
    np.testing.assert_array_equal(adopted.cost(WHOLE).acquired, np.tile([0, 1, 0, 1], (len(WHOLE), 1)))
    assert np.isnan(adopted.predict([[1.0, np.nan, 1.0, 1.0]])).all()  # the original refuses it


@pytest.mark.parametrize(("several", "solver"), [("ovr", "lbfgs"), ("auto", "liblinear"), ("multinomial", "lbfgs")])
def test_classes_as_older_versions_have_them(several, solver):
    pairs = several == "multinomial"
    model = lm.LogisticRegression().fit(WHOLE, TWO if pairs else THREE)
    model.multi_class, model.solver = several, solver
    each = 1 / (1 + np.exp(-model.decision_function(ROWS) * (2 if pairs else 1)))
    wanted = each if pairs else each / each.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ADOPTS["sklearn"](model).predict(ROWS), wanted, rtol=1e-12)


def test_predictions_by_chance_are_refused():
    with pytest.raises(AdoptionError, match="DummyClassifier: strategy='uniform' cannot be adopted"):
        cf.adopt(DummyClassifier(strategy="uniform").fit(WHOLE, TWO))


# --- ensembles ---------------------------------------------------------------------------------------------------

TREE, SVM = tree.DecisionTreeClassifier(max_depth=2, random_state=0), LinearSVC(dual=False)
LOGISTIC = lm.LogisticRegression()
LABELS = np.column_stack([SIGNAL > 0, WHOLE[:, 3] > 0]).astype(int)
BOOSTED = en.GradientBoostingClassifier(n_estimators=2, max_depth=2)
LEAVES = [
    *(TREE, LOGISTIC, BOOSTED, en.AdaBoostClassifier(TREE, n_estimators=2), DummyClassifier(), KNeighborsClassifier(3)),
    lm.SGDClassifier(loss="modified_huber", random_state=0, max_iter=5),
    en.RandomForestClassifier(2, max_depth=2, random_state=0),
]


def bag(one, features, twice):
    return en.BaggingClassifier(one, 2, max_features=features, bootstrap_features=twice, random_state=0)


def votes(a, b, weight):
    return en.VotingClassifier([("a", a), ("b", b)], voting="soft", weights=[1, weight])


def calibrated(one, method, each):
    return CalibratedClassifierCV(one, cv=2, method=method, ensemble=each)


METHODS = st.sampled_from(["sigmoid", "isotonic"])
probable = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(bag, inner, st.sampled_from([1.0, 0.5]), st.booleans()),
        st.builds(votes, inner, inner, st.integers(0, 3)),
        st.builds(calibrated, inner | st.just(SVM), METHODS, st.booleans()),
        st.builds(lambda one: en.StackingClassifier([("a", one), ("b", SVM)], LOGISTIC, cv=2), inner),
    ),
    max_leaves=3,
)


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny data
        return model.fit(X, y)


@given(probable, st.integers(2, 3), st.integers(0, 1000))
def test_nested_ensembles(model, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(48, 3)), 1)
    y = np.arange(48) % n_classes * (X[:, 0] > -0.5).astype(int)
    y[:6] = np.arange(6) % n_classes
    fitted(model, X, y)
    adopted = cf.adopt(model)
    rows = np.concatenate([X, rng.normal(size=(20, 3)) * 2])
    expected = probabilities(model, rows)
    found = adopted.predict(rows)
    np.testing.assert_allclose(found.reshape(len(rows), -1), expected, rtol=1e-9, atol=1e-12)
    for row, value in zip(rows[:3], found, strict=False):
        answer = cf.predict_one(adopted, dict(zip(adopted.feature_names, row, strict=True)))
        # Opaque learners may themselves predict single rows in another order of sums.
        np.testing.assert_allclose(answer.value, value, rtol=1e-9 if adopted.bank.opaques else 0)
        assert answer.cost == adopted.cost(row[None]).per_row[0]


CASES = {
    "calibrated boosting": CalibratedClassifierCV(
        en.HistGradientBoostingClassifier(max_iter=2), cv=2, method="isotonic"
    ),
    "temperature": CalibratedClassifierCV(LOGISTIC, cv=2, method="temperature"),
    "frozen": FrozenEstimator(lm.LogisticRegression().fit(WHOLE, np.where(SIGNAL > 0, 7, 3))),
    "search of scores": GridSearchCV(SVM, {"C": [0.1, 1.0]}, cv=2),
    "self-training": SelfTrainingClassifier(LOGISTIC),
    "regressors' bag": en.BaggingRegressor(
        tree.DecisionTreeRegressor(max_depth=2), 3, max_features=0.5, random_state=0
    ),
    "regressors' vote": en.VotingRegressor(
        [("a", lm.LinearRegression()), ("b", lm.PoissonRegressor())], weights=[1, 2]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_ensembles(name, tmp_path):
    model = fitted(CASES[name], WHOLE, np.where(SIGNAL > 0, 7, 3) if is_classifier(CASES[name]) else np.abs(SIGNAL) + 1)
    adopted = cf.adopt(model)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(WHOLE)[:, 1]
    else:
        expected = model.predict(WHOLE) == 7 if is_classifier(model) else model.predict(WHOLE)
    np.testing.assert_allclose(adopted.predict(WHOLE), expected, rtol=1e-12, atol=1e-12)
    if is_classifier(model):
        np.testing.assert_array_equal(cf.FittedEstimator(adopted).predict(WHOLE), model.predict(WHOLE))
    if not adopted.bank.opaques:
        cf.save(adopted, tmp_path / "model.cf")
        np.testing.assert_array_equal(cf.load(tmp_path / "model.cf").predict(WHOLE), adopted.predict(WHOLE))


def test_costs_are_those_of_the_paths_of_all_members_and_behind_a_gate_it_is_one_learner():
    model = votes(TREE, BOOSTED, 1).fit(WHOLE, TWO)
    adopted = cf.adopt(model)
    alone = [cf.adopt(one).cost(WHOLE).acquired for one in model.estimators_]
    np.testing.assert_array_equal(adopted.cost(WHOLE).acquired, np.maximum(*alone))
    assert len(cf.adopt(en.BaggingClassifier(LOGISTIC, 3).fit(WHOLE, TWO)).bank) == 4  # columns are read once
    columns = GivenColumns.choose(("more", *"abcd"), list("abcd"), "expensive")
    tree = GivenModel(model, columns, proba=None, classes=model.classes_, seed=0, framed=False).adopted()
    assert [one.name for one in tree.bank.opaques] == ["expensive"]
    np.testing.assert_allclose(tree.predict(np.column_stack([SIGNAL, WHOLE])), probabilities(model, WHOLE)[:, 0])


OPAQUE = {  # targets, models of which a part or all is unknown, and why
    "hard votes": (TWO, en.VotingClassifier([("a", TREE)]), "cannot be adopted part by part: voting='hard'"),
    "votes of a bag": (TWO, en.BaggingClassifier(SVM, 2), "BaggingClassifier: .* its members, LinearSVC, vote"),
    "one versus one": (THREE, OneVsOneClassifier(LOGISTIC), "cannot be adopted"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPAQUE)
def test_what_cannot_be_adopted_part_by_part_is_one_opaque_learner(name):
    target, model, message = OPAQUE[name]
    model.fit(WHOLE, target)
    with pytest.raises(AdoptionError, match=message):
        ADOPTS["sklearn"](model)
    adopted = cf.adopt(model)
    assert [one.name for one in adopted.bank.opaques] == [type(model).__name__]
    np.testing.assert_array_equal(cf.FittedEstimator(adopted).predict(WHOLE), model.predict(WHOLE))


def test_several_labels_a_row_by_several_models_and_a_search_without_a_refit_are_refused():
    with pytest.raises(AdoptionError, match=r"MultiOutputClassifier: several labels a row .* one classifier for each"):
        cf.adopt(MultiOutputClassifier(LOGISTIC).fit(WHOLE, LABELS))
    with pytest.raises(AdoptionError, match="GridSearchCV: "):
        cf.adopt(GridSearchCV(TREE, {"max_depth": [1]}, cv=2, refit=False).fit(WHOLE, TWO))
