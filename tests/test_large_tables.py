"""Folders and patterns of Parquet files on the command line, and tables larger than memory."""

from __future__ import annotations

import datetime as dt
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cli_cases import refused
from pyarrow import parquet

import costframe as cf
from costframe.core import memory
from costframe.core.errors import DataError
from costframe.core.tables.parquet_files import ParquetFiles
from costframe.datasets import read_table
from costframe.datasets.large_tables import is_large, read_large_table
from costframe.datasets.table_files import TableFile

N = 400


def draw():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["age", "chol"])
    frame["sex"] = rng.choice(["f", "m"], N)
    frame["grade"] = pd.Categorical(rng.choice(["low", "high"], N))
    frame["kind"] = rng.integers(0, 4, N)
    frame["ill"] = np.where(frame["age"] + frame["chol"] * frame["kind"] > 0.5, "yes", "no")
    return frame


@pytest.fixture
def folder(tmp_path):
    """Write a table to files in a folder, one of them empty; return the folder, and the table in one file."""
    frame, path = draw(), tmp_path / "parts"
    path.mkdir()
    for number, (begin, end) in enumerate([(0, 150), (150, 150), (150, N)]):
        frame[begin:end].to_parquet(path / f"part-{number}.parquet", row_group_size=60, index=False)
    (path / "_SUCCESS").touch()
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    return path, tmp_path / "whole.parquet"


@pytest.fixture
def small_memory(monkeypatch):
    """Let tables of a few kilobytes be larger than memory."""
    monkeypatch.setattr(memory, "memory_size", lambda: 20_000)


def test_a_folder_and_a_pattern_are_the_table(folder, run):
    path, whole = folder
    expected = read_table(whole, "ill")
    for given in (path, path / "*.parquet", path.parent / "par?s"):
        data = read_table(given, "ill")
        np.testing.assert_array_equal(data.X, expected.X)
        assert (data.y == expected.y).all()
        assert data.categorical == expected.categorical
        assert data.notes == expected.notes
    assert (
        "wrote" in run("fit", path, "--target", "ill", "--algorithm", "miser", "--tradeoff", 0, "--output", "m").stdout
    )


@pytest.mark.parametrize("asked", ["parts", "parts/*.parquet", "par?s", "parts/part-2.parquet"])
def test_an_address_is_the_folder(folder, asked):
    """As of an object store, here of the file system."""
    files, expected = ParquetFiles.open(Path(f"file://{folder[0].parent}/{asked}")), pd.read_parquet(folder[1])
    found = files.dataset.to_table().to_pandas()
    pd.testing.assert_frame_equal(found, expected[-len(found) :].reset_index(drop=True), check_categorical=False)
    assert len(found) == (250 if "2" in asked else N)
    data = read_table(f"file://{folder[0].parent}/{asked}", "ill")
    assert len(pickle.loads(pickle.dumps(files)).groups) == len(files.groups)  # noqa: S301 - for workers, its own
    assert data.X.shape == (len(found), 5)


@pytest.mark.parametrize("asked", ["none", "parts/x*", "par?s/x/*"])
def test_an_address_without_files_is_named(folder, asked):
    with pytest.raises(DataError, match=re.escape(f"file://{folder[0].parent}/{asked}: no file that matches")):
        read_table(f"file://{folder[0].parent}/{asked}", "ill")


def test_patterns_of_addresses_choose_what_those_of_paths_do(folder):
    path = folder[0]
    for hidden in (".cache", "_old"):
        (path / hidden).mkdir()
        draw().to_parquet(path / hidden / "x.parquet", index=False)
    draw().to_parquet(path / ".hidden.parquet", index=False)
    for asked in ("parts", "parts/*.parquet", "par*", "parts/*/*.parquet", "*/*.parquet"):
        here, there = (ParquetFiles.open(Path(f"{root}{path.parent}/{asked}")) for root in ("", "file://"))
        assert [each.path for each in there.groups] == [each.path for each in here.groups]
    (path / "notes.txt").touch()
    with pytest.raises(DataError, match=r"parts/n\*: expected files that end in \.parquet, got "):
        ParquetFiles.open(Path(f"file://{path}/n*"))
    with pytest.raises(DataError, match=r"\*\* is for local folders"):
        ParquetFiles.open(Path(f"file://{path}/**/*.parquet"))


def test_a_folder_with_the_name_of_a_scheme_is_a_folder(folder, monkeypatch):
    monkeypatch.chdir(folder[0].parent)
    folder[0].rename("s3:")
    assert len(read_table("s3:", "ill").X) == N


def test_predict_and_cost_of_a_folder(folder, run, tmp_path):
    path, whole = folder
    common = ("--target", "ill", "--algorithm", "cegb", "--tradeoff", 0.001, "--output", "m")
    assert run("fit", whole, *common).exit_code == 0
    for given, to in ((whole, "a.csv"), (path, "b.csv"), (f"{path}/part-*", "c.csv")):
        assert run("predict", "m", given, "--output", to, "--keep", "ill").exit_code == 0
    written = [(tmp_path / name).read_text() for name in ("a.csv", "b.csv", "c.csv")]
    assert written[0] == written[1] == written[2]
    costs = [run("cost", "m", given).stdout for given in (whole, path)]
    assert costs[0] == costs[1]


@pytest.mark.usefixtures("small_memory")
def test_a_table_larger_than_memory_gives_the_same_model(folder, run, tmp_path, monkeypatch):
    path, whole = folder
    common = ("--target", "ill", "--categorical", "kind", "--algorithm", "cegb", "--tradeoff", 0.001, "--seed", 3)
    small = run("fit", path, *common, "--output", "small")
    assert small.exit_code == 0, small.output
    assert "the table does not fit in memory: it is read by row groups" in small.stdout
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    large = run("fit", whole, *common, "--output", "large")
    assert large.exit_code == 0, large.output
    data = read_table(whole, "ill", categorical=["kind"], seed=3)
    one, other = cf.load(tmp_path / "small"), cf.load(tmp_path / "large")
    assert one.categories == other.categories == {"sex": ("f", "m"), "grade": ("high", "low")}
    np.testing.assert_array_equal(one.decision_function(data.X), other.decision_function(data.X))
    cost, saved = re.search(r"cost (\S+) unit per row on test \(saves (\d+)%\)", small.stdout).groups()
    score = next(line.split()[1] for line in small.stdout.splitlines() if line.startswith("  roc_auc"))
    said = " ".join(large.stdout.split())
    assert f"costs {cost} unit per row on the test rows, {saved}% less than all features" in said
    assert f"its roc_auc is {score} there" in said


@pytest.mark.usefixtures("small_memory")
def test_what_needs_memory_says_so(folder, run):
    path, _ = folder
    common = (path, "--target", "ill", "--output", "m", "--algorithm")
    assert is_large(path)
    assert "give --tradeoff" in refused(run("fit", *common, "cegb", "--budget", 3))
    assert "cronus: needs the whole table in memory, where" in refused(run("fit", *common, "cronus", "--tradeoff", 1))
    assert "--folds: has no effect" in refused(run("fit", *common, "cegb", "--tradeoff", 1, "--folds", 2))
    assert "say with --target" in refused(run("fit", path, "--output", "m", "--algorithm", "cegb", "--tradeoff", 1))


def test_prices_of_a_folder(folder, run, monkeypatch):
    asked = ("costs", folder[0], "--target", "ill")
    written = run(*asked).stdout
    assert "grade" in written
    monkeypatch.setattr(memory, "memory_size", lambda: 20_000)
    assert run(*asked).stdout == written


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("ranking", [False, True])
def test_a_comparison_draws_rows_that_fit(tmp_path, run, ranking):
    frame = (
        draw().drop(columns=["sex", "grade"]).assign(ill=np.arange(N) % 2, age=np.arange(N) % 2 + 0.01 * np.arange(N))
    )
    if ranking:
        frame["qid"] = np.arange(N) // 5
    (tmp_path / "big").mkdir()
    frame.to_parquet(tmp_path / "big" / "0.parquet", row_group_size=90)
    asked = ("--target", "ill", "--algorithms", "miser", "--points", 2, "--output", tmp_path / "out")
    result = run("compare", tmp_path / "big", *asked)
    assert result.exit_code == 0, result.output
    drawn, of = re.search(r"the table does not fit in memory: (\d+) of its (\d+) rows", result.stdout).groups()
    assert int(of) == N
    assert 195 < int(drawn) <= 230  # a quarter of the memory, and ten of each class and part
    assert (tmp_path / "out" / "recommended.model").exists()


def test_drawn_rows_are_those_of_the_table(folder, monkeypatch):
    whole = read_table(folder[1], "ill")
    monkeypatch.setattr(memory, "memory_size", lambda: 20_000)
    drawn = read_large_table(folder[0], "ill").sampled(seed=3)
    rows = {tuple(row): (label, part) for row, label, part in zip(whole.X, whole.y, whole.split, strict=True)}
    assert 115 < len(drawn.X) <= 130
    assert drawn.categorical == whole.categorical
    assert all(
        rows[tuple(row)] == (label, part) for row, label, part in zip(drawn.X, drawn.y, drawn.split, strict=True)
    )
    again, other = (read_large_table(folder[0], "ill").sampled(seed) for seed in (3, 4))
    assert np.array_equal(again.X, drawn.X)
    assert not np.array_equal(other.X, drawn.X)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("ranking", [False, True])
def test_few_rows_of_a_part_or_class_are_all_drawn(tmp_path, ranking):
    frame = draw()[["age", "chol"]].assign(
        ill=np.where(np.arange(N) % 100 == 0, 2, np.arange(N) % 2), split=np.where(np.arange(N) < 360, "train", "test")
    )
    frame.loc[350:354, "split"] = "valid"
    if ranking:
        frame["qid"] = np.arange(N) // 5
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=90, index=False)
    drawn = read_large_table(tmp_path / "table.parquet", "ill").sampled(0)
    assert np.count_nonzero(drawn.split == "valid") == 5
    assert ranking or np.count_nonzero(drawn.y == 2) == 4
    assert 0.5 < len(drawn.y) / N < 0.9
    assert not ranking or set(np.unique(drawn.qid, return_counts=True)[1]) == {5}


BAD = {
    "no files": (lambda path: [each.unlink() for each in path.glob("*.parquet")], "got one without files that end in"),
    "another column": (
        lambda path: parquet.write_table(pa.table({"age": [1.0]}), path / "z.parquet"),
        "z.parquet: expected the columns of part-0.parquet, .*, got 'age'",
    ),
    "another type": (
        lambda path: draw().assign(age="old").to_parquet(path / "z.parquet"),
        "parts: cannot be read: Unable to merge: Field age has incompatible types",
    ),
    "no Parquet": (lambda path: (path / "z.parquet").write_text("a,b"), "z.parquet: cannot be read"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_folders_are_one_line(folder, run, what):
    change, text = BAD[what]
    change(folder[0])
    common = ("--target", "ill", "--algorithm", "miser", "--tradeoff", 0, "--output", "m")
    line = refused(run("fit", folder[0], *common))
    assert re.search(text, line), line


def test_columns_that_are_no_features_are_named_as_in_memory(tmp_path):
    frame = draw()
    for change, text in (
        ({"when": dt.time(10, 30)}, "column 'when': times without a date such as 10:30:00"),
        ({"id": [f"id {k}" for k in range(N)]}, "column 'id': 400 different texts such as"),
        ({"ill": 1}, "expected rows of at least two classes"),
        ({"split": "dev"}, "column 'split': expected train, valid, test, got 'dev'"),
    ):
        path = tmp_path / "t.parquet"
        frame.assign(**change).to_parquet(path, index=False)
        errors = []
        for read in (read_table, read_large_table):
            with pytest.raises(DataError) as caught:
                read(path, "ill", task="classification")
            errors.append(str(caught.value))
        assert errors[0] == errors[1]
        assert errors[0].startswith(f"{path}: {text}")
    frame.assign(when=pd.Timestamp("2024-01-01")).to_parquet(path, index=False)
    with pytest.raises(
        DataError, match="'when': times, which are read only where a table fits in memory, such as 2024"
    ):
        read_large_table(path, "ill")


def test_names_of_folders_are_columns_and_types_are_joined(tmp_path):
    for year, values in ((2023, pa.array([1, 2], pa.int32())), (2024, pa.array([0.5, None]))):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        parquet.write_table(pa.table({"a": values, "b": ["x", "y"]}), tmp_path / "t" / f"year={year}" / "0.parquet")
    file = TableFile.open(tmp_path / "t")
    assert {name: column.to_pylist() for name, column in file.read().items()} == {
        "a": [1.0, 2.0, 0.5, None],
        "b": ["x", "y", "x", "y"],
        "year": [2023, 2023, 2024, 2024],
    }
    assert ParquetFiles.open(tmp_path / "t").first.tolist() == [0, 2, 4]
