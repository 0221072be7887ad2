"""Runs: finished fits on disk, resumed after any end, within a time limit, and frontiers saved with their models."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import queue
import socket
import sys
import tempfile
import time

import attrs
import numpy as np
import pandas as pd
import pytest
from cli_cases import algorithm
from frontier_cases import COSTS, some_rows
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from costframe.choices import Frontier
from costframe.datasets import Dataset
from costframe.errors import StorageError, UnfinishedError
from costframe.plugin import ParameterError
from costframe.study import first_look as first_looks
from costframe.study import study
from costframe.study.digests import digest
from costframe.study.division import Division
from costframe.study.entrants import Entrant
from costframe.study.events import FitTask
from costframe.study.failures import TimeIsUp
from costframe.study.fit_files import pack_fits, unpack_fits
from costframe.study.progress import silent
from costframe.study.reports import Reporter, listen
from costframe.study.store import Store
from costframe.study.study import Study
from costframe.study.trial import Trial

FEW = {"n_estimators": 5}
SWEEP = {"algorithms": ["miser", "cegb"], "tradeoffs": [0.0, 0.01, 0.1], "parameters": FEW, "cv": 0}
ALONG = {"algorithms": ["miser"], "points": 4, "cv": 0, "parameters": FEW}


@pytest.fixture(scope="module")
def data():
    return Dataset.from_arrays(*some_rows(), COSTS, feature_names=list("abcd"))


def without_time(frontier):
    """The points but for what differs between runs: the seconds of fits."""
    return [attrs.evolve(point, seconds=0.0) for point in frontier.points]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, Frontier.sweep(data, **SWEEP, directory=folder)


def test_interrupted_runs_end_as_the_whole_one(data, whole, tmp_path, monkeypatch):
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
    monkeypatch.setattr(Trial, "_train", lambda *_: pytest.fail("it was finished"))
    unfinished = folder / "models" / ".0123456789abcdef.tmp"  # of a process that was killed while it wrote
    unfinished.touch()
    assert Frontier.sweep(data, **SWEEP, directory=folder, resume=True).points == frontier.points
    assert not unfinished.exists()


def test_a_saved_frontier_is_loaded_as_it_was(data, whole, tmp_path):
    _, frontier = whole
    frontier.save(tmp_path)
    again = Frontier.load(tmp_path)
    assert again.points == frontier.points
    assert (again.score_name, again.unit, again.full_cost) == (frontier.score_name, frontier.unit, frontier.full_cost)
    one, other = (each.model(each.recommended()) for each in (again, frontier))
    np.testing.assert_array_equal(one.predict(data.X), other.predict(data.X))


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
    "masks": (lambda: np.ma.masked_less(LONG, 5), lambda: np.ma.masked_less(LONG, 6)),
    "kinds of numbers": (lambda: 1, lambda: 1.0),
    "a dict": (lambda: {"a": LONG.copy(), "b": {1, 2}}, lambda: {"a": LONG, "b": {1, 3}}),
    "a nested estimator": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.5)),
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.25)),
    ),
    "what an estimator learned": (
        lambda: LogisticRegression().fit([[0.0], [1]], [0, 1]), lambda: LogisticRegression().fit([[0.0], [2]], [0, 1])
    ),
    "a constant in code": (lambda: lambda y, p: 2.0 * (y @ p), lambda: lambda y, p: 3.0 * (y @ p)),
    "what a function closes over": (lambda: times(2), lambda: times(3)),
    "classes": (lambda: Ridge, lambda: Lasso),
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
    monkeypatch.setattr(study, "MANY_ROWS", 200)
    monkeypatch.setattr(first_looks, "_FEW_ROWS", 100)
    frontier = Frontier.sweep(data, **ALONG | {"algorithms": ["reweighted", "miser"]}, directory=tmp_path)
    quick = [point for point in frontier.points if "quick" in point.name]
    assert {point.algorithm for point in quick} == {"miser"}  # reweighted has no path
    assert sorted(point.name for point in quick) == [f"miser-quick-{n + 1}" for n in range(len(quick))]
    assert len(frontier.points) > len(quick)
    whole = Study([Entrant.of("miser", data, FEW)], Division.of_data(data), "roc_auc")
    trial = whole.trial(FitTask("miser", first_look=True))
    assert (len(trial.train.y), len(trial.stopping.y)) == (75, 25)  # no fit has seen valid, which measures
    known = {row.tobytes() for row in data.part("train").X}
    assert len({row.tobytes() for rows in (trial.train, trial.stopping) for row in rows.X} & known) == 100
    assert len(trial.valid.y) == len(data.part("valid").y)
    first = min((tmp_path / "fits").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert unpack_fits(first, tmp_path)[0][0].point.name == "miser-quick-1"


@pytest.mark.parametrize("processes", [1, 2])
def test_small_tables_have_a_first_look_until_a_fit_ends(data, tmp_path, processes):
    seen, asked = [], ALONG | {"algorithms": ["reweighted", "miser"]}
    found = Frontier.sweep(
        data, **asked, directory=tmp_path, n_jobs=processes, interim=lambda make: seen.append(make())
    )
    first = [point.name for point in seen[0]]
    assert first == [*(f"miser-quick-{n}" for n in range(1, len(first))), "constant-1"]
    assert len(first) > 3
    references = {"linear-all", "constant"}
    for frontier in [*seen, found]:  # references end before
        own = {point.algorithm for point in frontier if "quick" not in point.name} - references
        assert any("quick" in point.name for point in frontier) == (not own)
    assert not list((tmp_path / "models").glob("*quick*"))
    assert {p.score for p in found} == {p.score for p in Frontier.sweep(data, **asked)}
    again = Study([Entrant.of("miser", data, FEW)], Division.of_data(data), "roc_auc", store=Store(tmp_path))
    assert again.first_look(silent) == []  # there are fits to show


def test_a_first_look_needs_time_and_an_algorithm_of_this_package(data, tmp_path, installed, monkeypatch):
    text = algorithm("ours", "return super().fit(X, y, **more)")
    installed("ours", text[: text.index("    fit_path")] + text[text.index("    def fit") :])

    def first_look(name, progress=silent):
        run = Study([Entrant.of(name, data, FEW)], Division.of_data(data), "roc_auc", store=Store(tmp_path))
        return run.first_look(progress)

    assert len(first_look("miser")) > 3
    assert first_look("ours") == []  # a fit that reports nothing would go on after an interrupt

    def report(*_):
        raise TimeIsUp

    monkeypatch.setattr(Study, "trial", None)
    assert first_look("miser", report) == []


def test_a_first_look_is_measured_and_is_all_that_a_run_without_time_has(data, tmp_path, monkeypatch):
    valid, entrants = data.part("valid"), [Entrant.of("miser", data, FEW)]
    for fitted in Study(entrants, Division.of_data(data), "roc_auc", store=Store(tmp_path)).first_look(silent):
        predicted = fitted.model.predict_proba(valid.X)[:, 1]
        assert fitted.point.score == pytest.approx(roc_auc_score(valid.y, predicted))
        assert fitted.point.cost == pytest.approx(fitted.model.cost(valid.X).mean)

    def take_too_long(*_):
        raise TimeIsUp

    monkeypatch.setattr(Study, "fit_task", take_too_long)
    frontier = Frontier.sweep(data, **ALONG, directory=tmp_path, time_limit=100, failed=lambda *_: None)
    assert {point.algorithm for point in frontier} == {"miser", "constant"}
    assert all("quick" in point.name for point in frontier if point.algorithm == "miser")


def test_what_a_run_refuses(data, whole, tmp_path):
    (tmp_path / "run.json").write_text("[")
    dear = data.with_costs(cf.CostModel.uniform(list("abcd")))
    fewer = Dataset.from_arrays(*some_rows(300), COSTS, feature_names=list("abcd"))
    for given, more, text in [
        (data, {"directory": whole[0]}, "holds a run; resume it, or give another"),
        (dear, {"directory": whole[0], "resume": True}, r"has other prices$"),
        (fewer, {"score": "accuracy", "directory": whole[0], "resume": True}, "another table or split of rows and"),
        (data, {"parameters": {"n_estimators": 6}, "directory": whole[0], "resume": True}, "has other parameters of"),
        (data, {"directory": tmp_path, "resume": True}, "is no description of a run"),
        (data, {"time_limit": 1.0}, "time_limit: needs a directory"),
        (data, {"time_limit": -1.0, "directory": tmp_path / "new"}, "time_limit: expected a number of seconds > 0"),
    ]:
        with pytest.raises(ParameterError, match=text):
            Frontier.sweep(given, **SWEEP | more)


def test_an_interrupted_run_ends_its_own_processes_only(data):
    """Not one that the caller began meanwhile."""
    own, others = [], []

    def progress(*_event):
        if not others:
            before = set(multiprocessing.active_children())
            others.append(multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,)))
            others[0].start()
            own.extend(each for each in before if "Loky" in each.name and each.is_alive())  # others are of other tests
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Frontier.sweep(data, **SWEEP, n_jobs=2, progress=progress)
    try:
        assert [each.is_alive() for each in own] == [False, False]
        others[0].join(0.5)  # time for a signal to arrive
        assert others[0].is_alive()
    finally:
        others[0].kill()
        others[0].join()


def test_altered_files_of_fits_are_refused(whole, tmp_path):
    good, file = next((whole[0] / "fits").iterdir()).read_bytes(), tmp_path / "some.fits"
    for content in (good[:-1], b"", good[:100] + bytes([good[100] ^ 1]) + good[101:], pack_fits([], {"front": []})):
        file.write_bytes(content)
        with pytest.raises(StorageError, match=r"some\.fits: "):
            unpack_fits(file, tmp_path)
    with pytest.raises(StorageError, match="cannot be read"):
        Frontier.load(tmp_path / "nothing")
