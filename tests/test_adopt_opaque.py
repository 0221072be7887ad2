"""Any model as one opaque learner: its predictions, its columns, its labels, texts, and what is refused."""

import itertools
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from adoption_cases import adopt_opaque
from column_cases import AsGiven
from sklearn import ensemble as en
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn_cases import PAIR, SIGNAL, THREE, TWO, WHOLE

import costframe as cf
from costframe.errors import AdoptionError, BankError
from costframe.plugin import OpaqueLearner

NAMES = ["age", "chol", "thal", "bp"]
FRAME = pd.DataFrame(WHOLE, columns=NAMES)

# --- labels and values -------------------------------------------------------------------------------------------

GRID = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=4)))  # many rows on the borders between classes
LABELS = {  # classifiers whose labels are not, or not always, those of the largest probability or score
    "probabilities": KNeighborsClassifier(),
    "distances": NearestCentroid(),
    "votes of pairs": SVC(kernel="linear"),
    "decisions of pairs": SVC(decision_function_shape="ovo"),
    "codes": OutputCodeClassifier(DecisionTreeClassifier(max_depth=2), random_state=0),
    "rest": OneVsRestClassifier(CalibratedClassifierCV(LinearSVC(), cv=2)),
    "a threshold": FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    "a threshold of the first class": FixedThresholdClassifier(GaussianNB(), threshold=0.3, pos_label="sick"),
    "a tuned threshold": TunedThresholdClassifierCV(LinearSVC(random_state=0), cv=2),
    "a search of thresholds": GridSearchCV(FixedThresholdClassifier(LogisticRegression()), {"threshold": [0.7]}, cv=2),
    "frozen": FrozenEstimator(SVC(kernel="linear").fit(WHOLE, TWO)),
    "no intercept": LogisticRegression(fit_intercept=False),
    "zero is class 1": en.GradientBoostingClassifier(n_estimators=2, max_depth=1, init="zero"),
}
OF_TWO = [name for name in LABELS if "threshold" in name or name == "frozen"]
PIPED = ("votes of pairs", "a threshold", "no intercept")


@pytest.mark.parametrize(
    ("name", "classes", "piped"),
    [(n, 2, False) for n in LABELS]
    + [(n, 3, False) for n in LABELS if n not in OF_TWO]
    + [(n, 2, True) for n in PIPED],
)
def test_labels_and_probabilities_are_the_models(name, classes, piped, tmp_path):
    model = make_pipeline(MaxAbsScaler(), clone(LABELS[name])) if piped else clone(LABELS[name])
    model.fit(WHOLE, TWO if classes == 2 else THREE)
    rows = np.vstack([WHOLE, GRID, 1000 * GRID])
    adopted = cf.FittedEstimator(cf.adopt(model))
    np.testing.assert_array_equal(adopted.predict(rows), model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(adopted.predict_proba(rows), model.predict_proba(rows), rtol=1e-9, atol=1e-12)
    elif classes == 2:
        both = model.predict(rows)[:, None] == model.classes_
        np.testing.assert_array_equal(adopted.predict_proba(rows), both.astype(float))
    if not piped:
        cf.save(adopted, tmp_path / "model")
        again = cf.load(tmp_path / "model", opaque={one.name: one.function for one in adopted.predictor_.bank.opaques})
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.parametrize("target", [SIGNAL, PAIR], ids=["one", "pair"])
def test_a_regressor_reads_all_its_columns_by_name(target):
    model = KNeighborsRegressor().fit(FRAME, target)
    for given, names in ((None, None), (NAMES[::-1], None), (None, ["more", *NAMES[::-1]])):
        adopted = adopt_opaque(model, given, feature_names=names)
        rows = FRAME.assign(more=0.0)[list(adopted.feature_names)]
        np.testing.assert_array_equal(adopted.predict(rows), model.predict(FRAME))
        assert adopted.classes is None
        assert adopted.cost(rows).mean == 4.0
    others = adopt_opaque(model, ["a", "b", "c", "d"])  # by position
    np.testing.assert_array_equal(others.predict(WHOLE), model.predict(FRAME))


def test_a_function_reads_the_columns_named_for_it():
    def total(rows):
        return rows.sum(axis=1)

    adopted = adopt_opaque(total, ["bp", "age"], NAMES)
    np.testing.assert_array_equal(adopted.predict(WHOLE), WHOLE[:, 3] + WHOLE[:, 0])
    assert (adopted.used_features, adopted.bank.opaques[0].name) == (("age", "bp"), "total")


# --- texts -------------------------------------------------------------------------------------------------------

CITIES = np.array(["Oslo", "Rome", "Bonn"], object)
PLACE = np.random.default_rng(5).integers(0, 3, len(WHOLE))
TEXTS = pd.DataFrame({"city": CITIES[PLACE], "age": WHOLE[:, 0], "code": PLACE * 7})
UNSEEN = TEXTS.assign(city=np.where(WHOLE[:, 1] > 0, "Paris", TEXTS.city))
MISSING = TEXTS.assign(city=np.where(WHOLE[:, 1] > 0, None, TEXTS.city))
ILL = np.where(WHOLE[:, 0] + (PLACE == 1) > 0.3, "yes", "no")


def reader(unknown):
    texts = ColumnTransformer([("texts", OneHotEncoder(handle_unknown=unknown), ["city"])], remainder="passthrough")
    return make_pipeline(texts, DecisionTreeClassifier(max_depth=3))


OVER_TEXTS = {
    "calibrated": lambda one: CalibratedClassifierCV(one, cv=2),
    "calibrated, frozen": lambda one: CalibratedClassifierCV(FrozenEstimator(one.fit(TEXTS, ILL))),
    "soft votes": lambda one: en.VotingClassifier([("a", one), ("b", one)], voting="soft"),
    "tuned": lambda one: TunedThresholdClassifierCV(one, cv=2),
    "search": lambda one: GridSearchCV(CalibratedClassifierCV(one, cv=2), {"method": ["sigmoid"]}, cv=2),
}


def outcome(predict, rows):
    """What a model makes of rows, or that it refuses them."""
    try:
        return predict(rows).tolist()
    except Exception as error:  # noqa: BLE001 - of any library
        return str(error).split(": ", 2)[-1][:40]


@pytest.mark.parametrize("unknown", ["ignore", "error"])
@pytest.mark.parametrize("name", OVER_TEXTS)
def test_models_over_texts(name, unknown):
    model = OVER_TEXTS[name](reader(unknown)).fit(TEXTS, ILL)
    features = ["code", "city", "age"] if unknown == "error" else None
    adopted = cf.FittedEstimator(cf.adopt(model, features=features))
    for rows in (TEXTS, UNSEEN, MISSING, TEXTS.astype({"city": "category"}), TEXTS[["age", "code", "city"]]):
        assert outcome(adopted.predict, rows) == outcome(model.predict, rows)
    for row in (TEXTS.iloc[0], UNSEEN[UNSEEN.city == "Paris"].iloc[0], MISSING[MISSING.city.isna()].iloc[0]):
        alone = row.to_frame().T.astype({"age": float, "code": int})
        told = outcome(lambda _, row=row: np.ravel(cf.predict_one(adopted.predictor_, row.to_dict()).value), None)
        assert told == outcome(adopted.predictor_.predict, alone)  # of the original's error, its text


def test_a_function_gets_texts_as_they_are():
    def nordic(rows):
        return [float(city in {"Oslo", "Bergen"}) for city in rows[:, 0]] if rows.dtype == object else [0.0] * len(rows)

    adopted = cf.adopt(nordic, features=["city"])
    assert adopted.predict(TEXTS).tolist() == (TEXTS.city == "Oslo").tolist()
    assert cf.predict_one(adopted, {"city": "Bergen"}).value == 1.0
    assert adopted.bank.categories == {"city": AsGiven()}
    learner = OpaqueLearner("mine", lambda rows: np.zeros(len(rows)), [0])
    with pytest.raises(BankError, match="the number of a value that this process has not read"):
        learner(np.array([[1.5 * 2.0**1000]]))


@pytest.mark.filterwarnings("ignore::UserWarning")  # the model knows the training rows
@pytest.mark.parametrize("given", ["unfitted", "adopted"])
def test_behind_a_gate_models_read_texts(given):
    model = CalibratedClassifierCV(reader("error"), cv=2).fit(TEXTS, ILL)
    asked = {"expensive": clone(model) if given == "unfitted" else cf.adopt(model), "n_estimators": 4}
    fitted = cf.estimator("adapt", costs={"city": 5.0, "age": 1.0, "code": 1.0}, tradeoff=1e-6, **asked)
    fitted.fit(TEXTS, ILL)
    assert fitted.score(TEXTS, ILL) > 0.9
    value = cf.predict_one(fitted.predictor_, TEXTS.iloc[0].to_dict()).value
    assert value == fitted.predict_proba(TEXTS)[0, 1]


# --- what is tried -----------------------------------------------------------------------------------------------


class Stubborn(ClassifierMixin, BaseEstimator):
    """Answers rows of one city, in a frame."""

    def fit(self, X, y):  # noqa: ARG002 - as estimators have it
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if {*X["city"]} != {getattr(self, "city_", "Riga")}:
            raise ValueError("of another city")
        return np.full(len(X), self.classes_[-1])


def test_a_classifier_is_tried_with_labels_that_are_texts():
    model = Stubborn().fit(TEXTS, ILL)
    model.city_ = "0"  # a text that is tried
    adopted = cf.FittedEstimator(cf.adopt(model, features=["city"]))
    assert adopted.predict(pd.DataFrame({"city": ["0"]})).tolist() == ["yes"]
    assert cf.predict_one(adopted.predictor_, {"city": "0"}).label == "yes"


def test_a_text_that_a_model_holds_is_tried():
    model = Stubborn().fit(TEXTS, ILL)
    model.city_ = "Paris"
    assert cf.predict_one(cf.adopt(model, features=["city"]), {"city": "Paris"}).label == "yes"


def test_a_model_that_refuses_all_rows_that_are_tried_is_refused():
    model = Stubborn().fit(TEXTS, ILL)
    with pytest.raises(AdoptionError, match=r"Stubborn: refuses all rows that were tried, .* in 'city': .* a function"):
        cf.adopt(model, features=["city"])


def test_lightgbm_and_catboost_are_not_tried_with_frames_of_polars(monkeypatch, capfd):
    pytest.importorskip("polars", reason="needs polars")
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm")
    catboost = pytest.importorskip("catboost", reason="needs catboost")
    given = []
    monkeypatch.setattr("costframe.adoption.handing._as_polars", given.append)
    boosters = (
        lightgbm.LGBMClassifier(n_estimators=2, verbose=-1),
        catboost.CatBoostClassifier(iterations=2, verbose=0, thread_count=1, allow_writing_files=False),
    )
    for booster in boosters:
        model = OutputCodeClassifier(booster, random_state=0).fit(FRAME, TWO)
        adopted = cf.adopt(model, features=NAMES)
        with pytest.raises(Exception):  # noqa: B017, PT011 - of the library
            cf.predict_one(adopted, {**FRAME.iloc[0].to_dict(), "bp": datetime(2024, 1, 31)})  # noqa: DTZ001
    assert not given  # the one prints that it refuses a date, the other one would end the process
    assert "Fatal" not in "".join(capfd.readouterr())


# --- what is refused ---------------------------------------------------------------------------------------------

REFUSED = {
    "a transformer": (lambda: StandardScaler().fit(WHOLE), {}, "StandardScaler: expected a fitted classifier or"),
    "a class": (lambda: KNeighborsRegressor, {"features": ["a"]}, "expected a fitted model, got the class"),
    "several labels": (
        lambda: DecisionTreeClassifier(max_depth=2).fit(WHOLE, PAIR > 0), {}, "several labels a row cannot be adopted",
    ),
    "no names": (lambda: len, {}, "len: does not say what it reads; name its features"),
    "another number": (
        lambda: KNeighborsRegressor().fit(WHOLE, SIGNAL), {"features": ["a", "b"]},
        r"KNeighborsRegressor: it has 4 features, but got 2 feature names \(a, b\)",
    ),
    "an unknown name": (
        lambda: len, {"features": ["sex"], "feature_names": NAMES}, "'sex' is none of the columns age, chol",
    ),
    "no prediction": (lambda: lambda _: 1.0, {"features": ["a"]}, r"expected one prediction a row, got shape \(\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_model_is_refused(name):
    make, options, message = REFUSED[name]
    with pytest.raises(AdoptionError, match=message):
        adopt_opaque(make(), **options)
