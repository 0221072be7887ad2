"""Commands as processes: how they start, how they end, and streams that are closed or not read."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_cases import FILES, MAIN, python, shell

# As in a terminal, also where this process was started to ignore interrupts, as shells start what goes on behind.
HEARD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"


@pytest.mark.parametrize("arguments", [["algorithms"], ["compare", "--help"]])
def test_the_start_is_quick(arguments):
    more = '"pandas", "pyarrow", "sklearn"' if "--help" in arguments else ""  # scikit-learn itself loads pandas
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


def test_as_a_process(tmp_path, patients):
    command = [Path(sys.executable).with_name("costframe")]
    if not command[0].exists():
        command = [sys.executable, "-c", MAIN]
    table, prices = patients
    environment = os.environ | {"PYTHONWARNINGS": "error::DeprecationWarning:costframe"}
    arguments = ["compare", table, "--costs", prices, "--target", "ill", "--algorithms", "miser", "--points", "3"]
    arguments += ["--folds", "0", "--output", "out"]
    done = subprocess.run(  # noqa: S603
        [*command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "100% miser" in done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    refused_one = subprocess.run(  # noqa: S603
        [*command, "compare", "none.csv"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (refused_one.returncode, refused_one.stdout) == (2, "")
    assert refused_one.stderr.startswith("error: none.csv: ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other interrupts")
def test_an_interrupt_is_one_line_and_keeps_the_constant(tmp_path):
    code = (
        f"{HEARD}; from costframe.__main__ import main; main(['compare', '--algorithms', 'miser', '--points', '500'])"
    )
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        while not (tmp_path / "frontier" / "run.json").exists():
            time.sleep(0.05)
        time.sleep(1)  # the first fit takes longer
        running.send_signal(signal.SIGINT)
        said, told = running.communicate(timeout=600)[1].splitlines(), running.returncode
    assert told == 130
    assert said == ["interrupted before the first fit ended; the constant is in frontier, --resume goes on"]
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES - {"fits"}


def test_a_killed_run_is_resumed(tmp_path, small):
    """What it had finished is on disk, and no process of it is left, for all of them hold the error stream."""
    command = [sys.executable, "-m", "costframe", "compare", str(small), "--target", "ill", "--algorithms",
               "miser,reweighted", "--points", "3", "--folds", "0"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as running:  # noqa: S603
        while not list((tmp_path / "frontier").glob("fits/*.fits")):
            assert running.poll() is None
            time.sleep(0.05)
        running.kill()
        running.communicate(timeout=600)
    kept = {file: file.read_bytes() for file in (tmp_path / "frontier" / "fits").glob("*.fits")}
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert all(file.read_bytes() == content for file, content in kept.items())
    with (tmp_path / "frontier" / "points.csv").open(newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert {path.stem for path in (tmp_path / "frontier" / "models").iterdir()} == set(names)


def interrupted(code, folder, when):
    """Run code, interrupt it when `when` returns, and return its exit code and lines on the error stream."""
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as running:
        when(running)
        running.send_signal(signal.SIGINT)
        return running.communicate(timeout=600)[1].splitlines(), running.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other interrupts")
@pytest.mark.parametrize("module", ["click", "costframe.core.errors"])
def test_an_interrupt_during_the_first_imports_is_one_line(tmp_path, module):
    code = f"""
{HEARD}
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            try:
                print("importing", flush=True)
                time.sleep(600)
            except BaseException:
                raise ImportError("disguised")
sys.meta_path.insert(0, Slow())
from costframe.__main__ import main
main(["compare"])
"""
    told = interrupted(code, tmp_path, lambda running: running.stdout.readline())
    assert told == (["interrupted, nothing was written"], 130)
    assert not list(tmp_path.iterdir())


def test_importing_the_entry_point_imports_next_to_nothing():
    code = """
import sys
import time
before = set(sys.modules)
from costframe.__main__ import main
print(*sorted(name for name in sys.modules if name.startswith("costframe")))
assert not {"click", "numpy", "attrs", "rich", "pluggy", "typing"} & (set(sys.modules) - before)
"""
    done = python("-c", code)
    loaded = ["costframe", "costframe.__main__", "costframe.cli", "costframe.lazily"]
    assert (done.returncode, done.stdout.split()) == (0, loaded), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other interrupts")
def test_an_ignored_interrupt_stays_ignored(tmp_path):
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True)"
    code = f"{ignoring}; {MAIN.replace('main()', 'main([])')}"
    said, status = interrupted(code, tmp_path, lambda running: running.stdout.readline())
    assert (said, status) == ([], 0)


COMPARE = "$COSTFRAME compare {} --target ill --algorithms miser --points 2 --folds 0"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_keep_it_from_its_work(tmp_path, small, closed):
    done = shell(f"{COMPARE.format(small)} {closed}", tmp_path)
    assert done.returncode == 0
    assert not re.search("traceback|error|broken pipe", done.stderr, re.IGNORECASE)
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES
    assert (tmp_path / "frontier" / "points.csv").read_text().startswith("algorithm,tradeoff")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault_of_short_commands(tmp_path, closed):
    for command in ("datasets", "--help"):
        done = shell(f"$COSTFRAME {command} {closed}", tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
@pytest.mark.parametrize(("both", "buffering"), [("", ""), ("2>&1", "1")])
def test_a_reader_who_leaves_early_ends_it_quietly_with_all_files_written(tmp_path, small, both, buffering):
    done = shell(
        f"{COMPARE.format(small)} {both} | head -1; exit ${{PIPESTATUS[0]}}",
        tmp_path,
        PYTHONUNBUFFERED=buffering,
        COLUMNS="80",
    )
    assert (done.returncode, done.stdout) == (141, "small.csv: 2 classes, 2 features\n")
    assert not re.search("traceback|error|broken pipe", done.stderr, re.IGNORECASE)
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
def test_nobody_need_read_the_progress(tmp_path, small):
    done = shell(f"({COMPARE.format(small)} 2>&1 >out.txt; echo $? >status) | true", tmp_path)
    assert (tmp_path / "status").read_text() == "0\n"
    assert "wrote frontier/points.csv" in (tmp_path / "out.txt").read_text()
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another shell")
@pytest.mark.parametrize("command", ["datasets", "compare --help"])
def test_a_reader_who_is_gone_from_the_start(tmp_path, command):
    done = shell(f"(sleep 0.1; $COSTFRAME {command}; echo $? >status) | true", tmp_path)
    assert done.stderr == ""
    assert (tmp_path / "status").read_text() == "141\n"
