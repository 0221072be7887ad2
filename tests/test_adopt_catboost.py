"""CatBoost's models, live and as files, against the library; documents by hand, public ones and broken ones."""

import functools
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from adoption_cases import ADOPTS, READS
from column_cases import HashedLabels
from naive_adopt import nasty_rows

import costframe as cf
from costframe.core.terms.classes import both_classes
from costframe.errors import AdoptionError
from costframe.plugin import DataError

cb = pytest.importorskip("catboost", reason="needs catboost")

FOREIGN = Path(__file__).resolve().parents[2] / "shared" / "foreign"
N_ROWS = 80
RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(N_ROWS, 3)), 1)
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
SIGNAL = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.2 * RNG.normal(size=N_ROWS)
TWO, THREE = (SIGNAL > 0.2).astype(int), np.digitize(SIGNAL, [-0.5, 0.5])
PAIR = np.column_stack([SIGNAL > 0, X[:, 0] > 0]).astype(int)
POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")
QUIET = {"thread_count": 1, "allow_writing_files": False, "verbose": False, "random_seed": 1}


def train(kind, y, rows=X, columns=None, **settings):
    return kind(**QUIET | {"iterations": 5, "depth": 4, "one_hot_max_size": 255} | settings).fit(
        rows, y, cat_features=columns
    )


def saved(model, path, form="json"):
    """Adopt a model as the file that it writes."""
    model.save_model(str(path / form), format=form)
    return cf.adopt(path / form)


# --- numbers -----------------------------------------------------------------------------------------------------

LOSSES = {  # the target, and what the link makes of raw values
    "RMSE": (SIGNAL, "RawFormulaVal"),
    "MAE": (SIGNAL, "RawFormulaVal"),
    "Logloss": (TWO, "Probability"),
    "MultiClass": (THREE, "Probability"),
    "MultiRMSE": (np.column_stack([SIGNAL, -SIGNAL]), "RawFormulaVal"),
    "CrossEntropy": (TWO * 0.5 + 0.2, "Probability"),
    "Focal:focal_alpha=0.5;focal_gamma=1": (TWO, "Probability"),
    "MultiCrossEntropy": (PAIR * 0.5, "Probability"),
    "QuerySoftMax": (TWO, "RawFormulaVal"),
    "MultiClassOneVsAll": (THREE, "Probability"),
    "MultiLogloss": (PAIR, "Probability"),
    "Poisson": (TWO, "Exponent"),
    "Tweedie:variance_power=1.5": (TWO, "Exponent"),
    "MultiQuantile:alpha=0.1,0.9": (SIGNAL, "RawFormulaVal"),
    "RMSEWithUncertainty": (SIGNAL, "RMSEWithUncertainty"),
    "Cox": (SIGNAL, "RawFormulaVal"),
    "YetiRank": (TWO, "RawFormulaVal"),
}
OF_NUMBERS = [(loss, POLICIES[at % 3] if ":" not in loss else POLICIES[0], "Min") for at, loss in enumerate(LOSSES)]
OF_NUMBERS += [(loss, policy, "Max") for loss in ("RMSE", "Logloss", "MultiClass") for policy in POLICIES]
SYMMETRIC = ("Multi", "YetiRank", "QuerySoftMax", "Cox")  # losses of these grow no other trees


@pytest.mark.parametrize(("loss", "policy", "nan_mode"), OF_NUMBERS)
def test_live_models_and_files_have_the_originals_values_to_the_last_bit(loss, policy, nan_mode, tmp_path):
    y, kind = LOSSES[loss]
    policy = POLICIES[0] if loss.startswith(SYMMETRIC) and loss != "MultiClass" else policy
    settings = {"iterations": 5, "depth": 4, "loss_function": loss, "grow_policy": policy, "nan_mode": nan_mode}
    queries = np.repeat(np.arange(8), 10) if loss in {"YetiRank", "QuerySoftMax"} else None
    model = cb.CatBoost(QUIET | settings).fit(HOLES, y, group_id=queries)
    for tree in (cf.adopt(model), saved(model, tmp_path)):
        with np.errstate(over="ignore"):  # a border may be the largest number, and the next one is infinite
            rows = nasty_rows(tree.bank.trees, 3, 120, missing=True, infinite=True)
        if kind != loss:  # whose outputs have links of their own
            np.testing.assert_array_equal(tree.decision_function(rows), model.predict(rows, "RawFormulaVal"))
        expected = model.predict(rows, prediction_type=kind)
        if kind == "Probability" and "Multi" not in loss:
            expected = expected[:, 1]
        np.testing.assert_allclose(tree.predict(rows), expected, rtol=1e-12)


def scaled():
    model = train(cb.CatBoostRegressor, SIGNAL)
    model.set_scale_and_bias(0.3, 7.0)
    return model


def stopped_early():
    model = cb.CatBoostRegressor(**QUIET, iterations=300)
    return model.fit(X[:40], SIGNAL[:40], eval_set=(X[40:], SIGNAL[40:]), early_stopping_rounds=3)


FORMS = {
    "scaled": scaled,
    "sum": lambda: cb.sum_models(
        [train(cb.CatBoostRegressor, SIGNAL), train(cb.CatBoostRegressor, -SIGNAL, depth=2)], weights=[0.5, 2.0]
    ),
    "stopped early": stopped_early,
}


@pytest.mark.parametrize("name", FORMS)
def test_models_of_every_form(name):
    model = FORMS[name]()
    np.testing.assert_allclose(cf.adopt(model).predict(X), model.predict(X), rtol=1e-14)


# --- labels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "settings"),
    [
        (TWO, {"class_names": [1, 0]}),
        (TWO.astype(bool), {}),
        (np.array(["no", "yes"])[TWO], {}),
        (THREE * 0.5, {}),
        (THREE - 5, {"loss_function": "MultiClassOneVsAll"}),
        (PAIR, {"loss_function": "MultiLogloss"}),
    ],
)
def test_labels_of_classes_travel(y, settings, tmp_path):
    model = train(cb.CatBoostClassifier, y, **settings)
    for tree in (cf.adopt(model), saved(model, tmp_path)):
        if y is PAIR:
            assert tree.classes is None
            continue
        assert tree.classes.tolist() == model.classes_.tolist()
        assert tree.classes.dtype.kind == model.classes_.dtype.kind.replace("O", "U")


@pytest.mark.parametrize("threshold", [None, 0.3, "tie", "below"])
def test_labels_obey_the_threshold(threshold, tmp_path):
    model = train(cb.CatBoostClassifier, np.array(["no", "yes"])[TWO])
    tie = float(np.median(model.predict_proba(X)[:, 1]))
    if threshold is not None:
        model.set_probability_threshold(float({"tie": tie, "below": np.nextafter(tie, 0)}.get(threshold, threshold)))
    labels, likely = model.predict(X).tolist(), model.predict_proba(X)[:, 1]
    adopted = [cf.adopt(model), *(saved(model, tmp_path, form) for form in ("cbm", "json"))]
    cf.save(cf.FittedEstimator(adopted[0]), tmp_path / "saved")
    for one in (*map(cf.FittedEstimator, adopted), cf.load(tmp_path / "saved")):
        assert one.predict(X).tolist() == labels
        assert cf.certain(one, "class").predict(X).tolist() == labels
        np.testing.assert_allclose(one.predict_proba(X)[:, 1], likely, rtol=1e-12)


# --- categories --------------------------------------------------------------------------------------------------

CITIES = np.array(["Berlin", "Oslo", "", "São Paulo", "a text of more than sixty-four letters, " * 3], object)
CODES = np.array([3, 12, -1, 0, 2**40])
PLACE = RNG.integers(0, 5, N_ROWS)
FRAME = pd.DataFrame({"city": CITIES[PLACE], "size": X[:, 0], "code": CODES[RNG.permutation(PLACE)]})
EFFECT = np.array([0.0, 2.0, -1.0, 4.0, 7.0])[PLACE] + (FRAME["code"] == 12) + SIGNAL
OF_CATEGORIES = pytest.mark.parametrize("policy", POLICIES)


@OF_CATEGORIES
def test_categories_are_catboosts_in_every_form_of_model_and_table(policy, tmp_path):
    model = train(cb.CatBoostRegressor, EFFECT, FRAME, ["city", "code"], grow_policy=policy, iterations=20)
    rows = FRAME.assign(city=np.append(CITIES[PLACE][:-2], ["Rome", "oslo"]))
    expected = model.predict(rows)
    live = cf.adopt(model)
    cf.save(live, tmp_path / "saved")
    for tree in (live, saved(model, tmp_path), saved(model, tmp_path, "cbm"), cf.load(tmp_path / "saved")):
        assert tree.feature_names == ("city", "size", "code")
        assert tree.categories == {"city": HashedLabels(), "code": HashedLabels()}
        np.testing.assert_array_equal(tree.predict(rows), expected)
    tables = {
        "objects": rows.to_numpy(object),
        "lists": rows.to_numpy(object).tolist(),
        "categories": rows.astype({"city": "category", "code": "category"}),
        "texts": rows.astype({"code": str}),
        "polars": pl.from_pandas(rows),
        "turned": rows[["code", "size", "city"]],
    }
    for form, table in tables.items():
        np.testing.assert_array_equal(live.predict(table), expected, err_msg=form)
    assert cf.predict_one(live, rows.iloc[-1].to_dict()).value == expected[-1]
    halves = FRAME.assign(code=FRAME["code"] + 0.5)
    with pytest.raises(cb.CatBoostError, match="must be integer or string"):
        model.predict(halves)
    with pytest.raises(DataError, match="column 'code': expected texts or whole numbers"):
        live.predict(halves)


def test_many_values_of_one_feature():
    """CatBoost numbers 254 borders or values of a feature in a byte, and more of them in several."""
    rows = pd.DataFrame({"word": [f"word {number}" for number in range(600)], "number": np.arange(600.0)})
    y = np.arange(600) % 7 * 1.0 + (np.arange(600) > 590) * 9
    model = train(cb.CatBoostRegressor, y, rows, ["word"], iterations=60, border_count=500, one_hot_max_size=700)
    np.testing.assert_array_equal(cf.adopt(model).predict(rows), model.predict(rows))


# --- what CatBoost itself must read ------------------------------------------------------------------------------

TEXTS = np.array(["good and cheap", "bad and dear", "good but dear", "bad but cheap"], object)
REVIEWS = pd.DataFrame({"review": TEXTS[RNG.integers(0, 4, N_ROWS)], "size": X[:, 0]})
VECTORS = pd.DataFrame({"size": X[:, 1], "vector": list(RNG.normal(size=(N_ROWS, 4)))})
GOOD = REVIEWS["review"].str.contains("good").astype(int)
INFINITE = pd.DataFrame(np.where(GOOD.to_numpy()[:, None] == 1, -np.inf, X), columns=["f0", "f1", "f2"])
STATISTICS = {"cat_features": ["city", "code"], "one_hot_max_size": 1}
COUNTED = r"\(CTR\) of '(city|code)'.*; train it with one_hot_max_size at or above"
OPAQUE = {
    "classes": (cb.CatBoostClassifier, STATISTICS, FRAME, np.array(["a", "b", "c"])[THREE], COUNTED),
    "regressor": (cb.CatBoostRegressor, STATISTICS, FRAME, EFFECT, COUNTED),
    "ranker": (cb.CatBoostRanker, STATISTICS | {"loss_function": "YetiRank"}, FRAME, (EFFECT > 2) * 1, COUNTED),
    "texts": (cb.CatBoostClassifier, {"text_features": ["review"]}, REVIEWS, GOOD, "text features only in cbm"),
    "vectors": (cb.CatBoostClassifier, {"embedding_features": ["vector"]}, VECTORS, GOOD, "embedding features only"),
    "infinity": (cb.CatBoostClassifier, {}, INFINITE, GOOD, "invalid float value: -inf"),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_what_has_no_document_of_trees_is_refused_by_name_and_opaque(name):
    kind, settings, rows, y, words = OPAQUE[name]
    model = kind(**QUIET, iterations=5, **settings)
    model.fit(rows, y, **{"group_id": np.repeat(np.arange(8), 10)} if name == "ranker" else {})
    with pytest.raises(AdoptionError, match=words):
        ADOPTS["catboost"](model)
    if name == "texts":
        model.set_probability_threshold(0.3)
    adopted = cf.FittedEstimator(cf.adopt(model))
    assert adopted.predictor_.bank.opaques[0].name == type(model).__name__
    expected = model.predict(rows).squeeze()
    np.testing.assert_array_equal(adopted.predict(rows), expected)
    one = cf.predict_one(adopted.predictor_, rows.iloc[7].to_dict())
    np.testing.assert_array_equal(np.ravel(one.value), np.ravel(adopted.predictor_.predict(rows.iloc[7:8])))


# --- public files ------------------------------------------------------------------------------------------------

LINKS = {
    "RawFormulaVal": lambda tree, X: tree.decision_function(X),
    "Probability": lambda tree, X: tree.predict(X),
    "Class": lambda tree, X: both_classes(tree.predict(X)).argmax(axis=1),
    "Exponent": lambda tree, X: np.exp(tree.decision_function(X)),
}


@pytest.mark.parametrize("path", sorted(FOREIGN.glob("go-catboost/*_test.json")), ids=lambda path: path.stem)
def test_expected_outputs_of_go_catboost(path):
    known = json.loads(path.read_text())
    data = gzip.decompress(path.with_name(path.name.replace("_test.json", "_model.json.gz")).read_bytes())
    if any(word in path.name for word in ("ctr_binary", "churn_mixed", "uncertainty")):
        with pytest.raises(AdoptionError, match=r"statistics of the target \(CTR\) of 'f3'"):
            READS["catboost"](data, path.name)
        return
    rows = [
        [np.nan if value is None else value for value in row["floats"]] + (row.get("cats") or [])
        for row in known["samples"]
    ]
    tree, kind = READS["catboost"](data, path.name), known.get("prediction_type", "RawFormulaVal")
    found = LINKS[kind](tree, np.array(rows, object if known["cat_feature_count"] else float))
    expected = np.array(known["predictions"])
    expected = expected[:, :1] if kind == "Class" else expected  # zeros follow
    exact = {"rtol": 0, "atol": 0} if kind == "RawFormulaVal" else {"rtol": 1e-12}
    np.testing.assert_allclose(found.reshape(expected.shape), expected, **exact)


# --- documents ---------------------------------------------------------------------------------------------------


@functools.cache
def written():
    """Return the document of a model of two numbers and a category, with two classes."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pd.DataFrame({"a": X[:, 0], "b": HOLES[:, 1], "city": CITIES[PLACE]})
        labels = np.array(["no", "yes"])[(EFFECT > 2) * 1]
        model = train(cb.CatBoostClassifier, labels, rows, ["city"], iterations=3, depth=2)
        model.save_model(f"{folder}/model", format="json")
        return Path(folder, "model").read_bytes(), model.predict(rows, "RawFormulaVal"), rows


def adopt(change):
    document = json.loads(written()[0])
    change(document)
    return READS["catboost"](json.dumps(document).encode(), "model.json")


def test_documents_of_older_versions_are_read():
    _, raw, rows = written()
    for labels, classes in (
        ({"class_params": json.dumps({"class_names": [7, 5], "class_label_type": "Integer"})}, [7, 5]),
        ({"multiclass_params": {"class_names": [], "class_to_label": [4.0, 2.0], "classes_count": 0}}, [4, 2]),
        ({}, [0, 1]),
    ):
        params = {"params": json.dumps({"loss_function": {"type": "Logloss"}})}
        tree = adopt(lambda document, info=labels | params: document.update(model_info=info))
        assert tree.classes.tolist() == classes
    bare = adopt(lambda document: (document.pop("model_info"), document.update(scale_and_bias=[2, 1])))
    assert bare.classes is None
    bias = json.loads(written()[0])["scale_and_bias"][1][0]
    np.testing.assert_allclose(bare.predict(rows), 2 * (raw - bias) + 1, rtol=1e-12)


def first(document):
    return document["oblivious_trees"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda document: first(document)["splits"][0].update(split_index=999), "a tree has a split beyond the"),
        (lambda document: first(document).update(leaf_values=[1, 2, 3]), r"expected at most 16 splits and 1 output"),
        (lambda document: document.pop("features_info"), "lacks 'features_info'"),
        (
            lambda document: document["features_info"]["float_features"][0].update(borders=[0.7, 0.5]),
            "feature 'a': expected ascending borders",
        ),
        (
            lambda document: document["model_info"]["params"]["loss_function"].update(type="Rings"),
            "loss 'Rings' cannot be adopted, its predictions are unknown; known",
        ),
        (lambda document: document.update(scale_and_bias=[1, [0, 1]]), "scale_and_bias 1: expected 1 entries, got 2"),
    ],
)
def test_broken_documents_are_refused_and_named(change, words):
    with pytest.raises(AdoptionError, match=f"^model.json: .*{words}"):
        adopt(change)
