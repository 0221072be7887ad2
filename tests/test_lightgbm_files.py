from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lightgbm_cases import ROWS, SCORES, TEXT, assert_equal, hard_rows, import_lightgbm, read

import costframe as cf
from costframe.adoption.lightgbm.adopt import looks_like_lightgbm
from costframe.core.errors import AdoptionError

FOREIGN = Path(__file__).resolve().parents[2] / "shared" / "foreign"
shared = pytest.mark.skipif(not FOREIGN.is_dir(), reason="the folder shared/foreign is not beside the project")
FILES = [
    "leaves/lg_breast_cancer.txt",
    "leaves/lg_dart_breast_cancer.model",
    "leaves/lg_kddcup99.model",
    "leaves/lg_rf_iris.model",
    "leaves/lgmulticlass.model",
    "leaves/model_simple.txt",
    "lightgbm-ruby/categorical.txt",
    "lightgbm-ruby/model.txt",
    "lleaves/NYC_taxi__model.txt",
    "lleaves/airline__model.txt",
    "lleaves/leaf_scan__model.txt",
    "lleaves/mixed_categorical__model.txt",
    "lleaves/multiclass__model.txt",
    "lleaves/pure_categorical__model.txt",
    "lleaves/single_tree__model.txt",
    "lleaves/tiniest_single_tree__model.txt",
    "treelite/deep_lightgbm__model.txt",
    "treelite/lightgbm_constant_tree__model_with_constant_tree.txt",
    "treelite/toy_categorical__toy_categorical_model.txt",
]


def adopt(name):
    return read((FOREIGN / name).read_bytes(), name)


def table(name):
    return np.loadtxt(FOREIGN / name)


def sparse(name, n_features):
    rows = np.zeros((len((FOREIGN / name).read_text().splitlines()), n_features))
    for row, line in zip(rows, (FOREIGN / name).read_text().splitlines(), strict=True):
        for cell in line.split()[1:]:
            column, value = cell.split(":")
            row[int(column)] = float(value)
    return rows


@shared
@pytest.mark.parametrize("name", FILES)
def test_public_files_score_hard_rows_as_lightgbm_does(name):
    adopted, booster = adopt(name), import_lightgbm().Booster(model_file=str(FOREIGN / name))
    rows = hard_rows(adopted, 200)
    if name.endswith("lg_rf_iris.model"):  # its leaves hold probabilities, to which lightgbm 4 applies the link again
        np.testing.assert_array_equal(adopted.decision_function(rows), booster.predict(rows, raw_score=True))
    else:
        assert_equal(adopted, booster, rows)


@shared
def test_public_files_give_their_expected_outputs():
    cancer, iris = table("leaves/breast_cancer_test.tsv"), sparse("leaves/iris_test.libsvm", 4)
    for name in ("lg_dart_breast_cancer", "lg_rf_iris"):
        rows = iris if name == "lg_rf_iris" else cancer
        expected = table(f"leaves/{name}_true_predictions.txt")
        np.testing.assert_allclose(adopt(f"leaves/{name}.model").predict(rows), expected, rtol=1e-15)
    scores = adopt("leaves/lg_kddcup99.model").decision_function(table("leaves/kddcup99_test.tsv"))
    np.testing.assert_allclose(scores, table("leaves/lg_kddcup99_true_predictions.txt"), rtol=1e-14)
    multiclass, rows = adopt("leaves/lgmulticlass.model"), table("leaves/multiclass_test.tsv")[:, 1:]
    np.testing.assert_allclose(multiclass.predict(rows), table("leaves/lgmulticlass_true_predictions.txt"), rtol=1e-13)
    expected = table("leaves/lgmulticlass_true_raw_predictions.txt")
    np.testing.assert_allclose(multiclass.decision_function(rows), expected, rtol=1e-13)
    toy = adopt("treelite/toy_categorical__toy_categorical_model.txt")
    rows = sparse("treelite/toy_categorical__toy_categorical.test", 2)
    expected = table("treelite/toy_categorical__toy_categorical.test.pred")
    np.testing.assert_allclose(toy.predict(rows), expected, rtol=1e-13)


@shared
def test_a_public_file_that_holds_fewer_trees_than_it_tells_of_is_refused():
    with pytest.raises(AdoptionError, match="tells of 1,000 trees and holds 200; the file was cut"):
        adopt("lleaves/mtpl2__model_small.txt")


def test_a_small_file_is_read_by_its_rules():
    adopted = read(TEXT)
    assert adopted.feature_names == ("age", "zone", "size")
    np.testing.assert_array_equal(adopted.decision_function(ROWS), SCORES)
    np.testing.assert_allclose(adopted.predict(ROWS), 1 / (1 + np.exp(-SCORES)))
    windows = b"\r\n".join(line + b" \t" for line in TEXT.split(b"\n"))
    for same in (windows, TEXT.replace(b"v4", b"v3"), TEXT[: TEXT.index(b"parameters")], TEXT.replace(b"Names", b"")):
        np.testing.assert_array_equal(read(same).decision_function(ROWS), SCORES)


OBJECTIVES = {
    "regression": ("identity", 1.0),
    "regression sqrt": ("signed-square", 1.0),
    "binary sigmoid:0.5": ("sigmoid", 2.0),
    "xentropy": ("sigmoid", 1.0),
    "xentlambda": ("softplus", 1.0),
    "tweedie": ("exp", 1.0),
    "quantile alpha:0.3": ("identity", 1.0),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_have_their_links(objective):
    (answer,) = read(TEXT.replace(b"binary sigmoid:1", objective.encode())).stages
    assert (answer.link, answer.temperature) == OBJECTIVES[objective]


def test_averages_divide_by_the_rounds_before_the_link():
    averaged = TEXT.replace(b"\nfeature_names", b"\naverage_output\nfeature_names")
    np.testing.assert_array_equal(read(averaged).decision_function(ROWS), SCORES)
    np.testing.assert_allclose(read(averaged).predict(ROWS), 1 / (1 + np.exp(-SCORES / 2)))
    old = (
        averaged.replace(b"v4", b"v2")
        .replace(b"-0.25", b"0.25")
        .replace(b"-0.0625", b"0.0625")
        .replace(b" 2\ncat", b" 1\ncat")
    )
    adopted = read(old)
    np.testing.assert_array_equal(adopted.predict(ROWS), adopted.decision_function(ROWS) / 2)


CHANGES = {
    "truncated": (b"end of trees", b"", "lacks the line 'end of trees'; the file is truncated"),
    "newer": (b"=v4", b"=v5", "format v5, newer than known"),
    "older": (b"=v4", b"=v1", "format v1, older than known"),
    "not a version": (b"=v4", b"=4", "expected a version such as 'v4'"),
    "a tree fewer": (b"=300 90", b"=300 90 90", "tells of 3 trees and holds 2"),
    "half a round": (b"class=1\nnum_tree_per_iteration=1", b"class=3\nnum_tree_per_iteration=3", "3 in each round"),
    "classes and trees": (b"num_class=1", b"num_class=2", "1 trees in a round, expected one for each"),
    "many classes": (b"1\nnum_tree_per_iteration=1", b"20000\nnum_tree_per_iteration=20000", "2 trees, expected 20000"),
    "many features": (b"idx=2", b"idx=10000000", "it has 10000001 features"),
    "objective": (b"binary", b"binomial", "objective 'binomial' is unknown, and so is its link"),
    "setting": (b"sigmoid:1", b"sigmoid:0", "sigmoid of binary must be positive"),
    "no setting": (b" sigmoid:1", b"", "expected a finite number, got None"),
    "tiny setting": (b"sigmoid:1", b"sigmoid:1e-320", "temperature: expected a finite number"),
    "squares": (b"sigmoid:1", b"sigmoid:1 sqrt", "'binary sigmoid:1 sqrt' is unknown"),
    "classes": (b"binary sigmoid:1", b"multiclass num_class:3", "does not go with 1 scores"),
    "entry": (b"is_linear", b"is_linera", "tree 0: has the entry 'is_linera', unknown"),
    "twice": (b"is_linear=0", b"num_cat=1", "tree 0: has the entry 'num_cat' twice"),
    "leaves": (b"num_leaves=4", b"num_leaves=5", "tree 0: leaf_value: expected 5 entries, got 4"),
    "no leaves": (b"num_leaves=4", b"num_leaves=0", "expected a whole number from 1"),
    "number of a tree": (b"Tree=1", b"Tree=3", "tree 1: Tree: expected 1, got"),
    "no outputs": (b"leaf_value=0.5 -0.25 0.125 2\n", b"", "tree 0: lacks 'leaf_value'"),
    "output": (b"0.5 -0.25", b"inf -0.25", "'values' must be finite"),
    "word": (b"40.5", b"4_0.5", "tree 0: threshold: expected numbers, got '4_0.5 0 inf'"),
    "nan": (b"40.5", b"nan", "expected numbers, got 'nan 0 inf'"),
    "feature": (b"split_feature=0", b"split_feature=3", "split_feature: expected numbers from 0 to 2, got 3"),
    "decision": (b"type=2", b"type=12", "decision_type: expected numbers from 0 to 11, got 12"),
    "child": (b"right_child=2", b"right_child=3", "right_child: expected numbers from -4 to 2, got 3"),
    "circle": (b"left_child=1 -1", b"left_child=1 0", "tree 0, node 1: has a child that is not a later node"),
    "too many lists": (b":null", b":[[], [], [], []]", "expected lists for at most 3 features, got 4"),
    "no list": (b":null", b":[3]", "pandas_categorical 0: expected a list, got 3"),
    "two parents": (b"right_child=2 -2", b"right_child=1 -2", "tree 0, node 1: does not have exactly one parent"),
    "set": (b"40.5 0", b"40.5 1", "tree 0: expected splits by the sets of categories"),
    "no set": (b"num_cat=1", b"num_cat=2", "tree 0: expected splits by the sets of categories"),
    "bounds": (b"cat_boundaries=0 3", b"cat_boundaries=0 2", "must ascend from 0 to 3"),
    "large words": (b"9 0 64", b"9 0 4294967296", "cat_threshold: expected numbers from 0 to"),
    "text": (b"age zone", b"\xff zone", "is not a text in UTF-8"),
    "names": (b"age zone", b"age age", "these feature names come more than once: age"),
    "categories": (b":null", b":{}", "pandas_categorical: expected a list"),
    "half a list": (b":null", b':[["a"', "is not a whole JSON document"),
    "more lists": (b":null", b':[["a", "b"], ["c"]]', "which columns have the 2 lists"),
    "too few": (b":null", b':[["a", "b"]]', "which columns have the 1 lists"),
    "all alike": (b":null", b":[" + json.dumps(["a"] * 71).encode() + b"]", "'zone': its categories must be distinct"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_wrong_with_a_file_is_named(name):
    old, new, text = CHANGES[name]
    changed = TEXT.replace(old, new, 1)
    if name == "truncated":
        changed = changed[: changed.index(b"feature_importances")]
    assert changed != TEXT
    with pytest.raises(AdoptionError, match=r"^model") as caught:
        read(changed)
    assert text in str(caught.value)


def test_categories_of_pandas_replace_codes_of_a_file():
    labels = [f"kind {code}" for code in range(71)]
    adopted = read(TEXT.replace(b":null", b":" + json.dumps([labels]).encode()))
    assert dict(adopted.categories) == {"zone": tuple(labels)}
    numbers = [float(5 * code) for code in range(71)]
    adopted = read(TEXT.replace(b":null", b":" + json.dumps([numbers]).encode()))
    rows = ROWS * [1.0, 5.0, 1.0]
    rows[0, 1] = 0.0
    np.testing.assert_array_equal(adopted.decision_function(rows), SCORES)


def test_content_is_recognised_whatever_the_suffix():
    assert looks_like_lightgbm(TEXT)
    assert looks_like_lightgbm(TEXT.replace(b"\n", b" \r\n"))


def test_dumps_are_refused_with_the_way_out(tmp_path):
    dump = {"name": "tree", "max_feature_idx": 0, "tree_info": []}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    for given in (dump, tmp_path / "dump.json"):
        with pytest.raises(AdoptionError, match=r"is a dump_model\(\) of LightGBM, .* by save_model$"):
            cf.adopt(given)


SPLIT = b"""tree
version=v4
num_class=1
num_tree_per_iteration=1
max_feature_idx=0
feature_names=grade
feature_infos=[0:2]

Tree=0
num_leaves=2
num_cat=0
split_feature=0
threshold=%s
decision_type=%d
left_child=-1
right_child=-2
leaf_value=1 2

end of trees

"""
NONE, ZERO, NAN, LEFT = 0, 4, 8, 2  # bits of a decision


@pytest.mark.parametrize(
    ("decision", "threshold", "expected"),  # of NaN, 0, 1e-36, -1e-36, -1e-34, 1
    [
        (NONE, b"0", [1, 1, 1, 1, 1, 2]),
        (NONE, b"-0.0", [1, 1, 1, 1, 1, 2]),
        (NONE | LEFT, b"-1e-36", [2, 2, 2, 2, 1, 2]),
        (NONE, b"inf", [1, 1, 1, 1, 1, 1]),
        (ZERO, b"0.5", [2, 2, 2, 2, 1, 2]),
        (ZERO | LEFT, b"-5", [1, 1, 1, 1, 2, 2]),
        (NAN, b"0.5", [2, 1, 1, 1, 1, 2]),
        (NAN | LEFT, b"-1", [1, 2, 2, 2, 2, 2]),
    ],
)
def test_numbers_go_where_the_missing_type_of_their_split_says(decision, threshold, expected):
    adopted = read(SPLIT % (threshold, decision))
    assert adopted.predict(np.array([[np.nan], [0.0], [1e-36], [-1e-36], [-1e-34], [1.0]])).tolist() == expected


@pytest.mark.parametrize(
    ("decision", "threshold", "expected"),  # of NaN, an unknown number, and the categories with the codes 0, 1, 2
    [
        (NONE, b"0.5", [1, 1, 1, 2, 2]),
        (NONE, b"-0.5", [2, 2, 2, 2, 2]),
        (NONE, b"7", [1, 1, 1, 1, 1]),
        (ZERO, b"1.5", [2, 2, 2, 1, 2]),
        (ZERO | LEFT, b"1.5", [1, 1, 1, 1, 2]),
        (NAN, b"1.5", [2, 2, 1, 1, 2]),
        (NAN | LEFT, b"1.5", [1, 1, 1, 1, 2]),
        (NAN | LEFT, b"inf", [1, 1, 1, 1, 1]),
    ],
)
def test_ordered_numbers_go_where_their_codes_go_and_unknown_ones_where_nan_goes(decision, threshold, expected):
    adopted = read(SPLIT % (threshold, decision) + b"pandas_categorical:[[40, 10, 20]]")
    assert adopted.predict(np.array([[np.nan], [15.0], [40.0], [10.0], [20.0]])).tolist() == expected
