"""Tables that are no data sets: one line each, that names the file and the column."""

from __future__ import annotations

import numpy as np
import pytest
from dataset_cases import some_frame

from costframe import CostframeError, CostModel
from costframe.datasets import read_table
from costframe.errors import TableError
from costframe.plugin import CostModelError, DataError

BAD_TABLES = {
    "empty": ("", "cannot be read"),
    "a header only": ("a,y\n", "empty table"),
    "a name twice": ("a,a,y\n1,2,0\n", "two columns are named 'a'"),
    "a short line": ("a,b,y\n1,2,0\n1,2\n", "Expected 3 columns, got 2"),
    "no target": ("a,z\n1,0\n", "no target column 'y'.*'a', 'z'"),
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
    "an infinite target": ("a,y\n1,0.5\n2,inf\n", "target 'y': expected finite"),
    "one class": ("a,y\n1,0\n2,0\n", "at least two classes, got only 0"),
    "too few rows": ("a,y\n1,0\n2,1\n", "none of the 2 rows is in 'valid'"),
    "an unknown part": ("a,split,y\n1,train,0\n2,validation,1\n", "split.*got 'validation'"),
    "no split": (
        "a,split,y\n1,left,0\n2,right,1\n",
        "got 'left'; if it is no split, give the column another name, or ",
    ),
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


def test_other_bad_files_and_tasks(table, tmp_path):
    whole = table(some_frame(y=np.arange(60) % 2), "good.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-10])
    (tmp_path / "garbled.parquet").write_bytes(b"PAR1" + whole[9:])
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "table.xlsx").touch()
    table(some_frame(y=np.arange(60) / 7), "numbers.csv")
    table(some_frame(y=np.where(np.arange(60) % 2, "u", "v")), "words.csv")
    prices = tmp_path / "prices.toml"
    CostModel.uniform(["a", "b", "y", "id"]).save(prices)
    for name, more, text in [
        ("cut.parquet", {}, "cut.parquet: cannot be read"),
        ("garbled.parquet", {}, "garbled.parquet: cannot be read"),
        ("none.csv", {}, "No such file"),
        ("table.xlsx", {}, r"ends in \.csv, .*; save an Excel sheet as 'CSV UTF-8'$"),
        ("folder.csv", {}, "got a directory"),
        ("numbers.csv", {"task": "classification"}, "classes are texts or whole numbers"),
        ("numbers.csv", {"task": "ranking"}, "'qid'"),
        ("numbers.csv", {"task": "clustering"}, "task"),
        ("words.csv", {"task": "regression"}, "regression needs numbers"),
        ("words.csv", {"costs": tmp_path / "none.toml"}, r"^[^:]*none\.toml: cannot be read"),
        (
            "words.csv",
            {"costs": prices},
            f"words.csv and {prices} do not fit: .*: none; prices without a column: 'y', ",
        ),
    ]:
        with pytest.raises(CostframeError, match=text):
            read_table(tmp_path / name, "y", **more)
