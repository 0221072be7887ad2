"""Adopted pipelines: they ask for raw columns, cost what these do, refuse what the original refuses, and are saved.

That they predict as the original is tried by test_drawn_pipelines.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from adoption_cases import is_pipeline, prepare
from column_cases import OTHER
from dataset_cases import read_rows
from sklearn import preprocessing as pre
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeRegressor

import costframe as cf
from costframe import CostframeError
from costframe.errors import AdoptionError
from costframe.plugin import DataError
from costframe.testing import expect_close, inquire
from costframe_miser import MiserClassifier

NAMES = ("age", "chol", "iron", "sex", "town")
COSTS = cf.CostModel.from_dict({
    "split": 0.25,
    "features": {
        "age": 1.0, "chol": {"cost": 5.0, "needs": ["blood"]}, "iron": {"cost": 3.0, "needs": ["blood"], "split": 0.5},
        "sex": 0.5, "town": 2.0,
    },
    "resources": {"blood": 10.0},
})  # fmt: skip


def people(size, seed):
    """Return a table with numbers, texts and missing values, and what depends on it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": np.round(rng.normal(40, 10, size)), "chol": rng.normal(size=size), "iron": rng.normal(size=size),
        "sex": rng.choice(["m", "f"], size),
        "town": rng.choice(["Oslo", "Bonn", "Rome", "Nice"], size, p=[0.5, 0.3, 0.15, 0.05]),
    }).astype({"sex": object, "town": object})  # fmt: skip
    y = frame["age"] / 10 + frame["chol"] * (frame["sex"] == "m") + 2 * (frame["town"] == "Bonn")
    for name in ("age", "chol", "town"):
        frame.loc[rng.random(size) < 0.1, name] = np.nan
    return frame, y.to_numpy()


TRAIN, Y = people(120, 0)
FRESH, _ = people(12, 1)
FRESH.loc[0, "town"], FRESH.loc[1, "sex"], FRESH.loc[2, "town"] = "Kiel", "x", np.nan
CLASSES = np.where(Y > 4.5, "ill", "well")
TREE, FOREST = DecisionTreeRegressor(max_depth=5, random_state=0), RandomForestRegressor(4, max_depth=4, random_state=0)
IMPUTED = make_pipeline(SimpleImputer(strategy="most_frequent"), pre.OneHotEncoder(handle_unknown="ignore"))
PRODUCTS = make_pipeline(SimpleImputer(), pre.PolynomialFeatures(2))
CALLED = make_pipeline(SimpleImputer(), pre.Normalizer())


def fitted(steps, model, X):
    """Return a pipeline fitted to rows of the training table."""
    return make_pipeline(*steps, clone(model)).fit(X, Y)


# --- what is asked for and paid ----------------------------------------------------------------------------------


def test_raw_columns_are_asked_for_once_and_together():
    both = make_pipeline(SimpleImputer(), pre.PolynomialFeatures(2, interaction_only=True))
    steps = make_column_transformer((pre.OneHotEncoder(handle_unknown="ignore"), ["town"]), (both, ["chol", "iron"]))
    adopted = cf.adopt(fitted([steps], FOREST, TRAIN)).with_costs(COSTS)
    assert adopted.categories["town"] == ("Bonn", "Nice", "Oslo", "Rome", OTHER)
    row = {"age": 1.0, "chol": 0.5, "iron": 1.0, "sex": "m", "town": "Bonn"}
    end, source = inquire(adopted, row, COSTS)
    assert sorted(source.fetched) == ["chol", "iron", "town"]
    assert source.charged == 5.0 + 3.0 + 10.0 + 2.0
    expect_close(end.cost - source.charged, adopted.cost(pd.DataFrame([row])).evaluation.comparisons, "comparisons")
    again, more = inquire(adopted, row, COSTS, known={"chol": 0.5, "town": "Bonn"})
    assert more.fetched == ["iron"]
    assert again.value == end.value
    assert adopted.inquire(unavailable=["blood"], max_cost=3.0).needs == ("town",)


def test_what_is_trained_at_prices_through_a_transformer_costs_the_same_at_raw_prices():
    steps = make_column_transformer((IMPUTED, ["sex", "town"]), (PRODUCTS, ["age", "chol"]))
    model = MiserClassifier(COSTS.through(steps.fit(TRAIN)), 1e-3, n_estimators=5)
    pipeline = make_pipeline(steps, model).fit(TRAIN, CLASSES)
    trained = model.predictor_.cost(pipeline[:-1].transform(TRAIN))
    adopted = cf.adopt(pipeline).with_costs(COSTS)
    assert trained.mean > 0
    np.testing.assert_allclose(adopted.cost(TRAIN).per_row, trained.per_row)
    np.testing.assert_allclose(adopted.predict(TRAIN), pipeline.predict_proba(TRAIN)[:, 1])
    assert adopted.classes.tolist() == ["ill", "well"]


@pytest.mark.parametrize("name", ["miser", "planner"])
def test_an_estimator_that_decides_by_its_prices_does_so_as_adopted(name):
    steps = make_column_transformer((IMPUTED, ["sex", "town"]), (PRODUCTS, ["age", "chol"])).fit(TRAIN)
    errors = {"ill": {"well": 0.9}, "well": {"ill": 0.1}}
    table = COSTS.to_dict() | {"split": 0.0}
    table["features"] = table["features"] | {"iron": 3.0}
    for costs in (table, dict.fromkeys(NAMES, 0.001)):
        priced = cf.CostModel.of(costs, errors=errors)
        model = cf.estimator(name, costs=priced.through(steps)).set_params(n_estimators=5)
        pipeline = make_pipeline(steps, model).fit(TRAIN, CLASSES)
        adopted = cf.adopt(pipeline)
        assert adopted.labels(TRAIN).tolist() == pipeline.predict(TRAIN).tolist()
        assert [row.label for row in cf.predict_many(adopted, TRAIN)] == pipeline.predict(TRAIN).tolist()
        np.testing.assert_allclose(adopted.predict(TRAIN), pipeline.predict_proba(TRAIN)[:, 1])
        np.testing.assert_array_equal(adopted.cost(TRAIN).per_row, adopted.cost(TRAIN, priced).per_row)
    made = cf.CostModel.of(dict.fromkeys(model.predictor_.feature_names, 1.0), errors=errors)
    with pytest.raises(AdoptionError, match=r"answers depend on its prices.*train it with costs\.through\(\.\.\.\)"):
        cf.adopt(make_pipeline(steps, model.set_params(costs=made)).fit(TRAIN, CLASSES))


@pytest.mark.parametrize("steps", [["passthrough"], [pre.FunctionTransformer()], [VarianceThreshold(2.0)]], ids=repr)
def test_a_pipeline_that_reads_raw_columns_as_they_are_is_a_stage_tree_of_them(steps):
    X = TRAIN[["iron"]].assign(noise=np.resize([1.0, 2.0, 4.0], 120), chol=TRAIN["chol"].fillna(0.0) * 5)
    pipeline = fitted(steps, FOREST, X)
    adopted = cf.adopt(pipeline, list(X) if steps == ["passthrough"] else None)
    assert isinstance(adopted, cf.StageTree)
    assert adopted.feature_names == ("iron", "noise", "chol")
    np.testing.assert_allclose(adopted.predict(X.to_numpy()), pipeline.predict(X))


def test_categories_of_the_model_itself_pass_through():
    steps = make_column_transformer((pre.StandardScaler(), ["iron"]), ("passthrough", ["town"]))
    steps.set_output(transform="pandas")
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=["passthrough__town"], min_samples_leaf=3)
    pipeline = make_pipeline(steps, model).fit(TRAIN, Y)
    adopted = cf.adopt(pipeline)
    np.testing.assert_array_equal(adopted.predict(FRESH), pipeline.predict(FRESH))
    assert adopted.categories == {"town": ("Bonn", "Nice", "Oslo", "Rome", OTHER)}


def test_pipelines_within_pipelines_at_the_end_and_in_a_search():
    numbers = TRAIN[["age", "chol", "iron"]]
    inner = make_pipeline(pre.PolynomialFeatures(2, include_bias=False), clone(TREE))
    pipeline = Pipeline([("fill", make_pipeline(SimpleImputer())), ("scale", pre.StandardScaler()), ("then", inner)])
    search = GridSearchCV(pipeline, {"then__decisiontreeregressor__max_depth": [1, 2]}, cv=2).fit(numbers, Y)
    assert is_pipeline(search)
    for one in (pipeline.fit(numbers, Y), search):
        np.testing.assert_array_equal(cf.adopt(one).predict(numbers), one.predict(numbers))
    model = make_pipeline(SimpleImputer(), MiserClassifier(n_estimators=3)).fit(numbers, CLASSES)  # without prices
    adopted = cf.adopt(model)
    np.testing.assert_array_equal(adopted.predict(numbers), model.predict_proba(numbers)[:, 1])
    assert adopted.inner.feature_names == ("age", "chol", "iron")


# --- operations that are called ----------------------------------------------------------------------------------


def test_a_saved_pipeline_is_loaded_with_its_labels_and_its_opaque_operations(tmp_path):
    steps = make_column_transformer((IMPUTED, ["town"]), (CALLED, ["age", "chol"]))
    adopted = cf.adopt(fitted([steps], FOREST, TRAIN)).with_costs(COSTS)
    cf.save(adopted, tmp_path / "model")
    with pytest.raises(CostframeError, match="'normalizer'"):
        cf.load(tmp_path / "model")
    (called,) = adopted.preparation.opaques
    loaded = cf.load(tmp_path / "model", {"normalizer": pickle.loads(pickle.dumps(called.function))})  # noqa: S301 - ours
    np.testing.assert_array_equal(loaded.predict(FRESH), adopted.predict(FRESH))
    np.testing.assert_array_equal(loaded.cost(FRESH).per_row, adopted.cost(FRESH).per_row)


# --- what the original refuses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", [pre.OneHotEncoder(), pre.OrdinalEncoder()], ids=["onehot", "ordinal"])
def test_what_a_pipeline_refuses_is_refused_everywhere(encoder, tmp_path):
    rows = FRESH.drop(columns="iron").assign(age=FRESH["age"].fillna(40.0), town=FRESH["town"].fillna("Oslo"), sex="m")
    steps = make_column_transformer((pre.StandardScaler(), ["age"]), (encoder, ["town"]))
    X = TRAIN.assign(town=TRAIN["town"].fillna("Oslo"), age=TRAIN["age"].fillna(40.0))
    pipeline = fitted([steps], FOREST, X[["age", "town"]])
    cf.save(cf.adopt(pipeline), tmp_path / "model")
    known = rows[rows["town"] != "Kiel"]
    for adopted in (cf.adopt(pipeline), cf.load(tmp_path / "model")):
        np.testing.assert_allclose(adopted.predict(known), pipeline.predict(known[["age", "town"]]))
        for name, value, what in (("town", "Kiel", "one of"), ("town", np.nan, "one of"), ("age", np.inf, "finite")):
            strange = known.iloc[:3].assign(**{name: [*known[name].iloc[:2], value]})
            for ask in (adopted.predict, adopted.cost, lambda X, model=adopted: cf.predict_many(model, X)):
                with pytest.raises(DataError, match=f"column '{name}': expected .*{what}.*got {value!r}"):
                    ask(strange)
            inquiry = adopted.inquire()
            while name not in (needs := inquiry.needs):
                inquiry.supply({each: known[each].iloc[0] for each in needs})
            with pytest.raises(CostframeError, match=f"'{name}': expected .*{what}.*got {value!r}"):
                inquiry.supply(strange.iloc[2][list(needs)].to_dict())
            while needs := inquiry.needs:  # it stays as it was
                inquiry.supply({each: known[each].iloc[0] for each in needs})
            assert inquiry.answer.value == adopted.predict(known.iloc[:1])[0]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_what_the_last_step_refuses_is_refused_also_where_a_transformer_makes_it():
    numbers = TRAIN[["age", "iron"]].fillna(0.0)
    pipeline = fitted([pre.FunctionTransformer(np.exp)], FOREST, numbers)
    rows = numbers.iloc[:3].assign(age=[1.0, 88.0, 90.0])  # exp(90) is no float32, as trees read numbers
    adopted = cf.adopt(pipeline)
    np.testing.assert_allclose(adopted.predict(rows[:2]), pipeline.predict(rows[:2]))
    with pytest.raises(ValueError, match="too large"):
        pipeline.predict(rows)
    with pytest.raises(DataError, match=r"a column made of 'age': expected a number from .* to 3.4.*e.38 or a missing"):
        adopted.predict(rows)


def test_unknown_texts_in_files_are_as_the_encoder_has_them(tmp_path):
    encoder = pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=9)
    pipeline = fitted([make_column_transformer((encoder, ["town"]), (pre.OneHotEncoder(), ["sex"]))], FOREST, TRAIN)
    adopted, rows = cf.adopt(pipeline), FRESH.assign(sex="m")
    for table, name in ((rows, "fine"), (FRESH, "strange")):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    found = adopted.predict(read_rows(tmp_path / "fine.csv", NAMES, categories=adopted.categories))
    np.testing.assert_allclose(found, pipeline.predict(rows))
    with pytest.raises(DataError, match="column 'sex': expected one of 'f', 'm', got 'x'"):
        read_rows(tmp_path / "strange.csv", NAMES, categories=adopted.categories)


MIXED = pd.DataFrame({"town": ["Oslo", np.nan, None, "Oslo"]}, dtype=object)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (pre.StandardScaler, "StandardScaler: is not fitted"),
        (
            lambda: make_pipeline(PCA(2), pre.OneHotEncoder()).fit(TRAIN[["iron", "iron"]].to_numpy()),
            "on their last bits",
        ),
        (
            lambda: make_pipeline(
                pre.OneHotEncoder(dtype=np.float32, sparse_output=False),
                pre.StandardScaler(with_mean=False),
                pre.OneHotEncoder(),
            ).fit([["a"], ["b"], ["b"]]),
            "an encoder of dtype float32",
        ),
        (
            lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), pre.OneHotEncoder()).fit(MIXED),
            "met None where SimpleImputer had filled NaN",
        ),
        (
            lambda: make_column_transformer((CountVectorizer(), "a")).fit(pd.DataFrame({"a": ["xx yy"]})),
            "countvectorizer: CountVectorizer takes a list of texts or dicts, no table, and cannot be adopted",
        ),
        (
            lambda: pre.OrdinalEncoder(encoded_missing_value=-1).fit(MIXED),
            "two categories that are one number here, such as None and NaN",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(make, match):
    with pytest.raises(AdoptionError, match=match):
        prepare(make())
