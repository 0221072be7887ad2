"""The command line: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import costframe as cf
from costframe import cli
from costframe.core.registry import registry
from costframe.datasets import read_table

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"
HEART = SHARED / "heart"
FILES = {"points.csv", "frontier.png", "frontier.svg"}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, in 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: CliRunner().invoke(cli.main, [str(a) for a in arguments])


@pytest.fixture
def patients(tmp_path):
    """Write a small table and its prices; return their paths."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    frame = pd.DataFrame(X, columns=["age", "chol", "scan"])
    frame["ill"] = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    folder = tmp_path / "given"
    folder.mkdir()
    frame.to_csv(folder / "patients.csv", index=False)
    prices = 'unit = "CAD"\n[features]\nage = 1.0\nchol = { cost = 2.0, needs = ["blood"] }\nscan = 50.0\n'
    (folder / "prices.toml").write_text(prices + "[resources]\nblood = 3.0\n")
    return folder / "patients.csv", folder / "prices.toml"


def refused(result):
    """Return the one line on the error stream of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert not result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


def test_compare_without_arguments(run, tmp_path):
    began = time.perf_counter()
    result = run("compare")
    assert time.perf_counter() - began < 60
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES
    with (tmp_path / "frontier" / "points.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    assert {point["algorithm"] for point in points} == set(cf.algorithms())
    assert sum(point["algorithm"] == "miser" for point in points) == 12
    assert "breast-cancer: 2 classes, 30 features" in result.stdout
    assert "  all features cost 43.5 minutes per row\n" in result.stdout
    assert len(re.findall(r"^\S* *miser +\S+ +0\.\d{4}", result.stdout, re.MULTILINE)) == 12
    assert re.search(r"^12/\d+ \S+ at tradeoff", result.stderr, re.MULTILINE)
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if not line.startswith("wrote"))
    assert "…" not in result.stdout  # nothing was cut to fit
    assert (tmp_path / "frontier" / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(tmp_path / "frontier" / "frontier.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_compare_marks_what_the_csv_says(run, tmp_path):
    result = run("compare", "--algorithms", "miser", "--points", 5, "--output", "there/it/is")
    with (tmp_path / "there/it/is/points.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    rows = [line for line in result.stdout.splitlines() if re.match(r"[* ][> ] +miser", line)]
    assert [row[0] == "*" for row in rows] == [point["non_dominated"] == "1" for point in points]
    assert sum(row[1] == ">" for row in rows) == 1


def test_compare_with_a_budget(run):
    result = run("compare", "--algorithms", "miser", "--points", 5, "--budget", 9)
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    chosen = re.search(
        r"best within 9 minutes per row: miser at tradeoff \S+ test roc_auc \S+, cost (\S+) minutes", said
    )
    assert float(chosen.group(1)) <= 9.5  # on test; the budget is kept on valid
    row = next(line for line in result.stdout.splitlines() if line[1:2] == ">")
    assert float(row.split()[4]) <= 9


def test_compare_a_file(run, patients, tmp_path):
    result = run(
        "compare", patients[0], "--costs", patients[1], "--target", "ill", "--points", 4, "--score", "accuracy"
    )
    assert result.exit_code == 0, result.output
    assert "task: classification, for 'ill' has 2 different values" in result.stdout
    assert re.search(r"resource +blood +3\.00", result.stdout)
    assert {path.name for path in (tmp_path / "frontier").iterdir()} == FILES


def test_compare_replaces_what_is_there_and_nothing_else(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "points.csv").write_text("old")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert run("compare", "--points", 2, "--output", "out").exit_code == 0
    assert (tmp_path / "out" / "points.csv").read_text().startswith("algorithm,tradeoff")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"notes.txt"}


@pytest.mark.skipif(not HEART.is_dir(), reason="the shared tables are not beside this checkout")
def test_heart_pays_each_resource_once_per_row(run):
    result = run("compare", HEART / "data.parquet", "--costs", HEART / "costs.toml", "--target", "label",
                 "--algorithms", "miser", "--points", 6)  # fmt: skip
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
    frontier = cf.Frontier.sweep(data, ["miser"], points=4)
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


def test_fit_then_cost(run, patients, tmp_path):
    table, prices = patients
    common = (table, "--costs", prices, "--target", "ill", "--algorithm", "miser", "--output", "ill.model")
    fitted = run("fit", *common, "--tradeoff", 0.0001)
    assert fitted.exit_code == 0, fitted.output
    assert "wrote ill.model" in fitted.stdout
    model = cf.load(tmp_path / "ill.model")
    assert model.costs.unit == "CAD"
    rows = pd.read_csv(table)[["age", "chol", "scan"]]
    priced = run("cost", "ill.model", table)
    assert priced.exit_code == 0, priced.output
    assert f"300 rows cost {model.cost(rows).mean:,.6g} CAD per row" in priced.stdout
    dearer = prices.with_name("dear.toml")
    dearer.write_text(prices.read_text().replace("50.0", "500.0"))
    repriced = run("cost", "ill.model", table, "--costs", dearer, "--acquisition", "learner")
    expected = model.cost(rows, dearer, acquisition="learner").mean
    assert f"{expected:,.6g} CAD per row" in repriced.stdout


def test_fit_within_a_budget(run, patients, tmp_path):
    table, prices = patients
    result = run(
        "fit", table, "--costs", prices, "--target", "ill", "--algorithm", "miser", "--budget", 8, "--output", "m"
    )
    assert result.exit_code == 0, result.output
    data = read_table(table, "ill", prices)
    assert cf.load(tmp_path / "m").cost(data.part("valid").X).mean <= 8


@pytest.mark.parametrize("named", [True, False])
def test_cost_of_a_foreign_model(run, patients, tmp_path, named):
    xgboost = pytest.importorskip("xgboost")
    table, prices = patients
    frame = pd.read_csv(table)
    rows = frame[["age", "chol", "scan"]]
    matrix = xgboost.DMatrix(rows if named else rows.to_numpy(), frame["ill"] == "yes")
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 2}, matrix, 3)
    booster.save_model(tmp_path / "theirs.json")
    result = run("cost", "theirs.json", table, "--costs", prices)
    assert result.exit_code == 0, result.output
    report = cf.adopt(booster, feature_names=list(rows)).cost(rows, prices)
    assert f"300 rows cost {report.mean:,.6g} CAD per row" in result.stdout
    assert "give them with --costs" in refused(run("cost", "theirs.json", table))


def test_lists(run):
    listed = run("algorithms")
    assert listed.exit_code == 0
    assert re.search(
        r"^miser .*classification, regression, ranking|^miser +classification", listed.stdout, re.MULTILINE
    )
    assert run("datasets").stdout.split() == cf.datasets.names()
    assert run("--version").stdout == f"costframe {cf.__version__}\n"


def test_broken_plugins_are_listed_with_their_reason(run, monkeypatch):
    monkeypatch.setitem(registry().broken, "rusty", "plugin rusty (rusty 1.0) cannot be loaded: ImportError: no oil")
    listed = run("algorithms")
    assert "miser" in listed.stdout
    assert "broken: plugin rusty (rusty 1.0) cannot be loaded: ImportError: no oil" in listed.stderr


@pytest.mark.parametrize("command", [[], ["compare"], ["fit"], ["cost"], ["algorithms"], ["datasets"]])
def test_help_fits_in_80_columns(run, command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 82


def test_what_compare_refuses(run, patients, tmp_path):
    table, prices = patients
    before = sorted(tmp_path.rglob("*"))
    (bad_prices := prices.with_name("bad.toml")).write_text("[features]\nage = -1\n")
    (cut := table.with_name("cut.parquet")).write_bytes(b"PAR1 and no more")
    for arguments, text in [
        (("nowhere",), "nowhere: no such file, and no data set has this name"),
        (("nowhere.csv", "--target", "ill"), "nowhere.csv: cannot be read: No such file"),
        ((table,), "say with --target which column to predict"),
        ((table, "--target", "il"), "no target column 'il' (did you mean 'ill'?)"),
        ((table, "--target", "ill", "--costs", "none.toml"), "error: none.toml: cannot be read"),
        (
            (table, "--target", "ill", "--costs", bad_prices),
            "bad.toml: features.age.cost: expected a finite number >= 0",
        ),
        ((table, "--target", "age", "--costs", prices), "prices without a column: 'age'"),
        ((cut, "--target", "ill"), "cut.parquet: cannot be read"),
        ((table, "--target", "ill", "--algorithms", "misr"), "algorithm 'misr'"),
        ((table, "--target", "ill", "--score", "r2"), "classification of 2 classes has accuracy"),
        ((table, "--target", "ill", "--task", "regression"), "regression needs numbers"),
        ((table, "--target", "ill", "--output", table), "is a file, expected a directory"),
        ((table, "--target", "ill", "--output", table / "deeper"), "cannot be written"),
        (("breast-cancer", "--target", "x"), "--target is for files"),
        (("--points", 0), "--points"),
        (("--budget", "-1"), "--budget"),
        (("--nothing",), "No such option '--nothing' (see costframe compare --help)"),
    ]:
        assert text in refused(run("compare", *arguments)), arguments
    assert sorted(tmp_path.rglob("*")) == sorted([*before, bad_prices, cut])  # nothing was written


def test_what_fit_and_cost_refuse(run, patients, tmp_path):
    table, prices = patients
    fit = ("fit", table, "--target", "ill", "--algorithm", "miser", "--output")
    assert "either --tradeoff" in refused(run(*fit, "m"))
    assert "either --tradeoff" in refused(run(*fit, "m", "--tradeoff", 1, "--budget", 1))
    assert "there is no directory" in refused(run(*fit, "none/m", "--tradeoff", 1))
    assert "is a directory" in refused(run(*fit, tmp_path, "--tradeoff", 1))
    assert "Missing option '--output'" in refused(run(*fit[:-1], "--tradeoff", 1))
    assert "no.model" in refused(run("cost", "no.model", table))
    assert "not a costframe model" in refused(run("cost", prices, table))
    assert "no.json" in refused(run("cost", "no.json", table, "--costs", prices))
    assert run("fit", "breast-cancer", "--algorithm", "miser", "--tradeoff", 0.01, "--output", "t.model").exit_code == 0
    assert "which the model reads" in refused(run("cost", "t.model", table))


def test_a_write_that_fails_leaves_no_half(run, tmp_path, monkeypatch):
    from costframe.core import files

    def full(_path, _content):
        raise OSError(28, "No space left on device", "frontier/points.csv")

    monkeypatch.setattr(files, "write_atomically", full)
    result = run("compare", "--points", 1)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: frontier/points.csv: No space left on device"
    assert not list(tmp_path.iterdir())


def python(*code, **more):
    return subprocess.run([sys.executable, *code], capture_output=True, text=True, check=False, **more)  # noqa: S603


@pytest.mark.parametrize("arguments", [["--help"], ["algorithms"], ["datasets"], ["compare", "--help"]])
def test_the_start_is_quick(arguments):
    more = '"pandas", "pyarrow", "sklearn"' if "--help" in arguments else ""  # scikit-learn itself loads pandas
    code = f"""
import sys
from costframe import cli
try:
    cli.main({arguments!r})
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
        command = [sys.executable, "-c", "from costframe.cli import main; main()"]
    table, prices = patients
    environment = os.environ | {"PYTHONWARNINGS": "error::DeprecationWarning:costframe"}
    arguments = ["compare", table, "--costs", prices, "--target", "ill", "--algorithms", "miser", "--points", "3"]
    arguments += ["--output", "out"]
    done = subprocess.run(  # noqa: S603
        [*command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "3/3 miser" in done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    refused_one = subprocess.run([*command, "compare", "none.csv"], capture_output=True, text=True, check=False)  # noqa: S603
    assert (refused_one.returncode, refused_one.stdout) == (2, "")
    assert refused_one.stderr.startswith("error: none.csv: ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other interrupts")
def test_an_interrupt_is_one_line_and_writes_nothing(tmp_path):
    code = "from costframe.cli import main; main(['compare', '--algorithms', 'miser', '--points', '500'])"
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        assert running.stderr.readline().startswith("1/500")
        running.send_signal(signal.SIGINT)
        said, told = running.communicate(timeout=60)[1].splitlines(), running.returncode
    assert told == 130
    assert said[-1] == "interrupted, nothing was written"
    assert all(re.match(r"\d+/500|$|interrupted", line) for line in said)
    assert not list(tmp_path.iterdir())
