"""Fits on a cluster end with the model, or with an error in a stated time, and leave the workers free; and sweeps."""

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from cluster_cases import FaultyClassifier, still_works
from test_pages import ROOT, blocks_of

import costframe as cf
from costframe.errors import WorkersError
from costframe.plugin import DataError, ParameterError
from costframe.training.cluster import running
from costframe.training.cluster.asking import ask

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


def faulty(fault, tmp_path):
    return FaultyClassifier(n_estimators=20, fault=fault, mark=str(tmp_path / "mark"))


def assert_whole(fitted, whole):
    assert np.array_equal(fitted.decision_function(X), whole.decision_function(X))


def assert_free(client, whole):
    """Both workers end what they do, their threads included, and train again."""
    ends = time.monotonic() + HANGS
    while any(client.run(still_works).values()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert_whole(FaultyClassifier(n_estimators=20).fit(ROWS, LABELS), whole)


def _count_trainings(dask_scheduler):
    tasks = [task for worker in dask_scheduler.workers.values() for task in worker.processing]
    return sum(task.prefix.name.startswith("costframe-train") for task in tasks)


def test_an_error_of_one_worker_is_that_of_the_fit_and_the_last_model_stays(client, whole, tmp_path):
    kept = faulty("raise", tmp_path).fit(X, Y)
    before = dict(vars(kept))
    with pytest.raises(DataError, match="X: a fault of this worker alone"):
        kept.fit(ROWS, LABELS)
    with dask.config.set({"costframe.timeout": "soon"}), pytest.raises(ParameterError, match=r"costframe\.timeout"):
        kept.fit(ROWS, LABELS)
    assert vars(kept) == before
    assert_free(client, whole)


@pytest.mark.deep  # waits for seconds
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
    wait, rows = running.wait_for_first, (ROWS, LABELS) if count > 1 else (ROWS.rechunk(400), Y)

    def interrupted(*given, **more):
        if client.run_on_scheduler(_count_trainings) == count:
            raise KeyboardInterrupt
        return wait(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(running, "wait_for_first", interrupted)
        with pytest.raises(KeyboardInterrupt):
            FaultyClassifier(n_estimators=100_000, fault="idle").fit(*rows)
    assert_free(client, whole)


@pytest.mark.deep  # waits for seconds
def test_workers_end_when_the_client_goes_away(client, whole):
    found = []

    def fit(other):
        try:
            FaultyClassifier(n_estimators=100_000, fault="idle").fit(ROWS, LABELS, client=other)
        except Exception as error:  # noqa: BLE001 - that of a closed client is dask's
            found.append(error)

    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        thread = threading.Thread(target=fit, args=(other,))
        thread.start()
        ends = time.monotonic() + HANGS
        while client.run_on_scheduler(_count_trainings) != 2:
            assert time.monotonic() < ends
            time.sleep(0.05)
        time.sleep(0.2)
    thread.join(HANGS)
    assert not thread.is_alive()
    assert isinstance(found[0], WorkersError)
    assert_free(client, whole)


def test_others_train_in_place_of_a_killed_worker_and_if_all_are_killed_it_is_an_error(client, whole, tmp_path):
    before = set(client.nthreads())
    assert_whole(faulty("kill", tmp_path).fit(ROWS, LABELS), whole)
    client.wait_for_workers(2, timeout=60)
    assert set(client.nthreads()) != before
    with pytest.raises(WorkersError, match="perhaps for its memory"):
        FaultyClassifier(n_estimators=20, fault="kill").fit(ROWS, LABELS)


def test_files_that_workers_do_not_have_are_named(client, tmp_path):
    """A fit of files that are there comes after: the cluster is well."""
    from dataset_cases import read_large_table

    client.wait_for_workers(2, timeout=60)
    folder, moved = tmp_path / "rows", tmp_path / "moved"
    folder.mkdir()
    pd.DataFrame(X, columns=list("abc")).assign(ill=Y).to_parquet(folder / "0.parquet", row_group_size=200)
    data, model = read_large_table(folder, "ill"), cf.CEGBClassifier(n_estimators=5)
    folder.rename(moved)
    with pytest.raises(DataError, match=f"{folder}: cannot be read: .*0.parquet"):
        model.fit(data.X, data.y)
    moved.rename(folder)
    data = read_large_table(folder, "ill")
    expected = cf.CEGBClassifier(n_estimators=5).fit(X, Y).decision_function(X)
    assert np.array_equal(model.fit(data.X, data.y).decision_function(X), expected)


def test_a_sweep_over_a_cluster_finds_the_points_of_one_here(client, tmp_path):
    def points_of(frontier):
        return sorted((evolve(point, seconds=0.0) for point in frontier), key=lambda point: point.name)

    data = cf.datasets.load("breast-cancer")
    asked = {"algorithms": ["miser", "cegb"], "tradeoffs": [1e-2], "cv": 0, "parameters": {"n_estimators": 5}}
    here = cf.Frontier.sweep(data, **asked)
    kept = cf.Frontier.sweep(data, **asked, cluster=client.scheduler.address, directory=tmp_path / "run")
    assert points_of(kept) == points_of(here)
    X = data.part("test").X
    for point in here:
        assert kept.file(point.name).parent == tmp_path / "run" / "models"
        proba = kept.model(point.name).predict_proba(X)
        assert np.array_equal(proba, here.model(point).predict_proba(X))
    asked["parameters"] = {"max_leaves": 4.5}
    with pytest.raises(ParameterError, match="max_leaves"):  # the error of an algorithm is its own
        cf.Frontier.sweep(data, **asked, cluster=client)


class Running(str):
    """The address of the cluster of these tests, which ends with them."""

    __slots__ = ()

    def close(self):
        pass


def test_the_code_of_the_page_runs(cluster, tmp_path, monkeypatch):
    blocks = blocks_of((ROOT / "docs" / "more-rows.md").read_text(encoding="utf-8"))
    code = "\n".join(text for language, text, _ in blocks if language == "python")
    assert "over_cluster" in code
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(distributed, "LocalCluster", lambda **_: Running(cluster.scheduler_address))
    exec(code, {"__name__": "__main__"})  # noqa: S102 - our own text


def test_a_client_whose_loop_ends_while_it_is_asked_is_an_error(client):
    """Its own methods would wait for ever: the loop takes no more calls."""
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    asked, found = threading.Event(), []

    async def stay():
        asked.set()
        await asyncio.Event().wait()

    def wait_for_answer():
        try:
            ask(other, stay)
        except ConnectionError as error:
            found.append(error)

    thread = threading.Thread(target=wait_for_answer)
    thread.start()
    asked.wait(HANGS)
    other.close()
    thread.join(HANGS)
    assert [str(error) for error in found] == ["the client is closed"]
    with pytest.raises(ConnectionError, match="closed"):
        ask(other, stay)
