"""Dask collections without a client train the model of the same rows in memory, one partition after the other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core import memory
from costframe.core.errors import CostframeError

dask = pytest.importorskip("dask", reason="needs dask")
da = pytest.importorskip("dask.array", reason="needs dask[array]")
dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")

N = 600
rng = np.random.default_rng(0)
X = np.where(rng.random((N, 4)) < 0.05, np.nan, rng.normal(size=(N, 4)))
SCORE = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=N)
Y, WEIGHT = (SCORE > 0).astype(np.int64), rng.choice([0.0, 1.0, 2.5], N)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    kind=pd.Categorical(np.where(rng.random(N) < 0.5, "b", "a"), ["b", "c", "a"]),
    text=np.where(Y, "x", "y"),
    label=np.where(Y, "good", "bad"),
)


def make(kind="cegb", task="classification", **more):
    return cf.estimator(kind, task, tradeoff=1e-3, n_estimators=5, **more)


def assert_same(one, other, rows):
    assert np.array_equal(one.decision_function(rows), other.decision_function(rows))
    assert np.array_equal(one.cost(rows).per_row, other.cost(rows).per_row)
    assert sorted(vars(one)) == sorted(vars(other))
    assert one.get_params() == other.get_params()


@settings(max_examples=6, deadline=None)
@given(st.sampled_from(["cegb", "miser"]), st.integers(40, N), st.integers(40, N), st.booleans())
def test_arrays_cut_anyhow(kind, rows_of_x, rows_of_y, is_frame):
    weights = {"sample_weight": WEIGHT, "sample_weight_val": WEIGHT[:200]}
    whole = make(kind).fit(X, Y, X_val=X[:200], y_val=Y[:200], **weights)
    lazy = da.from_array(X, chunks=(rows_of_x, 3))
    valid = {"X_val": lazy[:200], "y_val": da.from_array(Y[:200], chunks=50)}
    given = da.from_array(Y, chunks=rows_of_y), da.from_array(WEIGHT, chunks=rows_of_x)
    found = make(kind).fit(lazy, *given, **valid, sample_weight_val=WEIGHT[:200])
    assert_same(found, whole, X)
    assert found.evals_result_ == whole.evals_result_
    if is_frame:
        frame = dd.from_pandas(FRAME, npartitions=rows_of_x // 40)[list("abcd")]
        assert_same(make(kind).fit(frame, Y), make(kind).fit(FRAME[list("abcd")], Y), FRAME[list("abcd")])


@pytest.mark.parametrize("named", [None, ["text"]])
def test_frames_with_categories_and_empty_partitions(named):
    columns = ["a", "d", "text" if named else "kind"]
    rows = FRAME.sort_values("text", ignore_index=True)  # partitions have other texts
    lazy = dd.from_pandas(rows, npartitions=4)
    lazy = dd.concat([lazy[lazy.a > 100.0], lazy])
    given = {"X_val": lazy[columns], "y_val": lazy["label"]}
    whole = {"X_val": rows[columns], "y_val": rows["label"]}
    one = make(categorical_features=named).fit(lazy[columns], lazy["label"], **given)
    assert_same(one, make(categorical_features=named).fit(rows[columns], rows["label"], **whole), rows[columns])


def test_rankings_and_regressions():
    lazy, grades, qid = da.from_array(X, chunks=170), np.digitize(SCORE, [0, 1]), rng.integers(0, 40, N)
    ranked = make(task="ranking").fit(lazy, da.from_array(grades, chunks=170), qid=da.from_array(qid, chunks=99))
    assert np.array_equal(ranked.predict(X), make(task="ranking").fit(X, grades, qid=qid).predict(X))
    regression = {"task": "regression", "subsample": 0.5}
    assert np.array_equal(make(**regression).fit(lazy, SCORE).predict(X), make(**regression).fit(X, SCORE).predict(X))


def test_warm_starts_and_hidden_columns():
    one, other = (make(warm_start=True) for _ in range(2))
    lazy = da.from_array(X, chunks=250)
    one.fit(lazy, Y)
    other.fit(X, Y)
    assert_same(one, other, X)
    hidden = make("miser").reading_only([1, 2]).fit(lazy, Y)
    assert_same(hidden, hidden.__sklearn_clone__().fit(X, Y), X)
    assert 0 not in hidden.predictor_.layout.used


def test_rows_and_bins_in_files_make_the_same_model(monkeypatch):
    expected = make().fit(X, Y)
    monkeypatch.setattr(memory, "memory_size", lambda: 1000)
    asked = []
    monkeypatch.setattr(memory, "_in_file", lambda shape, real=memory._in_file: asked.append(shape) or real(shape))
    assert_same(make().fit(da.from_array(X, chunks=200), Y), expected, X)
    assert asked == [(N, 4), (4, N)]
    monkeypatch.setattr(memory.os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(CostframeError, match=r"its bins, 0.0 GB, fit neither in memory nor in .*: No space left; TMPD"):
        make().fit(X, Y)

    class Full:
        def __array__(self, *_, **__):
            raise OSError(28, "No space left")

        def __len__(self):
            return 1

    with pytest.raises(CostframeError, match=r"its rows, 0.0 GB, fit neither in memory nor in .*: No space left; TMPD"):
        memory.rows_in_file([Full()], 4)


LAZY, PARTS = da.from_array(X, chunks=170), dd.from_pandas(FRAME, npartitions=2)
BAD = {
    "text": ({"X": PARTS[["a", "text"]], "y": Y}, "column 'text' holds text"),
    "few labels": ({"X": LAZY, "y": Y[:-1]}, "y: expected 600 labels, one a row, got 599"),
    "one class": ({"X": LAZY, "y": 0 * Y}, "at least two classes"),
    "no labels": ({"X": LAZY, "y": None}, "y: requires y to be passed"),
    "half a validation": ({"X": LAZY, "y": Y, "X_val": LAZY}, "expected both X_val and y_val"),
    "validation in memory": ({"X": LAZY, "y": Y, "X_val": X, "y_val": Y}, "X_val: expected a dask array"),
    "no rows": ({"X": LAZY[:0], "y": Y[:0]}, "X: Found array with 0 sample"),
    "texts": ({"X": da.from_array(X.astype(object), chunks=100).astype(str), "y": Y}, "X: expected numbers, got text"),
    "columns": ({"X": LAZY, "y": Y, "X_val": LAZY[:, :2], "y_val": Y}, "X_val: X has 2 features, but"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_does_not_fit_is_refused_and_the_last_model_stays(what):
    arguments, words = BAD[what]
    kept = make().fit(X, Y)
    before = dict(vars(kept))
    with pytest.raises(CostframeError, match=words):
        kept.fit(**arguments)
    assert vars(kept) == before


def test_other_algorithms_and_datasets_of_arrow_say_what_to_do():
    datasets = pytest.importorskip("pyarrow.dataset", reason="needs pyarrow")
    with pytest.raises(CostframeError, match="CronusClassifier: trains on one machine only; collect the rows"):
        cf.estimator("cronus", "classification").fit(LAZY, Y)
    import pyarrow as pa

    with pytest.raises(CostframeError, match=r"got InMemoryDataset; use X.to_table\(\)"):
        make().fit(datasets.dataset(pa.Table.from_pandas(FRAME[["a", "b"]])), Y)
