"""Categories numbered by the hash of their text: any text or whole number, in frames, arrays, files and inquiries."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import costframe as cf
from costframe.core.errors import BankError, DataError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.tables.hashed_labels import HashedLabels
from costframe.datasets.model_rows import read_rows
from costframe.sources import predict_many, predict_one

HASHED = HashedLabels()
PRICES = cf.CostModel.from_dict({"features": {"age": 1.0, "city": 3.0}})
KNOWN = {  # of CatBoost 1.2, whose JSON files hold them; one-hot values are signed there
    "": 797982799, "0": -1438285038, "1": 1121341681, "2": -1284790409, "b": 1982436109, "dog": 534690138,
    "fish": -1837085225, "日本": -1840338719, "u" * 46: 1999773923, "f" * 31: 3396220130, "n" * 65: 447012743,
}  # fmt: skip
VALUES = ["Berlin", "Oslo", None, "7", "berlin", "Berlin"]
EXPECTED = [2.0, 1.0, 1.0, 2.0, 1.0, 2.0]


def model(costs=PRICES):
    """Output 2 for Berlin and 7, and 1 for all else; nothing reads the age."""
    table = TreeTable.single(
        [1, -1, -1],
        [np.nan, 0, 0],
        [True, False, False],
        [1, -1, -1],
        [2, -1, -1],
        np.arange(3.0),
        {0: sorted(HASHED.number(word) for word in ("Berlin", "7"))},
    )
    bank = WeakLearnerBank.from_trees(table, ("age", "city"))
    return StageTree(bank, (Answer([0], [[1.0]], [0.0]),), costs).with_categories({"city": HASHED})


@pytest.mark.parametrize("text", KNOWN)
def test_the_hash_is_catboosts(text):
    assert HASHED.number(text) == KNOWN[text] % 2**32


def frame(**columns):
    return pd.DataFrame({"age": 1.0, **columns})


@pytest.mark.parametrize(
    "X",
    [
        frame(city=pd.Categorical(VALUES, ["7", "Oslo", "berlin", "Berlin"])),
        frame(city=pd.Series(VALUES, dtype=object)),
        frame(city=pd.Series(VALUES, dtype="string")),
        pl.DataFrame({"city": pl.Series(VALUES, dtype=pl.Categorical), "age": [0] * 6}),
        pl.DataFrame({"city": VALUES}),
        np.array([[0.5, value] for value in VALUES], object),
        [[1, value] for value in VALUES],
        np.array([[0.0, np.nan if value is None else HASHED.number(value)] for value in VALUES]),
    ],
)
def test_texts_are_read_whatever_holds_them(X):
    tree = model()
    assert tree.predict(X).tolist() == EXPECTED
    assert tree.cost(X).per_row.tolist() == [3.0] * 6
    assert [end.value for end in predict_many(tree, X)] == EXPECTED


@pytest.mark.parametrize(
    "column",
    [
        np.array([7, 8, -7]),
        np.array([7, 8, 9], np.uint8),
        pd.array([7, 8, None], "Int64"),
        pd.Categorical([7, 8, 9]),
        pd.Series([7, "8", np.nan], dtype=object),
    ],
)
def test_whole_numbers_are_categories_by_their_text(column):
    assert model().predict(frame(city=column)).tolist() == [2.0, 1.0, 1.0]
    assert model().predict(np.array([[0, 7], [7, 0]])).tolist() == [2.0, 1.0]
    assert model().predict(pl.DataFrame({"city": [7, 8]})).tolist() == [2.0, 1.0]


def test_truth_values_are_one_and_zero():
    assert (HASHED.number(True), HASHED.number(np.False_)) == (KNOWN["1"] % 2**32, KNOWN["0"] % 2**32)


def test_inquiries_take_texts_whole_numbers_hashes_and_what_is_missing():
    tree = model()
    for value, expected in {"Berlin": 2.0, 7: 2.0, "Rome": 1.0, 8: 1.0, HASHED.number("7"): 2.0, b"7": 2.0}.items():
        inquiry = tree.inquire()
        inquiry.supply({"city": value})
        assert inquiry.answer.value == expected
        assert tree.inquire(known={"city": value}).answer.value == expected
        assert predict_one(tree, {"city": value}).value == expected
    for missing in (None, np.nan, pd.NA):
        assert predict_one(tree, {"city": missing}).value == 1.0


@pytest.mark.parametrize("wrong", [7.0, 0.5, pd.Timestamp("2020-01-01"), ("Berlin",)])
def test_other_values_are_refused_in_frames_and_objects(wrong):
    for X in (frame(city=pd.Series([wrong])), [[1.0, wrong]] if np.ndim(wrong) == 0 else frame(city=[wrong])):
        with pytest.raises(DataError, match="column 'city': expected texts or whole numbers, got"):
            model().predict(X)


def test_float32_cannot_hold_hashes():
    with pytest.raises(DataError, match="column 'city': expected texts or whole numbers, got"):
        model().predict(np.zeros((1, 2), np.float32))


def test_files_hold_the_name_of_the_hash(tmp_path):
    path = tmp_path / "city.model"
    cf.save(model(), path)
    loaded = cf.load(path)
    assert loaded.categories == {"city": HASHED}
    assert loaded.predict(frame(city=VALUES)).tolist() == EXPECTED


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_in_files_and_the_command_line(kind, run, tmp_path):
    rows, path = frame(city=VALUES, number=[7, 1, 2, 3, 4, 5]), tmp_path / f"rows.{kind}"
    rows.to_csv(path, index=False) if kind == "csv" else rows.to_parquet(path)
    tree = model()
    assert tree.predict(read_rows(path, tree.feature_names, categories=tree.categories)).tolist() == EXPECTED
    found = read_rows(path, ("number",), categories={"number": HASHED})
    assert found[:, 0].tolist() == [HASHED.number(number) for number in rows["number"]]
    with pytest.raises(DataError, match="column 'age': expected texts or whole numbers, got"):
        read_rows(path, ("age",), categories={"age": HASHED})
    cf.save(tree, tmp_path / "city.model")
    result = run("cost", tmp_path / "city.model", path)
    assert result.exit_code == 0, result.output
    assert "6 rows cost 3 " in result.output


def test_banks_join_only_if_both_hash():
    bank = model(None).bank
    assert (bank + bank).categories == {"city": HASHED}
    with pytest.raises(BankError, match="feature 'city' has the labels"):
        bank + model(None).with_categories({"city": ("Berlin",)}).bank
