"""Algorithms for two classes beside others: who takes part in which comparison."""

from __future__ import annotations

import numpy as np
import pytest
from cli_cases import refused

import costframe as cf
from costframe.core.errors import CostframeError, ParameterError, PluginError
from costframe.core.plugins.registry import registry, two_classes_only
from costframe.datasets import Dataset
from costframe.frontier.checks import choose_algorithms
from costframe_cronus import CronusClassifier
from costframe_miser import MiserClassifier, MiserRegressor


def test_who_says_that_it_is_for_two_classes():
    class Untagged:
        pass

    class Raises:
        def __init__(self):
            raise RuntimeError

    assert two_classes_only(CronusClassifier)
    assert not any(map(two_classes_only, (MiserClassifier, MiserRegressor, Untagged, Raises, None)))


def test_by_default_the_usual_ones_are_fitted_and_all_are_those_but_baselines():
    for task in ("classification", "regression", "ranking"):
        usual, every = choose_algorithms(task, None)[0], choose_algorithms(task, "all")[0]
        assert {"planner", "cegb"} <= set(usual) < set(every)
        assert not any(cf.algorithms()[name].baseline for name in every)
        assert choose_algorithms(task, ["all"]) == (every, {})
    assert choose_algorithms("ranking", ["boosting", "cegb"]) == (["boosting", "cegb"], {})
    with pytest.raises(ParameterError, match="at least one name, got none"):
        choose_algorithms("ranking", [])


def test_three_classes_leave_it_out_unless_it_is_named():
    assert "cronus" in choose_algorithms("classification", "all", 2)[0]
    assert "cronus" in choose_algorithms("classification", "all")[0]
    assert "cronus" in choose_algorithms("ranking", "all")[0]
    three, left_out = choose_algorithms("classification", "all", 3)
    assert {"miser", "reweighted"} <= set(three)
    assert "cronus" not in three
    assert list(left_out) == ["cronus"]
    for name in ("cronus", "soft-cascade"):
        with pytest.raises(ParameterError, match=f"algorithm '{name}': is for two classes, got 3"):
            choose_algorithms("classification", ["miser", name], 3)


def test_where_nothing_is_left_the_text_says_so(monkeypatch):
    only = {"cronus": registry().algorithm("cronus")}
    monkeypatch.setattr("costframe.frontier.checks.usable_algorithms", lambda: only)
    with pytest.raises(PluginError, match="no installed algorithm takes 3 classes"):
        choose_algorithms("classification", None, 3)
    with pytest.raises(PluginError, match="no installed algorithm has the task 'regression'"):
        choose_algorithms("regression", None)


def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 3))
    return X, np.digitize(X[:, 0], (-0.5, 0.5))


@pytest.fixture
def few(monkeypatch):
    """Let two algorithms be installed: one for two classes, and one for any."""
    only = {name: registry().algorithm(name) for name in ("cronus", "miser")}
    monkeypatch.setattr("costframe.frontier.checks.usable_algorithms", lambda: only)


@pytest.mark.usefixtures("few")
def test_a_sweep_goes_on_without_it():
    X, y = rows()
    costs = {"features": dict.fromkeys("abc", 1.0)}
    data = Dataset.from_arrays(X, y, costs, feature_names=list("abc"), task="classification")
    errors, quick = {}, {"n_estimators": 5}
    frontier = cf.Frontier.sweep(
        data, tradeoffs=[0.1], folds=0, parameters=quick, failed=lambda name, error: errors.update({name: error})
    )
    assert {point.algorithm for point in frontier.points} == {"miser"}
    assert str(errors["cronus"]) == "is for two classes, got 3"
    assert len(cf.Frontier.sweep(data, tradeoffs=[0.1], folds=0, parameters=quick).points) == len(frontier.points)
    with pytest.raises(CostframeError, match="'cronus': is for two classes"):
        cf.Frontier.sweep(data, ["cronus"])


@pytest.fixture
def table(tmp_path):
    X, y = rows()
    lines = ["a,b,c,kind"] + [",".join(map(repr, row)) + f",k{k}" for row, k in zip(X.tolist(), y, strict=True)]
    (tmp_path / "three.csv").write_text("\n".join(lines))
    return "three.csv"


@pytest.mark.usefixtures("few")
def test_compare_leaves_it_out_and_says_so(run, table):
    result = run("compare", table, "--target", "kind", "--points", 2, "--folds", 0)
    assert result.exit_code == 0, result.output
    assert "left out: algorithm 'cronus': is for two classes, got 3" in result.stderr.splitlines()
    assert "miser" in result.stdout
    assert "cronus" not in result.stdout


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_named_there_it_is_an_error(run, table, command):
    named = (
        ("--algorithms", "miser,cronus")
        if command == "compare"
        else ("--algorithm", "cronus", "--tradeoff", 0.1, "--output", "my.model")
    )
    line = refused(run(command, table, "--target", "kind", *named))
    assert line == "error: algorithm 'cronus': is for two classes, got 3"


def test_the_list_says_it(run):
    listed = " ".join(run("algorithms").stdout.split())
    assert "classification of two classes" in listed
