"""Fits on a cluster end with the model, or with an error in a stated time, and leave the workers free."""

import os
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from cluster_cases import FaultyClassifier, cluster_of_two, still_works

from costframe.core.errors import DataError, WorkersError

dask = pytest.importorskip("dask", reason="needs dask")
distributed = pytest.importorskip("distributed", reason="needs distributed")
pytest.importorskip("xgboost", reason="needs xgboost")
da = pytest.importorskip("dask.array", reason="needs dask[array]")

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals")

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = (X[:, 0] + rng.normal(size=400) > 0).astype(np.int64)
ROWS, LABELS = da.from_array(X, chunks=(50, 3)), da.from_array(Y, chunks=50)
LIMIT = 4  # seconds without an answer
HANGS = 600  # seconds after which a wait is an error of the test


@pytest.fixture(autouse=True)
def _patience():
    # Who waits for another worker's end does so for longer than a test.
    with dask.config.set({"costframe.timeout": 10 * HANGS}):
        yield


@pytest.fixture(scope="module")
def whole():
    return FaultyClassifier(n_estimators=20).fit(X, Y)


def faulty(fault, tmp_path, n_estimators=20):
    return FaultyClassifier(n_estimators=n_estimators, fault=fault, mark=str(tmp_path / "mark"))


def assert_whole(fitted, whole):
    assert np.array_equal(fitted.decision_function(X), whole.decision_function(X))


def assert_free(client, whole):
    """Both workers end what they do, their threads included, and train again."""
    ends = time.monotonic() + HANGS
    while any(client.run(still_works).values()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert_whole(FaultyClassifier(n_estimators=20).fit(ROWS, LABELS), whole)


def is_training(client, count=2):
    """Whether so many workers train."""
    return client.run_on_scheduler(_count_trainings) == count


def _count_trainings(dask_scheduler):
    tasks = [task for worker in dask_scheduler.workers.values() for task in worker.processing]
    return sum(task.prefix.name.startswith("costframe-train") for task in tasks)


def wait_until_training(client):
    ends = time.monotonic() + HANGS
    while not is_training(client):
        assert time.monotonic() < ends
        time.sleep(0.05)
    time.sleep(0.2)


def test_an_error_of_one_worker_is_that_of_the_fit(client, whole, tmp_path):
    kept = faulty("raise", tmp_path)
    kept.fit(X, Y)
    before = dict(vars(kept))
    with pytest.raises(DataError, match="X: a fault of this worker alone"):
        kept.fit(ROWS, LABELS)
    assert vars(kept) == before
    assert_free(client, whole)


@pytest.mark.usefixtures("client")
def test_a_slow_worker_is_waited_for(whole, tmp_path):
    assert_whole(faulty("slow", tmp_path).fit(ROWS, LABELS), whole)
    assert (tmp_path / "mark").exists()


def test_a_stopped_worker_is_an_error_in_time(client, whole, tmp_path):
    FaultyClassifier(n_estimators=1).fit(ROWS, LABELS)  # compiles
    processes = client.run(os.getpid)
    try:
        with (
            dask.config.set({"costframe.timeout": LIMIT}),
            pytest.raises(WorkersError, match=f"did not answer within {LIMIT} s"),
        ):
            faulty("stop", tmp_path).fit(ROWS, LABELS)
    finally:
        for process in processes.values():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    assert_free(client, whole)


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_frees_the_workers(client, whole, monkeypatch, count):
    wait = distributed.wait

    def interrupted(*given, **more):
        if is_training(client, count):
            raise KeyboardInterrupt
        return wait(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(distributed, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            FaultyClassifier(n_estimators=100_000).fit(*((ROWS, LABELS) if count > 1 else (ROWS.rechunk(400), Y)))
    assert_free(client, whole)


def test_workers_end_when_the_client_goes_away(client, whole):
    found = []

    def fit(other):
        try:
            FaultyClassifier(n_estimators=100_000).fit(ROWS, LABELS, client=other)
        except Exception as error:  # noqa: BLE001 - that of a closed client is dask's
            found.append(error)

    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        thread = threading.Thread(target=fit, args=(other,))
        thread.start()
        wait_until_training(client)
    thread.join(HANGS)
    assert not thread.is_alive()
    assert isinstance(found[0], WorkersError)
    assert_free(client, whole)


def test_others_train_in_place_of_a_killed_worker(client, whole, tmp_path):
    before = set(client.nthreads())
    assert_whole(faulty("kill", tmp_path).fit(ROWS, LABELS), whole)
    client.wait_for_workers(2, timeout=60)
    assert set(client.nthreads()) != before


def test_a_worker_without_memory_is_a_killed_one_and_if_it_never_has_it_an_error(tmp_path, whole):
    with cluster_of_two(memory_limit="1GB") as cluster, distributed.Client(cluster) as client:
        assert_whole(faulty("fill", tmp_path).fit(ROWS, LABELS, client=client), whole)
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(WorkersError, match="perhaps for its memory"):
            FaultyClassifier(n_estimators=20, fault="fill").fit(ROWS, LABELS, client=client)
