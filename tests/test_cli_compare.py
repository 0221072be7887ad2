"""`costframe compare`: what it prints, what it writes, and that it writes all or nothing."""

from __future__ import annotations

import csv
import os
import re
from xml.etree import ElementTree as ET

import pytest
from cli_cases import FILES, WRITTEN, costframe, limit_threads
from click.testing import CliRunner
from frontier_cases import distinct_points

import costframe as cf
from costframe.cli import results

QUICK = ("miser", "reweighted")


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """Compare two quick algorithms on the embedded data; return the folder of the run and what was printed."""
    folder = tmp_path_factory.mktemp("embedded") / "there" / "it is"
    asked = [
        "compare",
        *(word for name in QUICK for word in ("--algorithms", name)),
        "--cv",
        "0",
        "--points",
        "1",
        "--all",
    ]
    asked += ["--output", str(folder)]
    with limit_threads(1):
        return folder, CliRunner().invoke(costframe, asked, env={"COLUMNS": "80"})


def points(folder):
    with (folder / "points.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_compare_the_embedded_data(embedded):
    folder, result = embedded
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == FILES
    algorithms = [point["algorithm"] for point in points(folder)]
    assert set(algorithms) == {*QUICK, "linear-all", "constant"}
    assert 1 <= algorithms.count("miser") <= 4  # one, and at most 3 within sets of features
    assert "breast-cancer: 2 classes, 30 features" in result.stdout
    assert "  all features cost: 43.5 minutes per row\n" in result.stdout
    assert re.search(r"^ *\d+% (about \d+ s left; )?\S+ along its path: ", result.stderr, re.MULTILINE)
    assert "so far, after" in result.stderr
    assert (folder / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(folder / "frontier.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_the_table_fits_and_marks_what_the_csv_says(embedded):
    folder, result = embedded
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if not line.startswith("wrote"))
    assert "…" not in result.stdout  # nothing was cut to fit
    rows = re.findall(
        rf"^([* ])([> ]) +({'|'.join([*cf.algorithms(), 'linear-all', 'constant'])}) ", result.stdout, re.MULTILINE
    )
    frontier = cf.Frontier.load(folder)
    shown = distinct_points(frontier)  # of equal models, one
    assert len(rows) == len(shown), result.stdout
    assert sum(best == "*" for best, *_ in rows) == len({*frontier.non_dominated()} & {*shown})
    assert sum(chosen == ">" for _, chosen, _ in rows) == 1


def test_compare_a_file_within_a_budget(run, patients, tmp_path):
    asked = ("compare", patients[0], "--costs", patients[1], "--target", "ill", "--algorithms", "planner")
    result = run(*asked, "--points", 4, "--score", "accuracy", "--budget", 9)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "task: classification, for 'ill' has 2 different values" in said
    assert "scores are estimates from rows left out in turn, 240 in all" in said
    assert re.search(r"^feature +age +1\.00 +\d+\.\d% +\d\.\d\d", result.stdout, re.MULTILINE)
    chosen = re.search(r"Chosen within 9 CAD: (\S+-\d+) costs (\S+) CAD per row on the test rows, \d+% less", said)
    assert float(chosen.group(2)) <= 9.5  # on test; the budget is kept on valid
    assert re.search(r"its accuracy is \S+ there \(estimated 0\.\d{4} ±\.\d{3}\)", said)
    assert re.search(rf"^> +{chosen.group(1)} +0\.\d{{4}} +0\.\d{{4}} to [01]\.\d{{4}} ", result.stdout, re.MULTILINE)
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES


def test_compare_writes_all_its_files_or_none(run, small, tmp_path, monkeypatch):
    """A disk that is full at the third file leaves the first two as they were; the fits stay for --resume."""
    asked = ("compare", small, "--target", "ill", "--algorithms", "planner", "--cv", 0, "--points")
    assert run(*asked, 1).exit_code == 0
    folder = tmp_path / "frontier"
    before = {name: (folder / name).read_bytes() for name in WRITTEN}
    synced, sync, write = [], os.fsync, results.write_into

    def full(file):
        synced.append(file)
        if len(synced) == 3:
            raise OSError(28, "No space left on device")
        sync(file)

    def write_on_full_disk(*arguments):
        monkeypatch.setattr(os, "fsync", full)
        return write(*arguments)

    monkeypatch.setattr(results, "write_into", write_on_full_disk)
    result = run(*asked, 3, "--resume")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: frontier/frontier.svg: No space left on device"
    assert {name: (folder / name).read_bytes() for name in WRITTEN} == before
    assert len(list((folder / "fits").iterdir())) == 4  # of two references, and of the planner twice
    synced[:] = [0, 0]
    result = run(*asked, 1, "--output", "deep/down")
    assert result.stderr.splitlines()[-1] == "error: deep/down/run.json: No space left on device"
    assert not (tmp_path / "deep").exists()
