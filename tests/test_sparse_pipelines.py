"""Pipelines whose steps make sparse tables: what these do not store is missing to XGBoost's trees, zero to others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from xgboost import XGBClassifier, XGBRFClassifier

import costframe as cf
from costframe.core.errors import AdoptionError, DataError

RNG = np.random.default_rng(0)
CHOICES = [np.arange(5.0), np.arange(-2.0, 3.0), np.arange(-9, 10) / 8, np.arange(6.0)]
X, FRESH = (np.column_stack([RNG.choice(each, 300) for each in CHOICES]) for _ in range(2))
Y = (X[:, 0] * X[:, 1] + X[:, 2] + 3 * (X[:, 3] == 0) + RNG.normal(size=300) > 1).astype(int)


def boosted(**settings):
    return XGBClassifier(**({"n_estimators": 8, "max_depth": 3, "n_jobs": 1} | settings))


def mixed(part=OneHotEncoder, **settings):
    return make_column_transformer((part(), [0, 1]), remainder="passthrough", **settings)


def to_sparse():
    return FunctionTransformer(sparse.csr_matrix)


STEPS = {
    "one-hot": OneHotEncoder,
    "bins": lambda: KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    "splines store zeros": lambda: SplineTransformer(n_knots=4, sparse_output=True),
    "columns": lambda: mixed(sparse_threshold=1.0),
    "dense columns": lambda: mixed(sparse_threshold=0.0),
    "union": lambda: make_union(OneHotEncoder(), StandardScaler()),
    "weights of zero": lambda: FeatureUnion(
        [("a", OneHotEncoder()), ("b", MaxAbsScaler())], transformer_weights={"a": 0}
    ),
    "scaled": lambda: make_pipeline(OneHotEncoder(), MaxAbsScaler(), StandardScaler(with_mean=False)),
    "chosen": lambda: make_pipeline(OneHotEncoder(), VarianceThreshold(), SelectKBest(k=6)),
    "filled with zeros": lambda: make_pipeline(
        mixed(sparse_threshold=1.0), SimpleImputer(strategy="constant", fill_value=0, add_indicator=True)
    ),
    "indicators": lambda: make_union(OneHotEncoder(), MissingIndicator(features="all", sparse=True)),
    "products": lambda: make_pipeline(to_sparse(), PolynomialFeatures(2)),
    "binary": lambda: make_pipeline(to_sparse(), Binarizer()),
    "called": lambda: make_pipeline(OneHotEncoder(), QuantileTransformer(n_quantiles=9, output_distribution="normal")),
    "neighbors": lambda: KNeighborsTransformer(n_neighbors=5),
    "dense after all": lambda: make_pipeline(OneHotEncoder(), TruncatedSVD(3, random_state=0)),
    "columns of splines": lambda: mixed(lambda: SplineTransformer(sparse_output=True), sparse_threshold=1.0),
}
MODELS = {
    "forest": lambda: XGBRFClassifier(n_estimators=8, n_jobs=1),
    "dart": lambda: boosted(booster="dart"),
    "linear": lambda: XGBClassifier(n_estimators=8, booster="gblinear"),
    "calibrated": lambda: CalibratedClassifierCV(boosted(), cv=2),
    "votes": lambda: VotingClassifier([("a", boosted()), ("b", boosted(max_depth=2))], voting="soft"),
    "stack": lambda: StackingClassifier([("a", boosted()), ("b", boosted(max_depth=2))], cv=2),
    "one versus rest": lambda: OneVsRestClassifier(boosted()),
    "bag": lambda: BaggingClassifier(boosted(), 2, max_features=0.7, random_state=0),
    "search": lambda: GridSearchCV(boosted(), {"max_depth": [2]}, cv=2),
    "pipeline": lambda: make_pipeline(MaxAbsScaler(), boosted()),
    "trees of others": lambda: RandomForestClassifier(8, random_state=0),
    "columns": LogisticRegression,
    "neighbors": KNeighborsClassifier,
    "weighted trees": lambda: AdaBoostClassifier(boosted(), n_estimators=2, random_state=0),
    "weighted columns": lambda: AdaBoostClassifier(LogisticRegression(), n_estimators=2),
    "threshold": lambda: FixedThresholdClassifier(boosted(), threshold=0.3),
    "hard votes": lambda: VotingClassifier([("a", boosted()), ("b", boosted(max_depth=2))]),
}


def assert_same(pipeline, rows):
    adopted = cf.adopt(pipeline)
    assert (adopted.labels(rows) == pipeline.predict(rows)).all()
    if hasattr(pipeline, "predict_proba"):
        assert pipeline.predict_proba(rows)[:, 1] == pytest.approx(adopted.predict(rows), abs=1e-6)


@pytest.mark.parametrize("name", STEPS)
def test_what_a_step_does_not_store_is_missing_to_trees_of_xgboost(name):
    train, rows = X.copy(), FRESH.copy()
    if name == "filled with zeros":
        train[::5, 2] = rows[::7, 2] = np.nan
    assert_same(make_pipeline(STEPS[name](), boosted()).fit(train, Y), rows)


@pytest.mark.parametrize("name", MODELS)
def test_models_around_trees_of_xgboost_and_other_models(name):
    for step in (mixed(sparse_threshold=1.0), STEPS["called"]()):
        assert_same(make_pipeline(step, MODELS[name]()).fit(X, Y), FRESH)


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_absent_is_zero_to_other_libraries(library):
    module = pytest.importorskip(library, reason=f"needs {library}")
    quiet = {"verbose": -1} if library == "lightgbm" else {"verbose": 0, "allow_writing_files": False}
    model = getattr(module, "LGBMClassifier" if library == "lightgbm" else "CatBoostClassifier")
    assert_same(make_pipeline(OneHotEncoder(), model(n_estimators=8, **quiet)).fit(X, Y), FRESH)


@pytest.mark.parametrize(
    "model",
    [
        VotingClassifier([("a", boosted()), ("b", LogisticRegression())], voting="soft"),
        StackingClassifier([("a", boosted()), ("b", boosted(max_depth=2))], cv=2, passthrough=True),
        VotingClassifier([("a", make_pipeline(TruncatedSVD(2), boosted()))], voting="soft"),
    ],
    ids=["votes", "stack", "pipeline"],
)
def test_a_model_of_both_kinds_is_refused(model):
    pipeline = make_pipeline(OneHotEncoder(), model).fit(X, Y)
    with pytest.raises(AdoptionError, match=r"absent entries are missing to XGBoost and zero to .*sparse_output=False"):
        cf.adopt(pipeline)


def test_what_is_saved_keeps_it(tmp_path):
    pipeline = make_pipeline(OneHotEncoder(), MaxAbsScaler(), boosted()).fit(X, Y)
    cf.save(cf.adopt(pipeline), tmp_path / "model")
    again = cf.load(tmp_path / "model")
    assert again.predict(FRESH) == pytest.approx(pipeline.predict_proba(FRESH)[:, 1], abs=1e-6)


def test_a_table_with_missing_values_stands_for_a_sparse_one():
    model = boosted().fit(sparse.csr_matrix(X), Y)
    adopted, rows = cf.adopt(model), sparse.csr_matrix(FRESH)
    with pytest.raises(DataError, match=r"toarray\(\), or, for trees of XGBoost, .* NaN in its place"):
        adopted.predict(rows)
    hidden = np.where(FRESH == 0, np.nan, FRESH)
    assert adopted.predict(hidden) == pytest.approx(model.predict_proba(rows)[:, 1], abs=1e-6)
