"""Plugins at fault: named, and the others go on."""

from __future__ import annotations

import csv
import re

import pytest
from cli_cases import algorithm, refused

import costframe as cf
from costframe.core.errors import PluginError


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
    result = run("compare", small, "--target", "ill", "--algorithms", "miser", "--points", 1, "--folds", 0)
    assert result.exit_code == 0
    told = "broken: plugin rusty (rusty-tools 1.5) cannot be loaded: ImportError: no oil"
    assert result.stderr.splitlines().count(told) == 1
    assert run("algorithms").stderr.splitlines() == [told]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise RuntimeError('no oil\\nat all')", "RuntimeError: no oil at all"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("return self", "AttributeError: 'Odd' object has no attribute 'predictor_'"),
    ],
)
def test_an_algorithm_that_fails_leaves_the_others(run, installed, small, tmp_path, body, text):
    installed("rusty", algorithm("rusty", body))
    told = f"algorithm 'rusty' of plugin rusty (rusty-tools 1.5) failed: {text}"
    result = run("compare", small, "--target", "ill", "--algorithms", "rusty,miser", "--points", 2, "--folds", 0)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[-1] == f"left out: {told}"
    assert "Traceback" not in result.stderr
    with (tmp_path / "frontier" / "points.csv").open(newline="") as file:
        assert [point["algorithm"] for point in csv.DictReader(file)] == ["miser"] * 2
    alone = run("compare", "--algorithms", "rusty", "--output", "alone")
    assert (alone.exit_code, alone.stderr.splitlines()[-1]) == (2, f"error: {told}")
    fit = run("fit", "breast-cancer", "--algorithm", "rusty", "--tradeoff", 1, "--output", "m")
    assert (fit.exit_code, fit.stderr) == (2, f"error: {told}\n")
    assert [path.name for path in tmp_path.iterdir() if path.name != "site"] == ["frontier"]


def test_an_algorithm_that_refuses_the_prices_leaves_the_others(run, installed, small):
    installed("plain", algorithm("plain", "raise cf.CostframeError('reuse: cannot be trained with')"))
    result = run("compare", small, "--target", "ill", "--algorithms", "plain,miser", "--points", 1, "--folds", 0)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "left out: algorithm 'plain': reuse: cannot be trained with"
    alone = run("compare", "--algorithms", "plain", "--force")
    assert (alone.exit_code, alone.stderr) == (2, "error: reuse: cannot be trained with\n")


def test_where_all_fail_one_line_names_them_all(run, installed, tmp_path):
    installed("rusty", algorithm("rusty", "raise TypeError('one')"))
    installed("dusty", algorithm("dusty", "raise KeyError('other')"))
    result = run("compare", "--algorithms", "rusty,dusty")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: nothing could be fitted: algorithm 'rusty' of plugin rusty (rusty-tools 1.5) failed: TypeError: one; "
        "algorithm 'dusty' of plugin dusty (dusty-tools 1.5) failed: KeyError: 'other'\n"
    )
    assert not (tmp_path / "frontier").exists()


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_authors_of_plugins_can_see_the_traceback(run, installed, small, monkeypatch, command):
    installed("rusty", algorithm("rusty", "raise TypeError('dry')"))
    given = (small, "--target", "ill", "--algorithms", "rusty,miser", "--points", 1, "--folds", 0)
    if command == "fit":
        given = ("breast-cancer", "--algorithm", "rusty", "--tradeoff", 1, "--output", "m")
    assert "Traceback" not in run(command, *given).stderr
    monkeypatch.setenv("COSTFRAME_TRACEBACK", "1")
    said = run(command, *given, "--force").stderr
    assert re.search(
        r"^Traceback .*rusty_plugin\.py\", line \d+, in fit\n.*TypeError: dry$", said, re.DOTALL | re.MULTILINE
    )
    assert said.splitlines()[-1].endswith("failed: TypeError: dry")


def test_where_all_fail_authors_see_each_traceback(run, installed, monkeypatch):
    installed("rusty", algorithm("rusty", "raise RuntimeError('no oil')"))
    installed("dusty", algorithm("dusty", "raise RuntimeError('no rag')"))
    monkeypatch.setenv("COSTFRAME_TRACEBACK", "1")
    result = run("compare", "breast-cancer", "--algorithms", "rusty,dusty", "--points", 1, "--folds", 0)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert {"RuntimeError: no oil", "RuntimeError: no rag"} <= set(lines)


def test_a_sweep_in_python_raises_with_the_cause(installed):
    installed("rusty", algorithm("rusty", "raise TypeError('dry')"))
    with pytest.raises(
        PluginError, match=r"'rusty' of plugin rusty \(rusty-tools 1\.5\) failed: TypeError: dry"
    ) as caught:
        cf.Frontier.sweep("breast-cancer", ["miser", "rusty"], [0.1], parameters={"n_estimators": 2})
    assert isinstance(caught.value.__cause__, TypeError)
    told = []
    frontier = cf.Frontier.sweep(
        "breast-cancer",
        ["rusty", "miser"],
        [0.1],
        parameters={"n_estimators": 2},
        failed=lambda *what: told.append(what),
    )
    assert [(name, type(error.__cause__)) for name, error in told] == [("rusty", TypeError)]
    assert [point.algorithm for point in frontier.points] == ["miser"]


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
