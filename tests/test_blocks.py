"""Datasets of Parquet files: a model from row groups of any sizes is that of the array, and bad files are named."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import dataset as datasets
from pyarrow import parquet

import costframe as cf
from costframe.core import memory
from costframe.core.errors import CostframeError
from costframe.training.block_columns import open_table

N = 600
KINDS = ["miser", "cegb"]


def draw(n=N, seed=0):
    """Draw a table with missing values, few values, texts, weights, queries and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["few"] = rng.integers(0, 5, n)
    frame["b"] = frame["b"].where(rng.random(n) > 0.1)
    frame["c"] = frame["c"].astype(np.float32)
    frame["city"] = rng.choice(["Bonn", "Ulm", "Wien"], n)
    frame["w"] = rng.choice([0.0, 1.0, 2.5], n)
    frame["query"] = rng.choice([f"q{k}" for k in range(40)], n)
    score = frame["a"] + frame["few"] * np.nan_to_num(frame["b"]) + 2 * (frame["city"] == "Ulm")
    frame["y"] = (score + rng.normal(size=n) > 1).astype(np.int64)
    return frame


def write(frame, folder, cuts, rows):
    """Write a frame to files that begin at `cuts`, in groups of some rows, the texts of cities as a dictionary."""
    folder.mkdir(exist_ok=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    city = table.schema.get_field_index("city")
    if city >= 0:
        table = table.set_column(city, "city", table["city"].dictionary_encode())
    ends = [0, *sorted(cuts), len(frame)]
    for number, (begin, end) in enumerate(pairwise(ends)):
        parquet.write_table(table[begin:end], folder / f"{number:02d}.parquet", row_group_size=rows)
    return datasets.dataset(folder, format="parquet")


def encoded(frame, without=()):
    """Return the features as an array with the numbers of cities."""
    return np.column_stack(
        [
            pd.Categorical(frame[name]).codes if name == "city" else frame[name].to_numpy(np.float64)
            for name in frame
            if name not in without
        ]
    )


def same(one, other, X):
    """Whether two models have the same trees, and decide and pay alike."""
    for name in ("feature", "threshold", "values"):
        np.testing.assert_array_equal(getattr(one.bank_.trees, name), getattr(other.bank_.trees, name))
    np.testing.assert_array_equal(one.predictor_.decision_function(X), other.predictor_.decision_function(X))
    np.testing.assert_array_equal(one.predictor_.cost(X).per_row, other.predictor_.cost(X).per_row)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, N), max_size=5),
    rows=st.sampled_from([1 << 20, 97, 250]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 3),
)
def test_a_model_is_that_of_the_array(tmp_path_factory, cuts, rows, kind, seed):
    frame = draw(seed=seed)
    dataset = write(frame, tmp_path_factory.mktemp("blocks") / "t", cuts, rows)
    others = ["w", "query", "y"]
    make = {"n_estimators": 6, "n_jobs": 1, "tradeoff": 1e-4}
    without = dataset.replace_schema(pa.schema([f for f in dataset.schema if f.name != "query"]))
    one = cf.estimator(kind, "classification", **make).fit(without, "y", "w")
    X = encoded(frame, others)
    other = cf.estimator(kind, "classification", **make, categorical_features={4: ["Bonn", "Ulm", "Wien"]})
    other.fit(X, frame["y"], frame["w"])
    assert one.feature_names_in_.tolist() == ["a", "b", "c", "few", "city"]
    assert one.classes_.dtype.kind == "i"
    assert one.predictor_.categories == {"city": ("Bonn", "Ulm", "Wien")}
    same(one, other, X)


def test_regression_and_rankings(tmp_path):
    frame = draw().drop(columns=["w", "city"])
    dataset = write(frame, tmp_path / "t", [100, 100, 431], 50)
    X = encoded(frame, ["query", "y"])
    for kind in KINDS:
        one = cf.estimator(kind, "ranking", n_estimators=4).fit(dataset, "y", qid="query")
        same(one, cf.estimator(kind, "ranking", n_estimators=4).fit(X, frame["y"], qid=frame["query"]), X)
    rest = dataset.replace_schema(pa.schema([f for f in dataset.schema if f.name != "query"]))
    one = cf.estimator("cegb", "regression", n_estimators=4, subsample=0.5).fit(rest, "a")
    other = cf.estimator("cegb", "regression", n_estimators=4, subsample=0.5)
    same(one, other.fit(encoded(frame, ["query", "a"]), frame["a"]), encoded(frame, ["query", "a"]))


def test_validation_rows_come_from_a_dataset_or_from_the_split(tmp_path):
    frame = draw()[["a", "b", "few", "y"]]
    frame["split"] = np.random.default_rng(1).choice(["train", "valid", "test"], N)
    train, valid = (frame[frame["split"] == part].drop(columns="split") for part in ("train", "valid"))
    dataset = write(frame, tmp_path / "t", [200], 64)
    X, X_val = encoded(train, ["y"]), encoded(valid, ["y"])
    expected = cf.estimator("cegb", "classification").fit(X, train["y"], X_val=X_val, y_val=valid["y"])
    same(cf.estimator("cegb", "classification").fit(dataset, "y"), expected, X)
    parts = write(train, tmp_path / "u", [], 64), write(valid[["y", "few", "a", "b"]], tmp_path / "v", [7], 64)
    apart = cf.estimator("cegb", "classification").fit(parts[0], "y", X_val=parts[1], y_val="y")
    same(apart, expected, X)
    assert apart.evals_result_ == expected.evals_result_
    with pytest.raises(CostframeError, match="X_val: has no effect, the column 'split' of X has rows of its own"):
        cf.estimator("cegb", "classification").fit(dataset, "y", X_val=X_val, y_val=valid["y"])
    path = cf.estimator("miser", "classification", n_estimators=5).fit_path(parts[0], "y", X_val=parts[1], y_val="y")
    assert path.points


def test_warm_starts_and_hidden_columns(tmp_path):
    frame = draw()[["a", "b", "few", "y"]]
    dataset, X = write(frame, tmp_path / "t", [333], 64), encoded(frame, ["y"])
    make = {"n_estimators": 3, "warm_start": True}
    one, other = (cf.estimator("cegb", "classification", **make) for _ in range(2))
    one.fit(dataset, "y").set_params(n_estimators=6).fit(dataset, "y")
    other.fit(X, frame["y"]).set_params(n_estimators=6).fit(X, frame["y"])
    same(one, other, X)
    half = write(frame[:300], tmp_path / "u", [], 64)
    one.set_params(n_estimators=8).fit(half, "y")
    other.set_params(n_estimators=8).fit(X[:300], frame["y"][:300])
    same(one, other, X)
    hidden = cf.estimator("miser", "classification", n_estimators=5).reading_only([1, 2])
    same(hidden.fit(dataset, "y"), hidden.__sklearn_clone__().fit(X, frame["y"]), X)
    assert 0 not in hidden.predictor_.layout.used


def test_predictions_and_costs_of_a_dataset(tmp_path):
    frame = draw()[["few", "city", "b", "y"]]
    dataset = write(frame, tmp_path / "t", [0, 311], 64)
    model = cf.estimator("cegb", "classification", n_estimators=5, costs={"few": 1, "city": 2, "b": 4}).fit(
        dataset, "y"
    )
    other = write(frame[["b", "few", "city"]], tmp_path / "u", [17], 100)
    rows = frame[["few", "city", "b"]]
    np.testing.assert_array_equal(model.predict(other), model.predict(rows))
    np.testing.assert_array_equal(model.predict_proba(other, max_cost=3), model.predict_proba(rows, max_cost=3))
    one, expected = model.cost(other), model.cost(rows)
    np.testing.assert_array_equal(one.per_row, expected.per_row)
    assert (one.mean, one.by_feature) == (expected.mean, expected.by_feature)
    with pytest.raises(CostframeError, match="sample_weight: expected None for a dataset"):
        model.cost(other, sample_weight="few")
    with pytest.raises(CostframeError, match="X: has no columns 'city'"):
        model.predict(write(frame[["b", "few"]], tmp_path / "v", [], 100))
    with pytest.raises(CostframeError, match="X: expected rows, the files have none"):
        model.predict(write(frame[:0], tmp_path / "w", [], 100))


def test_rows_by_number_mask_and_slice(tmp_path):
    frame = draw()[["a", "b", "few"]]
    table, X = open_table(write(frame, tmp_path / "t", [0, 13, 13, 500], 61), "X"), encoded(frame)
    rng = np.random.default_rng(0)
    for kept in (None, rng.random(N) < 0.3):
        table, X = (table, X) if kept is None else (table.take(kept), X[kept])
        np.testing.assert_array_equal(np.concatenate(list(table.blocks())), X)
        for chosen in (rng.integers(0, len(X), 50), rng.random(len(X)) < 0.5, slice(5, 9), [-1, 0], np.array([], int)):
            np.testing.assert_array_equal(table[chosen], X[chosen])
        assert table.shape == X.shape
    np.testing.assert_array_equal(table.take(X[:, 0] > 0)[:], X[X[:, 0] > 0])


def test_bins_in_files_make_the_same_model(tmp_path, monkeypatch):
    frame = draw()[["a", "b", "few", "y"]]
    dataset, X = write(frame, tmp_path / "t", [333], 64), encoded(frame, ["y"])
    expected = cf.estimator("cegb", "classification", n_estimators=5).fit(X, frame["y"])
    monkeypatch.setattr(memory, "memory_size", lambda: 1000)
    asked = []
    monkeypatch.setattr(memory, "_in_file", lambda shape, real=memory._in_file: asked.append(shape) or real(shape))
    same(cf.estimator("cegb", "classification", n_estimators=5).fit(dataset, "y"), expected, X)
    assert asked == [(N, 3), (3, N)]
    monkeypatch.setattr(memory.os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(
        CostframeError, match=r"its bins, 0.0 GB, fit neither in memory nor in .*: No space left; TMPDIR"
    ):
        cf.estimator("cegb", "classification").fit(dataset, "y")


def bad(change, folder):
    frame = draw()[["a", "b", "y"]]
    return write(change(frame) if change else frame, folder, [200], 100)


BAD = {
    "an unknown label": (None, {"y": "z"}, "y: the dataset has no column 'z'"),
    "labels as an array": (None, {"y": np.zeros(N)}, "y: expected the name of a column of the dataset, got array"),
    "a missing label": (lambda f: f.assign(y=f["b"]), {"y": "y"}, r"00.parquet: target 'y': \d+ values are missing"),
    "text": (lambda f: f.assign(t="x"), {"y": "y"}, "X: column 't' is of the type (large_)?string, expected numbers"),
    "dates": (lambda f: f.assign(d=pd.Timestamp("2024-01-01")), {"y": "y"}, "X: column 'd' is of the type timestamp"),
    "negative weights": (lambda f: f.assign(w=-1.0), {"y": "y", "sample_weight": "w"}, "sample_weight: expected fin"),
    "weights of zero": (lambda f: f.assign(w=0), {"y": "y", "sample_weight": "w"}, "some positive weight, all"),
    "an odd part": (lambda f: f.assign(split="dev"), {"y": "y"}, "column 'split': expected train, .*, got 'dev'"),
    "nothing else": (lambda f: f[["y"]], {"y": "y"}, "X: has no column left to be a feature"),
    "one class": (lambda f: f.assign(y=1), {"y": "y"}, "at least two classes"),
    "no rows": (lambda f: f[:0], {"y": "y"}, "X: expected rows, the files have none"),
    "infinite categories": (
        lambda f: f.assign(few=np.inf),
        {"y": "y"},
        "00.parquet: X: column 'few': categories must be finite numbers or missing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_datasets_are_named(tmp_path, what):
    change, arguments, text = BAD[what]
    dataset = bad(change, tmp_path / "t")
    categorical = ["few"] if "few" in dataset.schema.names else None
    with pytest.raises(CostframeError, match=text):
        cf.estimator("cegb", "classification", categorical_features=categorical).fit(dataset, **arguments)


def test_what_cannot_be_a_table_of_blocks(tmp_path):
    frame = draw()[["a", "b", "y"]]
    dataset, make = write(frame, tmp_path / "t", [], 64), cf.estimator("cegb", "classification")
    with pytest.raises(CostframeError, match="CronusClassifier: needs the whole table in memory"):
        cf.estimator("cronus", "classification").fit(dataset, "y")
    with pytest.raises(CostframeError, match="X: expected a dataset without a filter"):
        make.fit(dataset.filter(datasets.field("a") > 0), "y")
    with pytest.raises(CostframeError, match="X: expected a dataset of Parquet files, got InMemoryDataset"):
        make.fit(datasets.dataset(pa.Table.from_pandas(frame)), "y")
    with pytest.raises(CostframeError, match="X_val: has no columns 'b', but 'a', 'y'"):
        make.fit(dataset, "y", X_val=write(frame[["a", "y"]], tmp_path / "u", [], 64), y_val="y")
    (tmp_path / "t" / "00.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(CostframeError, match=r"00\.parquet: cannot be read"):
        make.fit(dataset, "y")
