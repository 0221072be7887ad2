"""What `costframe compare` finds in its folder: finished fits survive interrupts and mistakes, files of others too."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from cli_cases import refused
from study_cases import Study, Trial, hold_alone

from costframe import Frontier, load
from costframe.cli import outputs, results
from costframe.plugin import ParameterError

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def command(run, small):
    """Run `compare` with two models of the planner."""
    arguments = ("compare", small, "--target", "ill", "--points", 2, "--cv", 0, "--algorithms")
    return lambda *more, algorithms="planner": run(*arguments, algorithms, *more)


def fits(tmp_path):
    return {file.name: file.read_bytes() for file in (tmp_path / "frontier" / "fits").glob("*.fits")}


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((Study, "fit_task"), "interrupted before the first fit ended; the constant is in frontier, --resume goes on"),
        ((Frontier, "save"), "interrupted; all finished fits are in frontier, --resume goes on"),
        ((results.Results, "show"), "interrupted after writing frontier/points.csv, "),
    ],
)
def test_an_interrupt_keeps_what_there_is(command, tmp_path, monkeypatch, place, text):
    with monkeypatch.context() as patch:
        patch.setattr(*place, interrupt)
        ended = command()
    assert (ended.exit_code, ended.stderr.splitlines()[-1][: len(text)]) == (130, text)
    before = fits(tmp_path)
    assert bool(before) == (place[1] != "fit_task")
    if not before:
        assert "Recommended: constant-1 costs 0.00 " in ended.stdout
        assert load(tmp_path / "frontier" / "recommended.model").classes_.tolist() == ["no", "yes"]
    assert "Recommended: planner-" in command("--resume").stdout
    assert fits(tmp_path).items() >= before.items()


def test_a_first_look_is_told_from_fits_and_leaves_no_models(command, tmp_path, monkeypatch):
    models = tmp_path / "frontier" / "models"
    with monkeypatch.context() as patch:
        patch.setattr(Study, "fit_task", interrupt)
        ended = command(algorithms="cegb")
    text = "interrupted before the first fit ended; a first look is in frontier, --resume goes on"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (130, text)
    assert {"cegb-quick-1.model", "constant-1.model"} <= {file.name for file in models.iterdir()}
    assert command("--resume", algorithms="cegb").exit_code == 0
    cegb = {point.name for point in Frontier.load(tmp_path / "frontier").points}
    assert {file.stem for file in models.iterdir()} == cegb
    assert command("--resume").exit_code == 0  # the planner alone: fits of others stay
    both = cegb | {point.name for point in Frontier.load(tmp_path / "frontier").points}
    assert {file.stem for file in models.iterdir()} == both > cegb


def interrupt_after(count, monkeypatch):
    """Interrupt the fit that follows some."""
    own, done = Trial.fit, []

    def fit(trial, tradeoff):
        if len(done) == count:
            raise KeyboardInterrupt
        done.append(tradeoff)
        return own(trial, tradeoff)

    monkeypatch.setattr(Trial, "fit", fit)


@pytest.mark.parametrize(
    ("budget", "count", "text"),
    [
        (2, 2, "interrupted; a.model is the best of the 2 models fitted so far"),
        (2, 0, "interrupted before the first fit ended, nothing was written"),
        (0.001, 1, "interrupted before a model within the budget was fitted, nothing was written"),
    ],
)
def test_an_interrupted_fit_keeps_the_best_model_so_far(run, small, tmp_path, monkeypatch, budget, count, text):
    interrupt_after(count, monkeypatch)
    arguments = ("fit", small, "--target", "ill", "--algorithm", "cstc", "--output", "a.model", "--budget", budget)
    ended = run(*arguments)
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (130, text)
    assert (tmp_path / "a.model").exists() == (count == 2)


def test_a_run_is_neither_overwritten_nor_resumed_unasked(command, run, tmp_path):
    assert refused(command("--resume")) == "error: --resume: there is no run in frontier"
    assert command().exit_code == 0
    before = fits(tmp_path)
    for ended, text in [
        (command(), "--output: frontier would be overwritten; --resume goes on with its run, choose another place, or"),
        (command("--resume", "--force"), "give either --resume or --force"),
        (command("--resume", "--score", "accuracy"), "has another score"),
        (command("--cv", 1000, "--force"), "cv: "),
        (run("compare", "none.csv", "--target", "ill", "--force"), "none.csv"),
    ]:
        assert (ended.exit_code, text in ended.stderr.splitlines()[-1]) == (2, True), ended.output
        assert fits(tmp_path) == before
    assert command("--resume").exit_code == 0
    assert fits(tmp_path) == before
    Frontier.load(tmp_path / "frontier").save(tmp_path / "saved")
    assert refused(command("--output", "saved")).startswith("error: --output: saved would be overwritten; ")
    assert command("--force", "--score", "accuracy").exit_code == 0
    assert not fits(tmp_path).items() & before.items()


def test_files_of_others_are_not_overwritten_unasked(command, tmp_path):
    (folder := tmp_path / "frontier").mkdir()
    (folder / "points.csv").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    said = refused(command())
    assert said == "error: --output: frontier/points.csv would be overwritten; choose another place, or add --force"
    assert (folder / "points.csv").read_text() == "mine"
    assert command("--force").exit_code == 0
    assert (folder / "points.csv").read_text().startswith("algorithm,tradeoff")
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_run_out_of_time_shows_what_it_has(command, tmp_path):
    early = command("--time-limit", "0.001s")
    assert early.exit_code == 0, early.output
    assert "Recommended: constant-1 costs 0.00 " in early.stdout
    assert "no fit has ended: this model is a constant, which reads nothing" in early.stdout
    assert "It is a constant, for no fit has ended." in (tmp_path / "frontier" / "report.html").read_text()
    assert "--resume goes on with its run" in refused(command())
    assert "constant-1" not in command("--resume").stdout
    late = command("--resume", "--time-limit", "0.01", algorithms="planner,reweighted")
    assert late.exit_code == 0, late.output
    assert "time was up before all fits of" in late.stderr
    assert "planner-1" in late.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps nobody out")
def test_two_runs_do_not_mix_in_one_folder(command, tmp_path):
    (tmp_path / "frontier").mkdir()
    held = hold_alone(tmp_path / "frontier")
    with ThreadPoolExecutor(1) as another:
        another.submit(held.__enter__).result()
        for more in ((), ("--force",)):
            assert refused(command(*more)).startswith("error: --output: another run writes to frontier; ")
        another.submit(held.__exit__, None, None, None).result()
    assert not list((tmp_path / "frontier").iterdir())


@pytest.mark.parametrize("answer", [True, False])
def test_somebody_at_a_terminal_is_asked(tmp_path, monkeypatch, answer):
    asked = []
    monkeypatch.setattr(outputs, "on_terminal", lambda: True)
    monkeypatch.setattr(outputs.click, "confirm", lambda text, **_: asked.append(text) or answer)
    (folder := tmp_path / "run").mkdir()
    outputs.check_overwrite([folder, tmp_path / "new"], force=False)  # empty, and not there
    assert not asked
    (folder / "points.csv").write_text("")
    if answer:
        outputs.check_overwrite([folder], force=False)
    else:
        with pytest.raises(ParameterError, match="was not overwritten"):
            outputs.check_overwrite([folder], force=False)
    outputs.check_overwrite([folder], force=True)
    assert asked == [f"overwrite {folder}?"]
