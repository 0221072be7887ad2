"""Tables that are no data sets: one line each, that names the file and the column."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from dataset_cases import some_frame

from costframe.core.errors import CostModelError, DataError, ParameterError, TableError, format_count
from costframe.core.prices.costs import CostModel
from costframe.core.tables.columns import text_values
from costframe.datasets import load, read_table
from costframe.datasets.table_files import TableFile

BAD_TABLES = {
    "empty": ("", "cannot be read"),
    "a header only": ("a,y\n", "empty table"),
    "a name twice": ("a,a,y\n1,2,0\n", "two columns are named 'a'"),
    "no name": ("a,,y\n1,2,0\n", "column 2 of 3 has no name"),
    "a short line": ("a,b,y\n1,2,0\n1,2\n", "Expected 3 columns, got 2"),
    "a long line": ("a,y\n1,0\n1,0,2\n", "Expected 2 columns, got 3"),
    "no target": ("a,z\n1,0\n", "no target column 'y'.*'a', 'z'"),
    "only the target": ("y\n1\n0\n", "no column is left"),
    "texts": ("a,y\nlow,1\n2,0\n", "column 'a'.*'low'"),
    "dates": (
        "a,y\n01/02/2020,1\n02/03/2020,0\n",
        "column 'a': dates that may be read in two ways, or do not exist, such as '01/02/2020'; .* with --ignore a$",
    ),
    "times": ("a,y\n10:00:00,1\n11:00:00,0\n", "column 'a': times without a date such as 10:00:00; "),
    "dates to predict": (
        "a,y\n1,2020-01-01\n2,2021-01-01\n",
        "target 'y': expected numbers, texts or truth values, got dates such as 2020-01-01; write numbers ",
    ),
    "a target missing": ("a,y\n1,1\n2,\n", "target 'y': 1 value is missing"),
    "two targets missing": ("a,y\n1,1\n2,\n3,\n", "target 'y': 2 values are missing$"),
    "a class missing": ("a,y\n1,u\n2,NA\n", "target 'y': 1 value is missing"),
    "an infinite target": ("a,y\n1,0.5\n2,inf\n", "target 'y': expected finite"),
    "one class": ("a,y\n1,0\n2,0\n", "at least two classes, got only 0"),
    "too few rows": ("a,y\n1,0\n2,1\n", "none of the 2 rows is in 'valid'"),
    "an unknown part": ("a,split,y\n1,train,0\n2,validation,1\n", "split.*got 'validation'"),
    "no train": ("a,split,y\n1,test,0\n2,valid,1\n", "no row is in 'train'"),
    "a part missing": ("a,split,y\n1,train,0\n2,,1\n", "column 'split': 1 value is missing"),
    "a query missing": ("a,qid,y\n1,1,0\n2,,1\n", "column 'qid': 1 value is missing"),
    "a class only in test": ("a,split,y\n1,train,0\n2,train,1\n3,valid,0\n4,test,2\n", "class 2 has no row in 'train'"),
    "negative grades": ("a,qid,y\n1,1,-1\n2,2,1\n", "grades of relevance >= 0, got -1"),
}


@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_is_one_clear_line(table, what):
    content, text = BAD_TABLES[what]
    path = table(content)
    with pytest.raises(DataError, match=text) as caught:
        read_table(path, "y")
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_other_bad_files(table, tmp_path):
    good = table(some_frame(y=np.arange(60) % 2), "good.parquet")
    whole = good.read_bytes()
    for name, content in {"cut": whole[:-10], "half": whole[: len(whole) // 2], "garbled": b"PAR1" + whole[9:]}.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"{name}.parquet: cannot be read"):
            read_table(path, "y")
    with pytest.raises(DataError, match="No such file"):
        read_table(tmp_path / "none.csv", "y")
    with pytest.raises(DataError, match=r"ends in \.csv, .*; save an Excel sheet as 'CSV UTF-8'$"):
        read_table(table("a,y\n", "table.xlsx"), "y")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="got a directory"):
        read_table(tmp_path / "folder.csv", "y")


def test_prices_and_columns_must_be_the_same(table):
    path = table(some_frame(y=np.arange(60) % 2))
    for prices, said in [
        ({"a": 1, "bb": 1}, "'b' (did you mean 'bb'?); prices without a column: 'bb' (did you mean 'b'?)"),
        ({"a": 1, "b": 1, "c": 1}, "none; prices without a column: 'c'"),
        ({"a": 1}, "'b'; prices without a column: none"),
        ({"a": 1, "b": 1, "y": 1}, "none; prices without a column: 'y'; 'y' is the target"),
    ]:
        with pytest.raises(CostModelError) as caught:
            read_table(path, "y", {"features": prices})
        assert str(caught.value) == f"{path} and its prices do not fit: columns without a price: {said}"


def test_all_problems_are_told_at_once(table):
    frame = some_frame(y=np.arange(60) % 2, free=[f"text {i}" for i in range(60)], odd=["<1", *map(str, range(59))])
    path = table(frame)
    with pytest.raises(TableError) as caught:
        read_table(path, "y", {"a": 1, "free": 1, "odd": 1, "c": 1}, ignore=["bb"])
    assert [line.partition(";")[0] for line in str(caught.value).split("\n")] == [
        f"{path}: 4 problems",
        "no column 'bb' (did you mean 'b'?)",
        f"{path} and its prices do not fit: columns without a price: 'b'",
        "column 'free': 60 different texts such as 'text 0', too many to be categories without a word",
        "column 'odd': texts in a column of numbers: '<1' (1 time)",
    ]
    with pytest.raises(TableError, match=r"2 problems\nno target column 'z'.*\ncolumn 'free'"):
        read_table(path, "z", missing=["<1"])


def test_ignored_columns_need_no_price_and_may_have_one(table, tmp_path):
    path = table(some_frame(y=np.arange(60) % 2, id=[f"c{i}" for i in range(60)]))
    prices = tmp_path / "prices.toml"
    prices.write_text('ignore = ["id", "gone", "y"]\n[features]\na = 2\nb = 3\nid = 5\n')
    data = read_table(path, "y", prices)
    assert data.costs == CostModel.of({"a": 2, "b": 3})
    assert data.reading["ignore"] == ["id"]
    assert f"left out, as {prices} says: 'id'" in data.notes
    again = read_table(path, "y", {"a": 2, "b": 3, "id": 5}, ignore=["id"])
    assert again.costs == data.costs
    with pytest.raises(CostModelError, match="columns without a price: 'b'"):
        read_table(path, "y", {"ignore": ["id"], "features": {"a": 1}})


def test_both_files_are_named_where_they_do_not_fit(table, tmp_path):
    path = table(some_frame(y=np.arange(60) % 2, id=1.0))
    CostModel.uniform(["a", "b", "y", "id"]).save(prices := tmp_path / "prices.toml")
    with pytest.raises(CostModelError) as caught:
        read_table(path, "y", prices, ignore=["id"])
    assert str(caught.value) == (
        f"{path} and {prices} do not fit: columns without a price: none; prices without a column: 'y'; "
        "'y' is the target"
    )
    with pytest.raises(CostModelError, match=rf"^breast-cancer and {prices} do not fit: columns without a price: '"):
        load("breast-cancer").with_costs(prices)


def test_a_price_file_that_is_missing_is_named_alone(table, tmp_path):
    with pytest.raises(CostModelError, match=r"^[^:]*none\.toml: cannot be read"):
        read_table(table(some_frame(y=np.arange(60) % 2)), "y", tmp_path / "none.toml")


def test_a_task_that_does_not_fit(table):
    path = table(some_frame(y=np.arange(60) / 7))
    with pytest.raises(DataError, match="classes are texts or whole numbers"):
        read_table(path, "y", task="classification")
    with pytest.raises(DataError, match="'qid'"):
        read_table(path, "y", task="ranking")
    with pytest.raises(ParameterError, match="task"):
        read_table(path, "y", task="clustering")
    words = table(some_frame(y=np.where(np.arange(60) % 2, "u", "v")), "words.csv")
    with pytest.raises(DataError, match="regression needs numbers"):
        read_table(words, "y", task="regression")


def test_no_value_is_shown_as_python_writes_it(table):
    frame = pd.DataFrame({
        "digits": ["1", "2", None] * 10,
        "bytes": [b"\xff\x01", b"\xfe", None] * 10,
        "lists": [[1, 2], [3], []] * 10,
        "times": [dt.time(10, 30)] * 30,
        "y": np.arange(30) % 2,
    })  # fmt: skip
    path = table(frame, "kinds.parquet")
    said = {}
    for name in frame.columns[:-1]:
        with pytest.raises(DataError) as caught:
            read_table(path, "y", ignore=[other for other in frame.columns[:-1] if other != name])
        said[name] = str(caught.value).partition(f"column {name!r}: ")[2]
    assert said == {
        "digits": "numbers stored as texts; write numbers, or nothing where one is missing; or leave it out with "
        "--ignore digits, or split it by categories with --categorical digits",
        "bytes": "expected text in UTF-8, got text in another encoding",
        "lists": "a feature that is not named categorical is a column of numbers, got lists such as [1, 2]; "
        "cast it to numbers or texts",
        "times": "times without a date such as 10:30:00; write dates such as 2024-01-31, or numbers; or leave it out "
        "with --ignore times",
    }


def test_bytes_that_are_text_are_text(table):
    frame = some_frame(y=[b"ja", "n\u00f6".encode()] * 30)
    path = table(frame, "bytes.parquet")
    assert read_table(path, "y").classes == ("ja", "n\u00f6")
    assert list(text_values(TableFile.open(path).read()["y"], "y")[:2]) == ["ja", "n\u00f6"]


def test_counting():
    assert [format_count(n, "value") for n in (0, 1, 2, 1234)] == ["0 values", "1 value", "2 values", "1,234 values"]


def test_a_target_of_one_value_counts_in_words(table):
    with pytest.raises(DataError, match="at least two classes"):
        read_table(table(some_frame(y=1)), "y")
    data = read_table(table(some_frame(y=np.where(np.arange(60), 0.5, 0.25))), "y")
    assert "task: regression, for 'y' has 2 different numbers" in data.notes
