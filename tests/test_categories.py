"""Tests for categories: the table of trees, the traversal, and labels in the place of numbers."""

import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import BankError, DataError, InquiryError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.node_layout import lay_out_nodes
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.stages.stages import Answer
from costframe.core.tables.categorical import find_labels
from costframe.core.tables.categories import encode
from costframe.sources import predict_many, predict_one

LABELS = {"color": ("red", "green", "blue")}


def stump(categories, *, missing_left, feature=0):
    """Outputs 1 on the left and 2 on the right."""
    return TreeTable.single(
        [feature, -1, -1], [np.nan, 0, 0], [missing_left, False, False], [1, -1, -1], [2, -1, -1],
        np.arange(3.0), {0: categories},
    )  # fmt: skip


def model(table, names=("color",), categories=None):
    bank = WeakLearnerBank(*named(WeakLearnerBank.from_trees(table, names)), categories=categories or {})
    return StageTree(bank, (Answer(np.arange(len(table)), np.ones((len(table), 1)), [0.0]),))


def named(bank):
    return bank.feature_names, bank.kind, bank.index, bank.evaluation, bank.trees


# --- what goes where ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing_left", [False, True])
def test_categories_go_against_the_missing_way_and_all_else_the_missing_way(missing_left):
    tree = model(stump([-1.0, 0.0, 2.5], missing_left=missing_left))
    against, others = [-1.0, -0.0, 0.0, 2.5], [np.nan, 1.0, 2.4999, np.inf, -np.inf, 1e300]
    way, other_way = (2.0, 1.0) if missing_left else (1.0, 2.0)
    for values, expected in ((against, way), (others, other_way)):
        X = np.array(values)[:, np.newaxis]
        assert tree.predict(X).tolist() == [expected] * len(values)
        assert [tree.predict(row[np.newaxis])[0] for row in X] == [expected] * len(values)  # rows alone go another way
        assert [predict_one(tree, row).value for row in X] == [expected] * len(values)


@given(st.sampled_from([1, 62, 63, 64, 65, 127, 128, 129, 300]), st.booleans(), st.integers(0, 1000))
def test_sets_of_any_number_of_words(n, missing_left, seed):
    """Categories of several nodes share codes, whose bits lie in one word or several."""
    rng = np.random.default_rng(seed)
    drawn = [np.unique(rng.integers(-n, n + 1, size)).astype(float) for size in (n, n, 3)]
    trees = TreeTable.concatenate([stump(each, missing_left=missing_left) for each in drawn])
    X = np.append(np.arange(-n - 2.0, n + 3), np.nan)[:, np.newaxis]
    tree = model(trees)
    expected = [[naive.tree_walk(trees, t, row)[0] for t in range(3)] for row in X]
    assert tree.bank.leaves(X).tolist() == expected
    assert tree.predict(X).tolist() == [sum(leaves) for leaves in expected]
    assert [tree.predict(row[np.newaxis])[0] for row in X] == [sum(leaves) for leaves in expected]


def test_equal_tests_share_their_bits():
    trees = TreeTable.concatenate([stump([1.0, 2.0], missing_left=True)] * 10 + [stump([2.0], missing_left=True)])
    assert len(lay_out_nodes(trees, 1).sets) == 2
    assert len(lay_out_nodes(trees, 1).column_missing) == 1


# --- the table ---------------------------------------------------------------------------------------------------


def test_tables_keep_the_categories_of_their_nodes():
    first, second = stump([1.0, 5.0], missing_left=False), stump([2.0], missing_left=True, feature=1)
    plain = TreeTable.single([0, -1, -1], [0.5, 0, 0], [False] * 3, [1, -1, -1], [2, -1, -1], np.arange(3.0))
    both = TreeTable.concatenate([first, plain, second])
    assert both.category_count.tolist() == [2, 0, 0, 0, 0, 0, 1, 0, 0]
    assert both.category_first.tolist() == [0, 2, 2, 2, 2, 2, 2, 3, 3, 3]
    assert both.categories.tolist() == [1.0, 5.0, 2.0]
    turned = both.restrict([2, 0])
    assert turned.category_count.tolist() == [1, 0, 0, 2, 0, 0]
    assert turned.categories.tolist() == [2.0, 1.0, 5.0]
    moved = both.remap_features(np.array([3, 4], np.int32))
    assert moved.feature.tolist() == [3, -1, -1, 3, -1, -1, 4, -1, -1]
    assert moved.categories.tolist() == both.categories.tolist()
    assert TreeTable.empty().category_first.tolist() == [0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": [0.5, 0, 0]}, "tree 0, node 0: has both categories and a threshold"),
        ({"category_count": [0, 2, 0]}, "node 1: is no test and has categories"),
        ({"category_count": [-1, 0, 3]}, "node 0: is no test"),
        ({"category_count": [1, 0, 0]}, r"'categories' must have shape \(1,\), got \(2,\)"),
        ({"category_count": [2, 0]}, r"'category_count' must have shape \(3,\)"),
        ({"categories": [1.0, 1.0]}, "node 0: must have categories that are finite and ascending"),
        ({"categories": [2.0, 1.0]}, "finite and ascending"),
        ({"categories": [-0.0, 0.0]}, "finite and ascending"),
        ({"categories": [1.0, np.inf]}, "finite and ascending"),
        ({"categories": [np.nan, 1.0]}, "finite and ascending"),
        ({"categories": [np.nan, np.nan]}, "finite and ascending"),
        ({"reading": [4, 0, 0]}, "node 0: has an unknown reading"),
        ({"reading": [0, 2, 0]}, "node 1: reads categories and has none"),
        ({"reading": [1, 0, 0]}, "node 0: reads zero as missing and tests for categories"),
    ],
)
def test_impossible_categories_are_refused(changes, words):
    table = stump([1.0, 2.0], missing_left=False)
    names = ("first", "feature", "threshold", "missing_left", "left", "right", "width", "value", "values")
    given_ = {name: getattr(table, name) for name in (*names, "category_count", "categories")}
    with pytest.raises(BankError, match=words):
        TreeTable(**(given_ | changes))


# --- labels ------------------------------------------------------------------------------------------------------

FRAMES = {
    "pandas categories": lambda values: pd.DataFrame(
        {"color": pd.Categorical(values, ["blue", "violet", "red", "green"])}
    ),
    "pandas objects": lambda values: pd.DataFrame({"color": pd.Series(values, dtype=object)}),
    "pandas strings": lambda values: pd.DataFrame({"color": pd.Series(values, dtype="string")}),
    "polars categories": lambda values: pl.DataFrame({"color": pl.Series(values, dtype=pl.Categorical)}),
    "polars enumeration": lambda values: pl.DataFrame(
        {"color": pl.Series(values, dtype=pl.Enum(["violet", "blue", "green", "red"]))}
    ),
    "polars texts": lambda values: pl.DataFrame({"color": pl.Series(values, dtype=pl.String)}),
    "an array of objects": lambda values: np.array(values, object)[:, np.newaxis],
    "lists": lambda values: [[value] for value in values],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_labels_are_read_by_their_text_whatever_the_frame(kind):
    tree = model(stump([0.0, 2.0], missing_left=False), categories=LABELS)
    values = ["red", "green", None, "blue", "violet", "red"]
    X = FRAMES[kind](values)
    expected = [1.0, 2.0, 2.0, 1.0, 2.0, 1.0]
    assert tree.predict(X).tolist() == expected
    assert tree.cost(X).per_row.tolist() == [1.0] * 6
    assert tree.bank.outputs(X)[:, 0].tolist() == expected
    assert [end.value for end in predict_many(tree, X)] == expected
    assert tree.predict(np.array([[0.0], [1.0], [np.nan], [2.0], [3.0]])).tolist() == [1.0, 2.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, "violet", float("nan")])
def test_inquiries_take_labels_their_numbers_and_what_is_missing(missing):
    tree = model(stump([0.0, 2.0], missing_left=False), categories=LABELS)
    for value, expected in {"red": 1.0, "green": 2.0, 2: 1.0, 1.0: 2.0}.items():
        assert predict_one(tree, {"color": value}).value == expected
        assert predict_one(tree, lambda names, value=value: dict.fromkeys(names, value)).value == expected
        assert predict_many(tree, [{"color": value}])[0].value == expected
        assert tree.inquire(known={"color": value}).answer.value == expected
        inquiry = tree.inquire()
        inquiry.supply({"color": value})
        assert inquiry.answer.value == expected
    assert predict_one(tree, {"color": missing}).value == 2.0


def test_texts_are_refused_where_there_are_no_labels_and_other_things_where_there_are():
    tree = model(stump([0.0], missing_left=False, feature=1), ("color", "size"), LABELS)
    with pytest.raises(InquiryError, match="'size': expected a number"):
        tree.inquire().supply({"size": "red"})
    with pytest.raises(DataError, match="column 'size' holds text"):
        tree.predict(pd.DataFrame({"color": ["red"], "size": ["red"]}))
    colored = model(stump([0.0], missing_left=False), ("color", "size"), LABELS)
    for wrong in (10115, 0.0, True):
        frame = pd.DataFrame({"color": [wrong], "size": [1.0]})
        with pytest.raises(DataError, match="column 'color': expected labels such as 'red', got"):
            colored.predict(frame)
    with pytest.raises(DataError, match="column 'color': expected labels"):
        colored.predict(pd.DataFrame({"color": pd.Categorical([1, 2]), "size": 1.0}))
    assert tree.predict(pd.DataFrame({"color": [np.nan], "size": [0.0]})).tolist() == [1.0]
    with pytest.raises(InquiryError, match="'color': expected a number"):
        model(stump([0.0], missing_left=False), categories=LABELS).inquire().supply({"color": b"red"})


def test_stepped_models_are_sent_the_numbers_of_labels():
    def steps():
        values = yield ["color"]
        return -1.0 if np.isnan(values["color"]) else values["color"]

    stepped = SteppedPredictor(("color",), steps, categories=LABELS)
    for value, expected in {"blue": 2.0, "violet": -1.0, "red": 0.0}.items():
        assert predict_one(stepped, {"color": value}).value == expected
    assert stepped.predict(pd.DataFrame({"color": ["green", "violet"]})).tolist() == [1.0, -1.0]
    assert stepped.cost(pd.DataFrame({"color": ["green", "violet"]})).mean == 1.0
    assert stepped.with_categories({}).categories == {}


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"size": ("s",)}, "'size' is no feature"),
        ({"color": ()}, "categories of 'color': expected distinct texts"),
        ({"color": ("red", "red")}, "distinct"),
        ({"color": ("red", 1)}, "distinct texts"),
        ({"color": "red"}, "distinct texts"),
        (["red"], "expected labels by feature, got list"),
    ],
)
def test_impossible_labels_are_refused(labels, words):
    with pytest.raises(DataError, match=words):
        model(stump([0.0], missing_left=False)).with_categories(labels)
    with pytest.raises(DataError, match=words):
        SteppedPredictor(("color",), lambda: None, categories=labels)


def test_banks_join_only_if_they_agree_on_labels():
    table = stump([0.0], missing_left=False)
    color = model(table, categories=LABELS).bank
    other = model(table, ("size",)).bank
    assert (color + other).categories == LABELS
    assert (other + color).with_features(("color", "size")).restrict([1]).categories == LABELS
    unread = WeakLearnerBank.from_trees(stump([0.0], missing_left=False, feature=1), ("color", "size"))
    assert (unread + color).categories == LABELS
    for labels in ({}, {"color": ("green", "red", "blue")}):
        with pytest.raises(BankError, match="feature 'color' has the labels"):
            model(table, categories=labels).bank + color


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(pd.Categorical(["b", "a"], ["b", "a", "z"])), ("b", "a", "z")),
        (pd.Series(["b", "a", None]), ("a", "b")),
        (pl.Series(["b", "a", None], dtype=pl.Categorical), ("a", "b")),
        (pl.Series(["b", None], dtype=pl.Enum(["z", "b"])), ("z", "b")),
        (pd.Series(pd.Categorical([3, 1, None])), None),
        (pd.Series(pd.Categorical([True, False])), None),
        (pd.Series([1.5, np.nan]), None),
        (np.array(["b", "a", None], object), ("a", "b")),
    ],
)
def test_labels_of_a_column(column, expected):
    assert find_labels(column, "c") == expected


@pytest.mark.parametrize("values", [["a", 1], [pd.Timestamp("2020-01-01")], [("a",)], ["a", b"a"]])
def test_categories_that_are_neither_texts_nor_numbers_are_refused(values):
    with pytest.raises(DataError, match="column 'c': categories are either texts or numbers"):
        find_labels(pd.Series(pd.Categorical(values)), "c")


def test_encoding_changes_no_array_of_numbers_and_no_other_column():
    X = np.arange(4.0).reshape(2, 2)
    assert encode(X, LABELS, ("color", "size")) is X
    rows = np.array([["red", 1.0], ["blue", 2.0]], object)
    assert encode(rows, LABELS, ("color", "size")).tolist() == [[0.0, 1.0], [2.0, 2.0]]
    assert rows[:, 0].tolist() == ["red", "blue"]  # what was given stays as it was
    assert encode(rows, {}, ("color", "size")) is rows


def test_a_file_has_the_labels_and_the_same_bytes(tmp_path):
    tree = model(stump([0.0, 2.0], missing_left=True), categories={"color": ("r\u00f6d", "gr\u00fcn", "\U0001f600")})
    cf.save(tree, tmp_path / "a")
    again = cf.load(tmp_path / "a")
    assert again.categories == tree.categories
    cf.save(again, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert again.predict(pd.DataFrame({"color": ["gr\u00fcn", "r\u00f6d"]})).tolist() == [1.0, 2.0]
