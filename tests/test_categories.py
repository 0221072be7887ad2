"""Categories: the table of trees, the traversal, labels in the place of numbers, and hashes in the place of labels."""

import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from column_cases import HashedLabels, find_labels
from dataset_cases import read_rows
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import Answer, StageTree, SteppedPredictor, WeakLearnerBank
from costframe.errors import BankError, InquiryError
from costframe.plugin import DataError, TreeTable
from costframe.sources import predict_many, predict_one

LABELS = {"color": ("red", "green", "blue")}


def stump(categories, *, missing_left, feature=0):
    """Outputs 1 on the left and 2 on the right."""
    return TreeTable.single(
        [feature, -1, -1], [np.nan, 0, 0], [missing_left, False, False], [1, -1, -1], [2, -1, -1],
        np.arange(3.0), {0: categories},
    )  # fmt: skip


def model(table, names=("color",), categories=None):
    bank = WeakLearnerBank.from_trees(table, names)
    tree = StageTree(bank, (Answer(np.arange(len(table)), np.ones((len(table), 1)), [0.0]),))
    return tree.with_categories(categories or {})


# --- what goes where ---


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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": [0.5, 0, 0]}, "tree 0, node 0: has both categories and a threshold"),
        ({"categories": [1.0, 1.0]}, "node 0: must have categories that are finite and ascending"),
        ({"categories": [1.0, np.inf]}, "finite and ascending"),
    ],
)
def test_impossible_categories_are_refused(changes, words):
    table = stump([1.0, 2.0], missing_left=False)
    names = ("first", "feature", "threshold", "missing_left", "left", "right", "width", "value", "values")
    given_ = {name: getattr(table, name) for name in (*names, "category_count", "categories")}
    with pytest.raises(BankError, match=words):
        TreeTable(**(given_ | changes))


# --- labels ---

VALUES = ["red", "green", None, "blue", "violet", "red"]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"color": pd.Categorical(VALUES, ["blue", "violet", "red", "green"])}),
        pl.DataFrame({"color": pl.Series(VALUES, dtype=pl.Categorical)}),
        pl.DataFrame({"color": pl.Series(VALUES, dtype=pl.Enum(["violet", "blue", "green", "red"]))}),
        np.array(VALUES, object)[:, np.newaxis],
        np.array([[0.0], [1.0], [np.nan], [2.0], [3.0], [0.0]]),
    ],
)
def test_labels_are_read_by_their_text_whatever_the_frame(X):
    tree = model(stump([0.0, 2.0], missing_left=False), categories=LABELS)
    expected = [1.0, 2.0, 2.0, 1.0, 2.0, 1.0]
    assert tree.predict(X).tolist() == expected
    assert tree.cost(X).per_row.tolist() == [1.0] * 6
    assert tree.bank.outputs(X)[:, 0].tolist() == expected
    assert [end.value for end in predict_many(tree, X)] == expected


def test_inquiries_take_labels_their_numbers_and_what_is_missing():
    tree = model(stump([0.0, 2.0], missing_left=False), categories=LABELS)
    for value, expected in {"red": 1.0, "green": 2.0, 2: 1.0, 1.0: 2.0}.items():
        assert predict_many(tree, [{"color": value}])[0].value == expected
        assert tree.inquire(known={"color": value}).answer.value == expected
    for missing in (None, np.nan, pd.NA, pd.NaT, "violet"):
        assert predict_one(tree, {"color": missing}).value == 2.0


def test_texts_are_refused_where_there_are_no_labels_and_other_things_where_there_are():
    tree = model(stump([0.0], missing_left=False, feature=1), ("color", "size"), LABELS)
    with pytest.raises(InquiryError, match="'size': expected a number"):
        tree.inquire().supply({"size": "red"})
    colored = model(stump([0.0], missing_left=False), categories=LABELS)
    for wrong in ([10115], [True], pd.Categorical([1])):
        with pytest.raises(DataError, match="column 'color': expected labels such as 'red', got"):
            colored.predict(pd.DataFrame({"color": wrong}))


def test_stepped_models_are_sent_the_numbers_of_labels():
    def steps():
        values = yield ["color"]
        return -1.0 if np.isnan(values["color"]) else values["color"]

    stepped = SteppedPredictor(("color",), steps, categories=LABELS)
    assert stepped.predict(pd.DataFrame({"color": ["green", "violet"]})).tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"size": ("s",)}, "'size' is no feature"),
        ({"color": ("red", "red")}, "distinct"),
    ],
)
def test_impossible_labels_are_refused(labels, words):
    with pytest.raises(DataError, match=words):
        model(stump([0.0], missing_left=False)).with_categories(labels)


def test_banks_join_only_if_they_agree_on_labels():
    table = stump([0.0], missing_left=False)
    color, other = model(table, categories=LABELS).bank, model(table, ("size",)).bank
    assert (color + other).categories == (other + color).with_features(("color", "size")).categories == LABELS
    unread = WeakLearnerBank.from_trees(stump([0.0], missing_left=False, feature=1), ("color", "size"))
    assert (unread + color).categories == LABELS
    for labels in ({}, {"color": ("green", "red", "blue")}, {"color": HASHED}):
        with pytest.raises(BankError, match="feature 'color' has the labels"):
            model(table, categories=labels).bank + color


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(pd.Categorical(["b", "a"], ["b", "a", "z"])), ("b", "a", "z")),
        (pd.Series(pd.Categorical([3, 1, None])), None),
        (np.array(["b", "a", None], object), ("a", "b")),
        (pd.Series(pd.Categorical(["a", 1])), "column 'c': categories are either texts or numbers"),
    ],
)
def test_labels_of_a_column(column, expected):
    if not isinstance(expected, str):
        assert find_labels(column, "c") == expected
        return
    with pytest.raises(DataError, match=expected):
        find_labels(column, "c")


# --- categories numbered by the hash of their text ---

HASHED = HashedLabels()
KNOWN = {  # of CatBoost 1.2, whose JSON files hold them; one-hot values are signed there
    "": 797982799, "0": -1438285038, "1": 1121341681, "b": 1982436109, "fish": -1837085225, "日本": -1840338719,
    "u" * 46: 1999773923, "f" * 31: 3396220130, "n" * 65: 447012743,
}  # fmt: skip
CITIES = ["Berlin", "Oslo", None, "7", "berlin", "Berlin"]
EXPECTED = [2.0, 1.0, 1.0, 2.0, 1.0, 2.0]


def of_cities():
    """Output 2 for Berlin and 7, and 1 for all else; nothing reads the age."""
    numbers = sorted(HASHED.number(word) for word in ("Berlin", "7"))
    return model(stump(numbers, missing_left=True, feature=1), ("age", "city"), {"city": HASHED})


def test_the_hash_is_catboosts():
    assert {text: HASHED.number(text) for text in KNOWN} == {text: number % 2**32 for text, number in KNOWN.items()}
    assert (HASHED.number(True), HASHED.number(np.False_)) == (HASHED.number("1"), HASHED.number("0"))


def frame(**columns):
    return pd.DataFrame({"age": 1.0, **columns})


@pytest.mark.parametrize(
    "X",
    [
        frame(city=pd.Categorical(CITIES, ["7", "Oslo", "berlin", "Berlin"])),
        pl.DataFrame({"city": pl.Series(CITIES, dtype=pl.Categorical), "age": [0] * 6}),
        np.array([[0.0, np.nan if value is None else HASHED.number(value)] for value in CITIES]),
        frame(city=pd.array([7, 8, None, 7, 8, 7], "Int64")),
        np.array([[0, 7], [7, 0], [0, 8], [0, 7], [1, 1], [1, 7]]),
    ],
)
def test_texts_and_whole_numbers_are_read_whatever_holds_them(X):
    tree = of_cities()
    assert tree.predict(X).tolist() == EXPECTED
    assert tree.cost(X).per_row.tolist() == [1.0] * 6
    assert [end.value for end in predict_many(tree, X)] == EXPECTED


@pytest.mark.parametrize(
    "X", [frame(city=[7.0]), frame(city=[pd.Timestamp("2020-01-01")]), [[1.0, 0.5]], np.zeros((1, 2), np.float32)]
)
def test_other_values_have_no_hash(X):
    with pytest.raises(DataError, match="column 'city': expected texts or whole numbers, got"):
        of_cities().predict(X)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_in_files_and_saved_models_hash_alike(kind, run, tmp_path):
    rows, path, tree = frame(city=CITIES, number=[7, 1, 2, 3, 4, 5]), tmp_path / f"rows.{kind}", of_cities()
    rows.to_csv(path, index=False) if kind == "csv" else rows.to_parquet(path)
    cf.save(tree, tmp_path / "city.model")
    loaded = cf.load(tmp_path / "city.model")
    assert loaded.categories == {"city": HASHED}
    assert loaded.predict(read_rows(path, tree.feature_names, categories=tree.categories)).tolist() == EXPECTED
    found = read_rows(path, ("number",), categories={"number": HASHED})
    assert found[:, 0].tolist() == [HASHED.number(number) for number in rows["number"]]
    with pytest.raises(DataError, match="column 'age': expected texts or whole numbers, got"):
        read_rows(path, ("age",), categories={"age": HASHED})
    cf.CostModel.of({"age": 9.0, "city": 1.0}).save(tmp_path / "prices.toml")
    assert "6 rows cost 1 " in run("cost", tmp_path / "city.model", path, "--costs", tmp_path / "prices.toml").output
