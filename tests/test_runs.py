"""Runs: finished fits on disk, resumed after any end, within a time limit, and frontiers saved with their models."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import queue
import socket
import sys
import tempfile
import threading
import time
from functools import partial

import attrs
import numpy as np
import pandas as pd
import pytest
from frontier_cases import COSTS, some_rows
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import costframe as cf
from costframe.core.errors import ParameterError, StorageError
from costframe.datasets.dataset import Dataset
from costframe.frontier import Frontier, study
from costframe.frontier.candidates import Entrant
from costframe.frontier.digests import digest
from costframe.frontier.reports import Reporter, listen
from costframe.frontier.rows import Division
from costframe.frontier.store import Store, pack_fits, unpack_fits
from costframe.frontier.study import Study, Task, UnfinishedError
from costframe.frontier.trial import Trial

FEW = {"n_estimators": 5}
SWEEP = {"algorithms": ["miser", "cegb"], "tradeoffs": [0.0, 0.01, 0.1], "parameters": FEW, "folds": 0}
ALONG = {"algorithms": ["miser"], "points": 4, "folds": 0, "parameters": FEW}


@pytest.fixture(scope="module")
def data():
    return Dataset.from_arrays(*some_rows(), COSTS, feature_names=list("abcd"))


def without_time(frontier):
    """The points but for what differs between runs: the seconds of fits."""
    return [attrs.evolve(point, seconds=0.0) for point in frontier.points]


def without_names(frontier):
    return [attrs.evolve(point, name="") for point in without_time(frontier)]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, Frontier.sweep(data, **SWEEP, directory=folder)


def test_a_run_has_the_points_of_a_sweep_in_memory(data, whole):
    _, frontier = whole
    assert without_names(frontier) == without_names(Frontier.sweep(data, **SWEEP))
    assert len({point.name for point in frontier.points}) == len(frontier.points)


@pytest.mark.parametrize("settings", [SWEEP, ALONG], ids=["single fits", "a path"])
def test_a_whole_run_is_resumed_without_a_fit(data, tmp_path, monkeypatch, settings):
    frontier = Frontier.sweep(data, **settings, directory=tmp_path)
    monkeypatch.setattr(Trial, "_train", lambda *_: pytest.fail("it was finished"))
    monkeypatch.setattr("costframe.frontier.paths._fit_path", lambda *_: pytest.fail("it was finished"))
    unfinished = tmp_path / "models" / ".0123456789abcdef.tmp"  # of a process that was killed while it wrote
    unfinished.touch()
    again = Frontier.sweep(data, **settings, directory=tmp_path, resume=True)
    assert not unfinished.exists()
    assert again.points == frontier.points


def test_interrupted_runs_end_as_the_whole_one(data, whole, tmp_path):
    """Whatever the fit that was interrupted, its predecessors are on disk, and the rest follows."""
    folder = tmp_path / "run"

    def interrupt(_so_far):
        raise KeyboardInterrupt

    kept = []
    for number in itertools.count(1):
        try:
            frontier = Frontier.sweep(data, **SWEEP, directory=folder, resume=number > 1, interim=interrupt)
            break
        except KeyboardInterrupt:
            kept.append(sum(map(len, Store(folder).all().values())))
    assert kept == sorted(set(kept))
    assert len(kept) > 3
    assert without_time(frontier) == without_time(whole[1])


def test_interim_frontiers_grow(data, tmp_path):
    sizes = []
    frontier = Frontier.sweep(
        data, **SWEEP, directory=tmp_path, interim=lambda so_far: sizes.append(len(so_far().points))
    )
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == len(frontier.points)


def test_models_of_points_are_files_that_predict_as_the_fitted_ones(data, whole):
    folder, frontier = whole
    rows, plain = data.part("test").X, Frontier.sweep(data, **SWEEP)
    for saved, fitted in zip(frontier.points, plain.points, strict=True):
        model = cf.load(folder / "models" / f"{saved.name}.model")
        expected = plain.model(fitted)
        np.testing.assert_array_equal(model.predict_proba(rows), expected.predict_proba(rows))
        np.testing.assert_array_equal(model.cost(rows).per_row, expected.cost(rows).per_row)
        assert frontier.file(saved) == folder / "models" / f"{saved.name}.model"


def test_a_saved_frontier_is_loaded_as_it_was(data, whole, tmp_path):
    _, frontier = whole
    for each in (frontier, Frontier.sweep(data, **ALONG)):
        folder = tmp_path / f"of {len(each.points)}"
        each.save(folder)
        again = Frontier.load(folder)
        assert again.points == each.points
        assert (again.score_name, again.unit, again.full_cost) == (each.score_name, each.unit, each.full_cost)
        one, other = (one.model(one.recommended()) for one in (again, each))
        np.testing.assert_array_equal(one.predict(data.X), other.predict(data.X))
        assert again.recommended().score == each.recommended().score


def test_a_folder_that_cannot_be_made_or_read_is_named(whole, tmp_path):
    _, frontier = whole
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "inside", tmp_path / "null\0"):
        with pytest.raises(StorageError, match="cannot be written: ") as failure:
            frontier.save(place)
        assert str(failure.value).startswith(str(place).replace("\0", r"\x00"))
    frontier.save(tmp_path / "new" / "folder")
    assert Frontier.load(tmp_path / "new" / "folder").points == frontier.points
    for place in (tmp_path / "absent", tmp_path / "null\0"):
        with pytest.raises(StorageError, match="cannot be read: "):
            Frontier.load(place)


def test_a_folder_without_the_right_to_write_is_named(whole, tmp_path, monkeypatch):
    def refuse(path, **_how):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)  # some who run tests may write everywhere
    with pytest.raises(StorageError, match=r"locked: cannot be written: Permission denied$"):
        whole[1].save(tmp_path / "locked")


def changed(array, place=500, value=9.0):
    array = array.copy()
    array[place] = value
    return array


def times(n):
    return lambda y, p: n * y @ p


def cycle(value):
    made = [value]
    made.append(made)
    return made


LONG = np.arange(10_000.0)
PAIRS = {  # how to make a value, and another one
    "inside a long array": (LONG.copy, lambda: changed(LONG)),
    "dtype": (LONG.copy, lambda: LONG.astype(np.int64)),
    "shape": (LONG.copy, lambda: LONG.reshape(100, 100)),
    "objects in an array": (lambda: np.array([1, "a"] * 900, object), lambda: np.array([1, "a"] * 899 + [2, "a"], "O")),
    "masks": (lambda: np.ma.masked_less(LONG, 5), lambda: np.ma.masked_less(LONG, 6)),
    "texts": (lambda: np.array(["a", "b"], "U9"), lambda: np.array(["a", "c"], "U1")),
    "kinds of numbers": (lambda: 1, lambda: 1.0),
    "truth": (lambda: True, lambda: 1),
    "a long list": (lambda: list(range(5000)), lambda: [*range(4999), 0]),
    "a dict": (lambda: {"a": LONG.copy(), "b": {1, 2}}, lambda: {"a": LONG, "b": {1, 3}}),
    "a nested estimator": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.5)),
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.25)),
    ),
    "what an estimator learned": (
        lambda: LogisticRegression().fit([[0.0], [1]], [0, 1]), lambda: LogisticRegression().fit([[0.0], [2]], [0, 1])
    ),
    "an estimator's array": (
        lambda: GaussianProcessRegressor(alpha=LONG.copy()), lambda: GaussianProcessRegressor(alpha=changed(LONG))
    ),
    "code": (lambda: lambda y, p: y @ p, lambda: lambda y, p: y + p),
    "a constant in code": (lambda: lambda y, p: 2.0 * (y @ p), lambda: lambda y, p: 3.0 * (y @ p)),
    "what a function closes over": (lambda: times(2), lambda: times(3)),
    "a partial function": (lambda: partial(np.quantile, q=0.5), lambda: partial(np.quantile, q=0.7)),
    "functions by name": (lambda: np.mean, lambda: np.median),
    "classes": (lambda: Ridge, lambda: Lasso),
    "prices": (lambda: cf.CostModel.of(COSTS, list("abcd")), lambda: cf.CostModel.uniform(list("abcd"))),
    "random states": (lambda: np.random.RandomState(0), lambda: np.random.RandomState(1)),
    "frames": (lambda: pd.DataFrame({"a": LONG}), lambda: pd.DataFrame({"a": changed(LONG)})),
    "cycles": (lambda: cycle(1), lambda: cycle(2)),
}  # fmt: skip


@pytest.mark.parametrize("difference", PAIRS)
def test_digests_of_values_are_equal_where_the_values_are(difference):
    make, make_other = PAIRS[difference]
    assert digest(make(), "value") == digest(make(), "value") == digest(copy.deepcopy(make()), "value")
    assert digest(make(), "value") != digest(make_other(), "value")
    assert digest([make(), make()], "value") == digest([make()] * 2, "value")  # one object or two


def test_digests_see_values_only():
    turned = np.asfortranarray(LONG.reshape(100, 100))
    assert digest(turned, "value") == digest(turned.copy("C"), "value") == digest(LONG.reshape(100, 100), "value")
    assert digest(np.array(["a"], "U9"), "value") == digest(np.array(["a"]), "value")
    assert digest([np.float64(0.5), np.int64(3)], "value") == digest([0.5, 3], "value")
    assert digest({"a": 1, "b": 2}, "value") == digest({"b": 2, "a": 1}, "value")
    model = cf.adopt(LogisticRegression().fit(*some_rows()), list("abcd"))
    before = digest(model, "value")
    model.predict(np.zeros((1, 4)))  # which caches
    assert digest(model, "value") == before


def test_runs_are_resumed_by_the_values_of_parameters(data, tmp_path):
    """Also of functions, whose texts have an address, and of what is in long arrays, whose texts are cut."""

    def sweep(array, **more):
        shift = FunctionTransformer(lambda rows: rows + array[500])
        parameters = {"expensive": make_pipeline(shift, GaussianNB())}
        settings = {"algorithms": ["adapt"], "tradeoffs": [0.1], "folds": 0, "directory": tmp_path}
        return Frontier.sweep(data, **settings, parameters=parameters | more, resume=(tmp_path / "run.json").exists())

    first = sweep(LONG)
    assert sweep(LONG.copy()).points == first.points
    with pytest.raises(ParameterError, match=r"has other parameters of estimators$"):
        sweep(changed(LONG))
    with pytest.raises(ParameterError, match=r"verbose: a run in a directory .* leave out the directory$"):
        sweep(LONG, verbose=threading.Lock())


def test_what_a_run_refuses(data, whole, tmp_path):
    folder, _ = whole
    with pytest.raises(ParameterError, match="holds a run; resume it, or give another"):
        Frontier.sweep(data, **SWEEP, directory=folder)
    dear = data.with_costs(cf.CostModel.uniform(list("abcd")))
    with pytest.raises(ParameterError, match=r"has other prices$"):
        Frontier.sweep(dear, **SWEEP, directory=folder, resume=True)
    fewer = Dataset.from_arrays(*some_rows(300), COSTS, feature_names=list("abcd"))
    with pytest.raises(ParameterError, match="another table or split of rows and another score"):
        Frontier.sweep(fewer, **SWEEP, score="accuracy", directory=folder, resume=True)
    (tmp_path / "run.json").write_text("[")
    with pytest.raises(ParameterError, match="is no description of a run"):
        Frontier.sweep(data, **SWEEP, directory=tmp_path, resume=True)
    with pytest.raises(ParameterError, match="time_limit: needs a directory"):
        Frontier.sweep(data, **SWEEP, time_limit=1.0)
    for wrong in (0, -1.0, "1", True, float("nan")):
        with pytest.raises(ParameterError, match="time_limit: expected a number of seconds > 0"):
            Frontier.sweep(data, **SWEEP, time_limit=wrong, directory=tmp_path / "new")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_out_of_time_ends_with_what_is_finished(data, tmp_path, processes):
    none = Frontier.sweep(
        data, **SWEEP, directory=tmp_path / "none", time_limit=1e-9, n_jobs=processes, failed=lambda *_: None
    )
    assert [(point.name, point.cost, point.n_features) for point in none] == [("constant-1", 0.0, 0)]
    assert none.recommended() == none.points[0]
    unfinished = {}
    Frontier.sweep(data, **SWEEP | {"algorithms": ["miser"]}, directory=tmp_path / "some")
    frontier = Frontier.sweep(
        data, **SWEEP, directory=tmp_path / "some", resume=True, time_limit=1e-9, n_jobs=processes,
        failed=unfinished.__setitem__,
    )  # fmt: skip
    assert {point.algorithm for point in frontier.points} == {"miser"}
    assert "cegb" in unfinished
    assert all(isinstance(error, UnfinishedError) for error in unfinished.values())


def test_the_files_of_fits_are_read_once(data, tmp_path, monkeypatch):
    """Also where each further fit makes a frontier of those so far; what a process fitted itself, it does not read."""
    read = []
    monkeypatch.setattr("costframe.frontier.store.unpack_fits", lambda *of: read.append(of) or unpack_fits(*of))

    def sweep(count, **how):
        tradeoffs = list(np.linspace(0, 0.1, 12))[:count]
        how |= {"parameters": FEW, "folds": 0, "directory": tmp_path, "interim": lambda so_far: so_far()}
        return len({point.name for point in Frontier.sweep(data, ["miser"], tradeoffs, **how).points})

    assert (sweep(10), len(read)) == (10, 0)
    assert (sweep(12, resume=True), len(read)) == (12, 10)


def test_an_interrupted_run_ends_its_own_processes_only(data):
    """Not one that the caller began meanwhile."""
    others = []

    def progress(*_event):
        if not others:
            before = set(multiprocessing.active_children())
            others.append(multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,)))
            others[0].start()
            own.extend(each for each in before if "Loky" in each.name and each.is_alive())  # others are of other tests
            raise KeyboardInterrupt

    own = []
    with pytest.raises(KeyboardInterrupt):
        Frontier.sweep(data, **SWEEP, n_jobs=2, progress=progress)
    try:
        assert len(own) == 2
        assert [each for each in own if each.is_alive()] == []
        others[0].join(0.5)  # time for a signal to arrive
        assert others[0].is_alive()
    finally:
        others[0].kill()
        others[0].join()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other sockets")
def test_fits_end_when_the_process_that_waits_for_them_was_killed():
    """Its socket is there, and nobody listens; on another machine there is none, and fits go on in silence."""
    reports = queue.SimpleQueue()
    with listen(reports) as reporter:
        reporter.send("a report")
    assert reports.get(timeout=60) == "a report"
    reporter.send("to nobody")
    with tempfile.TemporaryDirectory() as folder:
        orphan = Reporter(f"{folder}/socket", reporter.key)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(orphan.address)
        with pytest.raises(ConnectionRefusedError):
            orphan.send("to nobody")


def test_large_tables_have_first_looks(data, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "_MANY_ROWS", 200)
    monkeypatch.setattr(study, "_FIRST_ROWS", 100)
    frontier = Frontier.sweep(data, **ALONG | {"algorithms": ["cronus", "miser"]}, directory=tmp_path)
    quick = [point for point in frontier.points if "quick" in point.name]
    assert {point.algorithm for point in quick} == {"miser"}  # cronus has no path
    assert sorted(point.name for point in quick) == [f"miser-quick-{n + 1}" for n in range(len(quick))]
    assert len(frontier.points) > len(quick)
    whole = Study([Entrant.of("miser", data, FEW)], Division.of_data(data), "roc_auc")
    trial = whole.trial(Task("miser", first_look=True))
    assert (len(trial.train.y), len(trial.stopping.y)) == (75, 25)  # no fit has seen valid, which measures
    known = {row.tobytes() for row in data.part("train").X}
    assert len({row.tobytes() for rows in (trial.train, trial.stopping) for row in rows.X} & known) == 100
    assert len(trial.valid.y) == len(data.part("valid").y)
    first = min((tmp_path / "fits").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert unpack_fits(first, tmp_path)[0][0].point.name == "miser-quick-1"


def test_altered_files_of_fits_are_refused(whole, tmp_path):
    folder, _ = whole
    good = next((folder / "fits").iterdir()).read_bytes()
    file = tmp_path / "some.fits"
    for content in (good[:-1], good[:50], b"", good[:100] + bytes([good[100] ^ 1]) + good[101:]):
        file.write_bytes(content)
        with pytest.raises(StorageError, match=r"some\.fits: "):
            unpack_fits(file, tmp_path)
    model = next((folder / "models").iterdir())
    with pytest.raises(StorageError, match="expected finished fits of a run"):
        unpack_fits(model, tmp_path)
    file.write_bytes(pack_fits([], {"front": []}))
    with pytest.raises(StorageError, match="expected finished fits of a run, got none"):
        unpack_fits(file, tmp_path)
    with pytest.raises(StorageError, match="cannot be read"):
        Frontier.load(tmp_path / "nothing")
