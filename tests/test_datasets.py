"""Data sets: prices and rows that fit each other, splits that repeat, and files that say what is wrong with them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dataset_cases import some_frame
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import CostframeError, CostModelError, DataError
from costframe.datasets import Dataset, load, names, read_table
from costframe.datasets.leaks import find_leaks
from costframe.datasets.model_rows import read_rows
from costframe.datasets.splits import obey_split, split_rows

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def test_breast_cancer_has_thirty_features_of_ten_measurements():
    data = cf.datasets.load("breast-cancer")
    assert data.X.shape == (569, 30)
    assert data.classes == ("benign", "malignant")
    assert len(data.costs.resources) == 10
    assert len({resource.cost for resource in data.costs.resources}) >= 8
    assert data.costs.full_cost(["mean radius", "radius error", "worst radius"]) == 2.0
    assert data.costs.full_cost(["mean compactness"]) == 0.5 + 2.5 + 2.5  # from perimeter and area
    assert data.full_cost == sum(resource.cost for resource in data.costs.resources)


def test_breast_cancer_is_split_the_same_way_every_time_and_evenly():
    first, again = cf.datasets.load("breast-cancer"), cf.datasets.load("breast-cancer")
    np.testing.assert_array_equal(first.split, again.split)
    shares = [(first.part(part).y == "malignant").mean() for part in ("train", "valid", "test")]
    assert max(shares) - min(shares) < 0.01
    assert [len(first.part(part)) / 569 for part in ("train", "valid", "test")] == pytest.approx(
        [0.6, 0.2, 0.2], abs=0.01
    )


def test_a_named_data_set_is_split_by_a_seed_as_its_rows_would_be():
    first, other = (cf.datasets.load("breast-cancer", seed) for seed in (0, 3))
    np.testing.assert_array_equal(first.split, cf.datasets.load("breast-cancer").split)
    np.testing.assert_array_equal(other.split, split_rows(other.y, None, 569, 3)[0])
    assert (first.split != other.split).any()
    assert [note for note in other.notes if "seed" in note] == [other.notes[-1]]
    assert other.notes[-1].endswith("by seed 3")
    np.testing.assert_array_equal(other.split_anew(0).split, first.split)


def test_queries_stay_whole_in_another_split():
    q = np.repeat(np.arange(15), 4)
    data = Dataset.from_arrays(np.zeros((60, 1)), np.arange(60) % 3, qid=q, task="ranking").split_anew(2)
    assert all(len(set(data.split[data.qid == query])) == 1 for query in range(15))
    assert data.seed == 2


def test_a_seed_for_rows_that_came_in_parts_is_refused():
    with pytest.raises(CostframeError, match="seed: has no effect, the rows of parity come in train, valid and test"):
        cf.datasets.load("parity", 1)
    with pytest.raises(CostframeError, match=r"seed: expected a whole number >= 0.0, got -1"):
        cf.datasets.load("breast-cancer", -1)


def test_names_lists_the_built_in():
    assert {"breast-cancer", "quadrants", "synthetic-1", "synthetic-2"} <= set(cf.datasets.names())
    with pytest.raises(CostframeError, match="breast-cancer"):
        cf.datasets.load("brest-cancer")


@given(classes=st.lists(st.integers(0, 3), min_size=1, max_size=80), seed=st.integers(0, 5))
def test_split_shares_each_class_evenly(classes, seed):
    y = np.array(classes)
    split, _ = split_rows(y, None, len(y), seed)
    for label in np.unique(y):
        mine = split[y == label]
        assert "train" in mine
        for part, share in {"train": 0.6, "valid": 0.2, "test": 0.2}.items():
            assert abs((mine == part).sum() - share * len(mine)) <= 1


@given(queries=st.lists(st.integers(0, 12), min_size=1, max_size=80))
def test_split_keeps_queries_whole(queries):
    q = np.unique(queries, return_inverse=True)[1]
    split, _ = split_rows(None, q, len(q), 0)
    assert all(len(set(split[q == query])) == 1 for query in np.unique(q))


def test_another_seed_is_another_split():
    y = np.zeros(50)
    assert (split_rows(y, None, 50, 0)[0] != split_rows(y, None, 50, 1)[0]).any()


def test_missing_parts_come_from_train():
    given_split = np.array(["train"] * 20 + ["test"] * 5)
    split, notes = obey_split(given_split, None, None, 0)
    np.testing.assert_array_equal(split[20:], "test")
    assert (split[:20] == "valid").sum() == 4
    assert (split[:20] == "train").sum() == 16
    assert "'valid'" in notes[0]


def test_csv_and_parquet_are_the_same_table(table):
    frame = some_frame(label=np.arange(60) % 2)
    frame.loc[3, "a"] = np.nan
    one = read_table(table(frame), "label")
    other = read_table(table(frame, "table.parquet"), "label")
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.split, other.split)
    np.testing.assert_array_equal(one.X, frame[["a", "b"]].to_numpy(np.float64))
    assert one.feature_names == ("a", "b")


def test_a_split_column_is_obeyed(table):
    split = np.array(["train", "valid", "test"])[np.arange(60) % 3]
    data = read_table(table(some_frame(label=np.arange(60) % 2, split=split)), "label")
    np.testing.assert_array_equal(data.split, split)
    assert data.feature_names == ("a", "b")


def test_prices_are_put_in_the_order_of_the_columns(table):
    costs = {"features": {"b": 5, "a": 2}}
    assert read_table(table(some_frame(y=np.arange(60) % 2)), "y", costs).costs.names == ("a", "b")


def test_a_column_qid_makes_a_ranking(table):
    rng = np.random.default_rng(1)
    frame = some_frame(y=np.arange(60) % 4, qid=rng.permutation(np.repeat(np.arange(10), 6)))
    data = read_table(table(frame), "y")
    assert data.task == "ranking"
    assert (np.diff(data.qid) >= 0).all()
    order = np.argsort(frame["qid"], kind="stable")
    np.testing.assert_array_equal(data.y, frame["y"].to_numpy()[order])
    np.testing.assert_array_equal(data.X[:, 0], frame["a"].to_numpy()[order])
    parts = [set(data.part(part).qid) for part in ("train", "valid", "test")]
    assert not parts[0] & parts[1]
    assert sum(map(len, parts)) == 10


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.arange(60) % 3, "classification"),
        (np.where(np.arange(60) % 2, "yes", "no"), "classification"),
        (np.arange(60) % 2 == 0, "classification"),
        ((np.arange(60) % 2).astype(float), "classification"),
        (np.arange(60), "regression"),
        (np.arange(60) / 7, "regression"),
    ],
)
def test_the_task_is_told_by_the_target(table, y, task):
    data = read_table(table(some_frame(y=y)), "y")
    assert data.task == task
    assert any(f"task: {task}" in note for note in data.notes)


def test_the_task_can_be_given(table):
    data = read_table(table(some_frame(y=np.arange(60) % 3)), "y", task="regression")
    assert (data.task, data.classes, data.y.dtype) == ("regression", (), np.float64)


def test_a_column_can_be_left_out(table):
    path = table(some_frame(y=np.arange(60) % 2, id=[f"row {i}" for i in range(60)]))
    with pytest.raises(DataError, match=r"'id'.*'row 0'"):
        read_table(path, "y")
    assert read_table(path, "y", ignore=["id"]).feature_names == ("a", "b")


def test_features_of_every_kind_of_number(table):
    frame = pd.DataFrame({
        "truth": pd.array([True, None, False] * 10, "boolean"),
        "whole": pd.array([1, None, 3] * 10, "Int64"),
        "single": np.float32([0.1, np.nan, 2] * 10),
        "none": pd.array([None] * 30, "Float64"),
        "y": np.arange(30) % 2,
    })  # fmt: skip
    data = read_table(table(frame, "kinds.parquet"), "y")
    np.testing.assert_array_equal(data.X[:3, 0], [1, np.nan, 0])
    np.testing.assert_array_equal(data.X[:3, 1], [1, np.nan, 3])
    np.testing.assert_array_equal(data.X[:3, 2], np.float64(np.float32([0.1, np.nan, 2])))
    assert np.isnan(data.X[:, 3]).all()


def test_an_index_that_pandas_wrote_is_no_feature(table):
    frame = some_frame(y=np.arange(60) % 2).set_index(np.arange(60) * 2)
    assert read_table(table(frame, "indexed.parquet"), "y").feature_names == ("a", "b")


def test_rows_of_a_part(table):
    split = np.array(["train", "valid", "test"])[np.arange(60) % 3]
    frame = some_frame(y=np.arange(60) % 2, split=split)
    path = table(frame)
    np.testing.assert_array_equal(read_rows(path, ["b"], "test")[:, 0], frame["b"][split == "test"])
    assert read_rows(path, ["b", "a"]).shape == (60, 2)
    with pytest.raises(DataError, match="no column 'c'"):
        read_rows(path, ["a", "c"])
    with pytest.raises(DataError, match="no column 'split'"):
        read_rows(table(some_frame(), "plain.csv"), ["a"], "test")


def test_parts_that_do_not_fit_are_refused():
    X, y = np.zeros((6, 2)), np.arange(6) % 2
    with pytest.raises(DataError, match="as many rows everywhere"):
        Dataset.from_arrays(X, y[:5])
    with pytest.raises(DataError, match="queries"):
        Dataset.from_arrays(X, y, task="ranking")
    with pytest.raises(CostModelError, match="prices without a column"):
        Dataset.from_arrays(X, y, {"features": {"x0": 1, "x1": 1, "x2": 1}})
    with pytest.raises(DataError, match="part"):
        cf.datasets.load("breast-cancer").part("tests")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared tables are not beside this checkout")
@pytest.mark.parametrize(("name", "task", "full"), [("heart", "classification", 323.97), ("mslr", "ranking", 3476.0)])
def test_shared_tables(name, task, full):
    data = read_table(SHARED / name / "data.parquet", "label", SHARED / name / "costs.toml")
    assert data.task == task
    assert data.full_cost == pytest.approx(full)
    frame = pd.read_parquet(SHARED / name / "data.parquet")
    assert {part: len(data.part(part)) for part in ("train", "valid", "test")} == dict(frame["split"].value_counts())


def test_an_index_that_a_csv_has_is_left_out_and_said(table):
    (path := table("")).write_text(some_frame(y=np.arange(60) % 2).to_csv())
    data = read_table(path, "y")
    assert data.feature_names == ("a", "b")
    assert "'Unnamed: 0': left out, an index without a name" in data.notes
    with pytest.raises(CostModelError, match="'Unnamed: 0' is an index"):
        read_table(path, "y", {"features": {"a": 1, "b": 1, "Unnamed: 0": 1}})
    assert read_table(path, "y", ignore=["Unnamed: 0"]).feature_names == ("a", "b")


@pytest.mark.parametrize(
    "labels", [["007", "7"], ["1E5", "2E5"], ["+1", "-1"], ["1" * 23, "1" * 22 + "2"], ["yes", "1"]]
)
def test_labels_and_categories_are_what_is_written(table, labels):
    texts = np.array(labels)[np.arange(60) % 2]
    for name in ("t.csv", "t.parquet"):
        data = read_table(table(some_frame(y=texts, kind=texts[::-1]), name), "y", categorical=["kind"])
        assert (data.classes, data.categorical["kind"]) == (tuple(sorted(labels)), tuple(sorted(labels)))
        np.testing.assert_array_equal(data.y, texts)


def test_numbers_that_are_written_as_they_are_printed_stay_numbers(table):
    frame = some_frame(y=np.arange(60) % 3 / 1.0, kind=np.arange(60) % 4 / 2, truth=np.arange(60) % 2 == 0)
    frame.loc[5, "kind"] = np.nan
    found = [read_table(table(frame, name), "y", categorical=["kind"]) for name in ("t.csv", "t.parquet")]
    assert found[0].classes == found[1].classes == (0, 1, 2)
    assert found[0].categorical == found[1].categorical == {"kind": None}
    np.testing.assert_array_equal(found[0].X, found[1].X)
    assert read_table(table(frame.round(1).astype({"y": str})), "y", task="regression").y.dtype == np.float64


def test_queries_are_what_is_written(table):
    names = ["7", "007", "+7", "7.0", "1" * 23, "1" * 22 + "2", *map(str, range(20, 40))]
    data = read_table(table(some_frame(y=np.arange(60) % 4, qid=np.array(names)[np.arange(60) % 26])), "y")
    assert len(np.unique(data.qid)) == 26


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("text", ["NA", "nan"])
def test_texts_of_missing_values_mean_the_same_in_every_file(table, name, text):
    texts = np.array(["x", text, "z"], object)[np.arange(60) % 3]
    data = read_table(table(some_frame(y=np.arange(60) % 2, kind=texts), name), "y")
    assert data.categorical == {"kind": ("x", "z")}
    np.testing.assert_array_equal(np.isnan(data.X[:, 2]), texts == text)
    assert f"'kind': {text!r} is taken for a missing value" in data.notes
    with pytest.raises(DataError, match=f"target 'y': 20 values are missing: {text!r} stands for a missing value"):
        read_table(table(some_frame(y=texts), name), "y")


def leaky(n=600, seed=0):
    """Return columns of which some tell the target, and it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    noise = rng.normal(size=(n, 8))
    X = np.column_stack([noise, y + 0.6 * noise[:, 0]])  # the last is a good feature, and no leak
    return X, y, rng


def said_of(X, y, **more):
    return find_leaks(Dataset.from_arrays(X, y, **more))


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_tell_the_target_are_named(seed):
    X, y, rng = leaky(seed=seed)
    assert said_of(X, y) == []
    way = "; if it is not known before the target, --ignore x2 leaves it out"
    X[:, 2] = y + 0.2 * rng.normal(size=len(y))
    assert [note.partition(" (")[0] for note in said_of(X, y)] == ["possible leak: 'x2' nearly tells the target"]
    X[:, 2] = np.where(y == 1, rng.normal(size=len(y)), np.nan)
    assert said_of(X, y) == [f"possible leak: whether 'x2' is missing nearly tells the target (AUC 1.000 ±0.000){way}"]
    X[:, 2] = np.abs(rng.normal(size=len(y))) * (1 - 2 * y) - 7  # told by its order, but for no mean of bins
    assert said_of(X, y)[0].startswith("possible leak: 'x2' nearly tells")
    X[:, 2] = 7 - 3 * y
    assert said_of(X, y) == [f"possible leak: 'x2' is the target coded twice{way}"]
    several = rng.permutation(np.repeat(np.arange(4), len(y) // 4))
    X[:, 2] = np.array([8.0, 1.0, 5.0, 2.0])[several]
    assert said_of(X, several) == [f"possible leak: 'x2' is the target coded twice{way}"]
    categorical = np.where(X[:, 2] > 4, X[:, 2], rng.integers(1, 3, len(y)))
    X[:, 2] = categorical
    assert said_of(X, several, categorical={"x2": None}) == []


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_tell_numbers_are_named(seed):
    X, _, rng = leaky(seed=seed)
    y = X[:, 0] + X[:, 1]
    assert said_of(X, y, task="regression") == []
    X[:, 2] = np.exp(y)
    X[:, 3] = y + 0.05 * rng.normal(size=len(y))
    said = said_of(X, y, task="regression")
    assert [note.partition(" (")[0].partition(";")[0] for note in said] == [
        "possible leak: 'x2' is the target coded twice",
        "possible leak: 'x3' nearly tells the target",
    ]


def test_chance_is_no_leak():
    """Of few rows of a class, any column tells some; rows of few values are equal by chance."""
    rng = np.random.default_rng(0)
    for n in (30, 60, 200):
        X, y = rng.normal(size=(n, 300)), np.arange(n) % 10 == 0
        X[:, ::3] = X[:, ::3].round()
        assert said_of(X, y) == []
    X = rng.integers(0, 2, (2000, 9))
    assert said_of(X, X[:, 0] ^ X[:, 1] ^ (rng.random(2000) < 0.3)) == []


def test_rows_of_test_that_are_in_train_too_are_said():
    X, y, rng = leaky()
    twice = np.arange(len(y)) % (len(y) * 3 // 4)  # a third of 450 rows twice
    X, y = X[twice], y[twice]
    (said,) = said_of(X, y)
    assert re.fullmatch(r"possible leak: \d\d% of the rows of test are in train too, equal in all features", said)
    X[:, 0] += rng.normal(size=len(y))
    assert said_of(X, y) == []


@pytest.mark.parametrize("name", names())
def test_the_data_sets_have_no_leaks(name):
    assert find_leaks(load(name)) == []
