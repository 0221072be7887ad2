"""Plugins at fault: named, and the others go on."""

from __future__ import annotations

import csv
import re

import pytest
from cli_cases import algorithm, refused

import costframe as cf

pytestmark = pytest.mark.usefixtures("undrawn")


def test_lists(run):
    listed = run("algorithms")
    assert listed.exit_code == 0
    assert re.search(
        r"^miser .*classification, regression, ranking|^miser +classification", listed.stdout, re.MULTILINE
    )
    assert run("datasets").stdout.split() == cf.datasets.names()
    assert run("--version").stdout == f"costframe {cf.__version__}\n"


def test_compare_names_broken_plugins(run, installed, small):
    installed("rusty", "raise ImportError('no oil')")
    result = run("compare", small, "--target", "ill", "--algorithms", "planner", "--points", 1, "--cv", 0)
    assert result.exit_code == 0
    told = "broken: plugin rusty (rusty-tools 1.5) cannot be loaded: ImportError: no oil"
    assert result.stderr.splitlines().count(told) == 1
    assert run("algorithms").stderr.splitlines() == [told]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise SystemExit('no oil\\nat all')", "failed: SystemExit: no oil at all"),
        ("return self", "failed: AttributeError: 'Odd' object has no attribute 'predictor_'"),
        ("raise cf.CostframeError('reuse: cannot be trained with')", "reuse: cannot be trained with"),
    ],
)
def test_an_algorithm_that_fails_leaves_the_others(run, installed, small, tmp_path, body, text):
    installed("rusty", algorithm("rusty", body))
    asked = (small, "--target", "ill", "--cv", 0)
    result = run("compare", *asked, "--algorithms", "rusty,planner", "--points", 2)
    assert result.exit_code == 0, result.output
    said = result.stderr.splitlines()[-1]
    assert said.startswith("left out: algorithm 'rusty'")
    assert said.endswith(text)
    assert "Traceback" not in result.stderr
    with (tmp_path / "frontier" / "points.csv").open(newline="") as file:
        assert [point["algorithm"] for point in csv.DictReader(file)] == ["planner", "planner", "linear-all"]
    for alone in (
        run("compare", *asked, "--algorithms", "rusty", "--output", "alone"),
        run("fit", *asked[:3], "--algorithm", "rusty", "--tradeoff", 1, "--output", "m"),
    ):
        assert alone.exit_code == 2
        assert alone.stderr.splitlines()[-1].endswith(text)
    assert [path.name for path in tmp_path.iterdir() if path.name != "site"] == ["frontier"]


def test_authors_of_plugins_can_see_the_traceback(run, installed, small, monkeypatch):
    installed("rusty", algorithm("rusty", "raise TypeError('dry')"))
    monkeypatch.setenv("COSTFRAME_TRACEBACK", "1")
    said = run("fit", small, "--target", "ill", "--algorithm", "rusty", "--tradeoff", 1, "--output", "m").stderr
    assert re.search(
        r"^Traceback .*rusty_plugin\.py\", line \d+, in fit\n.*TypeError: dry$", said, re.DOTALL | re.MULTILINE
    )
    assert said.splitlines()[-1].endswith("failed: TypeError: dry")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise OSError('no net')", "its plugin failed: OSError: no net"),
        ("return [1, 2]", "expected its plugin to return a Dataset, got list"),
    ],
)
def test_a_data_set_that_fails_is_one_line(run, installed, body, text):
    installed("far", f"import costframe as cf\ndef load():\n    {body}\n@cf.hookimpl\ndef costframe_datasets():\n"
                     "    return {'far-away': load}\n")  # fmt: skip
    assert refused(run("compare", "far-away")) == f"error: data set 'far-away': {text}"
