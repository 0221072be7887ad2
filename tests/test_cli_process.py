"""Commands as processes: how they start, how they end, and streams that are closed or not read."""

from __future__ import annotations

import contextlib
import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_cases import ALONE, FILES, MAIN, python, shell


@pytest.mark.parametrize("arguments", [["algorithms"], ["compare", "--help"], ["--help"]])
def test_the_start_is_quick(arguments):
    more = '"pandas", "pyarrow", "sklearn"' if "--help" in arguments else ""  # scikit-learn itself loads pandas
    more += ', "numpy", "costframe.cli.commands.compare"' if arguments == ["--help"] else ""
    code = f"""
import sys
import time
from costframe.__main__ import main
try:
    main({arguments!r})
except SystemExit as end:
    assert end.code == 0
slow = {{"matplotlib", "xgboost", "numba", {more}}} & set(sys.modules)
sys.exit(f"loaded {{sorted(slow)}}" if slow else 0)
"""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


COMPARE = "$COSTFRAME compare {} --target ill --algorithms planner --points 1 --cv 0"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
def test_closed_streams_do_not_keep_it_from_its_work(tmp_path, small):
    done = shell(
        f"{COMPARE.format(small)} <&- >&- 2>&-", tmp_path, PYTHONWARNINGS="error::DeprecationWarning:costframe"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES
    assert (tmp_path / "frontier" / "points.csv").read_text().startswith("algorithm,tradeoff")
    done = shell("$COSTFRAME datasets >&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
def test_a_reader_who_leaves_early_ends_it_quietly_with_all_files_written(tmp_path, small):
    line = f"{COMPARE.format(small)} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"
    done = shell(line, tmp_path, PYTHONUNBUFFERED="1", COLUMNS="80")
    assert (done.returncode, done.stdout, done.stderr) == (141, "small.csv: 2 classes, 2 features\n", "")
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES
    gone = shell("(sleep 0.1; $COSTFRAME datasets; echo $? >status) | true", tmp_path)
    assert (gone.stderr, (tmp_path / "status").read_text()) == ("", "141\n")


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_an_interrupt_while_processes_begin_says_one_line(tmp_path, small):
    """They do not hear it: each would show a traceback."""
    command = [sys.executable, "-c", MAIN, "compare", str(small), "--target", "ill", "--algorithms",
               "planner,reweighted", "--time-limit", "60"]  # fmt: skip
    with subprocess.Popen(command, stderr=-1, stdout=-1, cwd=tmp_path, text=True, process_group=0) as running:  # noqa: S603
        while not (fitting := processes_that_fit(running.pid)):
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        said = running.communicate(timeout=600)[1]
    assert running.returncode == 130
    assert said == "interrupted before the first fit ended; the constant is in frontier, --resume goes on\n"
    assert [int(blocked, 16) >> signal.SIGINT - 1 & 1 for blocked in fitting] == [1] * len(fitting)


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_processes_that_begin_end_with_the_one_that_was_killed(tmp_path, small):
    """They hold the error stream; those of joblib would wait for 40 seconds."""
    command = [sys.executable, "-c", MAIN, "compare", str(small), "--target", "ill", "--algorithms",
               "planner,reweighted", "--time-limit", "60"]  # fmt: skip
    with subprocess.Popen(command, stderr=-1, stdout=-1, cwd=tmp_path) as running:  # noqa: S603
        while not processes_that_fit(running.pid):
            assert running.poll() is None
        running.kill()
        running.communicate(timeout=30)


def processes_that_fit(parent):
    """Return the signals that each process of joblib blocks, of those that another one has begun."""
    found = []
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended
            begun = [Path("/proc", child) for child in children.read_text().split()]
            fitting = [child for child in begun if "popen_loky" in (child / "cmdline").read_text()]
            found += [(child / "status").read_text().split("SigBlk:")[1].split()[0] for child in fitting]
    return found


def test_a_killed_run_is_resumed(tmp_path, small):
    """What it had finished is on disk, and no process of it is left, for all of them hold the error stream."""
    command = [sys.executable, "-c", MAIN, "compare", str(small), "--target", "ill", "--algorithms",
               "planner,reweighted", "--points", "2", "--cv", "0"]  # fmt: skip
    with subprocess.Popen(command, stderr=-1, stdout=-1, cwd=tmp_path) as running:  # noqa: S603
        while not list((tmp_path / "frontier").glob("fits/*.fits")):
            assert running.poll() is None
            time.sleep(0.05)
        running.kill()
        running.communicate(timeout=600)
    kept = {file: file.read_bytes() for file in (tmp_path / "frontier" / "fits").glob("*.fits")}
    done = python("-c", ALONE, *command[3:], "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(file.read_bytes() == content for file, content in kept.items())
    with (tmp_path / "frontier" / "points.csv").open(newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert {path.stem for path in (tmp_path / "frontier" / "models").iterdir()} == set(names)
