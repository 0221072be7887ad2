"""CatBoost's live models: raw values bit for bit, probabilities, labels, categories, and what is refused."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_adopt import nasty_rows

import costframe as cf
from costframe.adoption.catboost.adopt import adopt_catboost, adopt_catboost_file
from costframe.core.errors import AdoptionError, DataError
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.sources import predict_one

cb = pytest.importorskip("catboost", reason="needs catboost")

N_ROWS = 80
RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(N_ROWS, 3)), 1)
SIGNAL = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.2 * RNG.normal(size=N_ROWS)
TWO, THREE = (SIGNAL > 0.2).astype(int), np.digitize(SIGNAL, [-0.5, 0.5])
PAIR = np.column_stack([SIGNAL > 0, X[:, 0] > 0]).astype(int)
POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")
TARGETS = {
    "RMSE": SIGNAL, "MAE": SIGNAL, "Logloss": TWO, "MultiClass": THREE, "MultiRMSE": np.column_stack([SIGNAL, -SIGNAL]),
}  # fmt: skip
QUIET = {"thread_count": 1, "allow_writing_files": False, "verbose": False, "random_seed": 1}


def train(kind, y, rows=X, columns=None, **settings):
    fixed = QUIET | {"iterations": 5, "depth": 4, "one_hot_max_size": 255}
    return kind(**fixed | settings).fit(rows, y, cat_features=columns)


# --- numbers -----------------------------------------------------------------------------------------------------


@functools.cache
def numeric(loss, policy, nan_mode):
    """A model of numbers and NaN, and its adopted copy."""
    rows = np.where(RNG.random(X.shape) < (0.0 if nan_mode == "Forbidden" else 0.2), np.nan, X)
    kind = cb.CatBoostClassifier if loss in {"Logloss", "MultiClass"} else cb.CatBoostRegressor
    settings = {} if loss == "MultiRMSE" else {"grow_policy": policy}
    model = train(kind, TARGETS[loss], rows, loss_function=loss, nan_mode=nan_mode, **settings)
    return model, adopt_catboost(model)


@given(
    st.sampled_from(list(TARGETS)),
    st.sampled_from(POLICIES),
    st.sampled_from(["Min", "Max", "Forbidden"]),
    st.integers(0, 10**6),
)
def test_raw_values_are_catboosts_bit_for_bit(loss, policy, nan_mode, seed):
    model, tree = numeric(loss, policy, nan_mode)
    with np.errstate(over="ignore"):  # a border may be the largest number, and the next one is infinite
        rows = nasty_rows(tree.bank.trees, 3, 40, missing=True, infinite=True, seed=seed)
    expected = model.predict(rows, prediction_type="RawFormulaVal")
    np.testing.assert_array_equal(tree.decision_function(rows), expected)
    np.testing.assert_array_equal(tree.decision_function(rows[:1]), expected[:1])
    if loss in {"Logloss", "MultiClass"}:
        known = model.predict_proba(rows)
        np.testing.assert_allclose(tree.predict(rows), known[:, 1] if known.shape[1] == 2 else known, rtol=1e-12)


# --- losses and labels -------------------------------------------------------------------------------------------

LOSSES = {
    "CrossEntropy": (TWO * 0.5 + 0.2, "Probability"),
    "Focal:focal_alpha=0.5;focal_gamma=1": (TWO, "Probability"),
    "MultiClassOneVsAll": (THREE, "Probability"),
    "MultiLogloss": (PAIR, "Probability"),
    "MultiCrossEntropy": (PAIR * 0.5, "Probability"),
    "Poisson": (TWO, "Exponent"),
    "Tweedie:variance_power=1.5": (TWO, "Exponent"),
    "MultiQuantile:alpha=0.1,0.9": (SIGNAL, "RawFormulaVal"),
    "RMSEWithUncertainty": (SIGNAL, "RMSEWithUncertainty"),
    "Cox": (SIGNAL, "RawFormulaVal"),
    "YetiRank": (TWO, "RawFormulaVal"),
    "QuerySoftMax": (TWO, "RawFormulaVal"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_are_those_of_the_loss(loss):
    y, kind = LOSSES[loss]
    queries = np.repeat(np.arange(8), 10) if loss in {"YetiRank", "QuerySoftMax"} else None
    model = cb.CatBoost(QUIET | {"iterations": 3, "loss_function": loss}).fit(X, y, group_id=queries)
    expected = model.predict(X, prediction_type=kind)
    if kind == "Probability" and "Multi" not in loss:
        expected = expected[:, 1]
    np.testing.assert_allclose(cf.adopt(model).predict(X), expected, rtol=1e-12)


def test_losses_of_python_are_raw_values():
    class Squared:
        def calc_ders_range(self, approxes, targets, _weights):
            return [(targets[row] - approxes[row], -1.0) for row in range(len(targets))]

    model = train(cb.CatBoostRegressor, SIGNAL, loss_function=Squared(), eval_metric="RMSE")
    np.testing.assert_array_equal(adopt_catboost(model).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("y", "settings"),
    [
        (TWO, {}),
        (TWO, {"class_names": [1, 0]}),
        (TWO.astype(bool), {}),
        (np.array(["no", "yes"])[TWO], {}),
        (THREE * 0.5, {}),
        (np.array(["a", "b", "c"])[THREE], {}),
        (THREE - 5, {"loss_function": "MultiClassOneVsAll"}),
        (TWO * 0.5, {"loss_function": "CrossEntropy"}),
    ],
)
def test_labels_of_classes_travel(y, settings):
    model = train(cb.CatBoostClassifier, y, **settings)
    tree = adopt_catboost(model)
    assert tree.classes.tolist() == model.classes_.tolist()
    assert tree.classes.dtype.kind == model.classes_.dtype.kind.replace("O", "U")


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 1.0, "tie", "below", "above"])
def test_labels_obey_the_threshold(threshold, tmp_path, run):
    model = train(cb.CatBoostClassifier, np.array(["no", "yes"])[TWO])
    tie = float(np.median(model.predict_proba(X)[:, 1]))
    near = {"tie": tie, "below": np.nextafter(tie, 0), "above": np.nextafter(tie, 1)}
    model.set_probability_threshold(float(near.get(threshold, threshold)))
    labels, likely = model.predict(X).tolist(), model.predict_proba(X)[:, 1]
    for form in ("cbm", "json"):
        model.save_model(str(tmp_path / form), format=form)
    cf.save(cf.FittedEstimator(adopt_catboost(model)), tmp_path / "saved")
    adopted = [cf.FittedEstimator(cf.adopt(one)) for one in (model, tmp_path / "cbm", tmp_path / "json")]
    for one in (*adopted, cf.load(tmp_path / "saved")):
        assert one.predict(X).tolist() == labels
        assert one.predict(X, until="class").tolist() == labels
        np.testing.assert_allclose(one.predict_proba(X)[:, 1], likely, rtol=1e-12)
        values = np.array(
            [predict_one(one.predictor_, dict(zip(["f0", "f1", "f2"], row, strict=True))).value for row in X]
        )
        assert np.where(values > one.predictor_.half, "yes", "no").tolist() == labels
    rows = pd.DataFrame(X, columns=["f0", "f1", "f2"]).assign(id=range(len(X)))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    cf.CostModel.uniform(["f0", "f1", "f2"]).save(tmp_path / "prices.toml")
    files = tmp_path / "cbm", tmp_path / "rows.csv", "--costs", tmp_path / "prices.toml"
    done = run("predict", *files, "--output", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    assert pd.read_csv(tmp_path / "out.csv").prediction.tolist() == labels


def test_models_of_several_labels_or_of_numbers_have_no_classes():
    assert adopt_catboost(train(cb.CatBoostClassifier, PAIR, loss_function="MultiLogloss")).classes is None
    assert numeric("RMSE", "Depthwise", "Min")[1].classes is None


# --- categories --------------------------------------------------------------------------------------------------

CITIES = np.array(["Berlin", "Oslo", "", "São Paulo", "a text of more than sixty-four letters, " * 3], object)
CODES = np.array([3, 12, -1, 0, 2**40])
PLACE = RNG.integers(0, 5, N_ROWS)
FRAME = pd.DataFrame({"city": CITIES[PLACE], "size": X[:, 0], "code": CODES[RNG.permutation(PLACE)]})
EFFECT = np.array([0.0, 2.0, -1.0, 4.0, 7.0])[PLACE] + (FRAME["code"] == 12) + SIGNAL


@functools.cache
def one_hot(policy):
    model = train(cb.CatBoostRegressor, EFFECT, FRAME, ["city", "code"], grow_policy=policy, iterations=20)
    return model, adopt_catboost(model)


@pytest.mark.parametrize("policy", POLICIES)
def test_categories_are_catboosts_in_every_form(policy):
    model, tree = one_hot(policy)
    assert tree.feature_names == ("city", "size", "code")
    assert adopt_catboost(model, ["a", "b", "c"]).categories.keys() == {"a", "c"}
    assert tree.categories == {"city": HashedLabels(), "code": HashedLabels()}
    assert (tree.bank.trees.category_count > 0).any()
    rows = FRAME.assign(city=np.append(CITIES[PLACE][:-2], ["Rome", "oslo"]))
    expected = model.predict(rows)
    forms = {
        "objects": rows.to_numpy(object),
        "lists": rows.to_numpy(object).tolist(),
        "frame": rows.assign(more="text"),
        "categories": rows.astype({"city": "category", "code": "category"}),
        "texts": rows.astype({"code": str}),
        "polars": pl.from_pandas(rows),
        "turned": rows[["code", "size", "city"]],
    }
    for form, given_ in forms.items():
        np.testing.assert_array_equal(tree.predict(given_), expected, err_msg=form)
    for at in (0, 5, N_ROWS - 1):
        row = rows.iloc[at].to_dict()
        assert predict_one(tree, row).value == expected[at]
        assert tree.inquire(known=row).answer.value == expected[at]


def test_saved_models_read_the_same_texts(tmp_path):
    model, tree = one_hot("SymmetricTree")
    cf.save(tree, tmp_path / "model")
    np.testing.assert_array_equal(cf.load(tmp_path / "model").predict(FRAME), model.predict(FRAME))


def test_numbers_that_are_not_whole_are_refused_as_catboost_does():
    model, tree = one_hot("SymmetricTree")
    rows = FRAME.assign(code=FRAME["code"] + 0.5)
    with pytest.raises(cb.CatBoostError, match="must be integer or string"):
        model.predict(rows)
    with pytest.raises(DataError, match="column 'code': expected texts or whole numbers"):
        tree.predict(rows)


def test_many_values_of_one_feature():
    """CatBoost numbers 254 borders or values of a feature in a byte, and more of them in several."""
    rows = pd.DataFrame({"word": [f"word {number}" for number in range(600)], "number": np.arange(600.0)})
    y = np.arange(600) % 7 * 1.0 + (np.arange(600) > 590) * 9
    model = train(cb.CatBoostRegressor, y, rows, ["word"], iterations=60, border_count=500, one_hot_max_size=700)
    np.testing.assert_array_equal(adopt_catboost(model).predict(rows), model.predict(rows))


# --- forms of models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_both_kinds_of_files_hold_the_same_model(policy, tmp_path):
    model, tree = one_hot(policy)
    for form in ("cbm", "json"):
        path = tmp_path / form
        model.save_model(str(path), format=form)
        read = adopt_catboost_file(path.read_bytes(), "a file")
        np.testing.assert_array_equal(read.predict(FRAME), tree.predict(FRAME))
        assert read.bank.trees.n_nodes == tree.bank.trees.n_nodes
        assert (read.feature_names, read.categories) == (tree.feature_names, tree.categories)


def test_a_bias_is_added_last_and_costs_nothing():
    model, tree = numeric("RMSE", "SymmetricTree", "Forbidden")
    assert model.get_scale_and_bias()[1] != 0
    assert tree.bank.evaluation.tolist() == [1.0] * 5 + [0.0]
    report = tree.cost(X, cf.CostModel.from_dict({"features": dict.fromkeys(tree.feature_names, 1.0), "learner": 1.0}))
    assert report.mean == pytest.approx(5.0 + report.acquired.sum(axis=1).mean())


def test_scaled_models():
    model = train(cb.CatBoostRegressor, SIGNAL)
    model.set_scale_and_bias(0.3, 7.0)
    np.testing.assert_allclose(adopt_catboost(model).predict(X), model.predict(X), rtol=1e-14)


def test_sums_of_models():
    first, second = train(cb.CatBoostRegressor, SIGNAL), train(cb.CatBoostRegressor, -SIGNAL, depth=2)
    model = cb.sum_models([first, second], weights=[0.5, 2.0])
    np.testing.assert_array_equal(adopt_catboost(model).predict(X), model.predict(X))


def test_early_stopping_cuts_the_model():
    model = cb.CatBoostRegressor(**QUIET, iterations=300)
    model.fit(X[:40], SIGNAL[:40], eval_set=(X[40:], SIGNAL[40:]), early_stopping_rounds=3)
    tree = adopt_catboost(model)
    assert len(tree.bank.trees) - 1 == model.tree_count_ < 300
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))


def test_constant_trees():
    model = train(cb.CatBoostRegressor, SIGNAL, grow_policy="Lossguide", min_data_in_leaf=1000)
    np.testing.assert_array_equal(adopt_catboost(model).predict(X), model.predict(X))


def test_nodes_that_an_earlier_split_decides_are_left_out():
    rows = np.arange(64.0)[:, np.newaxis]
    model = train(cb.CatBoostRegressor, np.sin(rows[:, 0]), rows, depth=6)
    tree = adopt_catboost(model, ["x"])
    np.testing.assert_array_equal(tree.predict(rows - 0.5), model.predict(rows - 0.5))
    assert np.diff(tree.bank.trees.first).max() <= 2 * 6 + 1  # six borders at most, and seven leaves


def test_columns_that_no_tree_reads_keep_their_places():
    rows = np.column_stack([np.zeros(N_ROWS), X])
    tree = adopt_catboost(train(cb.CatBoostRegressor, SIGNAL, rows))
    assert tree.feature_names == ("f0", "f1", "f2", "f3")
    assert "f0" not in tree.used_features


# --- refusals ----------------------------------------------------------------------------------------------------

TEXTS = np.array(["good and cheap", "bad and dear", "good but dear", "bad but cheap"], object)
REVIEWS = pd.DataFrame({"review": TEXTS[RNG.integers(0, 4, N_ROWS)], "size": X[:, 0]})


VECTORS = REVIEWS.assign(vector=list(RNG.normal(size=(N_ROWS, 4))))
GOOD = REVIEWS["review"].str.contains("good").astype(int)
STATISTICS = {"cat_features": ["city", "code"], "one_hot_max_size": 1}
OPAQUE = {
    "classifier": (cb.CatBoostClassifier, STATISTICS, FRAME, TWO),
    "classes": (cb.CatBoostClassifier, STATISTICS, FRAME, np.array(["a", "b", "c"])[THREE]),
    "several labels": (cb.CatBoostClassifier, STATISTICS | {"loss_function": "MultiLogloss"}, FRAME, PAIR),
    "regressor": (cb.CatBoostRegressor, STATISTICS, FRAME, EFFECT),
    "uncertainty": (cb.CatBoostRegressor, STATISTICS | {"loss_function": "RMSEWithUncertainty"}, FRAME, EFFECT),
    "ranker": (cb.CatBoostRanker, STATISTICS | {"loss_function": "YetiRank"}, FRAME, (EFFECT > 2).astype(int)),
    "raw": (lambda **settings: cb.CatBoost(settings), STATISTICS | {"loss_function": "Logloss"}, FRAME, TWO),
    "texts": (cb.CatBoostClassifier, {"text_features": ["review"]}, REVIEWS, GOOD),
    "vectors": (cb.CatBoostClassifier, {"embedding_features": ["vector"], "text_features": ["review"]}, VECTORS, GOOD),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_models_over_categories_texts_and_vectors_are_opaque(name, tmp_path):
    kind, settings, rows, y = OPAQUE[name]
    model = kind(**QUIET, iterations=5, **settings)
    model.fit(rows, y, **{"group_id": np.repeat(np.arange(8), 10)} if name == "ranker" else {})
    if name in {"classifier", "texts"}:
        model.set_probability_threshold(0.3)
    adopted = cf.FittedEstimator(cf.adopt(model))
    expected = model.predict_proba(rows) if name == "several labels" else model.predict(rows).squeeze()
    np.testing.assert_array_equal(adopted.predict(rows), expected)
    learner = adopted.predictor_.bank.opaques[0]
    assert (learner.name, adopted.cost(rows).mean) == (type(model).__name__, len(rows.columns))
    cf.save(adopted, tmp_path / "model")
    again = cf.load(tmp_path / "model", opaque={learner.name: learner.function})
    np.testing.assert_array_equal(again.predict(rows), expected)
    unseen = dict(rows.iloc[7]) | {"city": "a text of no training row"}
    unseen = {name: unseen[name] for name in rows.columns}
    inquiry = adopted.inquire()
    inquiry.supply(unseen)
    frame = pd.DataFrame({name: pd.Series([value], dtype=rows[name].dtype) for name, value in unseen.items()})
    probable = name in {"classifier", "classes", "texts", "vectors", "several labels"}
    value = model.predict_proba(frame)[0] if probable else np.ravel(model.predict(frame))
    value = value[1:] if probable and name not in {"classes", "several labels"} else value
    np.testing.assert_array_equal(np.ravel(inquiry.answer.value), value)


def test_statistics_of_the_target_are_refused_by_the_names_of_their_features():
    model = train(cb.CatBoostRegressor, EFFECT, FRAME, ["city", "code"], one_hot_max_size=1)
    with pytest.raises(AdoptionError, match=r"\(CTR\) of '(city|code)'.*; train it with one_hot_max_size at or above"):
        adopt_catboost(model)


def test_what_catboost_cannot_write_as_json_is_opaque_alone():
    rows = np.where(GOOD.to_numpy()[:, None] == 1, -np.inf, X)
    vectors = pd.DataFrame({"size": X[:, 1], "vector": list(X[:, :2])})
    for columns, words in (
        ((rows, {}), "invalid float value: -inf"),
        ((REVIEWS, {"text_features": ["review"]}), "text features only in cbm"),
        ((vectors, {"embedding_features": ["vector"]}), "embedding features only in cbm"),
    ):
        model = cb.CatBoostClassifier(**QUIET, iterations=5).fit(columns[0], GOOD, **columns[1])
        with pytest.raises(AdoptionError, match=words):
            adopt_catboost(model)
        assert cf.adopt(model).bank.opaques
