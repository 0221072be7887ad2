"""What `costframe compare` finds in its folder: finished fits survive interrupts and mistakes, files of others too."""

from __future__ import annotations

import sys

import pytest
from cli_cases import refused

from costframe import load
from costframe.cli import results
from costframe.frontier.frontier import Frontier
from costframe.frontier.store import hold_alone
from costframe.frontier.study import Study
from costframe.frontier.trial import Trial


@pytest.fixture
def command(run, small):
    """Run `compare` with two models of miser."""
    arguments = ("compare", small, "--target", "ill", "--points", 2, "--folds", 0, "--algorithms")
    return lambda *more, algorithms="miser": run(*arguments, algorithms, *more)


def fits(tmp_path):
    return {file.name: file.read_bytes() for file in (tmp_path / "frontier" / "fits").glob("*.fits")}


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupt_before_the_first_new_fit_keeps_those_of_the_run(command, tmp_path, monkeypatch):
    assert command().exit_code == 0
    before = fits(tmp_path)
    monkeypatch.setattr(Study, "fit_task", interrupt)
    ended = command("--resume")
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (
        130, "interrupted; all finished fits are in frontier, --resume goes on"
    )  # fmt: skip
    assert fits(tmp_path) == before


def test_an_interrupt_before_the_first_fit_keeps_the_constant(command, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Study, "fit_task", interrupt)
        ended = command()
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (
        130, "interrupted before the first fit ended; the constant is in frontier, --resume goes on"
    )  # fmt: skip
    assert "Recommended: constant-1 costs 0.00 " in ended.stdout
    assert load(tmp_path / "frontier" / "recommended.model").classes_.tolist() == ["no", "yes"]
    assert "constant-1" not in command("--resume").stdout
    assert fits(tmp_path)


def interrupt_after(count, monkeypatch):
    """Interrupt the fit that follows some."""
    own, done = Trial.fit, []

    def fit(trial, tradeoff):
        if len(done) == count:
            raise KeyboardInterrupt
        done.append(tradeoff)
        return own(trial, tradeoff)

    monkeypatch.setattr(Trial, "fit", fit)


def test_an_interrupted_fit_keeps_the_best_model_so_far(run, small, monkeypatch):
    arguments = ("fit", small, "--target", "ill", "--algorithm", "cstc", "--output", "a.model", "--budget")
    with monkeypatch.context() as patch:
        interrupt_after(2, patch)
        ended = run(*arguments, 2)
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (
        130, "interrupted; a.model is the best of the 2 models fitted so far"
    )  # fmt: skip
    assert load("a.model").classes.tolist() == ["no", "yes"]
    for budget, count, text in ((2, 0, "before the first fit ended"), (0.001, 1, "before a model within the budget")):
        with monkeypatch.context() as patch:
            interrupt_after(count, patch)
            ended = run(*arguments, budget, "--force")
        assert ended.exit_code == 130, ended.output
        assert ended.stderr.splitlines()[-1].startswith(f"interrupted {text}")
        assert ended.stderr.splitlines()[-1].endswith("nothing was written")


def test_an_interrupt_of_the_last_files_keeps_the_fits(command, tmp_path, monkeypatch):
    monkeypatch.setattr(Frontier, "save", interrupt)
    ended = command()
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (
        130, "interrupted; all finished fits are in frontier, --resume goes on"
    )  # fmt: skip
    monkeypatch.undo()
    assert fits(tmp_path)


def test_an_interrupt_after_the_files_are_written_says_so(command, monkeypatch):
    monkeypatch.setattr(results.Results, "show", interrupt)
    ended = command()
    assert ended.exit_code == 130
    assert ended.stderr.splitlines()[-1].startswith("interrupted after writing frontier/points.csv, ")


def test_force_clears_a_run_only_once_there_is_a_table(command, run, tmp_path):
    assert command().exit_code == 0
    before = fits(tmp_path)
    assert "none.csv" in refused(run("compare", "none.csv", "--target", "ill", "--force"))
    assert fits(tmp_path) == before
    for folds in (1, 1000):
        assert "folds: " in refused(command("--folds", folds, "--force"))
        assert fits(tmp_path) == before


def test_a_run_without_a_fit_goes_on_when_asked(command, tmp_path):
    assert "Recommended: constant-1 costs 0.00 " in command("--time-limit", "0.001").stdout
    assert "It is a constant, for no fit has ended." in (tmp_path / "frontier" / "report.html").read_text()
    assert "--resume goes on with its run" in refused(command())
    assert "Recommended: miser-" in command("--resume").stdout


def test_files_of_others_are_not_overwritten_unasked(command, tmp_path):
    (folder := tmp_path / "frontier").mkdir()
    (folder / "points.csv").write_text("mine")
    said = refused(command())
    assert said == "error: --output: frontier/points.csv would be overwritten; choose another place, or add --force"
    assert (folder / "points.csv").read_text() == "mine"
    assert command("--force").exit_code == 0


def test_a_saved_frontier_is_not_overwritten_unasked(command, tmp_path):
    assert command().exit_code == 0
    Frontier.load(tmp_path / "frontier").save(tmp_path / "saved")
    said = refused(command("--output", "saved"))
    assert said == "error: --output: saved would be overwritten; choose another place, or add --force"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps nobody out")
def test_two_runs_do_not_mix_in_one_folder(command, tmp_path):
    (tmp_path / "frontier").mkdir()
    with hold_alone(tmp_path / "frontier"):
        for more in ((), ("--force",)):
            assert refused(command(*more)).startswith("error: directory: another run writes to frontier; ")
    assert not list((tmp_path / "frontier").iterdir())
    assert command().exit_code == 0
    with hold_alone(tmp_path / "frontier"):
        assert "another run writes to frontier" in refused(command("--resume"))


def test_a_refused_run_leaves_no_folder(run, tmp_path):
    assert "none.csv" in refused(run("compare", "none.csv", "--target", "ill", "--output", "deep/er"))
    assert not list(tmp_path.iterdir())
