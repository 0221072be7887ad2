"""Drivers over dask's collections end rows as they do in memory, and fetch each value once."""

import gc
import pickle
import time
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from cluster_cases import cluster_of_two
from partition_cases import COSTS, FRAME, NAMES, X, die, fetch, load, make_keyed, make_sources, refuse
from test_partitions import TARGETS, with_empty_partitions

import costframe as cf
from costframe.core.errors import DataError, InquiryError, ParameterError, SourceError, WorkersError

dask = pytest.importorskip("dask", reason="needs dask")
distributed = pytest.importorskip("distributed", reason="needs distributed")
da = pytest.importorskip("dask.array", reason="needs dask[array]")
dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")

MODEL = cf.CEGBClassifier(COSTS, n_estimators=4).fit(FRAME, TARGETS["classes"])
WHOLE = cf.predict_many(MODEL, FRAME)
KEYS = dd.from_pandas(pd.Series(range(len(FRAME))), npartitions=3)


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def rows_of(ends):
    return [(np.asarray(end.value).tolist(), end.cost, end.acquired, end.rounds, end.reason) for end in ends]


def requests_in(folder):
    return Counter(line for path in folder.glob("*.requests") for line in path.read_text().splitlines())


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("rows", [with_empty_partitions(), da.from_array(X, chunks=(70, 3))], ids=["frame", "array"])
@pytest.mark.parametrize("terms", [{}, {"max_cost": 3.0, "acquisition": "learner"}, {"known": iter(["b"])}])
def test_rows_of_partitions_are_those_in_memory(rows, terms):
    given = {name: ["b"] if name == "known" else value for name, value in terms.items()}
    whole, found = cf.predict_many(MODEL, FRAME, **given), cf.predict_many(MODEL, rows, **given)
    for name in ("value", "cost", "acquired", "cut"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    assert rows_of(found[::7]) == rows_of(whole[::7])
    assert (len(found), repr(found)) == (len(whole), repr(whole))
    assert rows_of(pickle.loads(pickle.dumps(found))[:3]) == rows_of(whole[:3])  # noqa: S301 - its own


@pytest.mark.usefixtures("client")
def test_keys_of_a_function_are_fetched_once_over_a_cluster(tmp_path):
    found = cf.predict_many(MODEL, partial(fetch, tmp_path), KEYS)
    assert rows_of(found) == rows_of(WHOLE)
    requests = requests_in(tmp_path)
    assert set(requests.values()) == {1}
    assert sum(requests.values()) == WHOLE.acquired.sum()
    assert len(list(tmp_path.glob("*.requests"))) == 2  # both workers


@pytest.mark.parametrize("scheduler", ["sync", "client"])
def test_a_stream_over_partitions_ends_each_row(request, tmp_path, scheduler):
    if scheduler == "client":
        request.getfixturevalue("client")
    columns = dd.from_pandas(pd.DataFrame({"patient": range(len(FRAME)), "visit": "first"}), npartitions=4)
    ends = {key["patient"]: end for key, end in cf.predict_stream(MODEL, partial(make_keyed, tmp_path), columns)}
    assert rows_of(ends[i] for i in range(len(FRAME))) == rows_of(WHOLE)
    assert set(requests_in(tmp_path).values()) == {1}


@pytest.mark.usefixtures("client")
def test_an_error_of_a_row_says_what_it_paid():
    ends = dict(cf.predict_stream(MODEL, partial(make_sources, broken={7}), da.arange(20, chunks=6)))
    assert len(ends) == 20
    assert rows_of(ends[i] for i in range(20) if i != 7) == rows_of(WHOLE[i] for i in range(20) if i != 7)
    assert isinstance(ends[7], SourceError)
    assert (ends[7].cost, ends[7].failed_cost > 0, len(ends[7].failures) > 0) == (0.0, True, True)


@pytest.mark.usefixtures("client")
def test_a_killed_worker_loses_its_partition_alone(tmp_path):
    (tmp_path / "kill").touch()
    found = cf.predict_many(MODEL, partial(fetch, tmp_path), KEYS)
    assert not (tmp_path / "kill").exists()
    assert rows_of(found) == rows_of(WHOLE)


@pytest.mark.usefixtures("client")
def test_a_partition_that_kills_every_worker_is_an_error():
    with pytest.raises(WorkersError, match="was lost when it predicted the same partition"):
        cf.predict_many(MODEL, die, da.arange(4, chunks=4))


def test_a_cluster_without_workers_is_an_error_in_time():
    with (
        cluster_of_two() as cluster,
        distributed.Client(cluster) as client,
        dask.config.set({"costframe.timeout": 1}),
    ):
        client.retire_workers(list(client.nthreads()))
        with pytest.raises(WorkersError, match="the cluster has had none for 1 s"):
            cf.predict_many(MODEL, partial(fetch, "nowhere"), KEYS)


@pytest.mark.parametrize("scheduler", ["sync", "client"])
def test_what_partitions_share_is_computed_once(request, tmp_path, scheduler):
    if scheduler == "client":
        request.getfixturevalue("client")
    rows = da.from_delayed(dask.delayed(load)(tmp_path), X.shape, float).rechunk((40, 4))
    assert np.array_equal(cf.predict_many(MODEL.predictor_, rows).cost, WHOLE.cost)
    assert len(list(tmp_path.glob("*.loaded"))) == 1


def test_a_model_that_refuses_nan_predicts_rows_without():
    from sklearn.neighbors import KNeighborsClassifier

    full = FRAME.fillna(0.0)
    model = cf.adopt(KNeighborsClassifier().fit(full, TARGETS["two"]), features=NAMES)
    lazy = cf.predict_many(model, dd.from_pandas(full, npartitions=3))
    assert np.array_equal(lazy.value, cf.predict_many(model, full).value)


def test_a_client_closed_in_between_is_an_error(client, tmp_path):
    rows = cf.predict_stream(MODEL, partial(make_sources, tmp_path), da.arange(300, chunks=50))
    next(rows)
    client.close()
    with pytest.raises(WorkersError, match="client: was closed"):
        list(rows)


def test_a_closed_stream_asks_no_more(client, tmp_path):
    rows = cf.predict_stream(MODEL, partial(make_sources, tmp_path), da.arange(300, chunks=10))
    next(rows)
    rows.close()
    assert len({line.split()[0] for line in requests_in(tmp_path)}) < 300
    for _ in range(1000):
        gc.collect()
        if not client.futures:
            return
        time.sleep(0.05)  # dask releases them in a thread of its own
    pytest.fail(f"left on the cluster: {client.futures}")


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: cf.predict_many(MODEL, da.zeros((5, 2), chunks=2)), DataError, "expected 4 columns"),
        (lambda: cf.predict_many(MODEL, da.zeros(5, chunks=2)), DataError, "dask array"),
        (lambda: cf.predict_many(MODEL, da.zeros((5, 4), chunks=2), max_cost=-1.0), ParameterError, "max_cost"),
        (lambda: cf.predict_many(MODEL, da.zeros((5, 4)), da.arange(5)), ParameterError, "keys: are for a callable"),
        (lambda: cf.predict_many(MODEL, make_sources(), da.arange(5)), ParameterError, "need a function of keys"),
        (lambda: cf.predict_many(MODEL, refuse, da.arange(5), costs={"q": 1}), ValueError, "no price for"),
        (lambda: cf.predict_many(MODEL, lambda _: {}, da.arange(5, chunks=2)), InquiryError, "the source gave no"),
        (lambda: cf.predict_many(MODEL, refuse, da.arange(5, chunks=2)), OSError, "no table"),
        (lambda: next(cf.predict_stream(MODEL, make_sources(), da.arange(5))), ParameterError, "makes Sources"),
        (lambda: next(cf.predict_stream(MODEL, make_sources, da.arange(5), observe=print)), ParameterError, "observe"),
        (lambda: next(cf.predict_stream(MODEL, make_sources, da.arange(5), max_cost=-1)), ParameterError, "max_cost"),
        (lambda: cf.predict_many(MODEL, refuse, da.zeros((6, 2), chunks=1)), ParameterError, "keys: expected a dask"),
        (lambda: cf.predict_many(MODEL, refuse, dask.delayed([1, 2])), ParameterError, "keys: expected a dask"),
        (lambda: next(cf.predict_stream(MODEL, lambda: 3, da.arange(5))), ParameterError, "it made 3"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_does_not_fit_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_an_async_stream_refuses_keys_of_dask():
    import asyncio

    async def first():
        return await anext(cf.sources.predict_stream_async(MODEL, make_sources(), da.arange(5)))

    with pytest.raises(ParameterError, match="keys: those of dask go to predict_stream"):
        asyncio.run(first())


def test_an_error_names_the_partition():
    with pytest.raises(OSError, match="no table") as caught:
        cf.predict_many(MODEL, refuse, da.arange(5, chunks=2))
    assert caught.value.__notes__[-1].startswith("costframe: in partition ")
