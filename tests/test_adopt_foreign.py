"""Steps of other libraries and of one's own: pipelines of them answer as the original, in tables and inquiries."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe.errors import AdoptionError

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries

RNG, SIZE = np.random.default_rng(0), 120
TABLE = pd.DataFrame({
    "city": RNG.choice(["Oslo", "Rome", "Bonn"], SIZE), "ward": RNG.choice([1, 2, 30], SIZE),
    "flag": RNG.random(SIZE) < 0.5, "x": RNG.normal(size=SIZE),
    "day": pd.date_range("2020-01-01", periods=SIZE, freq="77h"), "id": 2**53 + RNG.integers(0, 4, SIZE),
})  # fmt: skip
HOLES = TABLE.assign(city=TABLE.city.mask(TABLE.x > 1), x=TABLE.x.mask(TABLE.ward == 30))
Y = ((TABLE.city == "Oslo") ^ (TABLE.x > 0) ^ (TABLE.id % 2 == 0)).to_numpy().astype(int)
SIMPLE = ["city", "ward", "flag", "x"]
LAST, TREE = LogisticRegression(), DecisionTreeClassifier(max_depth=4)


def assert_same(model, table, adopted=None, rows=4, rtol=1e-9):
    """Expect the answers of the original, for a table, a part of it, and rows alone."""
    adopted = cf.adopt(model) if adopted is None else adopted
    wanted, close = model.predict_proba(table)[:, 1], {"rtol": rtol, "atol": 1e-12}
    np.testing.assert_allclose(adopted.predict(table), wanted, **close)
    np.testing.assert_allclose(adopted.predict(table[5:8]), model.predict_proba(table[5:8])[:, 1], **close)
    for i in range(rows):
        row = {name: table[name].iloc[i] for name in table}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
        for given in (row, plain):
            np.testing.assert_allclose(np.ravel(cf.predict_one(adopted, given).value), wanted[i], **close)
    return adopted


# --- one's own ---------------------------------------------------------------------------------------------------


class Means(TransformerMixin, BaseEstimator):
    """A target encoder, of which unknown cities are missing."""

    def fit(self, X, y):
        self.feature_names_in_, self.n_features_in_ = np.array(X.columns, object), X.shape[1]
        self.means_ = pd.Series(y).groupby(X["city"].to_numpy()).mean()
        return self

    def transform(self, X):
        return X.assign(city=X["city"].map(self.means_)).astype(float)


class Unnamed(TransformerMixin, BaseEstimator):
    def fit(self, X, y):
        self.n_features_in_, self.classes_seen_ = X.shape[1], set(y)
        return self

    def transform(self, X):
        return np.column_stack([X["city"].str.len(), X["x"]])


def spelled(X):
    return X.astype(str)


def lengths(X):
    return np.vectorize(lambda value: float(len(str(value))))(np.asarray(X, object))


def parity(X):
    return np.column_stack([X["id"] % 2, X["x"]])


def month(X):
    return np.column_stack([X["day"].dt.month.fillna(0), X["x"]])


def inverted(X):
    return ~X


def of_polars(X):
    return X.with_columns(pl.col("ward").cast(pl.String).str.len_chars()).select("ward", "x", "flag")


SPELL = make_pipeline(FunctionTransformer(spelled), OneHotEncoder(handle_unknown="ignore"), LAST)
SHARED = make_column_transformer(
    (FunctionTransformer(lengths), ["ward", "city"]), (StandardScaler(), ["ward", "x"]), (OneHotEncoder(), ["city"]),
    (OrdinalEncoder(), ["ward"]),
    (make_pipeline(SimpleImputer(strategy="most_frequent"), FunctionTransformer(lengths)), ["ward"]),
)  # fmt: skip
FRAMED = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough", verbose_feature_names_out=False
).set_output(transform="pandas")
OWN = {
    "texts of numbers": (SPELL, ["ward", "flag"]),
    "lengths": (make_pipeline(FunctionTransformer(lengths), LAST), SIMPLE),
    "ids": (make_pipeline(FunctionTransformer(parity), LAST), ["id", "x"]),
    "months": (make_pipeline(FunctionTransformer(month), TREE), ["day", "x"]),
    "truth values": (make_pipeline(FunctionTransformer(inverted, feature_names_out="one-to-one"), TREE), ["flag"]),
    "means": (make_pipeline(Means(), LAST), ["city", "x", "ward"]),
    "shared columns": (make_pipeline(SHARED, LAST), SIMPLE),
    "after a frame": (make_pipeline(FRAMED, FunctionTransformer(lengths), StandardScaler(), LAST), SIMPLE),
    "texts between": (make_pipeline(FunctionTransformer(spelled), OrdinalEncoder(), TREE), ["ward", "flag"]),
    "a stack": (StackingClassifier([("p", SPELL)], cv=2), ["ward", "flag"]),
    "a threshold": (FixedThresholdClassifier(SPELL, threshold=0.4), ["ward", "flag"]),
    "calibrated": (CalibratedClassifierCV(SPELL, cv=2), ["ward", "flag"]),
    "a vote beside trees": (VotingClassifier([("p", SPELL), ("t", TREE)], voting="soft"), ["ward", "flag"]),
    "a bag": (BaggingClassifier(SPELL, n_estimators=3, max_features=1, random_state=0), ["ward", "flag"]),
}


@pytest.mark.parametrize("name", OWN)
def test_own_steps_get_values_as_they_came(name):
    model, columns = OWN[name]
    model.fit(TABLE[columns], Y)
    adopted = assert_same(model, TABLE[columns])
    assert set(adopted.used_features) <= set(columns)
    assert_same(model, TABLE[columns], cf.adopt(model, features=columns), rows=1)


def test_dtypes_of_a_frame_reach_a_step():
    def kinds(X):
        seen.append(X.dtypes.astype(str).tolist())
        return X[["x"]].astype(float)

    seen = []
    frame = TABLE.astype({"ward": "int8", "city": "category"}).assign(
        n=pd.array(TABLE.ward, "Int64"), t=TABLE.city.astype("string"), f=TABLE.x.astype("float32")
    )
    model = make_pipeline(FunctionTransformer(kinds), TREE).fit(frame, Y)
    adopted = cf.adopt(model)
    adopted.predict(frame)
    assert seen[-1] == seen[0] == frame.dtypes.astype(str).tolist()


def test_steps_fitted_on_arrays_get_arrays():
    wards = TABLE[["ward"]].to_numpy()
    model = SPELL.fit(wards, Y)
    for adopted in (cf.adopt(model), cf.adopt(model, features=["f0"])):
        wanted = model.predict_proba(wards)[:, 1]
        np.testing.assert_array_equal(adopted.predict(wards), wanted)
        np.testing.assert_array_equal(adopted.predict(pd.DataFrame({"f0": wards[:, 0]})), wanted)
        assert cf.predict_one(adopted, {"f0": int(wards[0, 0])}).value == wanted[0]


def test_steps_fitted_on_frames_of_polars_get_these():
    frame = pl.from_pandas(TABLE[["ward", "x", "flag"]])
    model = make_pipeline(FunctionTransformer(of_polars), LAST).fit(frame, Y)
    for adopted in (cf.adopt(model), cf.adopt(model, features=frame.columns)):
        wanted = model.predict_proba(frame)[:, 1]
        for given in (frame, frame.to_arrow(), TABLE):
            np.testing.assert_allclose(adopted.predict(given), wanted, rtol=1e-12)
        np.testing.assert_allclose(
            cf.predict_one(adopted, TABLE[["ward", "x", "flag"]].iloc[0].to_dict()).value, wanted[0]
        )


def test_steps_that_do_not_keep_names_get_those_given():
    model = make_pipeline(Unnamed(), LAST).fit(TABLE[SIMPLE], Y)
    with pytest.raises(AdoptionError, match="with the names of a data frame if it reads one"):
        cf.adopt(model)
    for given in ({"feature_names": SIMPLE}, {"features": SIMPLE}):
        assert_same(model, TABLE[SIMPLE], cf.adopt(model, **given))


def test_a_step_that_refuses_every_row_is_refused_by_adopt():
    def only_many(X):
        if len(X) < SIZE:
            raise KeyError("many")
        return X[["x"]]

    model = make_pipeline(FunctionTransformer(only_many), TREE).fit(TABLE[SIMPLE], Y)
    with pytest.raises(AdoptionError, match=r"functiontransformer: FunctionTransformer refuses all rows .*features=\["):
        cf.adopt(model)


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.nan], ids=str)
def test_missing_values_of_each_kind_are_missing(missing):
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city"]), remainder="passthrough")
    for model in (
        make_pipeline(encode, HistGradientBoostingClassifier(max_iter=3)),
        HistGradientBoostingClassifier(max_iter=3),
    ):
        columns = ["x", "ward"] if isinstance(model, HistGradientBoostingClassifier) else SIMPLE
        adopted, row = cf.adopt(model.fit(HOLES[columns], Y)), HOLES[columns].iloc[0].to_dict()
        wanted = cf.predict_one(adopted, {**row, "x": np.nan}).value
        assert cf.predict_one(adopted, {**row, "x": missing}).value == wanted
        opaque = cf.adopt(model, features=columns)
        np.testing.assert_allclose(cf.predict_one(opaque, {**row, "x": missing}).value, wanted)


# --- categories --------------------------------------------------------------------------------------------------

CATEGORIES = TABLE[SIMPLE].astype({"city": "category", "ward": "category"})


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "sklearn"])
@pytest.mark.parametrize("how", ["stack", "threshold", "features"])
def test_categories_inside_opaque_models(library, how):
    if library == "lightgbm":
        base = pytest.importorskip("lightgbm", reason="needs lightgbm").LGBMClassifier(n_estimators=3, verbose=-1)
    elif library == "xgboost":
        xgboost = pytest.importorskip("xgboost", "3.1", reason="needs xgboost 3.1")
        base = xgboost.XGBClassifier(n_estimators=3, enable_categorical=True)
    else:
        base = HistGradientBoostingClassifier(max_iter=3)
    wrapped = {
        "stack": StackingClassifier([("b", base)], cv=2),
        "threshold": FixedThresholdClassifier(base, threshold=0.4),
    }
    model = wrapped.get(how, base).fit(CATEGORIES, Y)
    adopted = cf.adopt(model, features=SIMPLE) if how == "features" else cf.adopt(model)
    rtol = 1e-6 if (library, how) == ("xgboost", "threshold") else 1e-9  # its trees are read; it adds in float32
    assert_same(model, CATEGORIES, adopted, rtol=rtol)  # an inquiry tells 3 and "Oslo" by themselves
    np.testing.assert_allclose(adopted.predict(TABLE), model.predict_proba(CATEGORIES)[:, 1], rtol=1e-6)


# --- other libraries ---------------------------------------------------------------------------------------------

ENCODERS = (
    "BackwardDifferenceEncoder", "BaseNEncoder", "BinaryEncoder", "CatBoostEncoder", "CountEncoder", "GrayEncoder",
    "HelmertEncoder", "JamesSteinEncoder", "LeaveOneOutEncoder", "MEstimateEncoder", "OneHotEncoder", "OrdinalEncoder",
    "PolynomialEncoder", "QuantileEncoder", "RankHotEncoder", "SumEncoder", "TargetEncoder", "WOEEncoder",
)  # fmt: skip


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_of_category_encoders(name):
    encoders = pytest.importorskip("category_encoders", reason="needs category_encoders")
    encoder = getattr(encoders, name)
    assert_same(make_pipeline(encoder(cols=["city"]), LAST).fit(TABLE[SIMPLE], Y), TABLE[SIMPLE], rows=2)
    assert_same(
        make_pipeline(encoder(cols=["city", "ward"]), HistGradientBoostingClassifier(max_iter=3)).fit(HOLES[SIMPLE], Y),
        HOLES[SIMPLE],
        rows=2,
    )
    strict = make_pipeline(encoder(cols=["city"], handle_unknown="error"), StandardScaler(), TREE).fit(TABLE[SIMPLE], Y)
    assert_same(strict, TABLE[SIMPLE], rows=1)


ENGINES = {
    "one-hot": lambda e: [e.encoding.OneHotEncoder(variables=["city"])],
    "ordinal": lambda e: [e.encoding.OrdinalEncoder(variables=["city"], encoding_method="arbitrary")],
    "mean": lambda e: [e.encoding.MeanEncoder(variables=["city"]), StandardScaler()],
    "count": lambda e: [e.encoding.CountFrequencyEncoder(variables=["city"])],
    "rare": lambda e: [
        e.encoding.RareLabelEncoder(variables=["city"], n_categories=2), e.encoding.OneHotEncoder(variables=["city"]),
    ],
    "imputers": lambda e: [
        e.imputation.MeanMedianImputer(variables=["x"]), e.imputation.CategoricalImputer(variables=["city"]),
        e.encoding.OneHotEncoder(variables=["city"]),
    ],
    "wards as texts": lambda e: [e.encoding.OneHotEncoder(variables=["city", "ward"], ignore_format=True)],
    "bins": lambda e: [
        e.encoding.OrdinalEncoder(variables=["city"], encoding_method="arbitrary"),
        e.discretisation.EqualWidthDiscretiser(variables=["x"]),
    ],
    "dates": lambda e: [
        e.encoding.OneHotEncoder(variables=["city"]),
        e.datetime.DatetimeFeatures(variables=["day"], features_to_extract=["month", "day_of_week"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ENGINES)
def test_pipelines_of_feature_engine(name):
    pytest.importorskip("feature_engine", reason="needs feature_engine")
    from feature_engine import datetime, discretisation, encoding, imputation

    class Engine:
        pass

    engine = Engine()
    engine.datetime, engine.discretisation, engine.encoding, engine.imputation = (
        datetime,
        discretisation,
        encoding,
        imputation,
    )
    table = (HOLES if name == "imputers" else TABLE)[[*SIMPLE, "day"] if name == "dates" else SIMPLE]
    assert_same(make_pipeline(*ENGINES[name](engine), LAST).fit(table, Y), table)


@pytest.mark.parametrize("last", [LAST, HistGradientBoostingClassifier(max_iter=3)], ids=["linear", "trees"])
def test_the_table_vectorizer_of_skrub(last):
    skrub = pytest.importorskip("skrub", reason="needs skrub")
    for table in (TABLE[[*SIMPLE, "day"]], HOLES[SIMPLE]):
        model = make_pipeline(skrub.TableVectorizer(), SimpleImputer(), last).fit(table, Y)
        assert_same(model, table, rows=2, rtol=1e-6)  # of float32, whose sums differ beside other rows


# --- samplers ----------------------------------------------------------------------------------------------------


def test_samplers_do_nothing_at_prediction():
    pytest.importorskip("imblearn", reason="needs imbalanced-learn")
    from imblearn.over_sampling import SMOTE, RandomOverSampler
    from imblearn.pipeline import Pipeline, make_pipeline
    from imblearn.under_sampling import RandomUnderSampler

    numbers = TABLE[["ward", "x"]]
    over = RandomOverSampler(random_state=0)
    inner = make_pipeline(SMOTE(random_state=0, k_neighbors=2), LAST)
    for model, table in (
        (make_pipeline(SimpleImputer(), SMOTE(random_state=0, k_neighbors=2), StandardScaler(), TREE), numbers),
        (make_pipeline(RandomUnderSampler(random_state=0), over, TREE), numbers),
        (make_pipeline(over, FunctionTransformer(lengths), LAST), TABLE[SIMPLE]),
        (CalibratedClassifierCV(make_pipeline(over, LAST), cv=2), numbers),
        (StackingClassifier([("s", make_pipeline(over, LAST))], cv=2), numbers),
    ):
        assert_same(model.fit(table, Y), table)
    from sklearn.pipeline import make_pipeline as of_sklearn

    assert_same(of_sklearn(StandardScaler(), inner).fit(numbers, Y), numbers)
    assert cf.adopt(make_pipeline(over, TREE).fit(numbers, Y)).cost(numbers).mean <= 2.0
    with pytest.raises(AdoptionError, match="expected a model as its last step, 'over' predicts nothing"):
        cf.adopt(Pipeline([("scale", StandardScaler()), ("over", over)]).fit(numbers, Y))


def test_rows_of_the_check_leave_out_what_lightgbm_reads_in_two_ways():
    lightgbm, rng = pytest.importorskip("lightgbm", reason="needs lightgbm"), np.random.default_rng(2)
    X = pl.DataFrame({"i": rng.integers(-4, 5, 300), "num": rng.normal(size=300), "c": rng.choice(list("xyz"), 300)})
    y = ((X["c"] == "x").to_numpy() ^ (X["num"].to_numpy() > 0)).astype(int)
    made = make_column_transformer((OneHotEncoder(sparse_output=False), ["c"]), remainder="passthrough")
    steps = made.set_output(transform="polars")
    model = make_pipeline(steps, lightgbm.LGBMClassifier(n_estimators=6, verbose=-1)).fit(X, y)
    np.testing.assert_allclose(cf.adopt(model).predict(X), model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("given", ["fitted", "adopted", "adopted whole"])
def test_behind_a_gate_a_model_gets_whole_numbers_as_they_were_in_training(given):
    columns = ["ward", "flag", "x"]
    spell = make_column_transformer((SPELL[0], ["ward", "flag"]), remainder="passthrough")
    model = make_pipeline(spell, OneHotEncoder(handle_unknown="ignore"), LAST).fit(TABLE[columns], Y)
    ways = {"fitted": model, "adopted": cf.adopt(model), "adopted whole": cf.adopt(model, features=columns)}
    asked = {"costs": dict.fromkeys(columns, 1.0), "tradeoff": 0.0, "n_estimators": 2}
    fitted = cf.estimator("adapt", expensive=ways[given], **asked).fit(TABLE[columns], Y)
    [learner] = fitted.predictor_.bank.opaques
    np.testing.assert_allclose(learner(TABLE[columns].to_numpy(float))[:, 0], model.predict_proba(TABLE[columns])[:, 1])


def passed_on(X):
    return X[["x", "ward"]]


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.nan])
def test_each_missing_value_that_a_step_passes_on_is_missing(missing):
    table = TABLE.assign(x=TABLE.x.where(TABLE.x > TABLE.x.median()))
    model = make_pipeline(FunctionTransformer(passed_on), HistGradientBoostingClassifier(max_iter=3)).fit(table, Y)
    adopted = cf.adopt(model)
    row = {**TABLE.iloc[0].to_dict(), "x": missing}
    assert cf.predict_one(adopted, row).value == adopted.predict(TABLE.iloc[:1].assign(x=np.nan))[0]
