"""Adopted pipelines: they predict as the original, ask for raw columns, and cost what an inquiry for these pays."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

import costframe as cf
from costframe.adoption.pipelines.adopt import adopt_pipeline as adopt_over
from costframe.adoption.pipelines.adopt import is_pipeline, prepare
from costframe.core.errors import AdoptionError, CostframeError, DataError
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.tables.categories import OTHER
from costframe.datasets.model_rows import read_rows
from costframe.testing.counting import expect_as_reported, expect_close, inquire
from costframe.testing.strategies import cost_models
from costframe_miser import MiserClassifier
from costframe_planner import PlannerClassifier

NAMES = ("age", "chol", "iron", "sex", "town")
COSTS = cf.CostModel.from_dict(
    {
        "split": 0.25,
        "features": {
            "age": 1.0,
            "chol": {"cost": 5.0, "needs": ["blood"]},
            "iron": {"cost": 3.0, "needs": ["blood"], "split": 0.5},
            "sex": 0.5,
            "town": 2.0,
        },
        "resources": {"blood": 10.0},
    }
)


def adopt_pipeline(pipeline, names=None):
    return adopt_over(pipeline, names, cf.adopt)


def people(size, seed):
    """Return a table with numbers, texts and missing values, and what depends on it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(40, 10, size)),
            "chol": rng.normal(size=size),
            "iron": rng.normal(size=size),
            "sex": rng.choice(["m", "f"], size),
            "town": rng.choice(["Oslo", "Bonn", "Rome", "Nice"], size, p=[0.5, 0.3, 0.15, 0.05]),
        }
    ).astype({"sex": object, "town": object})
    y = frame["age"] / 10 + frame["chol"] * (frame["sex"] == "m") + 2 * (frame["town"] == "Bonn")
    for name in ("age", "chol", "town"):
        frame.loc[rng.random(size) < 0.1, name] = np.nan
    return frame, y.to_numpy()


TRAIN, Y = people(120, 0)
FRESH, _ = people(12, 1)
FRESH.loc[0, "town"], FRESH.loc[1, "sex"], FRESH.loc[2, "town"] = "Kiel", "x", np.nan
CLASSES = np.where(Y > 4.5, "ill", "well")

NUMERIC = {
    "scaled": make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
    "products": make_pipeline(SimpleImputer(), PolynomialFeatures(2)),
    "bins": make_pipeline(
        SimpleImputer(), KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    ),
    "components": make_pipeline(SimpleImputer(), PCA(1)),
    "functions": make_pipeline(SimpleImputer(), FunctionTransformer(np.square)),
    "called": make_pipeline(SimpleImputer(), Normalizer()),
    "plain": "passthrough",
}
TEXTS = {
    "one hot": OneHotEncoder(handle_unknown="ignore", max_categories=3),
    "imputed": make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}
MODELS = (
    DecisionTreeRegressor(max_depth=5, random_state=0),
    RandomForestRegressor(4, max_depth=4, random_state=0),
    HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=6, min_samples_leaf=5, random_state=0),
)


def fitted(steps, model, X):
    """Return a pipeline fitted to rows of the training table."""
    return make_pipeline(*steps, clone(model)).fit(X, Y)


@st.composite
def fitted_pipelines(draw):
    """Draw a pipeline over the table, fitted: each column goes to any number of transformers."""
    parts = []
    for kinds, names in ((NUMERIC, NAMES[:3]), (TEXTS, NAMES[3:])):
        for title in draw(st.lists(st.sampled_from(sorted(kinds)), max_size=2, unique=True)):
            chosen = sorted(draw(st.sets(st.sampled_from(names), min_size=1)))
            parts.append((f"{title} {len(parts)}", kinds[title], chosen))
    parts = parts or [("age", "passthrough", ["age"])]
    return fitted([ColumnTransformer(parts, sparse_threshold=0)], draw(st.sampled_from(MODELS)), TRAIN)


@given(fitted_pipelines(), cost_models(NAMES), st.sampled_from(("path", "learner")))
def test_an_adopted_pipeline_predicts_and_costs_exactly(pipeline, drawn, acquisition):
    costs = cf.CostModel.from_dict(drawn.to_dict() | {"reuse": 0.0})
    adopted = adopt_pipeline(pipeline)
    values = adopted.predict(FRESH)
    np.testing.assert_allclose(values, pipeline.predict(FRESH), rtol=1e-9)
    report = adopted.cost(FRESH, costs, acquisition=acquisition, rounds=True)
    for i, row in enumerate(FRESH.to_dict("records")[:6]):
        end, source = inquire(adopted, row, costs, acquisition)
        expect_as_reported(report, i, end, source, f"row {i}", by_the_book=False)
        assert end.value == values[i]
        assert set(source.fetched) <= set(adopted.used_features)
    np.testing.assert_array_equal(adopted.predict(FRESH[list(adopted.used_features)]), values)


def test_raw_columns_are_asked_for_once_and_together():
    steps = ColumnTransformer(
        [
            ("towns", OneHotEncoder(handle_unknown="ignore"), ["town"]),
            ("both", make_pipeline(SimpleImputer(), PolynomialFeatures(2, interaction_only=True)), ["chol", "iron"]),
        ]
    )
    adopted = adopt_pipeline(fitted([steps], MODELS[1], TRAIN)).with_costs(COSTS)
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


@pytest.mark.parametrize("kind", [MiserClassifier, PlannerClassifier])
def test_what_is_trained_at_prices_through_a_transformer_costs_the_same_at_raw_prices(kind):
    prices = cf.CostModel.from_dict(COSTS.to_dict() | ({} if kind is MiserClassifier else {"split": 0.0}))
    steps = make_column_transformer((TEXTS["imputed"], ["sex", "town"]), (NUMERIC["products"], ["age", "chol"]))
    model = kind(costs=prices.through(steps.fit(TRAIN)), tradeoff=1e-3, random_state=0)
    if kind is MiserClassifier:
        model.set_params(n_estimators=5)
    pipeline = make_pipeline(steps, model).fit(TRAIN, CLASSES)
    trained = model.predictor_.cost(pipeline[:-1].transform(TRAIN))
    adopted = adopt_pipeline(pipeline).with_costs(prices)
    assert trained.mean > 0
    np.testing.assert_allclose(adopted.cost(TRAIN).per_row, trained.per_row)
    np.testing.assert_allclose(adopted.predict(TRAIN), pipeline.predict_proba(TRAIN)[:, 1])
    assert adopted.classes.tolist() == ["ill", "well"]


def test_a_saved_pipeline_is_loaded_with_its_labels_and_its_opaque_operations(tmp_path):
    steps = make_column_transformer((TEXTS["imputed"], ["town"]), (NUMERIC["called"], ["age", "chol"]))
    adopted = adopt_pipeline(fitted([steps], MODELS[1], TRAIN)).with_costs(COSTS)
    cf.save(adopted, tmp_path / "model")
    with pytest.raises(CostframeError, match="'normalizer'"):
        cf.load(tmp_path / "model")
    (called,) = adopted.preparation.opaques
    loaded = cf.load(tmp_path / "model", {"normalizer": pickle.loads(pickle.dumps(called.function))})  # noqa: S301 - ours
    np.testing.assert_array_equal(loaded.predict(FRESH), adopted.predict(FRESH))
    np.testing.assert_array_equal(loaded.cost(FRESH).per_row, adopted.cost(FRESH).per_row)


@pytest.mark.parametrize("steps", [["passthrough"], [FunctionTransformer()], [VarianceThreshold(2.0)]], ids=repr)
def test_a_pipeline_that_reads_raw_columns_as_they_are_is_a_stage_tree_of_them(steps):
    X = TRAIN[["iron"]].assign(noise=np.resize([1.0, 2.0, 4.0], 120), chol=TRAIN["chol"].fillna(0.0) * 5)
    pipeline = fitted(steps, MODELS[2], X)
    adopted = adopt_pipeline(pipeline, None if steps != ["passthrough"] else list(X))
    assert isinstance(adopted, cf.StageTree)
    assert adopted.feature_names == ("iron", "noise", "chol")
    np.testing.assert_array_equal(adopted.predict(X.to_numpy()), pipeline.predict(X))


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()], ids=["onehot", "ordinal"])
def test_what_a_pipeline_refuses_is_refused_everywhere(encoder, tmp_path):
    rows = FRESH.drop(columns="iron").assign(age=FRESH["age"].fillna(40.0), town=FRESH["town"].fillna("Oslo"), sex="m")
    steps = make_column_transformer((StandardScaler(), ["age"]), (encoder, ["town"]))
    X = TRAIN.assign(town=TRAIN["town"].fillna("Oslo"), age=TRAIN["age"].fillna(40.0))
    pipeline = fitted([steps], MODELS[1], X[["age", "town"]])
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
            before = (inquiry.needs, inquiry.acquired, inquiry.cost)
            with pytest.raises(CostframeError, match=f"'{name}': expected .*{what}.*got {value!r}"):
                inquiry.supply(strange.iloc[2][list(needs)].to_dict())
            assert before == (inquiry.needs, inquiry.acquired, inquiry.cost)
            while needs := inquiry.needs:
                inquiry.supply({each: known[each].iloc[0] for each in needs})
            assert inquiry.answer.value == adopted.predict(known.iloc[:1])[0]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_what_the_last_step_refuses_is_refused_also_where_a_transformer_makes_it():
    numbers = TRAIN[["age", "iron"]].fillna(0.0)
    pipeline = fitted([FunctionTransformer(np.exp)], MODELS[1], numbers)
    rows = numbers.iloc[:3].assign(age=[1.0, 88.0, 90.0])  # exp(90) is no float32, as trees read numbers
    adopted = cf.adopt(pipeline)
    np.testing.assert_allclose(adopted.predict(rows[:2]), pipeline.predict(rows[:2]))
    with pytest.raises(ValueError, match="too large"):
        pipeline.predict(rows)
    with pytest.raises(
        DataError, match=r"a column made of 'age': expected a number from .* to 3.4.*e.38 or a missing value"
    ):
        adopted.predict(rows)


def test_a_selection_refuses_what_it_does_itself():
    X = TRAIN[["iron", "chol"]].fillna(0.0)
    adopted = cf.adopt(fitted([SelectKBest(k=1)], MODELS[2], X))
    with pytest.raises(DataError, match="expected a finite number, got nan"):
        adopted.predict(pd.DataFrame({"iron": [np.nan], "chol": [np.nan]}))


def test_categories_of_the_model_itself_pass_through():
    steps = make_column_transformer((StandardScaler(), ["iron"]), ("passthrough", ["town"]))
    steps.set_output(transform="pandas")
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=["passthrough__town"], min_samples_leaf=3)
    pipeline = make_pipeline(steps, model).fit(TRAIN, Y)
    adopted = adopt_pipeline(pipeline)
    np.testing.assert_array_equal(adopted.predict(FRESH), pipeline.predict(FRESH))
    assert adopted.categories == {"town": ("Bonn", "Nice", "Oslo", "Rome", OTHER)}


def test_nested_pipelines_and_pipelines_at_the_end():
    numbers = TRAIN[["age", "chol", "iron"]]
    inner = make_pipeline(PolynomialFeatures(2, include_bias=False), clone(MODELS[0]))
    pipeline = Pipeline([("fill", make_pipeline(SimpleImputer())), ("scale", StandardScaler()), ("then", inner)])
    adopted = adopt_pipeline(pipeline.fit(numbers, Y))
    np.testing.assert_array_equal(adopted.predict(numbers), pipeline.predict(numbers))
    assert adopted.preparation.made_from["age iron"] == ("age", "iron")
    assert prepare(pipeline[:-1]).names == ("age", "chol", "iron")


def test_an_estimator_without_prices_is_taken_by_position():
    numbers = TRAIN[["age", "chol", "iron"]].fillna(0.0)
    pipeline = make_pipeline(StandardScaler(), MiserClassifier(n_estimators=3)).fit(numbers, CLASSES)
    adopted = adopt_pipeline(pipeline)
    np.testing.assert_array_equal(adopted.predict(numbers), pipeline.predict_proba(numbers)[:, 1])
    assert adopted.inner.feature_names == ("age", "chol", "iron")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: make_pipeline(StandardScaler(), clone(MODELS[0])), "Pipeline: is not fitted"),
        (
            lambda: make_pipeline(StandardScaler(), PCA()).fit(TRAIN[["iron"]]),
            "expected a model as its last step, 'pca'",
        ),
    ],
)
def test_what_cannot_be_adopted_is_refused_by_name(make, match):
    with pytest.raises(AdoptionError, match=match):
        adopt_pipeline(make())


def test_a_search_has_the_pipeline_that_it_chose():
    steps = make_pipeline(StandardScaler(), clone(MODELS[0]))
    search = GridSearchCV(steps, {"decisiontreeregressor__max_depth": [1, 2]}, cv=2).fit(TRAIN[["iron"]], Y)
    assert is_pipeline(search)
    np.testing.assert_array_equal(adopt_pipeline(search).predict(TRAIN[["iron"]]), search.predict(TRAIN[["iron"]]))


def test_one_name_of_an_operation_and_of_a_learner_is_not_saved(tmp_path):
    model = KNeighborsRegressor(2)
    adopted = adopt_pipeline(fitted([make_column_transformer((Normalizer(), ["iron"]))], model, TRAIN))
    (learner,) = adopted.inner.bank.opaques
    (called,) = adopted.preparation.opaques
    twin = evolve(adopted, preparation=evolve(adopted.preparation, operations=[evolve(called, name=learner.name)]))
    with pytest.raises(CostframeError, match="is the name of an operation and of a learner"):
        cf.save(twin, tmp_path / "model")


def test_pipelines_are_recognised():
    assert is_pipeline(make_pipeline(StandardScaler()))
    assert not is_pipeline(StandardScaler())
    assert not is_pipeline(PreparedPredictor)


def test_adopt_takes_pipelines_and_prices_go_through_them():
    pipeline = fitted([StandardScaler()], MODELS[0], TRAIN[["iron", "sex"]].assign(sex=1.0))
    assert cf.adopt(pipeline).feature_names == ("iron", "sex")
    assert COSTS.through(pipeline[:-1]).names == ("iron", "sex")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_unknown_texts_in_files_are_as_the_encoder_has_them(suffix, tmp_path):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=9)
    parts = [(encoder, ["town"]), (OneHotEncoder(), ["sex"])]
    pipeline = fitted([make_column_transformer(*parts)], MODELS[1], TRAIN)
    adopted = cf.adopt(pipeline)
    rows = FRESH.assign(sex="m")
    files = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for table, path in zip((rows, FRESH), files, strict=True):
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    np.testing.assert_allclose(
        adopted.predict(read_rows(files[0], NAMES, categories=adopted.categories)), pipeline.predict(rows)
    )
    assert "Kiel" in set(rows["town"])
    with pytest.raises(DataError, match="column 'sex': expected one of 'f', 'm', got 'x'"):
        read_rows(files[1], NAMES, categories=adopted.categories)


def test_a_pipeline_that_knows_none_is_adopted():
    towns = TRAIN.assign(town=TRAIN["town"].astype(object).where(TRAIN["town"].notna(), None))[["town"]].astype(object)
    pipeline = fitted([OneHotEncoder(handle_unknown="ignore")], MODELS[0], towns)
    assert None in pipeline[0].categories_[0]
    np.testing.assert_array_equal(cf.adopt(pipeline).predict(towns), pipeline.predict(towns))


def test_large_numbers_that_a_transformer_takes_are_taken():
    X = TRAIN[["iron"]]
    pipeline = fitted([PowerTransformer(), MinMaxScaler(clip=True)], MODELS[0], X)
    large = pd.DataFrame({"iron": [1e300, -1e300]})
    np.testing.assert_array_equal(cf.adopt(pipeline).predict(large), pipeline.predict(large))
