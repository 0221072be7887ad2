"""Any model as one opaque learner: its predictions, its columns, its labels, and what is refused."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    GradientBoostingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn_cases import PAIR, SIGNAL, THREE, TWO, WHOLE, probabilities

import costframe as cf
from costframe.adoption.given.opaque import adopt_opaque
from costframe.core.errors import AdoptionError, BankError
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.predictors.classes import likeliest
from costframe.core.tables.as_given import AsGiven

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


GRID = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=4)))  # many rows on the borders between classes
OTHER_LABELS = {  # classifiers whose labels are not, or not always, those of the largest probability or score
    "distances": NearestCentroid(),
    "distances without scores": NearestCentroid(metric="manhattan"),
    "votes of pairs": SVC(kernel="linear"),
    "ties of pairs": SVC(kernel="linear", break_ties=True),
    "decisions of pairs": SVC(decision_function_shape="ovo"),
    "pairs": OneVsOneClassifier(DecisionTreeClassifier(max_depth=2)),
    "codes": OutputCodeClassifier(DecisionTreeClassifier(max_depth=2), random_state=0),
    "rest": OneVsRestClassifier(CalibratedClassifierCV(LinearSVC(), cv=2)),
    "rest of decisions": OneVsRestClassifier(BaggingClassifier(LogisticRegression(), 2, random_state=0)),
    "hard votes": VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())]),
    "a threshold": FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    "a threshold of the first class": FixedThresholdClassifier(GaussianNB(), threshold=0.3, pos_label="sick"),
    "a tuned threshold": TunedThresholdClassifierCV(LinearSVC(random_state=0), cv=2),
    "a search of thresholds": GridSearchCV(FixedThresholdClassifier(LogisticRegression()), {"threshold": [0.7]}, cv=2),
    "frozen": FrozenEstimator(SVC(kernel="linear")),
    "no intercept": LogisticRegression(fit_intercept=False),
    "zero is class 1": GradientBoostingClassifier(n_estimators=2, max_depth=1, init="zero"),
}


@pytest.mark.parametrize("piped", [False, True], ids=["alone", "piped"])
@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", OTHER_LABELS)
def test_labels_are_those_that_the_model_predicts(name, target, piped, tmp_path):
    model = OTHER_LABELS[name]
    if "threshold" in name and target is THREE:
        return  # of two classes only
    if name == "frozen":
        model = FrozenEstimator(clone(model.estimator).fit(WHOLE, target))
    model = make_pipeline(MaxAbsScaler(), model) if piped else clone(model)
    model.fit(WHOLE, target)
    rows = np.vstack([WHOLE, GRID, 1000 * GRID])
    adopted = cf.FittedEstimator(cf.adopt(model))
    assert adopted.kind == "classifier"
    np.testing.assert_array_equal(adopted.predict(rows), model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(adopted.predict_proba(rows), model.predict_proba(rows), rtol=1e-9, atol=1e-12)
    elif len(model.classes_) == 2:
        both = model.predict(rows)[:, None] == model.classes_
        np.testing.assert_array_equal(adopted.predict_proba(rows), both.astype(float))
    if not piped:
        opaques = adopted.predictor_.bank.opaques
        cf.save(adopted, tmp_path / "model")
        again = cf.load(tmp_path / "model", opaque={one.name: one.function for one in opaques})
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_points_are_not_scored_by_other_labels():
    adopted = cf.adopt(FixedThresholdClassifier(LogisticRegression(), threshold=0.9).fit(WHOLE, TWO))
    with pytest.raises(AdoptionError, match="its classes are not those of its largest probabilities"):
        cf.Frontier.fit({"mine": adopted}, WHOLE, TWO)


CITIES = np.array(["Oslo", "Rome", "Bonn"], object)
PLACE = np.random.default_rng(5).integers(0, 3, len(WHOLE))
TEXTS = pd.DataFrame({"city": CITIES[PLACE], "age": WHOLE[:, 0], "code": PLACE * 7})
UNSEEN = TEXTS.assign(city=np.where(WHOLE[:, 1] > 0, "Paris", TEXTS.city))
MISSING = TEXTS.assign(city=np.where(WHOLE[:, 1] > 0, None, TEXTS.city))
ILL = np.where(WHOLE[:, 0] + (PLACE == 1) > 0.3, "yes", "no")


def reader(unknown, encoder=OneHotEncoder, model=None):
    texts = ColumnTransformer([("texts", encoder(handle_unknown=unknown), ["city"])], remainder="passthrough")
    return make_pipeline(texts, DecisionTreeClassifier(max_depth=3) if model is None else model)


OVER_TEXTS = {
    "calibrated": lambda one: CalibratedClassifierCV(one, cv=2),
    "calibrated, frozen": lambda one: CalibratedClassifierCV(FrozenEstimator(one.fit(TEXTS, ILL))),
    "soft votes": lambda one: VotingClassifier([("a", one), ("b", one)], voting="soft"),
    "hard votes": lambda one: VotingClassifier([("a", one), ("b", one)]),
    "stack": lambda one: StackingClassifier([("a", one)], cv=2),
    "rest": OneVsRestClassifier,
    "fixed": lambda one: FixedThresholdClassifier(one, threshold=0.2),
    "tuned": lambda one: TunedThresholdClassifierCV(one, cv=2),
    "search": lambda one: GridSearchCV(CalibratedClassifierCV(one, cv=2), {"method": ["sigmoid"]}, cv=2),
}


def outcome(predict, rows):
    """What a model makes of rows, or that it refuses them."""
    try:
        return predict(rows).tolist()
    except Exception as error:  # noqa: BLE001 - of any library
        return str(error).split(": ", 2)[-1][:40]


@pytest.mark.parametrize("features", [None, ["code", "city", "age"]], ids=["own", "named"])
@pytest.mark.parametrize("unknown", ["ignore", "error"])
@pytest.mark.parametrize("name", OVER_TEXTS)
def test_models_over_texts(name, unknown, features):
    model = OVER_TEXTS[name](reader(unknown)).fit(TEXTS, ILL)
    adopted = cf.FittedEstimator(cf.adopt(model, features=features))
    for rows in (TEXTS, UNSEEN, MISSING, TEXTS.astype({"city": "category"}), TEXTS[["age", "code", "city"]]):
        assert outcome(adopted.predict, rows) == outcome(model.predict, rows)
    for row in (TEXTS.iloc[0], UNSEEN[UNSEEN.city == "Paris"].iloc[0]):
        alone = row.to_frame().T.astype({"age": float, "code": int})
        told = outcome(lambda _, row=row: np.ravel(cf.predict_one(adopted.predictor_, row.to_dict()).value), None)
        assert told == outcome(adopted.predictor_.predict, alone)  # of the original's error, its text


@pytest.mark.parametrize("unknown", ["ignore", "error"])
def test_one_row_without_its_text(unknown):
    model = CalibratedClassifierCV(reader(unknown), cv=2).fit(MISSING, ILL)
    adopted = cf.adopt(model)
    for place in np.flatnonzero(MISSING.city.isna())[:2]:
        row = MISSING.iloc[[place]]
        assert adopted.predict(row).tolist() == model.predict_proba(row)[:, 1].tolist()
        assert cf.predict_one(adopted, row.iloc[0].to_dict()).value == model.predict_proba(row)[0, 1]


def test_a_function_gets_texts_as_they_are():
    def nordic(rows):
        return [float(city in {"Oslo", "Bergen"}) for city in rows[:, 0]] if rows.dtype == object else [0.0] * len(rows)

    adopted = cf.adopt(nordic, features=["city"])
    assert adopted.predict(TEXTS).tolist() == (TEXTS.city == "Oslo").tolist()
    assert cf.predict_one(adopted, {"city": "Bergen"}).value == 1.0
    assert pickle.loads(pickle.dumps(adopted.bank.categories)) == {"city": AsGiven()}  # noqa: S301 - made here


def test_numbers_are_those_that_other_members_read():
    """A tree beside an opaque learner reads numbers, so texts in its columns are refused."""
    model = VotingClassifier([("a", KNeighborsClassifier()), ("b", DecisionTreeClassifier(max_depth=2))], voting="soft")
    adopted = cf.adopt(model.fit(WHOLE, TWO), NAMES)
    read = {NAMES[f] for f in adopted.bank.trees.feature if f >= 0}
    assert set(adopted.categories) == set(NAMES) - read
    np.testing.assert_allclose(adopted.predict(WHOLE), model.predict_proba(WHOLE)[:, 1], rtol=1e-12)


def test_values_that_no_process_remembers_are_refused():
    learner = OpaqueLearner("mine", lambda rows: np.zeros(len(rows)), [0])
    with pytest.raises(BankError, match="the number of a text that this process has not read"):
        learner(np.array([[1.5 * 2.0**1000]]))


@pytest.mark.filterwarnings("ignore::UserWarning")  # the model knows the training rows
@pytest.mark.parametrize("given", ["raw", "unfitted", "adopted"])
def test_behind_a_gate_models_read_texts(given):
    model = CalibratedClassifierCV(reader("error"), cv=2).fit(TEXTS, ILL)
    expensive = {"raw": model, "unfitted": clone(model), "adopted": cf.adopt(model)}[given]
    fitted = cf.estimator("adapt", costs={"city": 5.0, "age": 1.0, "code": 1.0}, expensive=expensive, tradeoff=1e-6)
    fitted.fit(TEXTS, ILL)
    assert fitted.score(TEXTS, ILL) > 0.9
    value = cf.predict_one(fitted.predictor_, TEXTS.iloc[0].to_dict()).value
    assert value == fitted.predict_proba(TEXTS)[0, 1]


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
