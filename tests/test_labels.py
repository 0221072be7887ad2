"""A row has one label, that of the original's predict, whoever asks: table, inquiry, stream, file; at ties too."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe import engine
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.stages.ends import contradicts
from costframe.core.stages.float32_margins import Float32Margins
from costframe.errors import StageError
from costframe.plugin import ParameterError
from costframe.testing import expect_one_label

NAMES = tuple("abcde")
X = np.random.default_rng(0).integers(0, 4, (310, 5)).astype(float)  # few values: many rows have equal scores
COUNTS = (2, 3, 60, 150)
FEW = (2, 3)  # of models that take long for many classes
OURS = {
    "decision tree": (COUNTS, DecisionTreeClassifier(max_depth=3)),
    "forest": (COUNTS, RandomForestClassifier(6, max_depth=3, random_state=0)),
    "extra trees": (COUNTS, ExtraTreesClassifier(6, max_depth=3, random_state=0)),
    "bagging": (COUNTS, BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, random_state=0)),
    "boosting": (FEW, GradientBoostingClassifier(n_estimators=2, max_depth=2)),
    "histograms": (COUNTS, HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=2)),
    "adaboost": (COUNTS, AdaBoostClassifier(n_estimators=4)),
    "voting": (FEW, VotingClassifier([("t", DecisionTreeClassifier(max_depth=3)), ("n", GaussianNB())], voting="soft")),
    "hard votes": (FEW, VotingClassifier([("t", DecisionTreeClassifier(max_depth=3)), ("n", GaussianNB())])),
    "logistic": (FEW, LogisticRegression(max_iter=30)),
    "ridge": (FEW, RidgeClassifier()),
    "descent": (FEW, SGDClassifier(loss="modified_huber", random_state=0)),
    "discriminant": (FEW, LinearDiscriminantAnalysis()),
    "neighbours": (FEW, KNeighborsClassifier(4)),
    "bayes": (COUNTS, GaussianNB()),
    "pipeline": (FEW, make_pipeline(StandardScaler(), LogisticRegression(max_iter=30))),
    "svc": (FEW, SVC(decision_function_shape="ovo")),
    "svc with ties broken": (FEW, SVC(break_ties=True)),
}
ONES = [(kind, n) for kind, (counts, _) in OURS.items() for n in counts]


def labels(n_classes):
    return np.array([f"class {number:03}" for number in np.arange(len(X)) % n_classes])


@pytest.mark.parametrize(("kind", "n_classes"), ONES, ids=[f"{kind}, {n}" for kind, n in ONES])
def test_a_model_of_scikit_learn_has_one_label_a_row(kind, n_classes):
    model = OURS[kind][1].fit(X, labels(n_classes))
    expect_one_label(cf.adopt(model, NAMES), X, model.predict(X), some=5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", FEW)
def test_a_model_whose_probabilities_know_nothing_of_its_labels(n_classes):
    noisy = np.random.default_rng(1).permutation(labels(n_classes))
    model = SVC(probability=True, random_state=0).fit(X, noisy)
    predictor, wanted = cf.adopt(model, NAMES), model.predict(X)
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] != wanted).any()
    expect_one_label(predictor, X, wanted)
    piped = make_pipeline(StandardScaler(), model).fit(X, noisy)
    expect_one_label(cf.adopt(piped, NAMES), X, piped.predict(X))


@pytest.mark.filterwarnings("ignore")
def test_a_price_of_errors_that_cannot_be_had_leaves_the_label_of_the_model():
    noisy = np.random.default_rng(1).permutation(labels(2))
    model, (one, other) = SVC(probability=True, random_state=0).fit(X, noisy), sorted(set(noisy))
    wrong = {one: {other: {"column": "amount"}}, other: {one: 3.0}}
    prices = cf.CostModel.from_dict({"features": dict.fromkeys((*NAMES, "amount"), 0.0), "errors": wrong})
    predictor = cf.adopt(model, (*NAMES, "amount"), features=NAMES).with_costs(prices)
    rows, without = np.column_stack([X, np.full(len(X), 2.0)]), {"unavailable": ["amount"]}
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] != model.predict(X)).any()
    assert predictor.labels(rows, **without).tolist() == model.predict(X).tolist()
    report = predictor.cost(rows, y=noisy, **without)
    mistakes = np.where(noisy == one, 2.0, 3.0) * (model.predict(X) != noisy)
    assert report.errors.tolist() == mistakes.tolist()
    ends = [cf.predict_one(predictor, row, **without) for row in rows[:3]]
    assert {end.reason for end in ends} == {"unavailable"}
    assert report.cut.all()  # as the reasons of inquiries
    assert not predictor.cost(rows, max_cost=1.0).cut.any()


XGB = {
    "trees": {},
    "one round": {"n_estimators": 1, "base_score": 0.5, "learning_rate": 1e-8},
    "forests": {"n_estimators": 1, "num_parallel_tree": 3, "subsample": 0.5, "random_state": 0},
    "dart": {"booster": "dart", "rate_drop": 0.5, "n_estimators": 4, "random_state": 0},
    "linear": {"booster": "gblinear"},
    "largest margin": {"objective": "multi:softmax"},
    "many outputs": {"multi_strategy": "multi_output_tree"},
    "hinge": {"objective": "binary:hinge"},
}
XGB_COUNTS = {"hinge": (2,), "largest margin": (3, 150), "dart": (2, 3, 60)}
XGB_ONES = [(kind, n) for kind in XGB for n in XGB_COUNTS.get(kind, COUNTS)]


@pytest.fixture(scope="module")
def xgboost():
    return pytest.importorskip("xgboost", reason="needs xgboost")


@pytest.mark.parametrize(("kind", "n_classes"), XGB_ONES, ids=[f"{kind}, {n}" for kind, n in XGB_ONES])
def test_a_model_of_xgboost_has_its_labels_at_ties_of_float32(xgboost, kind, n_classes):
    codes = np.arange(len(X)) % n_classes
    settings = {"n_estimators": 2, "n_jobs": 1} | ({} if kind == "linear" else {"max_depth": 2}) | XGB[kind]
    model = xgboost.XGBClassifier(**settings).fit(X, codes)
    predictor = cf.adopt(model, NAMES)
    expect_one_label(predictor, X, model.predict(X), some=5)
    expect_one_label(cf.certain(predictor, "class"), X, model.predict(X), some=5)


def test_wrappers_keep_the_ties_of_float32(xgboost, tmp_path):
    codes = np.arange(len(X)) % 150
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2).fit(X, codes)
    predictor, wanted = cf.adopt(model, NAMES), model.predict(X)
    plain = np.asarray(predictor.classes)[predictor.predict(X).argmax(axis=1)]
    assert (plain != wanted).any()  # float64 probabilities do not tell
    assert not contradicts(predictor.predict(X), wanted).any()  # but for ties
    piped = cf.adopt(make_pipeline("passthrough", model).fit(X, codes), NAMES)
    named = cf.adopt(model, NAMES).with_categories({"e": ("u", "v", "w", "x")})
    free = predictor.with_costs(cf.CostModel.of(dict.fromkeys(NAMES, 0.0), NAMES))
    for each in (piped, named, MixedPredictor(free, free, 0.5, ["a"])):
        expect_one_label(each, X, wanted, some=3)
    report = predictor.cost(X)
    assert predictor.decide(report.ends, X).tolist() == wanted.tolist()
    model.save_model(tmp_path / "one.json")
    again = cf.adopt(tmp_path / "one.json").with_classes(np.arange(150))
    assert again.labels(X).tolist() == wanted.tolist()


@pytest.mark.parametrize("n_classes", COUNTS)
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova", "rf"])
def test_a_model_of_lightgbm_has_one_label_a_row(objective, n_classes):
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm")
    bagged = {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}
    given = bagged if objective == "rf" else {"objective": objective} if n_classes > 2 else {}
    model = lightgbm.LGBMClassifier(n_estimators=2, max_depth=2, min_child_samples=2, verbose=-1, n_jobs=1, **given)
    model.fit(X, labels(n_classes))
    expect_one_label(cf.adopt(model, NAMES), X, model.predict(X), some=3)


@pytest.mark.parametrize("n_classes", COUNTS)
@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
def test_a_model_of_catboost_has_one_label_a_row(loss, n_classes):
    catboost = pytest.importorskip("catboost", reason="needs catboost")
    loss = loss if n_classes > 2 else "Logloss"
    model = catboost.CatBoostClassifier(
        iterations=2, depth=2, verbose=0, loss_function=loss, thread_count=1, allow_writing_files=False
    )
    model.fit(X, labels(n_classes))
    expect_one_label(cf.adopt(model, NAMES), X, np.ravel(model.predict(X)), some=3)


@pytest.mark.parametrize("kind", ["miser", "cegb"])
@pytest.mark.parametrize("n_classes", [60, 150])
def test_a_trained_model_of_many_classes_has_one_label_a_row(kind, n_classes):
    estimator = cf.estimator(kind, task="classification", costs=dict.fromkeys(NAMES, 1.0), n_estimators=3)
    estimator.fit(pd.DataFrame(X, columns=list(NAMES)), labels(n_classes))
    expect_one_label(estimator.predictor_, X, estimator.predict(pd.DataFrame(X, columns=list(NAMES))), some=5)


def test_exponentials_are_those_of_float32():
    given = np.random.default_rng(0).normal(0, 20, 2000).astype(np.float32).astype(np.float64)
    found = np.empty(len(given))
    engine.exp_float32(given, found)
    near = np.array([math.exp(value) for value in given], np.float32)
    assert (found == found.astype(np.float32)).all()
    assert (np.abs(found - near) <= np.spacing(near)).all()


def test_a_rule_of_float32_that_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="float32: expected 'identity'"):
        Float32Margins("exp")
    for link, width in (("sigmoid", 2), ("softmax", 1)):
        with pytest.raises(StageError, match="does not go with"):
            cf.Answer([], np.zeros((0, width)), np.zeros(width), float32=Float32Margins(link))
    with pytest.raises(StageError, match="without blends, temperature"):
        cf.Answer([], np.zeros((0, 1)), [0.0], "sigmoid", temperature=2.0, float32=Float32Margins("sigmoid"))
