"""`costframe compare`: what it prints, what it writes, and that it writes all or nothing."""

from __future__ import annotations

import csv
import os
import re
import stat
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from cli_cases import FILES, HEART, WRITTEN, refused

import costframe as cf
from costframe.cli import results
from costframe.datasets import read_table


def test_compare_the_embedded_data(run, tmp_path):
    result = run("compare", "--algorithms", "all", "--folds", 0, "--points", 3, "--all")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES
    with (tmp_path / "frontier" / "points.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    fitted = {name for name, one in cf.algorithms().items() if not one.baseline}
    assert {point["algorithm"] for point in points} == fitted
    of_miser = sum(point["algorithm"] == "miser" for point in points)
    assert 1 < of_miser <= 6  # at most 3, and 3 within sets of features
    assert "breast-cancer: 2 classes, 30 features" in result.stdout
    assert "  all features cost: 43.5 minutes per row\n" in result.stdout
    assert len(re.findall(r"^\S* *miser +\S+ +0\.\d{4}", result.stdout, re.MULTILINE)) == of_miser
    assert re.search(r"^ *\d+% (about \d+ s left; )?\S+ along its path: ", result.stderr, re.MULTILINE)
    assert "so far, after" in result.stderr
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if not line.startswith("wrote"))
    assert "…" not in result.stdout  # nothing was cut to fit
    assert (tmp_path / "frontier" / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(tmp_path / "frontier" / "frontier.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_compare_marks_what_the_csv_says(run, tmp_path):
    result = run("compare", "--algorithms", "miser", "--points", 5, "--folds", 0, "--output", "there/it/is", "--all")
    with (tmp_path / "there/it/is/points.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    rows = [line for line in result.stdout.splitlines() if re.match(r"[* ][> ] +miser ", line)]
    assert [row[0] == "*" for row in rows] == [point["non_dominated"] == "1" for point in points]
    assert sum(row[1] == ">" for row in rows) == 1


def test_compare_with_a_budget(run):
    result = run("compare", "--algorithms", "miser", "--points", 5, "--folds", 0, "--budget", 9)
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    chosen = re.search(
        r"Chosen within 9 minutes: (miser-\d+) costs (\S+) minutes per row on the test rows, \d+% less", said
    )
    assert float(chosen.group(2)) <= 9.5  # on test; the budget is kept on valid
    row = next(line for line in result.stdout.splitlines() if line.startswith(f">   {chosen.group(1)} "))
    assert float(row.split()[6]) <= 9


def test_compare_a_file(run, patients, tmp_path):
    result = run(
        "compare",
        patients[0],
        "--costs",
        patients[1],
        "--target",
        "ill",
        "--algorithms",
        "cegb,miser",
        "--points",
        4,
        "--folds",
        0,
        "--score",
        "accuracy",
    )
    assert result.exit_code == 0, result.output
    assert "task: classification, for 'ill' has 2 different values" in result.stdout
    assert re.search(r"resource +blood +3\.00", result.stdout)
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES


def test_compare_shows_errors_and_says_what_they_mean(run, patients):
    common = ("compare", patients[0], "--costs", patients[1], "--target", "ill", "--algorithms", "miser", "--points", 4)
    for more, rows in (((), "rows left out in turn, 240 in all"), (("--folds", 0), "the 60 rows of valid")):
        result = run(*common, *more, "--force")
        assert result.exit_code == 0, result.output
        said = " ".join(result.stdout.split())
        assert f"scores are estimates from {rows}" in said
        assert (
            len(re.findall(r"^[> ] +miser-\d+ +0\.\d{4} +0\.\d{4} to [01]\.\d{4} ", result.stdout, re.MULTILINE)) >= 3
        )
        assert re.search(r"its roc_auc is \S+ there \(estimated 0\.\d{4} ±\.\d{3}\)", said)


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_a_budget_that_buys_nothing_useful_is_no_secret(run, patients, command):
    more = (
        ("--algorithms", "miser", "--points", 6) if command == "compare" else ("--algorithm", "miser", "--output", "m")
    )
    common = (command, patients[0], "--costs", patients[1], "--target", "ill", "--folds", 0, *more, "--budget")
    patients[1].write_text(patients[1].read_text().replace("CAD", "CAD[/]"))  # no markup
    poor = run(*common, 0.01)
    assert poor.exit_code == 0, poor.output
    told = re.search(
        r"nothing within 0.01 CAD\[/\] beats the constant by more than the error; the cheapest that does: miser, "
        r"(\S+) CAD\[/\] per row, roc_auc 0\.\d+ ± 0\.\d+",
        " ".join(poor.stdout.split()),
    )
    assert told
    assert "\n\n\n" not in poor.stdout
    rich = run(*common, float(told.group(1)) * 1.001, "--force")
    assert rich.exit_code == 0
    assert "beats the constant" not in rich.stdout


def test_compare_replaces_what_is_there_and_nothing_else(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "points.csv").write_text("old")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    arguments = ("compare", "--algorithms", "miser", "--points", 2, "--folds", 0, "--output", "out")
    assert "points.csv would be overwritten" in refused(run(*arguments))
    assert (tmp_path / "out" / "points.csv").read_text() == "old"
    assert run(*arguments, "--force").exit_code == 0
    assert (tmp_path / "out" / "points.csv").read_text().startswith("algorithm,tradeoff")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"notes.txt"}


@pytest.mark.skipif(not HEART.is_dir(), reason="the shared tables are not beside this checkout")
def test_heart_pays_each_resource_once_per_row(run):
    result = run("compare", HEART / "data.parquet", "--costs", HEART / "costs.toml", "--target", "label",
                 "--algorithms", "miser", "--points", 6, "--folds", 0)  # fmt: skip
    assert result.exit_code == 0, result.output
    prices = {"blood": 2.10, "thallium": 101.90, "exercise": 86.30}
    for name, price in prices.items():
        row = re.search(rf"^resource +{name} +(\S.*)$", result.stdout, re.MULTILINE)
        shown, *pairs = [float(cell.rstrip("%")) for cell in row.group(1).split()]
        assert shown == price
        assert pairs
        for share, mean in zip(pairs[::2], pairs[1::2], strict=True):
            assert mean == pytest.approx(price * share / 100, abs=0.06)
            assert mean <= price
    assert max(float(s) for s in re.findall(r"resource +thallium.* (\S+)%", result.stdout)) > 90  # somebody pays it


@pytest.mark.skipif(not HEART.is_dir(), reason="the shared tables are not beside this checkout")
def test_heart_row_by_row():
    data = read_table(HEART / "data.parquet", "label", HEART / "costs.toml")
    frontier = cf.Frontier.sweep(data, ["miser"], points=4, folds=0)
    prices = data.costs.select(data.feature_names)
    needing = {name: prices.needs[:, r] for r, name in enumerate(prices.resource_names)}
    paid = set()
    for point in frontier.points:
        report = frontier.model(point).cost(data.part("test").X)
        per_row = report.acquired @ prices.cost
        for r, (name, needs) in enumerate(needing.items()):
            needed = report.acquired[:, needs].any(axis=1)  # at most once a row, however many features need it
            per_row = per_row + needed * prices.resource_cost[r]
            assert report.by_resource[name] == pytest.approx(prices.resource_cost[r] * needed.mean())
            paid |= {name} if needed.any() else set()
        np.testing.assert_allclose(per_row, report.per_row)
    assert paid == {"blood", "thallium", "exercise"}


def test_compare_writes_all_its_files_or_none(run, tmp_path, monkeypatch):
    """A disk that is full at the third file leaves the first two as they were; the fits stay for --resume."""
    small = ("compare", "--algorithms", "miser", "--points", 1, "--folds", 0)
    assert run(*small).exit_code == 0
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
    result = run(*small[:4], 3, *small[5:], "--resume")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: frontier/frontier.svg: No space left on device"
    assert {name: (folder / name).read_bytes() for name in WRITTEN} == before
    assert len(list((folder / "fits").iterdir())) == 2


def test_a_write_that_fails_leaves_no_directory(run, tmp_path, monkeypatch):
    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("compare", "--algorithms", "miser", "--points", 1, "--folds", 0, "--output", "deep/down")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: deep/down/run.json: No space left on device"
    assert not list(tmp_path.iterdir())


def test_a_run_is_neither_overwritten_nor_resumed_unasked(run, tmp_path):
    small = ("compare", "--algorithms", "miser", "--points", 1, "--folds", 0)
    assert refused(run(*small, "--resume")) == "error: --resume: there is no run in frontier"
    assert run(*small).exit_code == 0
    old = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "frontier" / "fits").iterdir()}
    assert refused(run(*small)) == (
        "error: --output: frontier would be overwritten; --resume goes on with its run, choose another place, or add "
        "--force"
    )
    assert refused(run(*small, "--resume", "--force")) == "error: give either --resume or --force"
    assert "has another score" in run(*small, "--resume", "--score", "accuracy").stderr
    assert run(*small, "--resume").exit_code == 0
    assert {file.name: file.stat().st_mtime_ns for file in (tmp_path / "frontier" / "fits").iterdir()} == old
    assert run(*small, "--force", "--score", "accuracy").exit_code == 0
    new = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "frontier" / "fits").iterdir()}
    assert len(new) == 1
    assert new != old


def test_a_run_out_of_time_shows_what_it_has(run):
    small = ("compare", "--algorithms", "miser", "--points", 1, "--folds", 0)
    early = run(*small, "--time-limit", "0.01s")
    assert early.exit_code == 0, early.output
    assert "Recommended: constant-1 costs 0.00 " in early.stdout
    assert "no fit has ended: this model is a constant, which reads nothing" in early.stdout
    assert cf.load("frontier/recommended.model").classes_.tolist() == ["benign", "malignant"]
    going_on = run(*small, "--resume")
    assert going_on.exit_code == 0, going_on.output
    assert "constant-1" not in going_on.stdout
    late = run("compare", "--algorithms", "miser,cegb", "--points", 1, "--folds", 0, "--resume", "--time-limit", "0.01")
    assert late.exit_code == 0, late.output
    assert "time was up before all fits of" in late.stderr
    assert "miser-1" in late.stdout
    assert "expected a time such as 90" in refused(run(*small, "--time-limit", "soon"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
@pytest.mark.parametrize("name", sorted(WRITTEN))
@pytest.mark.parametrize("kind", ["a pipe", "a directory", "a link to nothing"])
def test_compare_refuses_a_place_that_is_no_file_before_any_work(run, tmp_path, name, kind):
    (tmp_path / "out").mkdir()
    place = tmp_path / "out" / name
    {"a pipe": os.mkfifo, "a directory": os.mkdir}.get(kind, lambda link: link.symlink_to("nowhere"))(place)
    mode = stat.S_IFMT(place.lstat().st_mode)
    said = refused(run("compare", "nowhere.csv", "--target", "y", "--output", "out"))
    assert said == f"error: --output out/{name}: cannot be written: is {kind}, expected a file"
    assert stat.S_IFMT(place.lstat().st_mode) == mode
    assert list((tmp_path / "out").iterdir()) == [place]


def test_compare_shows_once_prices_and_what_nobody_pays(run, patients):
    table, prices = patients
    prices.write_text(
        '[features]\nage = 1.0\nchol = { cost = 0.0, once = 40.0 }\nscan = { cost = 9.0, needs = ["room"] }\n'
        "[resources]\nroom = 7.0\n"
    )
    common = ("compare", table, "--costs", prices, "--target", "ill", "--algorithms", "miser")
    plain = run(*common, "--points", 1, "--folds", 0)
    assert plain.exit_code == 0, plain.output
    assert re.search(r"^ +price +once +", plain.stdout, re.MULTILINE)
    assert re.search(r"^feature +chol +0\.00 +40\.00 +\d+\.\d% +0\.00", plain.stdout, re.MULTILINE)
    assert re.search(r"^feature +age +1\.00 +\d+\.\d% +\d\.\d\d", plain.stdout, re.MULTILINE)
    assert re.search(r"^resource +room +7\.00 +\d", plain.stdout, re.MULTILINE)
    unwanted = prices.with_name("unwanted.toml")
    unwanted.write_text(prices.read_text().replace("9.0", "1e5"))
    chosen = run("compare", table, "--costs", unwanted, *common[4:], "--points", 6, "--folds", 0, "--budget", 1.5,
                 "--force")  # fmt: skip
    assert chosen.exit_code == 0, chosen.output
    # What the chosen model never acquires is not listed, be it a resource or a feature.
    assert re.search(r"^feature +age +1\.00 +100\.0% +1\.00$", chosen.stdout, re.MULTILINE)
    assert not re.search(r"^(resource|feature) +(room|scan) ", chosen.stdout, re.MULTILINE)
