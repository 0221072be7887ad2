"""Pipelines whose steps make sparse tables: what these do not store is missing to XGBoost's trees, zero to others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import compose, ensemble, impute
from sklearn import preprocessing as pre
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from xgboost import XGBClassifier, XGBRFClassifier

import costframe as cf
from costframe.errors import AdoptionError
from costframe.plugin import DataError

RNG = np.random.default_rng(0)
CHOICES = [np.arange(5.0), np.arange(-2.0, 3.0), np.arange(-9, 10) / 8, np.arange(6.0)]
X, FRESH = (np.column_stack([RNG.choice(each, 300) for each in CHOICES]) for _ in range(2))
Y = (X[:, 0] * X[:, 1] + X[:, 2] + 3 * (X[:, 3] == 0) + RNG.normal(size=300) > 1).astype(int)


def boosted(**settings):
    return XGBClassifier(**({"n_estimators": 8, "max_depth": 3, "n_jobs": 1} | settings))


def mixed(part, **settings):
    return compose.make_column_transformer((part, [0, 1]), remainder="passthrough", **settings)


def one_hot():
    return pre.OneHotEncoder()


SPARSE = mixed(one_hot(), sparse_threshold=1.0)
STEPS = {
    "bins": pre.KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    "splines store zeros": pre.SplineTransformer(n_knots=4, sparse_output=True),
    "columns": SPARSE,
    "union": make_union(one_hot(), pre.StandardScaler()),
    "weights of zero": FeatureUnion([("a", one_hot()), ("b", pre.MaxAbsScaler())], transformer_weights={"a": 0}),
    "chosen": make_pipeline(one_hot(), VarianceThreshold(), SelectKBest(k=6)),
    "filled with zeros": make_pipeline(
        SPARSE, impute.SimpleImputer(strategy="constant", fill_value=0, add_indicator=True)
    ),
    "indicators": make_union(one_hot(), impute.MissingIndicator(features="all", sparse=True)),
    "products": make_pipeline(pre.FunctionTransformer(sparse.csr_matrix), pre.PolynomialFeatures(2)),
    "called": make_pipeline(one_hot(), pre.QuantileTransformer(n_quantiles=9, output_distribution="normal")),
    "dense after all": make_pipeline(one_hot(), TruncatedSVD(3, random_state=0)),
}
BOTH = [("a", boosted()), ("b", boosted(max_depth=2))]
MODELS = {
    "forest": XGBRFClassifier(n_estimators=8, n_jobs=1),
    "dart": boosted(booster="dart"),
    "linear": XGBClassifier(n_estimators=8, booster="gblinear"),
    "calibrated": CalibratedClassifierCV(boosted(), cv=2),
    "votes": ensemble.VotingClassifier(BOTH, voting="soft"),
    "one versus rest": OneVsRestClassifier(boosted()),
    "bag": ensemble.BaggingClassifier(boosted(), 2, max_features=0.7, random_state=0),
    "pipeline": make_pipeline(pre.MaxAbsScaler(), boosted()),
    "trees of others": ensemble.RandomForestClassifier(8, random_state=0),
    "hard votes": ensemble.VotingClassifier(BOTH),
}


def assert_same(pipeline, rows):
    adopted = cf.adopt(pipeline)
    assert (adopted.labels(rows) == pipeline.predict(rows)).all()
    if hasattr(pipeline, "predict_proba"):
        assert pipeline.predict_proba(rows)[:, 1] == pytest.approx(adopted.predict(rows), abs=1e-6)


@pytest.mark.parametrize("name", [*STEPS, *MODELS])
def test_what_a_step_does_not_store_is_missing_to_trees_of_xgboost_alone(name):
    train, rows = X.copy(), FRESH.copy()
    if name == "filled with zeros":
        train[::5, 2] = rows[::7, 2] = np.nan
    assert_same(make_pipeline(STEPS.get(name, SPARSE), MODELS.get(name, boosted())).fit(train, Y), rows)


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_absent_is_zero_to_other_libraries(library):
    module = pytest.importorskip(library, reason=f"needs {library}")
    quiet = {"verbose": -1} if library == "lightgbm" else {"verbose": 0, "allow_writing_files": False}
    model = getattr(module, "LGBMClassifier" if library == "lightgbm" else "CatBoostClassifier")
    assert_same(make_pipeline(one_hot(), model(n_estimators=8, **quiet)).fit(X, Y), FRESH)


def test_a_model_of_both_kinds_is_refused():
    for members in (
        [("a", boosted()), ("b", LogisticRegression())],
        [("a", make_pipeline(TruncatedSVD(2), boosted()))],
    ):
        model = make_pipeline(one_hot(), ensemble.VotingClassifier(members, voting="soft")).fit(X, Y)
        with pytest.raises(AdoptionError, match=r"are missing to XGBoost and zero to .*sparse_output=False"):
            cf.adopt(model)


def test_a_table_with_missing_values_stands_for_a_sparse_one():
    model = boosted().fit(sparse.csr_matrix(X), Y)
    adopted, rows = cf.adopt(model), sparse.csr_matrix(FRESH)
    with pytest.raises(DataError, match=r"toarray\(\), or, for trees of XGBoost, .* NaN in its place"):
        adopted.predict(rows)
    hidden = np.where(FRESH == 0, np.nan, FRESH)
    assert adopted.predict(hidden) == pytest.approx(model.predict_proba(rows)[:, 1], abs=1e-6)
