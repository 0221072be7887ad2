"""Folders and patterns of Parquet files on the command line, and tables larger than memory."""

from __future__ import annotations

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
from costframe.core import machine
from costframe.core.tables.parquet_files import ParquetFiles
from costframe.datasets import read_table
from costframe.datasets.large_tables import is_large
from costframe.datasets.tables import read_large_table
from costframe.plugin import DataError

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
    monkeypatch.setattr(machine, "memory_size", lambda: 20_000)


def test_a_folder_and_a_pattern_are_the_table(folder, run):
    path, whole = folder
    expected = read_table(whole, "ill")
    for given in (path, path / "*.parquet", path.parent / "par?s"):
        data = read_table(given, "ill")
        np.testing.assert_array_equal(data.X, expected.X)
        assert (data.y == expected.y).all()
        assert data.categorical == expected.categorical
        assert data.notes == expected.notes
    common = ("--target", "ill", "--algorithm", "cegb", "--tradeoff", 0.001, "--output", "m")
    assert run("fit", path, *common).exit_code == 0
    for given, to in ((whole, "a.csv"), (f"{path}/part-*", "b.csv")):
        assert run("predict", "m", given, "--output", to, "--keep", "ill").exit_code == 0
    assert (path.parent / "a.csv").read_text() == (path.parent / "b.csv").read_text()


def test_an_address_is_the_folder(folder):
    """As of an object store, here of the file system."""
    asked = "parts/*.parquet"
    files, expected = ParquetFiles.open(Path(f"file://{folder[0].parent}/{asked}")), pd.read_parquet(folder[1])
    found = files.dataset.to_table().to_pandas()
    pd.testing.assert_frame_equal(found, expected, check_categorical=False)
    data = read_table(f"file://{folder[0].parent}/{asked}", "ill")
    assert len(pickle.loads(pickle.dumps(files)).groups) == len(files.groups)  # noqa: S301 - for workers, its own
    assert data.X.shape == (N, 5)
    with pytest.raises(DataError, match=re.escape(f"file://{folder[0].parent}/none: no file that matches")):
        read_table(f"file://{folder[0].parent}/none", "ill")


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


def test_drawn_rows_are_those_of_the_table(folder, monkeypatch):
    whole = read_table(folder[1], "ill")
    monkeypatch.setattr(machine, "memory_size", lambda: 20_000)
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


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("kind", ["datetime64[s]", "date", "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_dates_need_memory(tmp_path, kind):
    days = pd.Series(pd.Timestamp("2024-01-02") + pd.to_timedelta(np.arange(N), "D"))
    given = days.dt.date if kind == "date" else days.dt.strftime(kind) if "%" in kind else days.astype(kind)
    draw().assign(day=given).to_parquet(tmp_path / "t.parquet", row_group_size=60)
    with pytest.raises(DataError) as caught:
        read_large_table(tmp_path / "t.parquet", "ill")
    assert re.search(
        r"column 'day': \w+ such as .* are read only where a table fits in memory; write numbers, such as days since",
        str(caught.value),
    )


@pytest.mark.usefixtures("small_memory")
def test_what_needs_memory_says_so(folder, run):
    assert is_large(folder[0])
    for more, text in [
        (("cegb", "--budget", 3), "give --tradeoff"),
        (("cronus", "--tradeoff", 1), "cronus: needs the whole table in memory, where"),
        (("cegb", "--tradeoff", 1, "--cv", 2), "--cv: has no effect"),
    ]:
        assert text in refused(run("fit", folder[0], "--target", "ill", "--output", "m", "--algorithm", *more))
