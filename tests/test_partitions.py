"""Rows of dask collections: trained here and on a cluster, predicted and priced, as the same rows in memory."""

import numpy as np
import pandas as pd
import pytest
from dataset_cases import machine
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_cases import COSTS, FRAME, N, X, rng
from sklearn.base import clone

import costframe as cf
from costframe import CostframeError
from costframe.plugin import DataError

dask = pytest.importorskip("dask", reason="needs dask")
da = pytest.importorskip("dask.array", reason="needs dask[array]")
dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")

NUMBERS = np.nan_to_num(X[:, 0] * X[:, 1])
LABELS = np.array(["low", "middle", "high"])[np.digitize(np.nan_to_num(X[:, 0]), [-0.5, 0.5])]
TARGETS = {"classes": LABELS, "two": LABELS == "low", "numbers": NUMBERS}
WEIGHT = rng.integers(0, 4, N).astype(float)
WEIGHT[:110] = 0.0  # the first partitions have no weight


def with_empty_partitions():
    frame = dd.from_pandas(FRAME.assign(other="text"), npartitions=3)
    return dd.concat([frame[frame.a > 100.0], frame])


# --- training ----------------------------------------------------------------------------------------------------

Y = (NUMBERS + rng.normal(size=N) > 0).astype(np.int64)
GRADES, QID = np.digitize(NUMBERS, [-0.5, 0.5]), rng.integers(0, 20, N)  # almost each query is in every partition
MIXED = FRAME.assign(
    kind=pd.Categorical(np.where(rng.random(N) < 0.5, "b", "a"), ["b", "c", "a"]),
    text=np.where(Y, "x", "y"),
    label=np.where(Y, "good", "bad"),
)
ROWS = da.from_array(X, chunks=(170, 3))


def make(kind="cegb", task="classification", **more):
    return cf.estimator(kind, task, tradeoff=1e-3, n_estimators=5, **more)


def cut(values, size=90):
    return da.from_array(values, chunks=size)


def cases():
    """Estimators, what is lazy of dask, and the same in memory."""
    weights = {"sample_weight": WEIGHT, "sample_weight_val": WEIGHT[:150]}
    parts = {"X_val": X[:150], "y_val": Y[:150]} | weights
    lazy = {"X_val": ROWS[:150], "y_val": cut(Y[:150], 50)} | {name: cut(w, 70) for name, w in weights.items()}
    yield make(n_iter_no_change=3), {"X": ROWS, "y": cut(Y), **lazy}, {"X": X, "y": Y, **parts}
    kept = (X[:, 3] > 0) | (np.arange(N) < 170)
    some = {"X": ROWS[(ROWS[:, 3] > 0) | (da.arange(N, chunks=170) < 170)], "y": Y[kept]}  # of unknown lengths
    yield make("miser"), some, {"X": X[kept], "y": Y[kept]}
    frame = dd.from_pandas(MIXED.sort_values("text", ignore_index=True), npartitions=4)  # partitions have other texts
    frame = dd.concat([frame[frame.a > 100.0], frame])
    for columns, named in ((["a", "d", "kind"], None), (["a", "text"], ["text"])):
        whole = MIXED.sort_values("text", ignore_index=True)
        model = make(categorical_features=named)
        yield model, {"X": frame[columns], "y": frame["label"]}, {"X": whole[columns], "y": whole["label"]}
    queries = np.array([f"query {q}" for q in QID])
    yield make(task="ranking"), {"X": ROWS, "y": cut(GRADES), "qid": cut(queries)}, {"X": X, "y": GRADES, "qid": QID}
    yield make(task="regression", subsample=0.5), {"X": ROWS, "y": NUMBERS}, {"X": X, "y": NUMBERS}


@pytest.fixture(params=["here", "cluster"])
def where(request):
    """Train in this process, one partition after the other, or on the workers of a cluster."""
    return request.getfixturevalue("client") if request.param == "cluster" else None


def assert_same(one, other, rows):
    method = "decision_function" if hasattr(one, "decision_function") else "predict"
    assert np.array_equal(getattr(one, method)(rows), getattr(other, method)(rows))
    assert np.array_equal(one.cost(rows).per_row, other.cost(rows).per_row)
    assert sorted(vars(one)) == sorted(vars(other))
    assert one.evals_result_ == other.evals_result_


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize(
    ("model", "lazy", "whole"), list(cases()), ids=["arrays", "some", "kinds", "texts", "ranks", "part"]
)
def test_the_model_is_that_of_rows_in_memory(model, lazy, whole):
    assert_same(clone(model).fit(**lazy), clone(model).fit(**whole), whole["X"])


@settings(max_examples=5, deadline=None)
@given(st.integers(40, N), st.integers(40, N), st.booleans())
def test_arrays_cut_anyhow_and_warm_starts(rows_of_x, rows_of_y, warm):
    one, other = (make(warm_start=warm) for _ in range(2))
    one.fit(cut(X, (rows_of_x, 3)), cut(Y, rows_of_y), cut(WEIGHT, rows_of_x))
    assert_same(one, other.fit(X, Y, WEIGHT), X)
    if warm:
        one, other = (each.set_params(n_estimators=7) for each in (one, other))
        assert_same(one.fit(cut(X, 100), Y, WEIGHT), other.fit(X, Y, WEIGHT), X)


def test_rows_and_bins_in_files_make_the_same_model(monkeypatch):
    expected = make().fit(X, Y)
    monkeypatch.setattr(machine, "memory_size", lambda: 1000)
    asked = []
    monkeypatch.setattr(machine, "_in_file", lambda shape, real=machine._in_file: asked.append(shape) or real(shape))
    assert_same(make().fit(da.from_array(X, chunks=200), Y), expected, X)
    assert asked == [(N, 4), (4, N)]
    monkeypatch.setattr(machine.os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(CostframeError, match=r"its bins, 0.0 GB, fit neither in memory nor in .*: No space left; TMPD"):
        make().fit(X, Y)


PARTS = dd.from_pandas(MIXED, npartitions=2)
BAD = [
    ({"X": PARTS[["a", "text"]], "y": Y}, "column 'text' holds text"),
    ({"X": PARTS[["a"]].assign(k=1).astype({"k": "category"}), "y": Y}, r"column 'k' are not known .*cat\.as_known"),
    ({"y": Y[:-1]}, "y: expected 300 labels, one a row, got 299"),
    ({"y": cut(Y), "sample_weight": WEIGHT[:5]}, "sample_weight: expected one weight a row"),
    ({"y": None}, "y: requires y to be passed"),
    ({"X_val": X, "y_val": Y}, "X_val: expected a dask array"),
    ({"X_val": ROWS[:, :2], "y_val": Y}, "X_val: X has 2 features, but"),
    ({"X": ROWS[:0], "y": Y[:0]}, "X: Found array with 0 sample"),
    ({"X": X, "client": "tcp://here"}, "client: "),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_what_cannot_be_trained_on_is_refused_and_the_last_model_stays(arguments, words):
    kept = make().fit(X, Y)
    before = dict(vars(kept))
    with pytest.raises(CostframeError, match=words):
        kept.fit(**{"X": ROWS, "y": Y, **arguments})
    assert vars(kept) == before


def test_other_algorithms_paths_and_datasets_of_arrow_say_what_to_do():
    pa, datasets = (pytest.importorskip(name, reason="needs pyarrow") for name in ("pyarrow", "pyarrow.dataset"))
    with pytest.raises(CostframeError, match="CronusClassifier: trains on one machine only; collect the rows"):
        cf.estimator("cronus", "classification").fit(ROWS, Y)
    with pytest.raises(DataError, match="X: expected rows in memory"):
        cf.CEGBClassifier().fit_path(ROWS, LABELS, X_val=X, y_val=LABELS)
    with pytest.raises(CostframeError, match=r"got InMemoryDataset; use X.to_table\(\)"):
        make().fit(datasets.dataset(pa.Table.from_pandas(FRAME[["a", "b"]])), Y)
    with pytest.raises(CostframeError, match=r"client: expected a distributed\.Client"):
        make().fit(ROWS, Y, client="tcp://here")


# --- predictions and costs ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["classes", "numbers"])
def model(request, tmp_path_factory):
    """A fitted classifier, and a regressor that was saved and loaded."""
    name = "CEGBRegressor" if request.param == "numbers" else "CEGBClassifier"
    fitted = getattr(cf, name)(COSTS, n_estimators=4).fit(FRAME, TARGETS[request.param])
    if request.param == "classes":
        return fitted
    path = tmp_path_factory.mktemp("models") / "model"
    cf.save(fitted, path)
    return cf.load(path)


@pytest.fixture
def _one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def assert_same_report(lazy, whole):
    for name in ("mean", "fixed", "by_feature", "by_resource", "evaluation"):
        assert getattr(lazy, name) == getattr(whole, name)
    assert np.array_equal(lazy.by_stage, whole.by_stage)
    for name in ("per_row", "acquired", "rounds", "predictions", "cut"):
        rows = getattr(lazy, name)
        assert rows is None or isinstance(rows, da.Array)
        assert np.array_equal(rows if rows is None else rows.compute(), getattr(whole, name))


@pytest.mark.usefixtures("_one_thread")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_predictions_of_frames_and_arrays(model):
    for method in ("predict", "predict_proba", "decision_function"):
        if not hasattr(model, method):
            continue
        whole = getattr(model, method)(FRAME)
        lazy = getattr(model, method)(with_empty_partitions())
        array = getattr(model, method)(da.from_array(X, chunks=(70, 3)))
        assert (array.shape, array.chunks[0]) == (whole.shape, (70, 70, 70, 70, 20))
        for found in (lazy, array):
            assert isinstance(found, da.Array)
            assert found.dtype == whole.dtype
            assert np.array_equal(found.compute(), whole)


@pytest.mark.usefixtures("_one_thread")
def test_costs_of_frames_and_of_weights_cut_otherwise(model):
    frame = with_empty_partitions()
    assert_same_report(model.cost(frame), model.cost(FRAME))
    limits = {"max_cost": 2.0, "unavailable": ["b"], "rounds": True}
    assert_same_report(model.cost(frame, **limits), model.cost(FRAME, **limits))
    weighted = model.cost(FRAME, sample_weight=WEIGHT)
    assert_same_report(model.cost(frame, sample_weight=WEIGHT), weighted)
    column = dd.from_pandas(pd.Series(WEIGHT), npartitions=3)
    assert_same_report(model.cost(dd.from_pandas(FRAME, npartitions=3), sample_weight=column), weighted)
    array = cf.CEGBRegressor(n_estimators=3).fit(X, NUMBERS)
    assert_same_report(array.cost(cut(X, (90, 2)), sample_weight=cut(WEIGHT, 50)), array.cost(X, sample_weight=WEIGHT))


@pytest.mark.usefixtures("_one_thread")
@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda model, frame: model.cost(frame, sample_weight=0 * WEIGHT), "expected some positive weight"),
        (lambda model, frame: model.cost(frame[frame["a"] > 100.0]), "expected some rows"),
        (lambda model, frame: model.predict(frame[["a"]]), "lack|missing"),
        (lambda model, frame: model.predictor_.predict(frame), "expected rows in memory"),
    ],
)
def test_what_cannot_be_predicted_is_refused(model, refused, words):
    with pytest.raises(DataError, match=words):
        refused(model, dd.from_pandas(FRAME, npartitions=3))
