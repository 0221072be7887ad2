"""Data sets: prices and rows that fit each other, splits that repeat, and files that say what is wrong with them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from dataset_cases import Kinds, find_leaks, obey_split, read_rows, some_frame, split_rows
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import CostframeError
from costframe.datasets import Dataset, load, names, read_table
from costframe.plugin import CostModelError, DataError


def test_breast_cancer_has_thirty_features_of_ten_measurements():
    data = cf.datasets.load("breast-cancer")
    assert data.X.shape == (569, 30)
    assert data.classes == ("benign", "malignant")
    assert len(data.costs.resources) == 10
    assert len({resource.cost for resource in data.costs.resources}) >= 8
    assert data.costs.full_cost(["mean radius", "radius error", "worst radius"]) == 2.0
    assert data.costs.full_cost(["mean compactness"]) == 0.5 + 2.5 + 2.5  # from perimeter and area
    assert data.full_cost == sum(resource.cost for resource in data.costs.resources)


@given(classes=st.lists(st.integers(0, 3), min_size=1, max_size=80), seed=st.integers(0, 5))
def test_split_shares_each_class_evenly(classes, seed):
    y = np.array(classes)
    split, _ = split_rows(Kinds(len(y), y), seed)
    for label in np.unique(y):
        mine = split[y == label]
        assert "train" in mine
        for part, share in {"train": 0.6, "valid": 0.2, "test": 0.2}.items():
            assert abs((mine == part).sum() - share * len(mine)) <= 1


@given(queries=st.lists(st.integers(0, 12), min_size=1, max_size=80))
def test_split_keeps_queries_whole(queries):
    q = np.unique(queries, return_inverse=True)[1]
    split, _ = split_rows(Kinds(len(q), queries=q), 0)
    assert all(len(set(split[q == query])) == 1 for query in np.unique(q))


def test_missing_parts_come_from_train():
    given_split = np.array(["train"] * 20 + ["test"] * 5)
    split, notes = obey_split(given_split, Kinds(len(given_split)), 0)
    np.testing.assert_array_equal(split[20:], "test")
    assert (split[:20] == "valid").sum() == 4
    assert (split[:20] == "train").sum() == 16
    assert "'valid'" in notes[0]


def test_csv_and_parquet_are_the_same_table(table):
    frame = some_frame(label=np.arange(60) % 2, split=np.array(["train", "valid", "test"])[np.arange(60) % 3])
    frame.loc[3, "a"] = np.nan
    for name in ("table.csv", "table.parquet"):
        data = read_table(table(frame, name), "label", {"features": {"b": 5, "a": 2}})
        np.testing.assert_array_equal(data.X, frame[["a", "b"]].to_numpy(np.float64))
        np.testing.assert_array_equal(data.split, frame["split"])
        assert data.feature_names == data.costs.names == ("a", "b")


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
        ((np.arange(60) % 2).astype(float), "classification"),
        (np.arange(60), "regression"),
        (np.arange(60) / 7, "regression"),
    ],
)
def test_the_task_is_told_by_the_target(table, y, task):
    data = read_table(table(some_frame(y=y)), "y")
    assert data.task == task
    assert any(f"task: {task}" in note for note in data.notes)


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


def test_parts_that_do_not_fit_are_refused():
    X, y = np.zeros((6, 2)), np.arange(6) % 2
    with pytest.raises(DataError, match="as many rows everywhere"):
        Dataset.from_arrays(X, y[:5])
    with pytest.raises(DataError, match="queries"):
        Dataset.from_arrays(X, y, task="ranking")
    with pytest.raises(CostModelError, match="prices without a column"):
        Dataset.from_arrays(X, y, {"features": {"x0": 1, "x1": 1, "x2": 1}})
    for seed, name, why in [(1, "parity", "seed: has no effect"), (-1, "breast-cancer", "seed: expected a whole"),
                            (0, "brest-cancer", "breast-cancer")]:  # fmt: skip
        with pytest.raises(CostframeError, match=why):
            cf.datasets.load(name, seed)


def test_an_index_that_a_csv_has_is_left_out_and_said(table):
    (path := table("")).write_text(some_frame(y=np.arange(60) % 2).to_csv())
    data = read_table(path, "y")
    assert data.feature_names == ("a", "b")
    assert "'Unnamed: 0': left out, an index without a name" in data.notes
    with pytest.raises(CostModelError, match="'Unnamed: 0' is an index"):
        read_table(path, "y", {"features": {"a": 1, "b": 1, "Unnamed: 0": 1}})


@pytest.mark.parametrize("labels", [["007", "7"], ["1E5", "2E5"], ["1" * 23, "1" * 22 + "2"]])
def test_labels_and_categories_are_what_is_written(table, labels):
    texts = np.array(labels)[np.arange(60) % 2]
    for name in ("t.csv", "t.parquet"):
        data = read_table(table(some_frame(y=texts, kind=texts[::-1]), name), "y", categorical=["kind"])
        assert (data.classes, data.categorical["kind"]) == (tuple(sorted(labels)), tuple(sorted(labels)))
        np.testing.assert_array_equal(data.y, texts)
    queries = read_table(table(some_frame(y=np.arange(60) % 4, qid=[*labels, *range(20, 78)])), "y")
    assert len(np.unique(queries.qid)) == 60


def test_numbers_that_are_written_as_they_are_printed_stay_numbers(table):
    frame = some_frame(y=np.arange(60) % 3 / 1.0, kind=np.arange(60) % 4 / 2, truth=np.arange(60) % 2 == 0)
    frame.loc[5, "kind"] = np.nan
    found = [read_table(table(frame, name), "y", categorical=["kind"]) for name in ("t.csv", "t.parquet")]
    assert found[0].classes == found[1].classes == (0, 1, 2)
    assert found[0].categorical == found[1].categorical == {"kind": None}
    np.testing.assert_array_equal(found[0].X, found[1].X)
    assert read_table(table(frame.round(1).astype({"y": str})), "y", task="regression").y.dtype == np.float64


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
    assert [note.startswith("possible leak: 'x1', 'x2', ") for note in said_of(X, y)[:1]] == [True]
    X[:, 1:] += rng.normal(size=X[:, 1:].shape)
    assert said_of(X, y) == []


@pytest.mark.parametrize("name", names())
def test_the_data_sets_have_no_leaks(name):
    assert find_leaks(load(name)) == []


def colored_frame(n=300):
    rng = np.random.default_rng(0)
    color, grade = rng.integers(0, 6, n), rng.integers(0, 4, n)
    ill = np.where((color % 2 == 0) ^ (rng.random(n) < 0.1), "yes", "no")
    labels = np.array(["red", "blue", "gray", "teal", "pink", "green"], object)
    frame = pd.DataFrame({"size": rng.standard_normal(n), "color": labels[color], "grade": grade, "ill": ill})
    frame.loc[::17, "color"] = None
    return frame


def test_columns_named_categorical_and_those_a_file_stores_so(table):
    frame = colored_frame()
    stored = table(frame.astype({"color": "category", "grade": "category"}), "stored.parquet")
    plain = table(frame)
    by_name = read_table(plain, "ill", categorical=["color", "grade"])
    by_type = read_table(stored, "ill", categorical=["grade"])
    labels = ("blue", "gray", "green", "pink", "red", "teal")
    for data in (by_name, by_type):
        assert data.categorical == {"color": labels, "grade": None}
        assert "split by categories: 'color', 'grade'" in data.notes
        texts = [None if np.isnan(x) else labels[int(x)] for x in data.X[:, 1]]
        assert texts == [None if pd.isna(x) else x for x in frame["color"]]
        assert data.X[:, 2].tolist() == frame["grade"].tolist()
    rows = read_rows(plain, ["grade", "color"], categories={"color": ("red", "blue")})
    assert rows[:, 1].tolist()[1:5] == [{"red": 0.0, "blue": 1.0}.get(x, pytest.approx(np.nan, nan_ok=True))
                                        for x in frame["color"][1:5]]  # fmt: skip


def test_the_command_line_compares_and_prices_tables_with_categories(run, table):
    frame = colored_frame(120)
    given = (table(frame), "--target", "ill", "--categorical", "color", "--categorical", "grade")
    compared = run("compare", *given, "--algorithms", "l1-gate,budgetrf,reweighted", "--points", "1", "--cv", "0")
    assert compared.exit_code == 0, compared.output
    model = cf.load("frontier/recommended.model")
    assert model.predictor_.categories == {"color": ("blue", "gray", "green", "pink", "red", "teal")}
    priced = run("cost", "frontier/recommended.model", given[0])
    assert f"{model.cost(frame.drop(columns='ill')).mean:,.6g}" in priced.output
    left_out = [line for line in compared.stderr.splitlines() if line.startswith("left out: ")]
    assert left_out == [
        "left out: each of budgetrf, l1-gate: does not split by categories, and column 'color' has some"
    ]


@pytest.mark.parametrize("seed", range(2))
def test_columns_that_tell_the_target_are_named(seed):
    X, y, rng = leaky(seed=seed)
    several = rng.permutation(np.repeat(np.arange(4), len(y) // 4))
    leaks = [
        (X[:, 2], y, {}, None),
        (y + 0.2 * rng.normal(size=len(y)), y, {}, "'x2' nearly tells the target ("),
        (np.where(y == 1, rng.normal(size=len(y)), np.nan), y, {}, "whether 'x2' is missing nearly tells the target ("),
        (np.abs(rng.normal(size=len(y))) * (1 - 2 * y) - 7, y, {}, "'x2' nearly tells the target ("),  # by its order
        (np.array([8.0, 1.0, 5.0, 2.0])[several], several, {}, "'x2' is the target coded twice; if it is not known "),
        (np.where(several == 0, 8.0, rng.integers(1, 3, len(y))), several, {"categorical": {"x2": None}}, None),
        (X[:, 2], X[:, 0] + X[:, 1], {"task": "regression"}, None),
        (np.exp(X[:, 0] + X[:, 1]), X[:, 0] + X[:, 1], {"task": "regression"}, "'x2' is the target coded twice; "),
    ]  # fmt: skip
    for column, target, more, text in leaks:
        rows = X.copy()
        rows[:, 2] = column
        said = said_of(rows, target, **more)
        assert [note.startswith(f"possible leak: {text}") for note in said] == ([] if text is None else [True]), said
