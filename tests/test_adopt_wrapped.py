"""What wraps or joins models is transparent, wherever they are: costframe's own, pipelines, LightGBM, CatBoost."""

import numpy as np
import pandas as pd
import pytest
from planned_stumps import StumpsClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - it enables the import below
from sklearn.feature_selection import RFE, RFECV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe.errors import AdoptionError
from costframe.testing import expect_one_label

rng = np.random.default_rng(1)
NAMES = tuple("abcdef")
X = pd.DataFrame(rng.normal(size=(150, 6)), columns=list(NAMES))
SIGNAL = (X.a + X.b / 2).to_numpy()
TWO = np.array(["no", "yes"])[(SIGNAL > 0).astype(int)]
THREE = np.array(["high", "low", "mid"])[np.digitize(SIGNAL, [-0.5, 0.5])]
COSTS = cf.CostModel.from_dict({"features": {"a": 2.0, "b": 1.0, "c": 3.0, "d": 1.0, "e": 1.0, "f": 5.0}})
GRID = {"tradeoff": [1e-2]}


def own(**settings):
    return cf.MiserClassifier(COSTS, tradeoff=1e-2, n_estimators=5, **settings)


def boosted():
    return GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def soft(*models):
    return VotingClassifier([(f"m{number}", model) for number, model in enumerate(models)], voting="soft")


OWN = {
    "alone": own(),
    "search": GridSearchCV(own(), GRID, cv=2),
    "random search": RandomizedSearchCV(own(), GRID, n_iter=1, cv=2),
    "halving search": HalvingGridSearchCV(own(), {"tradeoff": [1e-2, 1e-3]}, cv=2, min_resources=60, factor=2),
    "pipeline": scaled(own()),
    "search of a pipeline": GridSearchCV(scaled(own()), {"miserclassifier__tradeoff": [1e-2]}, cv=2),
    "search at the end of a pipeline": scaled(GridSearchCV(own(), GRID, cv=2)),
    "calibrated": CalibratedClassifierCV(own(), cv=2),
    "calibrated by steps": CalibratedClassifierCV(own(), cv=2, method="isotonic"),
    "calibrated by temperature": CalibratedClassifierCV(own(), cv=2, method="temperature"),
    "calibrated pipeline": CalibratedClassifierCV(scaled(own()), cv=2),
    "calibrated at the end of a pipeline": scaled(CalibratedClassifierCV(own(), cv=2, ensemble=False)),
    "votes": soft(own(), own(max_depth=1)),
    "bag": BaggingClassifier(own(), 2, random_state=0),
    "one versus rest": OneVsRestClassifier(own()),
}


def expect_as_original(model, adopted, rows=X, some=3):
    """Expect the model's probabilities, and its labels for rows asked in any way."""
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(rows)
        assert adopted.predict(rows) == pytest.approx(p[:, 1] if p.shape[1] == 2 else p, abs=1e-7)
    if not adopted.categories:
        expect_one_label(adopted, rows.to_numpy(), model.predict(rows), some=some)
    assert adopted.labels(rows).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", OWN)
def test_what_is_around_an_estimator_of_costframe_has_its_features_and_prices(name, target):
    model = OWN[name].fit(X, target)
    adopted = cf.adopt(model)
    assert set(adopted.used_features) <= set("abcd")
    assert adopted.cost(X).mean == adopted.cost(X, COSTS).mean < COSTS.full_cost() / 2
    expect_as_original(model, adopted)


def test_frozen_and_loaded_estimators_and_predictors_are_as_they_are(tmp_path):
    fitted = own().fit(X, TWO)
    cf.save(fitted, tmp_path / "own.model")
    for model in (FrozenEstimator(fitted), FrozenEstimator(FrozenEstimator(fitted)), fitted.predictor_):
        assert cf.adopt(model) is fitted.predictor_
    assert cf.adopt(cf.load(tmp_path / "own.model")).labels(X).tolist() == fitted.predict(X).tolist()
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X, TWO)
    expect_as_original(calibrated, cf.adopt(calibrated))
    assert cf.adopt(calibrated).cost(X).mean == fitted.cost(X).mean
    named = cf.adopt(fitted, feature_names=list("uvwxyz"))
    assert (named.used_features, named.costs.names) == (("u", "v"), tuple("uvwxyz"))
    assert named.predict(X.to_numpy()).tolist() == fitted.predictor_.predict(X).tolist()
    for unfitted in (own(), FrozenEstimator(own())):
        with pytest.raises(AdoptionError, match="is not fitted"):
            cf.adopt(unfitted)


def test_names_of_an_array_are_those_of_the_prices():
    for model in (own(), CalibratedClassifierCV(own(), cv=2), soft(own(), own(max_depth=1))):
        assert cf.adopt(model.fit(X.to_numpy(), TWO)).used_features == ("a", "b")


@pytest.mark.parametrize("around", ["alone", "frozen", "search", "pipeline"])
def test_prices_of_errors_decide_labels_where_the_original_does(around):
    errors = {"yes": {"no": 9.0}, "no": {"yes": 1.0}}
    costs = cf.CostModel.from_dict({**COSTS.to_dict(), "errors": errors})
    model = cf.MiserClassifier(costs, tradeoff=1e-2, n_estimators=5)
    if around == "frozen":
        model = FrozenEstimator(model.fit(X, TWO))
    model = {"search": GridSearchCV(model, GRID, cv=2), "pipeline": scaled(model)}.get(around, model)
    model = model if around == "frozen" else model.fit(X, TWO)
    adopted = cf.adopt(model)
    assert adopted.costs.errors is not None
    assert adopted.labels(X).tolist() == model.predict(X).tolist()
    assert adopted.labels(X).tolist() != adopted.with_costs(COSTS).labels(X).tolist()
    averaged = cf.adopt(CalibratedClassifierCV(cf.MiserClassifier(costs, n_estimators=5), cv=2).fit(X, TWO))
    assert averaged.costs.errors is None  # the mean's label is the likeliest


@pytest.mark.parametrize("kind", ["cronus", "planner"])
def test_a_cascade_or_a_plan_in_an_ensemble_is_asked_for_what_it_reads(kind):
    model = cf.estimator(kind, costs=COSTS, random_state=0)
    frozen = cf.adopt(FrozenEstimator(model.fit(X, TWO)))
    assert frozen is model.predictor_
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, TWO)
    adopted = cf.adopt(calibrated)
    assert adopted.used_features == model.predictor_.used_features
    expect_as_original(calibrated, adopted)


OTHERS = {
    "pipelines' votes": (soft(scaled(boosted()), boosted()), TWO, False),
    "calibrated pipeline": (CalibratedClassifierCV(scaled(boosted()), cv=2), THREE, False),
    "pipelines of what can only be called": (soft(scaled(boosted()), scaled(GaussianNB())), TWO, True),
    "what can only be called beside a pipeline": (soft(scaled(boosted()), GaussianNB()), TWO, True),
    "bag of pipelines": (BaggingClassifier(scaled(boosted()), 3, max_features=0.5, random_state=0), TWO, False),
    "bag of columns drawn twice": (
        BaggingClassifier(scaled(boosted()), 3, bootstrap_features=True, random_state=0), THREE, False
    ),
    "votes of votes in a pipeline": (make_pipeline(MinMaxScaler(), soft(scaled(boosted()), boosted())), TWO, False),
    "feature elimination": (RFE(LogisticRegression(), n_features_to_select=2), THREE, False),
    "feature elimination by folds": (RFECV(boosted(), cv=2), TWO, False),
    "elimination in a pipeline": (scaled(RFE(LogisticRegression(), n_features_to_select=2)), TWO, False),
    "calibrated elimination": (
        CalibratedClassifierCV(RFE(LogisticRegression(), n_features_to_select=2), cv=2), TWO, False
    ),
    "rest of scores": (OneVsRestClassifier(LogisticRegression()), THREE, True),
    "rest of boosting": (OneVsRestClassifier(boosted()), THREE, False),
    "rest of trees": (OneVsRestClassifier(DecisionTreeClassifier(max_depth=2)), THREE, False),
    "rest of pipelines": (OneVsRestClassifier(scaled(LogisticRegression())), THREE, True),
    "rest without probabilities": (OneVsRestClassifier(LinearSVC()), THREE, True),
    "rest of two": (OneVsRestClassifier(boosted()), TWO, False),
    "calibrated rest": (CalibratedClassifierCV(OneVsRestClassifier(boosted()), cv=2, ensemble=False), THREE, False),
    "threshold": (FixedThresholdClassifier(boosted(), threshold=0.3), TWO, False),
    "threshold of the first class": (FixedThresholdClassifier(boosted(), threshold=0.3, pos_label="no"), TWO, False),
    "threshold of scores": (
        FixedThresholdClassifier(boosted(), threshold=0.2, response_method="decision_function"), TWO, False
    ),
    "tuned threshold of a pipeline": (TunedThresholdClassifierCV(scaled(boosted()), cv=2), TWO, False),
    "tuned threshold in a pipeline": (scaled(TunedThresholdClassifierCV(boosted(), cv=2)), TWO, False),
    "threshold of what can only be called": (FixedThresholdClassifier(GaussianNB(), threshold=0.3), TWO, True),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_around_models_and_pipelines_reads_what_they_read(name):
    model, target, reads_all = OTHERS[name]
    model.fit(X, target)
    adopted = cf.adopt(model)
    assert (adopted.used_features == NAMES) == reads_all
    expect_as_original(model, adopted)


def test_a_row_is_certain_of_the_side_of_a_threshold():
    for level in (0.05, 0.3, 0.8, 1.0):
        model = FixedThresholdClassifier(boosted(), threshold=level).fit(X, TWO)
        certain = cf.certain(cf.adopt(model), "class")
        assert certain.labels(X).tolist() == model.predict(X).tolist()


def test_several_labels_a_row_are_a_probability_each():
    labels = np.column_stack([SIGNAL > 0, np.abs(SIGNAL) > 0.5]).astype(int)
    for inner in (boosted(), LogisticRegression()):
        model = OneVsRestClassifier(inner).fit(X, labels)
        adopted = cf.adopt(model)
        assert adopted.classes is None
        assert not adopted.bank.opaques
        assert adopted.predict(X) == pytest.approx(model.predict_proba(X))


REGRESSOR = GradientBoostingRegressor(n_estimators=3, max_depth=2)
REGRESSIONS = {
    "logarithm": (TransformedTargetRegressor(REGRESSOR, func=np.log, inverse_func=np.exp), False),
    "logarithm plus one": (TransformedTargetRegressor(REGRESSOR, func=np.log1p, inverse_func=np.expm1), False),
    "standard": (TransformedTargetRegressor(REGRESSOR, transformer=StandardScaler()), False),
    "range": (TransformedTargetRegressor(scaled(REGRESSOR), transformer=MinMaxScaler()), False),
    "steps": (
        TransformedTargetRegressor(
            REGRESSOR, transformer=make_pipeline(FunctionTransformer(np.log, np.exp), RobustScaler())
        ),
        False,
    ),
    "called": (TransformedTargetRegressor(REGRESSOR, transformer=PowerTransformer()), True),
    "called around a pipeline": (
        TransformedTargetRegressor(scaled(REGRESSOR), func=np.sqrt, inverse_func=np.square), True
    ),
    "own": (
        TransformedTargetRegressor(cf.MiserRegressor(COSTS, n_estimators=5), func=np.log, inverse_func=np.exp), False
    ),
    "in a pipeline": (scaled(TransformedTargetRegressor(REGRESSOR, func=np.log, inverse_func=np.exp)), False),
    "bag": (BaggingRegressor(cf.MiserRegressor(COSTS, n_estimators=5), 2, random_state=0), False),
    "votes": (VotingRegressor([("a", scaled(Lasso(0.1))), ("b", REGRESSOR)]), False),
    "search": (
        GridSearchCV(TransformedTargetRegressor(REGRESSOR, transformer=StandardScaler()), {"check_inverse": [True]}),
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REGRESSIONS)
def test_transformed_targets_and_means_of_regressors(name):
    model, is_called = REGRESSIONS[name]
    model.fit(X, np.exp(SIGNAL / 3))
    adopted = cf.adopt(model)
    assert set(adopted.used_features) <= {"a", "b", "c"}
    assert bool(getattr(adopted, "inner", adopted).bank.opaques) == is_called
    assert adopted.predict(X) == pytest.approx(model.predict(X), rel=1e-12)
    inquiry = adopted.inquire()
    while inquiry.needs:
        inquiry.supply({name: float(X[name][0]) for name in inquiry.needs})
    assert inquiry.answer.value == adopted.predict(X[:1])[0]


def test_several_targets():
    model = MultiOutputRegressor(REGRESSOR).fit(X, np.column_stack([SIGNAL, SIGNAL**2]))
    assert cf.adopt(model).predict(X) == pytest.approx(model.predict(X), rel=1e-12)


CITY = rng.choice(["Bergen", "Oslo", "Voss"], len(X))
WEATHER = rng.choice(["dry", "wet"], len(X))
TEXTS = X.assign(city=CITY, weather=WEATHER)
WARM = np.array(["no", "yes"])[(SIGNAL + (CITY == "Oslo") > 0.3).astype(int)]


def encoded(model, encoder=None):
    encoder = OneHotEncoder(handle_unknown="ignore") if encoder is None else encoder
    return make_pipeline(make_column_transformer((encoder, ["weather", "city"]), ("passthrough", ["a", "b"])), model)


def ordered(model):
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    return encoded(model, OrdinalEncoder(categories=[["wet", "dry"], ["Voss", "Bergen", "Oslo"]], **unknown))


@pytest.mark.parametrize(
    "model",
    [
        soft(encoded(boosted()), ordered(boosted())),
        CalibratedClassifierCV(encoded(boosted()), cv=2),
        OneVsRestClassifier(ordered(boosted())),
        BaggingClassifier(boosted(), 2),
    ],
    ids=["votes", "calibrated", "rest", "in a pipeline"],
)
def test_members_number_texts_each_in_its_way(model, tmp_path):
    model = encoded(model) if isinstance(model, BaggingClassifier) else model
    model.fit(TEXTS, WARM)
    adopted = cf.adopt(model)
    assert not adopted.inner.bank.opaques
    assert set(adopted.used_features) <= {"a", "b", "city", "weather"}
    rows = TEXTS[:40].assign(city=["Narvik", *CITY[1:40]])  # one of them is unknown
    expect_as_original(model, adopted, rows)
    cf.save(cf.FittedEstimator(adopted), tmp_path / "one.model")
    assert cf.load(tmp_path / "one.model").predict(rows).tolist() == model.predict(rows).tolist()
    for i in range(3):
        inquiry = adopted.inquire()
        while inquiry.needs:
            inquiry.supply({name: rows[name].iloc[i] for name in inquiry.needs})
        assert inquiry.answer.label == model.predict(rows[i : i + 1])[0]


CATEGORIES = TEXTS.astype({"city": "category", "weather": "category"})


def test_calibration_over_lightgbm_keeps_names_and_categories():
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm")
    booster = lightgbm.LGBMClassifier(n_estimators=3, max_depth=2, min_child_samples=5, verbose=-1, n_jobs=1)
    for ensemble in (False, True):
        calibrated = CalibratedClassifierCV(booster, cv=2, ensemble=ensemble).fit(X, TWO)
        adopted = cf.adopt(calibrated)
        expect_as_original(calibrated, adopted)
        assert not adopted.bank.opaques
        if not ensemble:
            assert adopted.cost(X).mean == cf.adopt(booster.fit(X, TWO)).cost(X).mean
    for model in (
        CalibratedClassifierCV(booster, cv=2),
        TunedThresholdClassifierCV(booster, cv=2),
        soft(booster, encoded(boosted())),
        FixedThresholdClassifier(soft(booster, encoded(boosted())), threshold=0.4),
    ):
        model.fit(CATEGORIES, WARM)
        adopted = cf.adopt(model)
        assert not getattr(adopted, "inner", adopted).bank.opaques
        assert {"a", "city"} <= set(adopted.used_features)
        expect_as_original(model, adopted, CATEGORIES)


def test_calibration_over_catboost_keeps_names_and_categories():
    catboost = pytest.importorskip("catboost", reason="needs catboost")
    settings = {"iterations": 3, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    plain = catboost.CatBoostClassifier(**settings)
    named = catboost.CatBoostClassifier(**settings, cat_features=["city", "weather"], one_hot_max_size=5)
    fitted = named.fit(TEXTS, WARM)
    for model in (
        CalibratedClassifierCV(plain, cv=2).fit(X, TWO),
        OneVsRestClassifier(plain).fit(X, THREE),
        CalibratedClassifierCV(FrozenEstimator(fitted)).fit(TEXTS, WARM),
        FixedThresholdClassifier(FrozenEstimator(fitted), threshold=0.3).fit(TEXTS, WARM),
    ):
        adopted = cf.adopt(model)
        assert not adopted.bank.opaques
        assert adopted.feature_names[:2] == ("a", "b")
        expect_as_original(model, adopted, TEXTS if adopted.categories or len(adopted.feature_names) > 6 else X)
    for model in (  # opaque learners, which have names only inside
        CalibratedClassifierCV(plain, cv=2, method="temperature").fit(X, TWO),
        StackingClassifier([("one", plain)], LogisticRegression(), cv=2).fit(X, THREE),
        OneVsOneClassifier(plain).fit(X, THREE),
    ):
        adopted = cf.adopt(model)
        assert adopted.feature_names == NAMES
        assert (cf.FittedEstimator(adopted).predict(X[list("fedcba")]) == model.predict(X)).all()


def test_a_choice_of_columns_before_an_estimator_of_costframe_leaves_its_prices():
    chosen = make_column_transformer(("passthrough", ["b", "a", "f"]), verbose_feature_names_out=False)
    prices = cf.CostModel.of({"b": 1.0, "a": 2.0, "f": 5.0}, ("b", "a", "f"))
    model = make_pipeline(chosen.set_output(transform="pandas"), cf.MiserClassifier(prices, n_estimators=5)).fit(X, TWO)
    adopted = cf.adopt(model)
    assert adopted.feature_names == NAMES
    assert adopted.cost(X).mean == adopted.cost(X, COSTS).mean == 3.0


def test_opaque_learners_have_the_prices_of_the_estimators_of_costframe_in_them():
    chain = cf.estimator("cronus", costs=COSTS, tradeoff=1e-3, n_estimators=8).fit(X, TWO)
    for model in (
        FixedThresholdClassifier(FrozenEstimator(chain), threshold=0.3),
        CalibratedClassifierCV(FrozenEstimator(chain), method="temperature"),
        StackingClassifier([("one", own())], cv=2),
    ):
        adopted = cf.adopt(model.fit(X, TWO))
        assert adopted.bank.opaques
        assert adopted.costs == COSTS
        assert adopted.cost(X).mean == adopted.cost(X, COSTS).mean
    other = cf.MiserClassifier(cf.CostModel.uniform(NAMES), n_estimators=2)
    assert cf.adopt(StackingClassifier([("one", own()), ("other", other)], cv=2).fit(X, TWO)).costs is None


@pytest.mark.parametrize("y", [TWO, THREE])
def test_calibrated_means_of_probabilities(y):
    forest = cf.estimator("budgetrf", costs=COSTS, tradeoff=1e-3, random_state=0).fit(X, y)
    assert not np.allclose(forest.decision_function(X), forest.predictor_.decision_function(X))  # log odds
    model = CalibratedClassifierCV(FrozenEstimator(forest)).fit(X, y)
    adopted = cf.adopt(model)
    expect_as_original(model, adopted, X)
    assert adopted.costs == COSTS


def test_labels_where_an_estimator_has_a_probability_for_each_of_two_classes():
    model = OneVsRestClassifier(StumpsClassifier(costs=COSTS, tradeoff=1e-3)).fit(X, TWO)
    adopted = cf.adopt(model)
    np.testing.assert_allclose(adopted.predict(X), model.predict_proba(X))
    expect_one_label(adopted, X.to_numpy(), model.predict(X), some=3)
