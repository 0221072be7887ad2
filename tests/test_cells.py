"""Cells of CSV files: no spreadsheet runs one, and each reads back as the text that it was."""

from __future__ import annotations

import csv
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import Answer, WeakLearnerBank
from costframe.core.cells import FORMULA, guard, unguard
from costframe.datasets.table_files import TableFile
from costframe.datasets.table_writing import table_writer

RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b")
NUMBER = re.compile(r"[+-][0-9][0-9.,]*([eE][+-]?[0-9]+)?")
LABELS = ["=1+1", "+x", "-x", "@s", "\tx", "\rx", "'=1+1", "''-x", "'x", "x", "-1.5", "'-1.5", "-", "x=1"]

texts = st.text("'=+-@\t\r\n;,\"5.e a\uff0b", max_size=6) | st.text(max_size=4)


@given(texts, texts)
def test_a_cell_is_no_formula_and_comes_back(text, other):
    cell = guard(text)
    assert unguard(cell) == text
    assert not cell.startswith(RUN) or NUMBER.fullmatch(cell)
    assert (guard(other) == cell) == (other == text)
    assert cell == text or pc.match_substring_regex(pa.array([text]), FORMULA)[0].as_py()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_a_table_reads_back_as_it_was_written(tmp_path, ending):
    columns = {"=name": LABELS, "'-x": pa.array(LABELS).dictionary_encode(), "number": np.linspace(-1.5, 1.5, 14)}
    with (tmp_path / f"t{ending}").open("wb") as sink, table_writer(sink, ending) as write:
        write({name: pa.array(column) if isinstance(column, list) else column for name, column in columns.items()})
    file = TableFile.open(tmp_path / f"t{ending}")
    assert file.names() == list(columns)
    (block,) = file.blocks(file.names(), ["=name", "'-x"])
    for found in (file.read(), block):
        assert [found[name].to_pylist() for name in columns] == [LABELS, LABELS, columns["number"].tolist()]
    if ending != ".parquet":
        with (tmp_path / f"t{ending}").open(newline="") as text:
            cells = [cell for row in csv.reader(text, delimiter=",\t"[ending == ".tsv"]) for cell in row]
        assert not [cell for cell in cells if cell.startswith(RUN) and not NUMBER.fullmatch(cell)]


def test_predictions_on_the_command_line(run, tmp_path):
    """Labels, names and copied columns are as they were, also to the model that reads them again."""
    bank = WeakLearnerBank.columns(["=h"], [0])
    cf.save(
        cf.StageTree(bank, [Answer([0], [[1.0]], [0.0], "sigmoid")], classes=("=no", "-yes")),
        tmp_path / "m",
        {"=h": 1.0},
    )
    (tmp_path / "t.csv").write_text("=h,id\n-1.5,=1\n0.5,'+2\n")
    done = run("predict", "m", "t.csv", "--output", "o.csv", "--keep", "=h", "--keep", "id")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "o.csv").read_text().startswith('"\'=h","id","prediction","probability_=no"')
    found = TableFile.open(tmp_path / "o.csv").read()
    assert [found[name].to_pylist() for name in ("=h", "id", "prediction")] == [
        [-1.5, 0.5], ["=1", "+2"], ["=no", "-yes"]
    ]  # fmt: skip
    assert run("predict", "m", "o.csv", "--output", "again.csv", "--keep", "id").exit_code == 0
    assert TableFile.open(tmp_path / "again.csv").read()["prediction"].to_pylist() == ["=no", "-yes"]
