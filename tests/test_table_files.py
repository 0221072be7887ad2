"""Files of tables: all formats hold the same table, Excel's habits are found and said, the unclear is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dataset_cases import ModelRows, TableFile, read_rows
from pyarrow import feather

from costframe.datasets import read_table
from costframe.plugin import DataError

FRAME = pd.DataFrame(
    {"größe": [1.5, 2.0, None, -4.25], "count": [1, 2, 3, 4], "city": ["Köln", "Bonn, Süd", "a;b", "x"]}
)


def semicolons(frame):
    return frame.to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")


def tabs(frame, **how):
    return frame.to_csv(index=False, sep="\t", lineterminator="\r\n", **how)


def arrow_stream(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "t.csv": lambda path: FRAME.to_csv(path, index=False),
    "t.tsv": lambda path: path.write_text(tabs(FRAME)),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode())),
    "t.csv.zst": lambda path: path.write_bytes(pa.compress(FRAME.to_csv(index=False).encode(), "zstd", asbytes=True)),
    "t.parquet": FRAME.to_parquet,
    "t.feather": lambda path: feather.write_feather(FRAME, str(path)),
    "t.arrow": lambda path: arrow_stream(FRAME, path),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_holds_the_same_table(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    file = TableFile.open(path)
    columns = file.read()
    assert list(columns) == file.names() == list(FRAME)
    assert [column.to_pylist() for column in columns.values()] == [
        [None if pd.isna(value) else value for value in FRAME[column]] for column in FRAME
    ]
    assert file.note is None
    np.testing.assert_array_equal(read_rows(path, ["count", "größe"]), FRAME[["count", "größe"]].to_numpy(np.float64))


EXCEL = {
    "semicolons": (semicolons(FRAME).encode("utf-8-sig"), "t.csv", "separated by semicolons, decimal commas"),
    "an old Excel": (
        semicolons(FRAME).encode("cp1252"),
        "t.csv",
        "text in Windows-1252, separated by semicolons, decimal commas",
    ),
    "a line for Excel": (b"sep=;\r\n" + semicolons(FRAME).encode(), "t.csv", "separated by semicolons, decimal commas"),
    "Unicode text of Germany": (tabs(FRAME, decimal=",").encode("utf-16"), "t.txt", "text in UTF-16, decimal commas"),
    "packed": (gzip.compress(semicolons(FRAME).encode("cp1252")), "t.csv.gz",
               "text in Windows-1252, separated by semicolons, decimal commas"),
}  # fmt: skip


@pytest.mark.parametrize("what", EXCEL)
def test_what_excel_writes_is_read_and_said(tmp_path, what):
    content, name, note = EXCEL[what]
    (path := tmp_path / name).write_bytes(content)
    file = TableFile.open(path)
    assert file.note == f"{name}: read as {note}"
    columns = file.read()
    assert columns["größe"].to_pylist() == [1.5, 2.0, None, -4.25]
    assert columns["city"].to_pylist() == list(FRAME["city"])
    np.testing.assert_array_equal(read_rows(path, ["größe"])[:, 0], FRAME["größe"])


AMBIGUOUS = {
    "two separators": ("a,b;c\n1,5;2\n2,5;3\n", "may be separated by commas or by semicolons, .* as a .tsv file"),
    "blanks": ("a b y\n1 2 0\n3 4 1\n", "separated by blanks; write it with commas"),
    "a title": ("Lab 7\na,y\n1,0\n2,1\n", "the first line, 'Lab 7', has no commas, as those below have: remove"),
    "names of rows": ("a,y\nr1,1,0\nr2,2,1\n", r"rows have one cell more than the header, 'a,y': .*row\.names"),
}


SURE = {
    "a comment": ("# lab 7\na,y\n1,0\n2,1\n", "t.csv", "read without 1 line of comment"),
    "comments with separators": ("# lab, 7\n#\n\na,y\n1,0\n2,1\n", "t.csv", "read without 3 lines of comment"),
    "rows that end with a separator": ("a,y\n1,0,\n2,1,\n", "t.csv", "read as rows that end with a separator"),
    "with the header": ("a;y;\n1;0;\n2;1;\n", "t.csv", "separated by semicolons, rows that end with a separator"),
    "bars": ("a|y\n1|0\n2|1\n", "t.txt", "read as separated by bars"),
    "a line that names bars": ("sep=|\na|y\n1|0\n2|1\n", "t.csv", "read as separated by bars"),
}


@pytest.mark.parametrize("what", SURE)
def test_what_has_one_reading_is_read_and_said(table, what):
    content, name, note = SURE[what]
    file = TableFile.open(table(content, name))
    assert note in file.note
    assert file.names() == ["a", "y"]
    assert {key: column.to_pylist() for key, column in file.read().items()} == {"a": [1, 2], "y": [0, 1]}
    np.testing.assert_array_equal(read_rows(file.path, ["y", "a"]), [[0, 1], [1, 2]])


def test_a_first_line_with_a_hash_may_be_the_header(table):
    assert TableFile.open(table("#a,y\n1,0\n2,1\n")).names() == ["#a", "y"]
    assert TableFile.open(table("# a comment\n#a,y\n1,0\n2,1\n")).names() == ["#a", "y"]
    assert TableFile.open(table("#key\n1\n2\n")).names() == ["#key"]
    assert TableFile.open(table("full name\nJohn Smith\nJane Doe\n", "t.txt")).names() == ["full name"]


def test_a_cell_behind_the_last_separator_is_refused(table):
    path = table("a,y\n" + "1,0,\n" * 60_000 + "1,0,7\n")
    for read in (TableFile.open(path).read, lambda: read_rows(path, ["a"])):
        with pytest.raises(DataError, match="rows end with a separator, but some have a further cell there, such as"):
            read()


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_what_may_be_read_two_ways_is_refused_with_a_way_out(table, what):
    content, text = AMBIGUOUS[what]
    path = table(content)
    with pytest.raises(DataError, match=text) as caught:
        TableFile.open(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "separator", "decimal"),
    [
        ("a;b\n0,123;2\n", ";", ","),
        ("a;b\n1.5;2\n", ";", "."),
        ("a\tb\n0,123\t2\n", "\t", ","),
        ('a,b\n"x;y",2\n"z;u;v",3\n', ",", "."),
        ('a;b\n"x\ny";2\n', ";", ","),
        ("day;b\n01.02.2020;2,5\n", ";", ","),
    ],
)
def test_separator_and_decimal_sign_are_those_of_the_rows(table, content, separator, decimal):
    dialect = TableFile.open(table(content)).text.dialect
    assert (dialect.separator, dialect.spelling.decimal) == (separator, decimal)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_blocks_join_to_the_whole_table(tmp_path, monkeypatch, name):
    rng = np.random.default_rng(0)
    texts = np.array(["1", "x", None], object)[np.arange(5000) % 3]
    frame = pd.DataFrame({"a": rng.normal(size=5000), "b": rng.integers(0, 9, 5000), "label": texts, "key": "007"})
    frame["truth"] = frame["b"] > 4
    frame.loc[:3000, "b"] = 1  # a first block without a missing value, and later ones with some
    frame.loc[4000:, "b"] = np.nan
    path = tmp_path / name
    frame.to_csv(path, index=False) if name == "t.csv" else getattr(frame, f"to_{name[2:]}")(path)
    monkeypatch.setattr("costframe.datasets.text_tables._BLOCK", 4096)
    monkeypatch.setattr("costframe.datasets.table_files._CELLS", 2000)
    names, categories = ["label", "truth", "b", "a"], {"label": ("x", "1")}
    blocks = list(ModelRows(TableFile.open(path), names, None, categories, keep=["key"]).blocks())
    assert len(blocks) > 5
    X = np.concatenate([rows for rows, _ in blocks])
    wanted = frame.assign(label=frame["label"].map({"x": 0.0, "1": 1.0}))[names].to_numpy(np.float64)
    np.testing.assert_array_equal(X, wanted)
    assert {key for _, kept in blocks for key in kept["key"].to_pylist()} == {"007"}


ODD = ["007", "7", "1E5", "+39", "true", "1.50", "12345678901234567890123", "NA", "nan", " x", ""]


def test_what_is_kept_and_known_labels_are_what_is_written(table):
    rows = [f"{i},{text},{text}" for i, text in enumerate(ODD)]
    path, labels = table("a,id,label\n" + "\n".join(rows) + "\n"), tuple(ODD[:-1])
    remarks = []
    found = ModelRows(TableFile.open(path), ["a", "label"], None, {"label": labels}, keep=["id"], remark=remarks.append)
    ((X, kept),) = found.blocks()
    assert kept["id"].to_pylist() == [*ODD[:-1], None]
    np.testing.assert_array_equal(X[:, 1], [*range(len(labels)), np.nan])
    how = {"keep": ["id"], "remark": remarks.append, "allow_unknown": True}
    rest = ModelRows(TableFile.open(path), ["label"], None, {"label": ("007",)}, **how)
    np.testing.assert_array_equal(next(rest.blocks())[0][:, 0], [0.0] + [np.nan] * 10)
    list(rest.blocks())
    assert "7 labels such as '7' that" in remarks[0]  # NA and nan are missing values to a model without such labels


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (",a,b", ["Unnamed: 0", "a", "b"]),
        ('"","a","b"', ["Unnamed: 0", "a", "b"]),
        (",Unnamed: 0,b", ["Unnamed: 0.1", "Unnamed: 0", "b"]),
        ('"","a\nc",b', ["Unnamed: 0", "a\nc", "b"]),
    ],
)
def test_an_index_has_the_name_that_pandas_gives_it(table, header, names):
    path = table(f"{header}\n0,1.5,2\n1,2.5,3\n")
    file = TableFile.open(path)
    assert list(file.read()) == file.names() == names == list(pd.read_csv(path))
    np.testing.assert_array_equal(read_rows(path, names[::-1]), [[2, 1.5, 0], [3, 2.5, 1]])


@pytest.mark.parametrize(
    ("text", "decimal", "values"),
    [
        ('a,b\n"0,346",1\n"1,200",2\n', ",", [0.346, 1.2]),
        ('a,b\n"1,200",1\n"2,300",2\n', ".", ["1,200", "2,300"]),  # may be thousands
        ('a,b\n"1,5",2.5\n"1,6",1\n', ".", ["1,5", "1,6"]),  # a list, beside numbers with points
        ("a;b\n1.234,5;1.102\n488,4;987\n-2.000.001;1\n", ",", [1234.5, 488.4, -2000001.0]),
        ("a;b\n007;1,5\n1.000;2.000,5\n", ",", [7.0, 1000.0]),
    ],
)
def test_decimal_commas_and_points_for_thousands(table, text, decimal, values):
    file = TableFile.open(table(text))
    np.testing.assert_array_equal(np.array(file.read()["a"].to_pylist(), type(values[0])), values)
    assert file.spelling.decimal == decimal
    if isinstance(values[0], float):
        np.testing.assert_array_equal(read_rows(file.path, ["a"])[:, 0], values)
    written = [line.partition(";")[0] for line in text.splitlines()[1:]]
    assert ";" not in text or file.read(texts=["a"])["a"].to_pylist() == written


@pytest.mark.parametrize("number", ["{},5", "1.{:03},5"])
def test_numbers_with_decimal_commas_beside_texts_are_numbers(table, number):
    """Texts for missing values would else make free texts of a column of numbers."""
    rows = [f"{number.format(i)};{i % 2}" for i in range(120)]
    path = table("crp;ill\n" + "\n".join([*rows, "k.A.;0", "k.A.;1"]) + "\n")
    with pytest.raises(DataError, match=r"column 'crp': texts in a column of numbers: 'k\.A\.' \(2 times\);"):
        read_table(path, target="ill")
    (columns,) = TableFile.open(path).blocks(["crp"])
    assert columns["crp"].to_pylist()[-3:] == [rows[-1][:-2], "k.A.", "k.A."]
