"""Predictions and costs of dask collections equal those of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest
from partition_cases import COSTS, FRAME, N, X, rng

import costframe as cf
from costframe.core.errors import DataError

dask = pytest.importorskip("dask", reason="needs dask")
da = pytest.importorskip("dask.array", reason="needs dask[array]")
dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")

LABELS = np.array(["low", "middle", "high"])[np.digitize(np.nan_to_num(X[:, 0]), [-0.5, 0.5])]
TARGETS = {"classes": LABELS, "two": LABELS == "low", "numbers": np.nan_to_num(X[:, 0] * X[:, 1])}
WEIGHT = rng.integers(0, 4, N).astype(float)
WEIGHT[:110] = 0.0  # the first partitions have no weight


@pytest.fixture(scope="module", params=TARGETS)
def fitted(request):
    name = "CEGBRegressor" if request.param == "numbers" else "CEGBClassifier"
    return getattr(cf, name)(COSTS, n_estimators=4).fit(FRAME, TARGETS[request.param])


@pytest.fixture(scope="module", params=["estimator", "loaded"])
def model(request, fitted, tmp_path_factory):
    if request.param == "estimator":
        return fitted
    path = tmp_path_factory.mktemp("models") / "model"
    cf.save(fitted, path)
    return cf.load(path)


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def with_empty_partitions():
    frame = dd.from_pandas(FRAME.assign(other="text"), npartitions=3)
    return dd.concat([frame[frame.a > 100.0], frame])


def assert_same_report(lazy, whole):
    for name in ("mean", "fixed", "by_feature", "by_resource", "evaluation"):
        assert getattr(lazy, name) == getattr(whole, name)
    assert np.array_equal(lazy.by_stage, whole.by_stage)
    for name in ("per_row", "acquired", "rounds", "predictions", "cut"):
        rows = getattr(lazy, name)
        assert rows is None or isinstance(rows, da.Array)
        assert np.array_equal(rows if rows is None else rows.compute(), getattr(whole, name))


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


def test_costs_of_frames_and_arrays(model):
    frame = with_empty_partitions()
    assert_same_report(model.cost(frame), model.cost(FRAME))
    limits = {"max_cost": 2.0, "unavailable": ["b"], "rounds": True}
    assert_same_report(model.cost(frame, **limits), model.cost(FRAME, **limits))
    weighted = model.cost(FRAME, sample_weight=WEIGHT)
    assert_same_report(model.cost(frame, sample_weight=WEIGHT), weighted)
    column = dd.from_pandas(pd.Series(WEIGHT), npartitions=3)
    lazy = dd.from_pandas(FRAME, npartitions=3)
    assert_same_report(model.cost(lazy, sample_weight=column), weighted)
    assert repr(model.cost(lazy)) == repr(model.cost(FRAME))


def test_costs_of_arrays_with_weights_cut_otherwise():
    model = cf.CEGBRegressor(n_estimators=3).fit(X, TARGETS["numbers"])
    lazy, weight = da.from_array(X, chunks=(90, 2)), da.from_array(WEIGHT, chunks=50)
    assert_same_report(model.cost(lazy, sample_weight=weight), model.cost(X, sample_weight=WEIGHT))


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda model, frame: model.cost(frame, sample_weight=0 * WEIGHT), "expected some positive weight"),
        (lambda model, frame: model.cost(frame, sample_weight=WEIGHT[:3]), "expected one weight a row"),
        (
            lambda model, frame: model.cost(frame, sample_weight=frame["a"].repartition(npartitions=1)),
            "expected 3 partitions",
        ),
        (lambda model, frame: model.cost(frame[frame["a"] > 100.0]), "expected some rows"),
        (lambda model, frame: model.predict(frame[["a"]]), "lack|missing"),
        (lambda model, frame: model.predict(frame.assign(a="x")).compute(), "column 'a' holds text"),
        (lambda model, frame: model.predict(frame["a"].to_dask_array()), r"expected a dask array \(rows, columns\)"),
        (lambda model, frame: model.predictor_.predict(frame), "expected rows in memory"),
        (cf.importances, "expected rows in memory"),
    ],
)
def test_what_does_not_fit_is_refused(model, refused, words):
    with pytest.raises(DataError, match=words):
        refused(model, dd.from_pandas(FRAME, npartitions=3))


def test_paths_need_rows_in_memory():
    lazy = da.from_array(X, chunks=100)
    with pytest.raises(DataError, match="X: expected rows in memory"):
        cf.CEGBClassifier().fit_path(lazy, LABELS, X_val=X, y_val=LABELS)
