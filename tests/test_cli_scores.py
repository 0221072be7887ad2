"""A saved model is scored on the command line, on the rows that its run held out or on others."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused

from costframe import load
from costframe.frontier.frontier import Frontier

RNG = np.random.default_rng(0)
N = 240


def make(task):
    """Return a frame with labels `y` of a task, and columns that do not divide its rows into parts."""
    X = RNG.normal(size=(N, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 2] > 0, "x", "z")
    signal = X[:, 0] + 0.5 * X[:, 1] + 0.4 * RNG.normal(size=N)
    if task == "two":
        frame["y"] = np.where(signal > 0, "ill", "well")
    elif task == "three":
        frame["y"] = np.digitize(signal, [-0.5, 0.5])
    elif task == "regression":
        frame["y"] = signal
    else:
        frame["y"], frame["qid"] = np.digitize(signal, [-0.5, 0.5]), RNG.permutation(N) // 6
    return frame


@pytest.fixture
def compared(run, table):
    """Compare models on a frame; return the path of its table."""

    def compare(frame, *more, name="given.csv"):
        path = table(frame, name)
        arguments = ("compare", path, "--target", "y", "--algorithms", "miser", "--points", 2, "--folds", 0)
        ended = run(*arguments, *more)
        assert ended.exit_code == 0, ended.output
        return path

    return compare


def recommended(out="frontier"):
    """Return the row of points.csv whose model is the recommended one."""
    best = load(f"{out}/recommended.model")
    with open(f"{out}/points.csv", encoding="utf-8") as file:  # noqa: PTH123 - the newline is csv's
        points = list(csv.DictReader(file))
    same = [point for point in points if repr(load(f"{out}/models/{point['name']}.model")) == repr(best)]
    return next(p for p in same if float(p["cost"]) == Frontier.load(out).recommended().cost)


def shown(text):
    """Return score, its error, mean cost and its error as they are printed."""
    score = re.search(r"^(\S+) (-?[\d.]+) ±(\S+) on", text, re.MULTILINE)
    cost = re.search(r"rows? costs? ([\d.,]+) ±(\S+) ", text)
    return score[1], float(score[2]), float(score[3]), float(cost[1]), float(cost[2])


@pytest.mark.parametrize(
    ("task", "split"),
    [
        *(("two", split) for split in [(), ("--seed", 5), "column", "no test"]),
        ("three", ("--seed", 5)),
        ("regression", "column"),
        ("ranking", ()),
        ("ranking", "column"),
    ],
)
def test_the_test_part_is_that_of_the_run_to_the_last_bit(compared, run, task, split):
    frame, more = make(task), split
    if isinstance(split, str):
        parts = np.resize(["train", "valid", "test" if split == "column" else "train", "train"], N)
        frame["split"], more = (parts if task != "ranking" else parts[frame["qid"] * 4 // 4]), ()
    path = compared(frame, *more)
    ended = run("cost", "frontier/recommended.model", path, "--target", "y", "--part", "test")
    assert ended.exit_code == 0, ended.output
    point = recommended()
    name, score, error, cost, _ = shown(ended.stdout)
    assert name == point["score_name"]
    assert score == round(float(point["test_score"]), 4)
    assert error == round(float(point["test_error"]), 3)
    assert cost == float(f"{float(point['test_cost']):.6g}")
    other = run("cost", "frontier/recommended.model", path, "--target", "y", "--part", "train")
    assert shown(other.stdout)[1] != score


def test_mistakes_are_counted_by_class(compared, run, table):
    frame = make("two")
    compared(frame)
    model = load("frontier/recommended.model")
    ended = run("cost", "frontier/recommended.model", table(frame, "more.csv"), "--target", "y")
    named = model.predict(frame[list(model.feature_names_in_)])
    counts = pd.crosstab(frame["y"], named)
    assert re.search(rf"ill +{counts.loc['ill', 'ill']} +{counts.loc['ill', 'well']}\n", ended.stdout), ended.stdout
    assert re.search(rf"well +{counts.loc['well', 'ill']} +{counts.loc['well', 'well']}\n", ended.stdout)
    wrong = int((named != frame["y"]).sum())
    assert f"Mistakes: {wrong} rows of 240 ({wrong / N:.1%})" in ended.stdout
    report = model.cost(frame[list(model.feature_names_in_)])
    expected = report.per_row.std(ddof=1) / np.sqrt(N)
    assert shown(ended.stdout)[3:] == (float(f"{report.mean:.6g}"), float(f"{expected:.2g}"))


def test_errors_of_a_regression(compared, run):
    frame = make("regression")
    path = compared(frame)
    model = load("frontier/recommended.model")
    error = model.predict(frame[list(model.feature_names_in_)]) - frame["y"]
    said = run("cost", "frontier/recommended.model", path, "--target", "y", "--score", "rmse").stdout
    rmse, mae = float(np.sqrt((error**2).mean())), float(error.abs().mean())
    assert f"errors: RMSE {rmse:.6g}, MAE {mae:.6g}" in said
    assert shown(said)[:2] == ("neg_root_mean_squared_error", round(-rmse, 4))


def test_many_classes_are_listed_by_the_most_frequent_mistakes(compared, run):
    frame = make("regression")
    frame["y"] = [f"class {c:02}" for c in np.clip((frame["y"] * 3 + 6).astype(int), 0, 11)]
    said = run("cost", "frontier/recommended.model", compared(frame, "--score", "accuracy"), "--target", "y").stdout
    assert re.search(r"true class +predicted as +rows", said), said
    counts = [int(n) for n in re.findall(r"class \d\d +class \d\d +(\d+)", said)]
    assert len(counts) == 10
    assert counts == sorted(counts, reverse=True)
    assert "more pairs" in said


def test_other_tables_are_refused_as_parts_by_name(compared, run, table):
    frame = make("two")
    path = compared(frame)
    part = ("--target", "y", "--part", "test")
    flipped = frame.assign(y=frame["y"].where(frame.index != 7, "ill" if frame["y"][7] == "well" else "well"))
    others = {
        "fewer": frame.iloc[:-1], "turned": frame.iloc[::-1], "other labels": flipped,
        "other values": frame.assign(a=frame["a"].where(frame.index != 3, 9.0)),
        "split": frame.assign(split=np.resize(["train", "valid", "test"], N)),
    }  # fmt: skip
    for other in others.values():
        said = refused(run("cost", "frontier/recommended.model", table(other, "other.csv"), *part))
        assert "other.csv: is not the table whose parts frontier/recommended.model was fitted and tested on" in said
    said = refused(run("cost", "frontier/recommended.model", path, "--target", "kind", "--part", "test"))
    assert "was fitted and tested for the column 'y', got --target 'kind'" in said
    described = json.loads((run_file := path.parent / "frontier" / "run.json").read_text("utf-8"))
    run_file.write_text(json.dumps(described | {"reading": {}}))
    said = refused(run("cost", "frontier/recommended.model", path, *part))
    assert "does not say how it read its table; leave out --part" in said
    (path.parent / "alone.model").write_bytes((path.parent / "frontier" / "recommended.model").read_bytes())
    said = refused(run("cost", "alone.model", path, *part))
    assert "has no column 'split', and alone.model is not in the folder of a run of `costframe compare`" in said
    assert run("cost", "alone.model", table(others["split"], "s.csv"), *part).exit_code == 0


def test_labels_and_targets_that_do_not_fit_are_refused(compared, run, table):
    frame = make("two")
    compared(frame)
    model = ("cost", "frontier/recommended.model")
    odd = table(frame.replace({"y": {"ill": "sick"}}), "odd.csv")
    assert "labels that frontier/recommended.model does not know: 'sick'; its classes are 'ill', 'well'" in refused(
        run(*model, odd, "--target", "y")
    )
    assert "no target column 'yy' (did you mean 'y'?)" in refused(run(*model, odd, "--target", "yy"))
    assert "--target 'a': is a feature that" in refused(run(*model, odd, "--target", "a"))
    assert "--score: " in refused(run(*model, odd, "--score", "accuracy"))
    assert "r2" in refused(run(*model, odd, "--target", "y", "--score", "r2"))


def test_data_sets_are_scored_by_a_score(run):
    ended = run("compare", "breast-cancer", "--seed", 2, "--algorithms", "miser", "--points", 1, "--folds", 0)
    assert ended.exit_code == 0, ended.output
    said = run("cost", "frontier/recommended.model", "breast-cancer", "--part", "test", "--score", "roc_auc").stdout
    assert shown(said)[1] == round(float(recommended()["test_score"]), 4)
    plain = run("cost", "frontier/recommended.model", "breast-cancer", "--part", "test").stdout
    assert "roc_auc" not in plain
    assert "±" not in plain
    assert "--target is for files" in refused(
        run("cost", "frontier/recommended.model", "breast-cancer", "--target", "y")
    )


def test_missing_texts_are_those_of_the_run(compared, run):
    frame = make("two").astype({"a": object})
    frame.loc[[4, 5, 90], "a"] = "haemolysed"
    path = compared(frame, "--missing", "haemolysed")
    assert json.loads((path.parent / "frontier" / "run.json").read_text("utf-8"))["reading"]["missing"] == [
        "haemolysed"
    ]
    model = ("frontier/recommended.model", path)
    assert run("cost", *model, "--target", "y", "--part", "test").exit_code == 0
    for command in (("cost", *model), ("cost", *model, "--target", "y"), ("inspect", *model)):
        said = refused(run(*command))
        assert "column 'a': texts in a column of numbers: 'haemolysed' (3 times); write numbers" in said
        assert run(*command, "--missing", "haemolysed").exit_code == 0
    predicting = ("predict", *model, "--keep", "a", "--output", "out.csv")
    assert "'haemolysed' (3 times)" in refused(run(*predicting))
    assert run(*predicting, "--missing", "haemolysed").exit_code == 0
    assert pd.read_csv("out.csv")["a"][4] == "haemolysed"
    fitting = ("fit", path, "--target", "y", "--algorithm", "miser", "--tradeoff", 0.01, "--output", "b.model")
    assert "'haemolysed' (3 times)" in refused(run(*fitting))
    assert run(*fitting, "--missing", "haemolysed").exit_code == 0
