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
    GradientBoostingRegressor,
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
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_cases import PAIR, SIGNAL, TWO, WHOLE, probabilities

import costframe as cf
from costframe.adoption.given.classifiers import GivenColumns, probability_tree
from costframe.adoption.sklearn.adopt import adopt_sklearn
from costframe.core.errors import AdoptionError
from costframe.core.predictors.classes import likeliest

TREE, SVM = DecisionTreeClassifier(max_depth=2, random_state=0), LinearSVC(dual=False)
LOGISTIC = LogisticRegression()
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
            lambda a, b, through: StackingClassifier(
                [("a", a), ("b", b), ("c", SVM)], LOGISTIC, cv=2, passthrough=through
            ),
            inner,
            inner,
            st.booleans(),
        ),
        st.builds(
            lambda one, method, each: CalibratedClassifierCV(one, cv=2, method=method, ensemble=each),
            inner | st.just(SVM),
            st.sampled_from(["sigmoid", "isotonic"]),
            st.booleans(),
        ),
        st.builds(OneVsRestClassifier, inner),
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
    "stack": StackingClassifier([("a", TREE), ("b", SVM)], cv=2, passthrough=True),
    "stack of scores": StackingClassifier([("a", SVM), ("b", RidgeClassifier())], cv=2),
    "stack under calibration": StackingClassifier(
        [("a", TREE), ("b", LOGISTIC)], CalibratedClassifierCV(SVM, cv=2), cv=2
    ),
    "calibrated boosting": CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=2), cv=2, method="isotonic"),
    "calibrated bag": CalibratedClassifierCV(BaggingClassifier(LOGISTIC, 2, random_state=0), cv=2),
    "calibrated machine": CalibratedClassifierCV(SVC(), cv=2),
    "temperature": CalibratedClassifierCV(LOGISTIC, cv=2, method="temperature"),
    "rest": OneVsRestClassifier(TREE),
    "frozen": FrozenEstimator(LogisticRegression().fit(WHOLE, TWO)),
    "search": GridSearchCV(TREE, {"max_depth": [1, 2]}, cv=2),
    "search of scores": GridSearchCV(SVM, {"C": [0.1, 1.0]}, cv=2),
    "self-training": SelfTrainingClassifier(LOGISTIC),
    "rest of scores": OneVsRestClassifier(SVM),
    "regressors' bag": BaggingRegressor(DecisionTreeRegressor(max_depth=2), 3, max_features=0.5, random_state=0),
    "regressors' vote": VotingRegressor([("a", LinearRegression()), ("b", PoissonRegressor())], weights=[1, 2]),
    "regressors' stack": StackingRegressor(
        [("a", PoissonRegressor()), ("b", GradientBoostingRegressor(n_estimators=2))], cv=2, passthrough=True
    ),
    "several regressors": MultiOutputRegressor(PoissonRegressor()),
    "several classifiers": MultiOutputClassifier(LOGISTIC),
    "several of rest": OneVsRestClassifier(LOGISTIC),
    "several of rest by score": OneVsRestClassifier(SVM),
}
LABELS = np.column_stack([SIGNAL > 0, WHOLE[:, 3] > 0]).astype(int)


def target_of(name):
    if name.startswith("several"):
        return PAIR.__abs__() + 0.1 if "regressors" in name else LABELS
    return np.abs(SIGNAL) + 0.1 if "regressors" in name else np.where(SIGNAL > 0, 7, 3)


def expected_of(model, name):
    if "regressors" in name:
        return model.predict(WHOLE)
    if name.startswith("several"):
        if not hasattr(model, "predict_proba"):
            return model.predict(WHOLE)
        values = model.predict_proba(WHOLE)
        return np.column_stack([each[:, 1] for each in values]) if isinstance(values, list) else values
    return model.predict_proba(WHOLE)[:, 1] if hasattr(model, "predict_proba") else model.predict(WHOLE) == 7


@pytest.mark.parametrize("name", CASES)
def test_ensembles(name, tmp_path):
    model = CASES[name]
    if name != "frozen":
        fitted(model, WHOLE, target_of(name))
    adopted = adopt_sklearn(model)
    np.testing.assert_allclose(adopted.predict(WHOLE), expected_of(model, name), rtol=1e-12, atol=1e-12)
    if adopted.classes is not None:
        assert likeliest(adopted.predict(WHOLE), adopted.classes).tolist() == model.predict(WHOLE).tolist()
    assert (adopted.classes is None) == (not is_classifier(model) or name.startswith("several"))
    if not adopted.bank.opaques:
        cf.save(adopted, tmp_path / "model.cf")
        np.testing.assert_array_equal(cf.load(tmp_path / "model.cf").predict(WHOLE), adopted.predict(WHOLE))


def test_one_versus_rest_compares_scores(tmp_path):
    target, far = np.digitize(SIGNAL, [-0.5, 0.5]), 1000 * WHOLE
    model = OneVsRestClassifier(LOGISTIC).fit(WHOLE, target)
    cf.save(cf.FittedEstimator(adopt_sklearn(model)), tmp_path / "model.cf")
    served = cf.load(tmp_path / "model.cf")
    equal = np.partition(model.predict_proba(far), 1, axis=1)
    assert (equal[:, 1] == equal[:, 2]).any()  # where scores differ
    np.testing.assert_array_equal(served.predict(far), model.predict(far))
    np.testing.assert_array_equal(likeliest(served.predict_proba(far), model.classes_), model.predict(far))
    np.testing.assert_allclose(served.predict_proba(far), model.predict_proba(far), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(served.decision_function(far), model.decision_function(far), rtol=1e-12)


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
    "stack under trees": (
        StackingClassifier([("a", TREE)], TREE, cv=2),
        "StackingClassifier: .*its final_estimator, DecisionTreeClassifier, is not linear",
    ),
    "stack under neighbors": (
        StackingClassifier([("a", TREE)], KNeighborsClassifier(), cv=2),
        "StackingClassifier: .*final_estimator",
    ),
    "stack of labels": (
        StackingClassifier([("a", TREE)], cv=2, stack_method="predict"),
        "DecisionTreeClassifier: .* labels of a member",
    ),
    "temperature of probabilities": (
        CalibratedClassifierCV(TREE, cv=2, method="temperature"),
        "method='temperature' over the probabilities of DecisionTreeClassifier",
    ),
    "search of neighbors": (
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}, cv=2),
        "GridSearchCV: .*its KNeighborsClassifier",
    ),
}


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
