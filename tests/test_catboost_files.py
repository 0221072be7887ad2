"""CatBoost's files: public ones with their expected outputs, and those that are broken or something else."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from catboost_documents import CTR, DOCUMENT, TREE, changed, free, number

from costframe.adoption.catboost.adopt import adopt_catboost_file, looks_like_catboost
from costframe.core.errors import AdoptionError
from costframe.core.predictors.classes import both_classes
from costframe.core.tables.hashed_labels import HashedLabels

FOREIGN = Path(__file__).resolve().parents[2] / "shared" / "foreign"
absent = pytest.mark.skipif(not FOREIGN.is_dir(), reason="the folder shared/foreign is not beside the project")
WITH_STATISTICS = ("ctr_binary", "churn_mixed", "uncertainty")


def content(name):
    if not name.endswith(".json"):
        pytest.importorskip("catboost", reason="needs catboost, which reads .cbm files")
    data = (FOREIGN / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def listed(pattern):
    return sorted(str(path.relative_to(FOREIGN)) for path in FOREIGN.glob(pattern)) if FOREIGN.is_dir() else []


# --- public files ------------------------------------------------------------------------------------------------

LINKS = {
    "RawFormulaVal": lambda tree, X: tree.decision_function(X),
    "Probability": lambda tree, X: tree.predict(X),
    "Class": lambda tree, X: both_classes(tree.predict(X)).argmax(axis=1),
    "Exponent": lambda tree, X: np.exp(tree.decision_function(X)),
}


@pytest.mark.parametrize("name", listed("go-catboost/*_test.json"))
def test_expected_outputs_of_go_catboost(name):
    known = json.loads((FOREIGN / name).read_text())
    data = content(name.replace("_test.json", "_model.json.gz"))
    if any(word in name for word in WITH_STATISTICS):
        with pytest.raises(AdoptionError, match=r"statistics of the target \(CTR\) of 'f3'"):
            adopt_catboost_file(data, name)
        return
    rows = [
        [np.nan if value is None else value for value in row["floats"]] + (row.get("cats") or [])
        for row in known["samples"]
    ]
    tree = adopt_catboost_file(data, name)
    kind = known.get("prediction_type", "RawFormulaVal")
    found = LINKS[kind](tree, np.array(rows, object if known["cat_feature_count"] else float))
    expected = np.array(known["predictions"])
    if kind == "Class":
        expected = expected[:, :1]  # zeros follow
    if kind == "RawFormulaVal":
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    else:
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["iris", "multilabel"] if FOREIGN.is_dir() else [])
def test_expected_outputs_of_catboost_inference(name):
    known = json.loads((FOREIGN / f"ridewithgps/{name}_reference.json").read_text())
    tree = adopt_catboost_file(content(f"ridewithgps/{name}.cbm"), name)
    X = np.array([row["features"] for row in known["rows"]])
    np.testing.assert_array_equal(tree.decision_function(X), [row["raw"] for row in known["rows"]])
    likely = "prob" if name == "iris" else "multi_prob"
    np.testing.assert_allclose(tree.predict(X), [row[likely] for row in known["rows"]], rtol=1e-12)


@absent
def test_every_public_file_is_read_or_refused_by_the_name_of_a_feature():
    refused = {}
    for name in listed("catboost-*/*") + listed("go-catboost/*.gz") + listed("ridewithgps/*.cbm"):
        data = content(name)
        if not looks_like_catboost(data):
            assert name.endswith(("LICENSE", "regression.json", "xor.json"))
            continue
        try:
            adopt_catboost_file(data, name)
        except AdoptionError as error:
            refused[Path(name).name.split(".")[0].removesuffix("_model")] = str(error)
    assert refused.keys() == {*WITH_STATISTICS, "text"}
    assert all(re.search(r"\(CTR\) of '\w+'|with text features", text) for text in refused.values())


# --- a document by hand ------------------------------------------------------------------------------------------


ROWS = np.array([[0.5, None, -1, "1"], [0.6, None, 0, "0"], [None, None, None, 1], [0, None, 5, "else"]], object)
RAW = [[3.5, -2.625], [12.5, 18.375], [4.5, -3.625], [11.5, 19.375]]


def adopt(document):
    return adopt_catboost_file(json.dumps(document).encode(), "model.json")


def test_the_document_is_read():
    tree = adopt(DOCUMENT)
    assert tree.feature_names == ("f0", "f1", "f2", "city")  # column 1 is of no listed feature
    assert tree.categories == {"city": HashedLabels()}
    assert tree.decision_function(ROWS).tolist() == RAW
    assert tree.classes.tolist() == ["no", "yes"]
    np.testing.assert_allclose(tree.predict(ROWS).sum(axis=1), 1.0)


def test_trees_of_any_form_are_read():
    raw = adopt(free(TREE, {"value": [10, 20]})).decision_function(ROWS)
    assert raw.tolist() == [[11.0, 22.125], [13.0, 24.125], [15.0, 26.125], [11.0, 22.125]]


SPLIT, LEAVES = ["oblivious_trees", 0, "splits", 0], ["oblivious_trees", 0, "leaf_values"]
FLOAT, CITY = ["features_info", "float_features", 0], ["features_info", "categorical_features", 0]
LOSS, CLASSES = ["model_info", "params", "loss_function"], ["model_info", "class_params"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([([*SPLIT, "split_index"], 9)], "trees 0: splits 0: a tree has a split beyond the 6 of its features"),
        ([([*SPLIT, "split_index"], -1)], "split_index: expected a whole number from 0"),
        (
            [([*SPLIT, "split_index"], 1)],
            "expected FloatFeature 0 at 0.699999988, which is split number 1, got FloatFeature 0 at 0.5",
        ),
        ([([*SPLIT, "border"], 0.6)], "which is split number 0, got"),
        ([([*SPLIT, "float_feature_index"], 1)], "which is split number 0, got"),
        ([([*SPLIT, "split_type"], "OneHotFeature")], "which is split number 0, got"),
        ([(["oblivious_trees", 0, "splits", 1, "value"], 7)], "which is split number 3, got"),
        ([(SPLIT, CTR)], r"splits 0: it splits by statistics of the target \(CTR\) of 'city', .* one_hot_max_size"),
        ([(LEAVES, [1, 2, 3])], r"trees 0: expected at most 16 splits and 1 output\(s\) in each of 2\^splits leaves"),
        ([(LEAVES, [])], "got 2 splits and 0 leaf values"),
        ([(["oblivious_trees", 1, "leaf_values"], [1, 2, 3])], r"trees 1: expected at most 16 splits and 2 output"),
        ([(["oblivious_trees", 0, "splits"], [number(0)] * 40)], "got 40 splits and 8 leaf values"),
        ([(LEAVES, [float("nan")] * 8)], "leaf_values: expected finite numbers"),
        ([(LEAVES, "12345678")], "leaf_values: expected a list"),
        ([(["oblivious_trees"], [])], "oblivious_trees: it has no trees"),
        ([(["oblivious_trees"],)], "lacks 'trees'"),
        ([(["features_info"],)], "lacks 'features_info'"),
        ([([*FLOAT, "borders"], [0.7, 0.5])], "feature 'f0': expected ascending borders"),
        ([([*FLOAT, "nan_value_treatment"], "AsNaN")], "float_features 0: unknown nan_value_treatment 'AsNaN'"),
        ([([*FLOAT, "has_nans"], "no")], "float_features 0: has_nans: expected true or false, got 'no'"),
        ([([*FLOAT, "flat_feature_index"], 2)], "two features are at the same column"),
        ([([*FLOAT, "flat_feature_index"], 10**7)], "expected the columns of features to be 0 or more, and at most"),
        ([([*CITY, "values"], [1121341681] * 2)], "feature 'city' has a category twice"),
        ([([*CITY, "values"], [1121341681, 2**31])], "values: expected numbers from"),
        (
            [([*LOSS, "type"], "Rings")],
            "loss 'Rings' cannot be adopted, its predictions are unknown; known are Logloss",
        ),
        ([([*LOSS, "type"], "Logloss")], r"loss 'Logloss' does not go with 2 output\(s\)"),
        ([([*CLASSES, "class_names"], ["a", "b", "c"])], "class_names: expected 2 labels, got 3"),
        ([([*CLASSES, "class_names"], ["a", "a"])], "classes: expected at least two distinct labels"),
        ([([*CLASSES, "class_label_type"], "Integer")], "class_names: expected numbers"),
        ([(["scale_and_bias"], [1, [0]])], "scale_and_bias 1: expected 2 entries, got 1"),
        ([(["scale_and_bias"], [1])], "scale_and_bias: expected two entries, got 1"),
        ([(["scale_and_bias", 0], float("inf"))], "scale_and_bias 0: expected a finite number"),
    ],
)
def test_broken_documents_are_refused_and_named(changes, words):
    with pytest.raises(AdoptionError, match=f"^model.json: .*{words}|^model.json: {words}"):
        adopt(changed(*changes))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"split": number(0), "left": {"value": [1, 2]}}, "trees 0: lacks 'right'"),
        (TREE | {"left": {"value": 1}}, r"trees 0: expected 1 output\(s\) in each leaf, got 2"),
        (TREE | {"left": {"value": []}}, r"expected \d output\(s\) in each leaf, got 0"),
        (TREE | {"left": {"value": [1, "x"]}}, "trees: expected numbers, got something else"),
        (TREE | {"left": 3}, "trees 0: expected an object with 'split', got 3"),
        (TREE | {"split": CTR}, r"trees 0: split: it splits by statistics of the target \(CTR\)"),
    ],
)
def test_broken_trees_are_refused(tree, words):
    with pytest.raises(AdoptionError, match=words):
        adopt(free(tree))


@pytest.mark.parametrize(
    ("info", "classes"),
    [
        ({"class_params": json.dumps({"class_names": [7, 5], "class_label_type": "Integer"})}, [7, 5]),
        ({"multiclass_params": {"class_names": [], "class_to_label": [4.0, 2.0], "classes_count": 0}}, [4, 2]),
        ({"class_params": {"class_names": [], "class_to_label": [], "classes_count": 2}}, [0, 1]),
        ({}, [0, 1]),
    ],
)
def test_labels_of_older_versions(info, classes):
    params = {"params": json.dumps({"loss_function": {"type": "MultiClassOneVsAll"}})}
    assert adopt(DOCUMENT | {"model_info": info | params}).classes.tolist() == classes


def test_older_documents_without_loss_or_with_one_bias():
    document = {name: part for name, part in DOCUMENT.items() if name not in {"model_info", "scale_and_bias"}}
    tree = adopt(document)
    assert (tree.predict(ROWS).tolist(), tree.classes) == ((np.array(RAW) - [0, 0.125]).tolist(), None)
    assert adopt(document | {"scale_and_bias": [2, 1]}).predict(ROWS[:1]).tolist() == [[8.0, -4.5]]


def test_files_that_are_something_else():
    for data, words in {
        b"\x1f\x8b\x08": "is compressed; unpack it first with gunzip",
        b"{": "is not a whole JSON document",
        b'{"a": 1}': "lacks 'features_info'",
    }.items():
        with pytest.raises(AdoptionError, match=f"^a file: {words}"):
            adopt_catboost_file(data, "a file")
    assert looks_like_catboost(json.dumps(DOCUMENT).encode())
