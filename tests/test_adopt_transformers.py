"""scikit-learn's transformers as data: they make what the original makes, of the raw columns that it needs."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from costframe.adoption.pipelines.adopt import prepare
from costframe.core.errors import AdoptionError, DataError

RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(60, 3)), 2)
FRESH = np.vstack([RNG.normal(size=(40, 3)) * 3, X[:5], np.full((1, 3), 1e300)])
POSITIVE = np.abs(X) + 0.1
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
Y = X[:, 0] + X[:, 1] ** 2


def dense(made):
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)


def add_up(table):
    return np.column_stack([table.sum(axis=1)])


EXACT = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-2, 3)),
    MinMaxScaler(clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, with_scaling=False),
    Binarizer(threshold=0.3),
    KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
    KBinsDiscretizer(3, encode="onehot", strategy="uniform"),
    PolynomialFeatures(3),
    PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    PolynomialFeatures(4, order="F"),
    FunctionTransformer(),
    FunctionTransformer(np.arctan),
    FunctionTransformer(np.exp),
    VarianceThreshold(),
    SelectKBest(k=2, score_func=lambda table, y: np.abs(table).sum(axis=0) + 0 * y.sum()),
    make_pipeline(SimpleImputer(), "passthrough", StandardScaler(), MinMaxScaler(clip=True)),
    FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop"), ("d", Binarizer())]),
    FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())], transformer_weights={"b": 0.3}),
    ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough", transformer_weights={"a": 3.0}),
]
OPAQUE = [Normalizer(), FunctionTransformer(add_up), FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 1})]


def by_class(value):
    """A name that is the same in every process."""
    return value if isinstance(value, str) else type(value).__name__


@pytest.mark.parametrize("transformer", EXACT, ids=by_class)
def test_they_make_the_same_to_the_last_bit(transformer):
    transformer.fit(X, Y)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(prepare(transformer).transform(FRESH), dense(transformer.transform(FRESH)))


@pytest.mark.parametrize("transformer", OPAQUE, ids=by_class)
def test_others_are_called(transformer):
    transformer.fit(X)
    preparation = prepare(transformer)
    np.testing.assert_array_equal(preparation.transform(FRESH[:-1]), dense(transformer.transform(FRESH[:-1])))
    assert len(preparation.opaques) == 1


def test_opaque_operations_have_names_of_their_own_and_get_frames_where_they_were_fitted_on_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    union = make_column_transformer((Normalizer(), ["a", "b"]), (make_pipeline(Normalizer()), ["b", "c"])).fit(frame)
    preparation = prepare(union)
    assert [one.name for one in preparation.opaques] == ["normalizer", "normalizer 2"]
    np.testing.assert_array_equal(preparation.transform(frame), union.transform(frame))
    assert preparation.made_from["pipeline__b"] == ("b", "c")


@pytest.mark.parametrize(
    ("imputer", "rows"),
    [
        (SimpleImputer(), HOLES),
        (SimpleImputer(strategy="median", add_indicator=True), HOLES),
        (SimpleImputer(strategy="constant", fill_value=-7.0), HOLES),
        (SimpleImputer(missing_values=-1.0, strategy="most_frequent"), np.where(np.isnan(HOLES), -1.0, HOLES)),
        (SimpleImputer(add_indicator=True), np.column_stack([HOLES[:, 0], np.full(60, np.nan), X[:, 0]])),
        (SimpleImputer(keep_empty_features=True), np.column_stack([HOLES[:, 0], np.full(60, np.nan), X[:, 0]])),
        (MissingIndicator(features="all"), HOLES),
        (MissingIndicator(error_on_new=False), HOLES),
    ],
    ids=by_class,
)
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_imputers(imputer, rows):
    imputer.fit(rows[:50])
    np.testing.assert_array_equal(prepare(imputer).transform(rows), dense(imputer.transform(rows)))


TOWNS = np.array(["Oslo", "Bonn", "Rome", "Nice", "Bari"], object)
MISSING = (None, np.nan)


@st.composite
def encoders(draw):
    """Draw an encoder with options."""
    kind = draw(st.sampled_from(("onehot", "ordinal", "target")))
    if kind == "target":
        return TargetEncoder(smooth=2.0, target_type="continuous", cv=2)
    rare = draw(st.sampled_from(({}, {"min_frequency": 5}, {"max_categories": 3})))
    if kind == "ordinal":
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": draw(st.sampled_from((-1, np.nan)))}
        return OrdinalEncoder(**(unknown if draw(st.booleans()) else {}), **rare, encoded_missing_value=-2)
    unknown = draw(st.sampled_from(("ignore", "error", "infrequent_if_exist")))
    return OneHotEncoder(handle_unknown=unknown, drop=draw(st.sampled_from((None, "first", "if_binary"))), **rare)


@given(encoders(), st.booleans(), st.sampled_from((None, "text", "number")), st.integers(0, 5))
def test_encoders_as_the_fitted_one_has_it(encoder, imputed, missing, seed):
    rng = np.random.default_rng(seed)
    size = 40
    frame = pd.DataFrame(
        {
            "town": rng.choice(TOWNS, size, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "code": rng.choice([1.0, 2.5, 7.0], size),
        }
    ).astype({"town": object})
    if missing:
        frame.loc[rng.random(size) < 0.2, "town" if missing == "text" else "code"] = np.nan
    if imputed:
        encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few members in a fold
        encoder.fit(frame, rng.normal(size=size))
    known = prepare(encoder).transform(frame)
    np.testing.assert_array_equal(known, dense(encoder.transform(frame)))
    fresh = frame.copy()
    fresh.loc[0, "town"], fresh.loc[1, "code"], fresh.loc[2, "town"], fresh.loc[3, "code"] = "Kiel", 9.0, np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unknown categories
        try:
            wanted = dense(encoder.transform(fresh))
        except ValueError as error:
            assume("unknown categories" not in str(error))
            raise
    np.testing.assert_array_equal(prepare(encoder).transform(fresh), wanted)


REFUSING = [
    *(
        each.fit(X, Y)
        for each in (StandardScaler(), SimpleImputer(), Binarizer(), SelectKBest(k=2, score_func=f_regression))
    ),
    *(
        each.fit(X)
        for each in (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), PolynomialFeatures(), PCA(2))
    ),
    *(each.fit(X) for each in (Normalizer(), QuantileTransformer(n_quantiles=9), FunctionTransformer(np.exp))),
    *(each.fit(X) for each in (FunctionTransformer(np.abs, validate=True), VarianceThreshold(), TruncatedSVD(2))),
    *(each.fit(POSITIVE) for each in (PowerTransformer("box-cox"), PowerTransformer())),
    *(each.fit(np.round(X)) for each in (OneHotEncoder(), OrdinalEncoder(), OneHotEncoder(handle_unknown="ignore"))),
    *(each.fit(np.where(np.abs(X) > 1, np.nan, np.round(X))) for each in (OneHotEncoder(), OrdinalEncoder())),
    *(MissingIndicator(error_on_new=new).fit(np.column_stack([HOLES[:, 0], X[:, 1:]])) for new in (True, False)),
    make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures()).fit(HOLES),
]


@pytest.mark.parametrize("transformer", REFUSING, ids=by_class)
@pytest.mark.filterwarnings("ignore")
def test_values_that_the_original_refuses_are_refused_and_no_others(transformer):
    preparation = prepare(transformer)
    for f, value in itertools.product(range(3), (np.nan, np.inf, -np.inf, 0.0, -1.0, 5.0, 1e300)):
        row = np.ones((1, 3))
        row[0, f] = value
        try:
            wanted = dense(transformer.transform(row))
        except ValueError:
            if any(f in reads for reads in preparation.reads):  # what is not read is not refused
                with pytest.raises(DataError, match=f"f{f}|Input"):
                    preparation.transform(row)
        else:
            np.testing.assert_allclose(preparation.transform(row), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("steps", [[], [SimpleImputer(strategy="most_frequent")]], ids=["plain", "imputed"])
@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()], ids=by_class)
@pytest.mark.parametrize("kind", ["object", "str", "category"])
def test_an_unknown_text_that_the_original_refuses_is_refused_by_name(encoder, steps, kind):
    preparation = prepare(make_pipeline(*steps, clone(encoder)).fit(pd.DataFrame({"town": TOWNS})))
    assert preparation.transform(pd.DataFrame({"town": ["Oslo"]}).astype(kind)).any()
    strange = pd.DataFrame({"town": ["Oslo", "Kiel", "Köln"]}).astype(kind)
    with pytest.raises(
        DataError, match="column 'town': expected one of 'Bari', 'Bonn', 'Nice', 'Oslo' and 1 more, got 'Kiel'"
    ):
        preparation.transform(strange)
    declared = pd.Categorical(["Oslo"], [*TOWNS, "Kiel"])  # a category that no row has
    assert preparation.transform(pd.DataFrame({"town": declared})).any()
    missing = pd.DataFrame({"town": ["Oslo", None]})
    if steps:
        assert not np.isnan(preparation.transform(missing)).any()
    else:
        with pytest.raises(DataError, match=r"column 'town': expected one of .*, got nan"):
            preparation.transform(missing)


def test_a_text_that_another_encoder_knows_is_refused_by_label():
    parts = [("a", OneHotEncoder(categories=[["Bonn", "Oslo"]]), ["town"]), ("b", OrdinalEncoder(), ["town"])]
    both = pd.DataFrame({"town": ["Bonn", "Oslo"]})
    preparation = prepare(ColumnTransformer(parts).fit(both))
    assert preparation.transform(both).shape == (2, 3)
    wider = prepare(
        FeatureUnion(
            [
                ("a", OneHotEncoder(categories=[["Bonn"]], handle_unknown="ignore")),
                ("b", OrdinalEncoder(categories=[["Oslo", "Rome"]])),
            ]
        ).fit(pd.DataFrame({"town": ["Oslo"]}))
    )
    with pytest.raises(DataError, match="column 'town': expected one of 'Oslo', 'Rome', got 'Bonn'"):
        wider.transform(pd.DataFrame({"town": ["Bonn"]}))


def test_categories_whose_last_bits_or_missing_values_are_lost_are_refused():
    with pytest.raises(AdoptionError, match="would depend on their last bits"):
        prepare(make_pipeline(PCA(2), OneHotEncoder(handle_unknown="ignore")).fit(X))
    frame = pd.DataFrame({"town": ["Oslo", np.nan, None, "Oslo"]}, dtype=object)
    with pytest.raises(AdoptionError, match="met None where SimpleImputer had filled NaN"):
        prepare(make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()).fit(frame))


def test_truth_values_and_numbers_of_objects_are_categories():
    frame = pd.DataFrame({"flag": [True, False, True], "code": np.array([3, 5, 3], object)})
    encoder = OneHotEncoder().fit(frame)
    rows = np.array([[1, 3], [0, 5], [1, 3]], np.float64)
    np.testing.assert_array_equal(prepare(encoder).transform(rows), dense(encoder.transform(frame)))


@pytest.mark.parametrize("classes", [2, 3])
def test_target_encoders_of_classes(classes):
    frame = pd.DataFrame({"town": np.tile(TOWNS, 12), "size": np.repeat([1, 2, 3], 20)})
    encoder = TargetEncoder(cv=2).fit(frame, np.arange(60) * 7 // 3 % classes)
    np.testing.assert_array_equal(prepare(encoder).transform(frame), encoder.transform(frame))


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    "chosen", [["c", "a"], [2, 0], [-1, 0], slice(0, 2), slice("a", "b"), [True, False, True]], ids=repr
)
@pytest.mark.parametrize("remainder", ["drop", "passthrough", StandardScaler()], ids=by_class)
def test_columns_are_chosen_in_every_way(chosen, remainder):
    columns = ColumnTransformer([("s", MinMaxScaler(), chosen), ("none", Binarizer(), [])], remainder=remainder)
    preparation = prepare(columns.fit(FRAME))
    np.testing.assert_array_equal(preparation.transform(FRAME), columns.transform(FRAME))
    assert preparation.names == tuple(columns.get_feature_names_out())
    assert preparation.made_from["s__a"] == ("a",)


def test_what_each_made_column_needs():
    columns = ColumnTransformer(
        [
            ("towns", OneHotEncoder(), make_column_selector(dtype_include=object)),
            ("p", make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)), ["a", "b"]),
            ("pca", PCA(1), ["b", "c"]),
        ],
        verbose_feature_names_out=False,
        sparse_threshold=1.0,
    )
    frame = FRAME.assign(town=np.resize(TOWNS[:2], 60)).astype({"town": object})
    preparation = prepare(columns.fit(frame))
    assert preparation.made_from == {
        "town_Bonn": ("town",),
        "town_Oslo": ("town",),
        "a": ("a",),
        "b": ("b",),
        "a^2": ("a",),
        "a b": ("a", "b"),
        "b^2": ("b",),
        "pca0": ("b", "c"),
    }
    np.testing.assert_allclose(preparation.transform(frame), dense(columns.transform(frame)), atol=1e-12)
    row = preparation.transform([[*X[0], "Oslo"]])
    np.testing.assert_array_equal(row[0], preparation.transform(frame)[0])


class Unnamed(StandardScaler):
    """A transformer of another library, without names of its columns."""

    get_feature_names_out = None


def test_a_class_derived_from_a_known_one_is_called():
    preparation = prepare(Unnamed().fit(X))
    assert preparation.names == ("m0", "m1", "m2")
    assert preparation.opaques[0].name == "Unnamed"


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (StandardScaler, "StandardScaler: is not fitted"),
        (lambda: StandardScaler().fit(X), "it has 3 features"),
        (
            lambda: SimpleImputer(strategy="constant", fill_value=np.nan, keep_empty_features=True).fit(X),
            "fills a column with a missing value",
        ),
        (
            lambda: make_column_transformer((CountVectorizer(), "a")).fit(pd.DataFrame({"a": ["xx yy"]})),
            "countvectorizer: CountVectorizer takes a list of texts or dicts, no table, and cannot be adopted",
        ),
        (
            lambda: make_pipeline(TfidfVectorizer(), PCA(1)).fit(["xx yy", "yy"]),
            "TfidfVectorizer takes a list of texts",
        ),
        (lambda: DictVectorizer().fit([{"a": 1}]), "DictVectorizer takes a list of texts or dicts"),
        (
            lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), FunctionTransformer(np.vectorize(len))).fit(
                pd.DataFrame({"a": np.array(["x", "yy"], object)})
            ),
            "functiontransformer: reads a column made before, whose values are texts",
        ),
        (
            lambda: OrdinalEncoder(encoded_missing_value=-1).fit(
                pd.DataFrame({"a": [None, np.nan, "x"]}, dtype=object)
            ),
            "two categories that are one number here, such as None and NaN",
        ),
    ],
    ids=by_class,
)
def test_what_cannot_be_read_is_refused_by_name(make, match):
    names = ["a"] if "3 features" in match else None
    with pytest.raises(AdoptionError, match=match):
        prepare(make(), names)
