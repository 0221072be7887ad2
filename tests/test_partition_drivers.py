"""Drivers over dask's collections end rows as they do in memory, and fetch each value once."""

import pickle
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from partition_cases import COSTS, FRAME, X, fetch, make_keyed, make_sources, refuse
from test_partitions import TARGETS, with_empty_partitions

import costframe as cf
from costframe.errors import InquiryError, SourceError
from costframe.plugin import DataError, ParameterError

dask = pytest.importorskip("dask", reason="needs dask")
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


def test_a_stream_over_partitions_ends_each_row(tmp_path):
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


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: cf.predict_many(MODEL, da.zeros((5, 2), chunks=2)), DataError, "expected 4 columns"),
        (lambda: cf.predict_many(MODEL, da.zeros((5, 4)), da.arange(5)), ParameterError, "keys: are for a callable"),
        (lambda: cf.predict_many(MODEL, make_sources(), da.arange(5)), ParameterError, "need a function of keys"),
        (lambda: cf.predict_many(MODEL, lambda _: {}, da.arange(5, chunks=2)), InquiryError, "the source gave no"),
        (lambda: next(cf.predict_stream(MODEL, make_sources(), da.arange(5))), ParameterError, "makes Sources"),
        (lambda: cf.predict_many(MODEL, refuse, da.zeros((6, 2), chunks=1)), ParameterError, "keys: expected a dask"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_does_not_fit_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
