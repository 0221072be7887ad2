"""What the expensive model may be, what training goes by, and what is refused by name."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from adapt_cases import COSTS, FEATURES, NAMES, QUICK, PrefittedWarning, chance, steps, table, three_classes, uneven
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import costframe as cf
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe_adapt import AdaptClassifier
from costframe_cegb import CEGBClassifier, CEGBRegressor

pytestmark = pytest.mark.usefixtures("few_rounds")

X, Y = table(1, 300)
OTHER = table(99, 1500)
FRAME = pd.DataFrame(X, columns=list(NAMES))
READ = [0, 1, 4, 5]  # a, b, e, f


def asked(expensive=None, costs=FEATURES, tradeoff=2e-3, **settings):
    return AdaptClassifier(costs, tradeoff, expensive=expensive, **QUICK | settings)


def found(expensive, X, y, weight=None, *, proba=None, **settings):
    """Return what training knows of an expensive model."""
    estimator = asked(expensive, **settings)
    data = estimator.training_data(X, y, weight)
    settings = estimator._settings(data)
    return estimator._find(data, settings, estimator._read_proba(proba, weight, len(y)))


def linear(rows, **named):
    return LogisticRegression().fit(rows, OTHER[1], **named)


def frame(rows=OTHER[0], columns=NAMES):
    return pd.DataFrame(rows, columns=list(NAMES))[list(columns)]


def lightgbm_model():
    lightgbm = pytest.importorskip("lightgbm")
    return cf.adopt(lightgbm.LGBMClassifier(n_estimators=8, max_depth=3, verbose=-1).fit(*OTHER))


FITTED = {
    "forest": lambda: (RandomForestClassifier(5, max_depth=4, random_state=0).fit(*OTHER), {}),
    "adopted": lambda: (cf.adopt(RandomForestClassifier(5, max_depth=4, random_state=0).fit(*OTHER), NAMES), {}),
    "unnamed": lambda: (lightgbm_model(), {}),
    "xgboost": lambda: (
        xgboost.XGBClassifier(n_estimators=8, max_depth=3, learning_rate=0.8, n_jobs=1).fit(*OTHER),
        {},
    ),
    "booster": lambda: (
        xgboost.XGBClassifier(n_estimators=8, max_depth=3, learning_rate=0.8, n_jobs=1).fit(*OTHER).get_booster(),
        {},
    ),
    "pipeline": lambda: (make_pipeline(StandardScaler(), LogisticRegression()).fit(*OTHER), {}),
    "calibrated": lambda: (CalibratedClassifierCV(SVC(), cv=2).fit(*OTHER), {}),
    "frame": lambda: (LogisticRegression().fit(frame(columns="fbea"), OTHER[1]), {}),
    "frozen": lambda: (FrozenEstimator(RandomForestClassifier(5, max_depth=4, random_state=0).fit(*OTHER)), {}),
    "some": lambda: ((linear(OTHER[0][:, READ]), list("abef")), {}),
    "cegb": lambda: (CEGBClassifier(COSTS, 1e-4, n_estimators=10).fit(*OTHER), {}),
    "stepped": lambda: (cf.SteppedPredictor(NAMES, steps), {}),
    "function": lambda: ((chance, list("abef")), {}),
}


def says(model, rows):
    """What the expensive model itself says of rows, (n,)."""
    if isinstance(model, xgboost.Booster):
        return model.predict(xgboost.DMatrix(rows))
    if model is chance:
        return chance(rows[:, READ])
    if not hasattr(model, "predict_proba"):
        said = model.predict(rows)
        return said if said.ndim == 1 else said[:, 1]
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not isinstance(model, CEGBClassifier):
        return model.predict_proba(frame(rows, names))[:, 1]
    return model.predict_proba(rows[:, READ] if model.n_features_in_ == 4 else rows)[:, 1]


@pytest.mark.parametrize("kind", FITTED)
def test_fitted_models_of_all_kinds(kind):
    """It says what the model says, reads what the model reads, and stands behind the gate as it is."""
    given, more = FITTED[kind]()
    model = given[0] if isinstance(given, tuple) else given
    with pytest.warns(PrefittedWarning, match="is fitted already"):
        fit = asked(given, full_share=0.6, tradeoff=1e-4, **more).fit(X, Y)
    assert fit.expensive_ is model
    rows = table(5, 80)[0]
    np.testing.assert_allclose(fit.expensive_predictor_.predict(rows), says(model, rows), rtol=1e-5, atol=1e-6)
    goes = fit.predictor_.exits(rows) >= 2
    assert 0 < goes.mean() < 1
    np.testing.assert_array_equal(fit.predict_proba(rows)[goes, 1], fit.expensive_predictor_.predict(rows[goes]))
    np.testing.assert_array_equal(fit.decision_function(rows) > 0, fit.predict(rows) == 1)
    read = fit.expensive_predictor_.cost(rows).acquired
    if kind in ("some", "frame", "function"):
        np.testing.assert_array_equal(read, np.isin(NAMES, list("abef"))[np.newaxis].repeat(80, axis=0))
    elif kind in ("pipeline", "calibrated", "stepped"):
        assert read.all()
    else:  # on its paths
        assert read.any()
        assert not read.all()


def test_probabilities_silence_the_warning_and_are_what_training_goes_by():
    model = linear(OTHER[0])
    told = found(model, X, Y, proba=model.predict_proba(X))
    np.testing.assert_array_equal(told.proba, model.predict_proba(X)[:, 1])
    worse = np.where(Y == 1, 0.3, 0.7)
    assert (found(model, X, Y, proba=worse).proba == worse).all()
    useless = asked(model, tradeoff=1e-3).fit(X, Y, expensive_proba=worse)
    assert (useless.predictor_.exits(X) == (1 if len(useless.predictor_.stages) > 1 else 0)).all()  # none goes on


def test_the_warning_tells_where_fit_was_called():
    """So that Python shows it once for each such place."""
    model = linear(OTHER[0])
    with pytest.warns(PrefittedWarning) as told:
        asked(model).fit(X, Y)
    assert told[0].filename == __file__
    with pytest.warns(PrefittedWarning) as told:
        asked(model).fit_path(X, Y, X_val=X, y_val=Y, tradeoffs=[0.1])
    assert told[0].filename == __file__


@pytest.mark.parametrize("shape", ["one", "two", "list"])
def test_probabilities_may_be_of_class_one_or_of_both(shape):
    model = linear(OTHER[0])
    one = model.predict_proba(X)[:, 1]
    given = {"one": one, "two": np.column_stack([1 - one, one]), "list": one.tolist()}[shape]
    weight = np.arange(300) % 4 / 2.0
    np.testing.assert_array_equal(found(model, X, Y, weight, proba=given).proba, one[weight > 0])


def test_probabilities_of_rows_of_weight_zero_are_left_out():
    weight, rng = np.ones(300), np.random.default_rng(0)
    weight[rng.choice(300, 60, replace=False)] = 0
    model, kept = linear(OTHER[0]), weight > 0
    proba = model.predict_proba(X)
    spoiled = proba.copy()
    spoiled[~kept] = [1.0, 0.0]
    one = asked(model).fit(X, Y, weight, expensive_proba=spoiled)
    other = asked(model).fit(X[kept], Y[kept], expensive_proba=proba[kept])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_an_unfitted_model_is_asked_out_of_fold():
    """One that knows its rows by heart is never asked for one of them, nor for one like it."""
    same = np.repeat(X[:100], 3, axis=0)
    labels = np.random.default_rng(0).integers(0, 2, 100).repeat(3)
    told = found(KNeighborsClassifier(1), same, labels)
    known = told.model.predict_proba(same)[:, 1]
    np.testing.assert_array_equal(known, labels)  # of the rows it was trained on
    assert 0.3 < (told.proba == labels).mean() < 0.7  # labels are noise: of others there is nothing to know
    assert (told.proba.reshape(100, 3).std(axis=1) == 0).all()
    assert told.model is not asked().expensive


def test_a_model_that_knows_by_heart_gets_no_rows_it_cannot_answer():
    labels = np.random.default_rng(0).integers(0, 2, 300)
    fit = asked(KNeighborsClassifier(1), tradeoff=1e-3).fit(X, labels)
    assert fit.cost(X).mean < 0.5 * fit.expensive_predictor_.cost(X).mean


def test_the_unfitted_model_is_cloned_and_fitted_on_all_rows_with_its_weights():
    model, weight = LogisticRegression(C=0.3), uneven(300)
    fit = asked((model, ["e", "a"])).fit(X, Y, weight)
    assert not hasattr(model, "coef_")
    again = LogisticRegression(C=0.3).fit(X[:, [4, 0]], Y, weight)
    np.testing.assert_allclose(fit.expensive_.coef_, again.coef_)
    np.testing.assert_allclose(fit.expensive_predictor_.predict(X), again.predict_proba(X[:, [4, 0]])[:, 1])


def test_a_model_that_takes_no_weights_gets_rows_as_often_as_they_count():
    counts = np.arange(300) % 3 + 1.0
    told = found(KNeighborsClassifier(3), X, Y, counts)
    rows = np.repeat(np.arange(300), counts.astype(int))
    again = KNeighborsClassifier(3).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(told.tree.predict(X), again.predict_proba(X)[:, 1])
    with pytest.raises(ParameterError, match="KNeighborsClassifier takes no sample weights"):
        asked(KNeighborsClassifier(3)).fit(X, Y, uneven(300))


def test_what_is_random_and_unset_is_fixed():
    forest = RandomForestClassifier(4, max_depth=3)
    one, two, other = (asked(forest, random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.expensive_predictor_.predict(X), two.expensive_predictor_.predict(X))
    assert (one.expensive_predictor_.predict(X) != other.expensive_predictor_.predict(X)).any()
    assert one.expensive_.random_state == 0
    assert forest.random_state is None


def test_a_costframe_estimator_is_fitted_at_the_same_prices():
    fit = asked(CEGBClassifier(tradeoff=1e-3, n_estimators=5), costs=COSTS).fit(FRAME, Y)
    assert fit.expensive_.costs.to_dict() == COSTS.to_dict()
    few = asked((CEGBClassifier(n_estimators=5), ["a", "e"]), costs=COSTS).fit(FRAME, Y)
    assert set(few.expensive_.costs.names) == {"a", "e"}
    assert set(np.flatnonzero(few.expensive_predictor_.cost(FRAME).acquired.any(axis=0))) <= {0, 4}


@pytest.mark.parametrize("variant", ["gbrt", "lin"])
def test_three_classes(variant):
    rows, y = three_classes(2, 300)
    given = {"variant": variant, "full_share": 0.6} | ({} if variant == "gbrt" else {"n_estimators": None})
    others = three_classes(99, 600)
    forest = RandomForestClassifier(8, max_depth=5, random_state=0).fit(*others)
    models = [
        (forest, {"expensive_proba": forest.predict_proba(rows)}),
        (LogisticRegression(), {}),
        (LogisticRegression().fit(*others), {"expensive_proba": LogisticRegression().fit(*others).predict_proba(rows)}),
    ]
    for model, proba in models:
        fit = asked(model, tradeoff=1e-4, **given).fit(rows, y, **proba)
        said = fit.predict_proba(rows)
        assert said.shape == (300, 3)
        np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-6)
        assert fit.score(rows, y) > 0.85
        goes = fit.predictor_.exits(rows) >= 2
        np.testing.assert_allclose(said[goes], fit.expensive_predictor_.predict(rows)[goes])
        np.testing.assert_array_equal(fit.decision_function(rows).argmax(axis=1), fit.predict(rows))


def test_an_expensive_model_that_stands_alone_scores_as_it_predicts():
    """Its answers are probabilities, whose scores are their log odds."""
    sure = (X[:, 0] > 0).astype(int)

    def full(rows):
        return np.where(rows[:, 0] > 0, 0.99, 0.01)

    fit = asked((full, ["a"]), tradeoff=0.0).fit(X, sure, expensive_proba=full(X))
    assert len(fit.predictor_.stages) == 1
    np.testing.assert_array_equal(fit.decision_function(X) > 0, fit.predict(X) == 1)
    np.testing.assert_allclose(fit.decision_function(X), np.where(sure, 1, -1) * np.log(99))


class Flipped:
    """A classifier with its classes in another order."""

    classes_ = np.array([1, 0])

    def predict_proba(self, rows):
        return np.column_stack([chance(rows[:, READ]), 1 - chance(rows[:, READ])])


REFUSED = {
    "no probabilities": (SVC, {}, "expected a classifier with predict_proba, SVC has none"),
    "no probabilities, fitted": (lambda: SVC().fit(*OTHER), {}, "expected a classifier with predict_proba, SVC has"),
    "regressor": (lambda: RandomForestRegressor(3), {}, "predict_proba, RandomForestRegressor has none"),
    "regressor, fitted": (lambda: RandomForestRegressor(3).fit(*OTHER), {}, "RandomForestRegressor has none"),
    "regressor of costframe": (lambda: CEGBRegressor(n_estimators=3).fit(*OTHER), {}, "CEGBRegressor has none"),
    "class": (lambda: LogisticRegression, {}, "expected a model, got the class LogisticRegression; call it"),
    "text": (lambda: "forest", {}, "expected a model with class probabilities, got 'forest'"),
    "unknown class": (lambda: linear(OTHER[0]), {"y": np.where(Y == 1, "yes", "no")}, "y: has the class 'no', which"),
    "further class": (lambda: LogisticRegression().fit(*three_classes(1, 90)), {}, r"knows the classes \[0, 1, 2\]"),
    "order of classes": (Flipped, {}, r"knows the classes \[1, 0\], expected those of y in ascending order: \[0, 1\]"),
    "not priced": (
        lambda: linear(frame().rename(columns={"a": "age"})), {}, "it reads 'age', which is none of the priced",
    ),
    "trees, not priced": (
        lambda: CEGBClassifier(n_estimators=3).fit(frame().rename(columns={"e": "echo"}), OTHER[1]), {},
        "it reads 'echo', which is none of the priced",
    ),
    "too few": (lambda: linear(OTHER[0][:, :3]), {}, "LogisticRegression reads 3 features, the data have 8"),
    "not to be read": (
        lambda: ((linear(frame())), ["a", "b"]), {}, "reads 'c', which is not among its features"
    ),
    "stepped, not to be read": (
        lambda: ((cf.SteppedPredictor(NAMES, steps)), ["a"]), {}, "which is not among its features",
    ),
    "function": (lambda: chance, {}, "expensive: a function does not say what it reads"),
    "ranks": (
        lambda: cf.StageTree(cf.WeakLearnerBank.columns(NAMES, [0]), (cf.Answer([0], [1.0], 0.0, "ranked"),)), {},
        "expected class probabilities, it gives ranks",
    ),
    "too many outputs": (
        lambda: cf.adopt(ExtraTreesClassifier(3).fit(*three_classes(1, 90)), NAMES).with_classes(None), {},
        r"probabilities of 2 classes, it has 3 output",
    ),
    "above one": (lambda: ((lambda rows: 1 + rows[:, 0] ** 2), ["a"]), {}, "from 0 to 1 for training"),
    "no number": (lambda: ((lambda rows: rows[:, 0] * np.nan), ["a"]), {}, "from 0 to 1 .* got nan"),
    "no shape": (lambda: ((lambda rows: np.ones((len(rows), 3))), ["a"]), {}, "expected shape"),
    "no values": (lambda: ((lambda rows: ["x"] * len(rows)), ["a"]), {}, "could not convert string"),
    "features, unknown": (lambda: (LogisticRegression(), ["a", "q"]), {}, "expensive: names 'q'"),
    "features, a text": (lambda: (LogisticRegression(), "a"), {}, "list of feature names, got 'a'"),
    "features, a number": (lambda: (LogisticRegression(), 3), {}, "list of feature names, got 3"),
    "features, numbers": (lambda: (LogisticRegression(), [0]), {}, r"list of feature names, got \[0\]"),
    "features, none": (lambda: (LogisticRegression(), []), {}, "expected at least one feature name, got none"),
    "features of nothing": (lambda: (None, ["a"]), {}, "expected a model, or a model and its features"),
    "three things": (lambda: (LogisticRegression(), ["a"], 5), {}, "expected a model, or a model and its features"),
    "fit fails": (lambda: LogisticRegression(C=-1), {}, "LogisticRegression cannot be fitted"),
    "NaN": (LogisticRegression, {"X": np.where(X > 2, np.nan, X)}, "LogisticRegression cannot be fitted.*NaN"),
    "folds": (
        LogisticRegression, {"X": X[[0, *np.flatnonzero(Y == 0)]], "y": [2, *np.zeros((Y == 0).sum())]},
        "too few different rows for 2 folds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore::costframe.adoption.given.fitted_model.PrefittedWarning")
def test_what_is_no_expensive_model_is_refused_by_name(name):
    make, settings, message = REFUSED[name]
    settings = dict(settings)
    rows, y = settings.pop("X", FRAME), settings.pop("y", Y)
    rows = pd.DataFrame(np.asarray(rows), columns=list(NAMES))
    with pytest.raises(CostframeError, match=message):
        asked(make(), **settings).fit(rows, y)


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        (np.full(299, 0.5), r"expected shape \(300, 2\), one row a row of X, got \(299,\)"),
        (np.full((300, 3), 1 / 3), "expected shape"),
        (np.full(300, 1.2), "expected probabilities from 0 to 1"),
        (np.full(300, np.nan), "expected probabilities from 0 to 1"),
        (np.full((300, 2), 0.9), "expected rows that sum to one, got a sum of 1.8"),
        (["x"] * 300, "expensive_proba: expected numbers"),
        (0.5, "expected shape"),
    ],
)
def test_what_are_no_probabilities_is_refused(proba, message):
    with pytest.raises(DataError, match=message):
        asked(linear(OTHER[0])).fit(X, Y, expensive_proba=proba)


def test_probabilities_of_three_classes_sum_to_one():
    rows, y = three_classes(1, 200)
    with pytest.raises(DataError, match=r"expensive_proba: expected probabilities that sum to one, got a sum of 1\.5"):
        asked(LogisticRegression()).fit(rows, y, expensive_proba=np.full((200, 3), 0.5))
    with pytest.raises(DataError, match="expensive: expected probabilities that sum to one for validation rows, got"):
        asked((lambda part: np.full((len(part), 3), 0.5), ["a"])).fit(
            rows, y, X_val=rows, y_val=y, expensive_proba=np.full((200, 3), 1 / 3)
        )
