"""Ensembles of any models of scikit-learn, nested: the same predictions, path-exact costs, the same after saving."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_cases import PAIR, SIGNAL, THREE, TWO, WHOLE, probabilities

import costframe as cf
from costframe.adoption.given.classifiers import GivenColumns, probability_tree
from costframe.adoption.sklearn.adopt import adopt_sklearn, is_sklearn
from costframe.core.errors import AdoptionError
from costframe.core.predictors.classes import likeliest

TREE, SVM = DecisionTreeClassifier(max_depth=2, random_state=0), LinearSVC(dual=False)
LOGISTIC = LogisticRegression()
LABELS = np.column_stack([SIGNAL > 0, WHOLE[:, 3] > 0]).astype(int)
LEAVES = [
    TREE,
    LOGISTIC,
    SGDClassifier(loss="modified_huber", random_state=0, max_iter=5),
    GradientBoostingClassifier(n_estimators=2, max_depth=2),
    RandomForestClassifier(2, max_depth=2, random_state=0),
    AdaBoostClassifier(TREE, n_estimators=2),
    DummyClassifier(),
    KNeighborsClassifier(3),
]
probable = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(
            lambda one, features, twice: BaggingClassifier(
                one, 2, max_features=features, bootstrap_features=twice, random_state=0
            ),
            inner,
            st.sampled_from([1.0, 0.5]),
            st.booleans(),
        ),
        st.builds(
            lambda a, b, weight: VotingClassifier([("a", a), ("b", b)], voting="soft", weights=[1, weight]),
            inner,
            inner,
            st.integers(0, 3),
        ),
        st.builds(
            lambda one, method, each: CalibratedClassifierCV(one, cv=2, method=method, ensemble=each),
            inner | st.just(SVM),
            st.sampled_from(["sigmoid", "isotonic"]),
            st.booleans(),
        ),
        st.builds(lambda one: StackingClassifier([("a", one), ("b", SVM)], LOGISTIC, cv=2), inner),
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
        inquiry = adopted.inquire()
        while inquiry.needs:
            inquiry.supply({name: row[int(name[1:])] for name in inquiry.needs})
        # Opaque learners may themselves predict single rows in another order of sums.
        np.testing.assert_allclose(inquiry.answer.value, value, rtol=1e-9 if adopted.bank.opaques else 0)
        assert inquiry.answer.cost == adopted.cost(row[None]).per_row[0]


CASES = {
    "bag of trees": BaggingClassifier(TREE, 3, max_features=2, random_state=0),
    "vote": VotingClassifier([("a", TREE), ("b", LOGISTIC), ("c", LEAVES[3])], voting="soft", weights=[1, 2, 3]),
    "calibrated boosting": CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=2), cv=2, method="isotonic"),
    "calibrated bag": CalibratedClassifierCV(BaggingClassifier(LOGISTIC, 2, random_state=0), cv=2),
    "calibrated machine": CalibratedClassifierCV(SVC(), cv=2),
    "temperature": CalibratedClassifierCV(LOGISTIC, cv=2, method="temperature"),
    "frozen": FrozenEstimator(LogisticRegression().fit(WHOLE, TWO)),
    "search": GridSearchCV(TREE, {"max_depth": [1, 2]}, cv=2),
    "search of scores": GridSearchCV(SVM, {"C": [0.1, 1.0]}, cv=2),
    "self-training": SelfTrainingClassifier(LOGISTIC),
    "regressors' bag": BaggingRegressor(DecisionTreeRegressor(max_depth=2), 3, max_features=0.5, random_state=0),
    "regressors' vote": VotingRegressor([("a", LinearRegression()), ("b", PoissonRegressor())], weights=[1, 2]),
}


@pytest.mark.parametrize("name", CASES)
def test_ensembles(name, tmp_path):
    model = CASES[name]
    if name != "frozen":
        fitted(model, WHOLE, np.where(SIGNAL > 0, 7, 3) if is_classifier(model) else np.abs(SIGNAL) + 0.1)
    adopted = adopt_sklearn(model)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(WHOLE)[:, 1]
    else:
        expected = model.predict(WHOLE) == 7 if is_classifier(model) else model.predict(WHOLE)
    np.testing.assert_allclose(adopted.predict(WHOLE), expected, rtol=1e-12, atol=1e-12)
    if adopted.classes is not None:
        assert likeliest(adopted.predict(WHOLE), adopted.classes).tolist() == model.predict(WHOLE).tolist()
    assert (adopted.classes is None) == (not is_classifier(model))
    if not adopted.bank.opaques:
        cf.save(adopted, tmp_path / "model.cf")
        np.testing.assert_array_equal(cf.load(tmp_path / "model.cf").predict(WHOLE), adopted.predict(WHOLE))


def test_costs_are_those_of_the_paths():
    model = VotingClassifier([("a", TREE), ("b", LEAVES[3])], voting="soft").fit(WHOLE, TWO)
    adopted = adopt_sklearn(model)
    alone = [adopt_sklearn(one).cost(WHOLE, routing="hard").acquired for one in model.estimators_]
    np.testing.assert_array_equal(adopted.cost(WHOLE).acquired, np.maximum(*alone))
    assert adopted.cost(WHOLE).per_row.min() < len(adopted.used_features)


def test_behind_a_gate_an_answer_with_blends_is_one_opaque_learner():
    model = VotingClassifier([("a", TREE), ("b", LEAVES[3])], voting="soft").fit(WHOLE, TWO)
    columns = GivenColumns.choose(("more", *"abcd"), list("abcd"), "expensive")
    tree = probability_tree(model, columns, 2)
    assert [one.name for one in tree.bank.opaques] == ["expensive"]
    rows = np.column_stack([np.zeros(len(WHOLE)), WHOLE])
    np.testing.assert_allclose(tree.predict(rows), model.predict_proba(WHOLE)[:, 1], rtol=1e-12)
    assert set(tree.used_features) == {"abcd"[int(name[1:])] for name in adopt_sklearn(model).used_features}


def test_columns_of_several_members_are_read_once():
    model = BaggingClassifier(LOGISTIC, 3, random_state=0).fit(WHOLE, TWO)
    assert len(adopt_sklearn(model).bank) == 4


def test_members_that_cannot_be_adopted_are_opaque_learners_among_the_others():
    model = VotingRegressor([("a", KNeighborsRegressor()), ("b", KNeighborsRegressor(2)), ("c", LinearRegression())])
    adopted = adopt_sklearn(model.fit(WHOLE, SIGNAL), list("abcd"))
    assert [one.name for one in adopted.bank.opaques] == ["KNeighborsRegressor", "KNeighborsRegressor 2"]
    assert len(adopted.bank) == 6
    np.testing.assert_allclose(adopted.predict(WHOLE), model.predict(WHOLE), rtol=1e-12)


OPAQUE = {
    "hard votes": (VotingClassifier([("a", TREE)]), "VotingClassifier: cannot be adopted part by part: voting='hard'"),
    "votes of a bag": (BaggingClassifier(SVM, 2), "BaggingClassifier: .* its members, LinearSVC, vote"),
    "temperature of probabilities": (
        CalibratedClassifierCV(TREE, cv=2, method="temperature"),
        "method='temperature' over the probabilities of DecisionTreeClassifier",
    ),
    "search of neighbors": (
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}, cv=2),
        "GridSearchCV: .*its KNeighborsClassifier",
    ),
}


STRANGERS = {  # targets, and models of which no part is known
    "stack": (TWO, StackingClassifier([("a", TREE), ("b", SVM)], cv=2, passthrough=True)),
    "one versus rest": (THREE, OneVsRestClassifier(LOGISTIC)),
    "several labels by one versus rest": (LABELS, OneVsRestClassifier(TREE)),
    "stack of regressors": (SIGNAL, StackingRegressor([("a", DecisionTreeRegressor(max_depth=2))], cv=2)),
    "several regressors": (PAIR, MultiOutputRegressor(LinearRegression())),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_ensembles_of_other_kinds_are_one_opaque_learner(name):
    target, model = STRANGERS[name]
    model.fit(WHOLE, target)
    adopted = cf.adopt(model)
    assert [one.name for one in adopted.bank.opaques] == [type(model).__name__]
    assert adopted.cost(WHOLE).mean == WHOLE.shape[1]
    assert is_sklearn(model) is False
    if is_classifier(model):
        wanted = model.predict_proba(WHOLE) if target is LABELS else probabilities(model, WHOLE)
        np.testing.assert_allclose(adopted.predict(WHOLE).reshape(len(WHOLE), -1), wanted)
    else:
        np.testing.assert_allclose(adopted.predict(WHOLE), model.predict(WHOLE))


def test_several_labels_a_row_by_several_models_are_refused():
    with pytest.raises(AdoptionError, match=r"MultiOutputClassifier: several labels a row .* one classifier for each"):
        cf.adopt(MultiOutputClassifier(LOGISTIC).fit(WHOLE, LABELS))


@pytest.mark.parametrize("name", OPAQUE)
def test_what_cannot_be_adopted_part_by_part_is_one_opaque_learner(name):
    model, message = OPAQUE[name]
    model.fit(WHOLE, TWO)
    with pytest.raises(AdoptionError, match=message):
        adopt_sklearn(model)
    adopted = cf.adopt(model)
    assert [one.name for one in adopted.bank.opaques] == [type(model).__name__]
    np.testing.assert_array_equal(cf.FittedEstimator(adopted).predict(WHOLE), model.predict(WHOLE))


def test_a_search_without_a_refit_is_refused():
    model = GridSearchCV(TREE, {"max_depth": [1]}, cv=2, refit=False).fit(WHOLE, TWO)
    with pytest.raises(AdoptionError, match="GridSearchCV: "):
        cf.adopt(model)
