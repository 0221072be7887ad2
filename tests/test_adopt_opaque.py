"""Any model as one opaque learner: its predictions, its columns, its labels, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import AdaBoostRegressor, VotingClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn_cases import PAIR, SIGNAL, THREE, TWO, WHOLE, probabilities

import costframe as cf
from costframe.adoption.given.opaque import adopt_opaque
from costframe.core.errors import AdoptionError
from costframe.core.predictors.classes import likeliest

NAMES = ["age", "chol", "thal", "bp"]


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
def test_a_classifier_with_probabilities(target):
    model = KNeighborsClassifier().fit(WHOLE, target)
    adopted = adopt_opaque(model, NAMES)
    np.testing.assert_array_equal(adopted.predict(WHOLE).reshape(len(WHOLE), -1), probabilities(model, WHOLE))
    assert likeliest(adopted.predict(WHOLE), adopted.classes).tolist() == model.predict(WHOLE).tolist()
    assert [one.name for one in adopted.bank.opaques] == ["KNeighborsClassifier"]
    np.testing.assert_array_equal(adopted.cost(WHOLE).per_row, 4.0)


def test_a_classifier_with_scores_only():
    model = SVC().fit(WHOLE, TWO)
    adopted = adopt_opaque(model)
    np.testing.assert_array_equal(adopted.decision_function(WHOLE), model.decision_function(WHOLE))
    assert likeliest(adopted.predict(WHOLE), adopted.classes).tolist() == model.predict(WHOLE).tolist()
    three = SVC().fit(WHOLE, THREE)
    np.testing.assert_array_equal(adopt_opaque(three).predict(WHOLE), three.decision_function(WHOLE))


@pytest.mark.parametrize("target", [SIGNAL, PAIR], ids=["one", "pair"])
def test_a_regressor(target):
    model = KNeighborsRegressor().fit(WHOLE, target)
    np.testing.assert_array_equal(adopt_opaque(model).predict(WHOLE), model.predict(WHOLE))
    assert adopt_opaque(model).classes is None


def test_a_weighted_median():
    model = AdaBoostRegressor(n_estimators=3, random_state=0).fit(WHOLE, SIGNAL)
    np.testing.assert_array_equal(adopt_opaque(model).predict(WHOLE), model.predict(WHOLE))


def test_a_function_of_named_columns():
    def total(rows):
        return rows.sum(axis=1)

    adopted = adopt_opaque(total, ["bp", "age"], NAMES)
    np.testing.assert_array_equal(adopted.predict(WHOLE), WHOLE[:, 3] + WHOLE[:, 0])
    assert (adopted.used_features, adopted.bank.opaques[0].name) == (("age", "bp"), "total")


def test_a_model_that_names_its_columns_reads_them_by_name():
    frame = pd.DataFrame(WHOLE, columns=NAMES)
    model = KNeighborsRegressor().fit(frame, SIGNAL)
    for adopted in (
        adopt_opaque(model),
        adopt_opaque(model, NAMES[::-1]),
        adopt_opaque(model, feature_names=["more", *NAMES[::-1]]),
    ):
        rows = frame.assign(more=0.0)[list(adopted.feature_names)]
        np.testing.assert_array_equal(adopted.predict(rows), model.predict(frame))
    others = adopt_opaque(model, ["a", "b", "c", "d"])  # by position
    np.testing.assert_array_equal(others.predict(WHOLE), model.predict(frame))


def test_saved_and_loaded_with_its_function(tmp_path):
    adopted = adopt_opaque(KNeighborsClassifier().fit(WHOLE, TWO), NAMES)
    cf.save(adopted, tmp_path / "model.cf")
    again = cf.load(tmp_path / "model.cf", opaque={"KNeighborsClassifier": adopted.bank.opaques[0].function})
    np.testing.assert_array_equal(again.predict(WHOLE), adopted.predict(WHOLE))
    assert again.classes.tolist() == ["sick", "well"]


class Neither(BaseEstimator):
    """A fitted object that predicts nothing."""

    def __init__(self):
        self.n_features_in_ = 4


REFUSED = {
    "a transformer": (lambda: StandardScaler().fit(WHOLE), {}, "StandardScaler: expected a fitted classifier or"),
    "neither": (Neither, {}, "Neither: expected a fitted classifier or regressor"),
    "a number": (lambda: 3, {"features": ["a"]}, "int: expected a fitted classifier or regressor"),
    "a class": (lambda: LinearRegression, {"features": ["a"]}, "LinearRegression: expected a fitted model, got the"),
    "not fitted": (KNeighborsRegressor, {"features": ["a"]}, "KNeighborsRegressor: is not fitted"),
    "several labels": (
        lambda: DecisionTreeClassifier(max_depth=2).fit(WHOLE, PAIR > 0),
        {},
        "several labels a row cannot be adopted",
    ),
    "no names": (lambda: len, {}, "len: does not say what it reads; name its features"),
    "a text": (lambda: len, {"features": "age"}, "len: features: expected a list of names, got 'age'"),
    "another number": (
        lambda: KNeighborsRegressor().fit(WHOLE, SIGNAL),
        {"features": ["a", "b"]},
        r"KNeighborsRegressor: it has 4 features, but got 2 feature names \(a, b\)",
    ),
    "an unknown name": (
        lambda: len,
        {"features": ["sex"], "feature_names": NAMES},
        "len: features: 'sex' is none of the columns age, chol",
    ),
    "a name twice": (lambda: len, {"features": ["a", "a"]}, "more than once: a"),
    "a broken function": (lambda: lambda rows: rows[:, 9], {"features": ["a"]}, "a row of 1 zeros: IndexError"),
    "no prediction": (lambda: lambda _: 1.0, {"features": ["a"]}, r"expected one prediction a row, got shape \(\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_model_is_refused(name):
    make, options, message = REFUSED[name]
    with pytest.raises(AdoptionError, match=message):
        adopt_opaque(make(), **options)
