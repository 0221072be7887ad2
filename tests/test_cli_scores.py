"""A saved model is scored on the command line, on the rows that its run held out or on others."""

from __future__ import annotations

import csv
import re

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused

import costframe as cf
from costframe import Frontier, load

pytestmark = pytest.mark.usefixtures("undrawn")

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
        arguments = ("compare", path, "--target", "y", "--algorithms", "miser", "--points", 2, "--cv", 0)
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
        ("two", ("--seed", 5)),
        ("two", "no test"),
        ("regression", "column"),
        ("ranking", ()),
    ],
)
def test_the_test_part_is_that_of_the_run_to_the_last_bit(compared, run, task, split):
    frame, more = make(task), split
    if isinstance(split, str):
        parts = np.resize(["train", "valid", "test" if split == "column" else "train", "train"], N)
        frame["split"], more = parts, ()
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


def test_mistakes_are_counted_by_class_and_what_does_not_fit_is_refused(compared, run, table):
    frame = make("two")
    path, asked = compared(frame), ("cost", "frontier/recommended.model")
    model = load("frontier/recommended.model")
    ended = run(*asked, table(frame, "more.csv"), "--target", "y")
    named = model.predict(frame[list(model.feature_names_in_)])
    counts = pd.crosstab(frame["y"], named)
    assert re.search(rf"ill +{counts.loc['ill', 'ill']} +{counts.loc['ill', 'well']}\n", ended.stdout), ended.stdout
    assert re.search(rf"well +{counts.loc['well', 'ill']} +{counts.loc['well', 'well']}\n", ended.stdout)
    wrong = int((named != frame["y"]).sum())
    assert f"Mistakes: {wrong} rows of 240 ({wrong / N:.1%})" in ended.stdout
    report = model.cost(frame[list(model.feature_names_in_)])
    expected = report.per_row.std(ddof=1) / np.sqrt(N)
    assert shown(ended.stdout)[3:] == (float(f"{report.mean:.6g}"), float(f"{expected:.2g}"))
    flipped = frame.assign(y=frame["y"].where(frame.index != 7, "ill" if frame["y"][7] == "well" else "well"))
    others = {
        "fewer": frame.iloc[:-1], "turned": frame.iloc[::-1], "other labels": flipped,
        "other values": frame.assign(a=frame["a"].where(frame.index != 3, 9.0)),
    }  # fmt: skip
    part = ("--target", "y", "--part", "test")
    for other in others.values():
        said = refused(run(*asked, table(other, "other.csv"), *part))
        assert "other.csv: is not the table whose parts frontier/recommended.model was fitted and tested on" in said
    odd = table(frame.replace({"y": {"ill": "sick"}}), "odd.csv")
    (path.parent / "alone.model").write_bytes((path.parent / "frontier" / "recommended.model").read_bytes())
    for arguments, text in [
        (
            (*asked, path, "--target", "kind", *part[2:]),
            "was fitted and tested for the column 'y', got --target 'kind'",
        ),
        (("cost", "alone.model", path, *part), "alone.model is not in the folder of a run of `costframe compare`"),
        (
            (*asked, odd, *part[:2]),
            "that frontier/recommended.model does not know: 'sick'; its classes are 'ill', 'wel",
        ),
        ((*asked, odd, "--target", "a"), "--target 'a': is a feature that"),
        ((*asked, odd, "--score", "accuracy"), "--score: "),
        ((*asked, odd, *part[:2], "--score", "r2"), "r2"),
    ]:
        assert text in refused(run(*arguments))


def test_rows_without_the_score_have_their_cost_and_bill(run, table):
    frame = make("two")
    costs = cf.CostModel.of({"a": 1.0, "b": 2.0, "c": 1.0}, errors={"ill": {"well": 9.0}, "well": {"ill": 1.0}})
    model = cf.estimator("miser", costs=costs, n_estimators=5).fit(frame[["a", "b", "c"]], frame["y"])
    cf.save(model, "priced.model")
    ill = frame[frame["y"] == "ill"]
    report = model.cost(ill[["a", "b", "c"]], ill["y"])
    for more in ((), ("--score", "roc_auc")):
        ended = run("cost", "priced.model", table(ill, "ill.csv"), "--target", "y", *more)
        assert ended.exit_code == 0, ended.output
        assert f"score: there is no roc_auc on {len(ill)} rows; they may lack a class" in ended.stdout
        assert f"rows cost {report.mean:,.6g} ±" in ended.stdout
        assert f"so the bill is {report.mean_bill:,.6g} ±{report.bill_error:.2g} unit per row" in ended.stdout


def test_errors_of_a_regression_and_texts_that_are_missing_values_of_the_run(compared, run):
    frame = make("regression").astype({"a": object})
    frame.loc[[4, 5, 90], "a"] = "haemolysed"
    path = compared(frame, "--missing", "haemolysed")
    model = load("frontier/recommended.model")
    known = frame.assign(a=pd.to_numeric(frame["a"], errors="coerce"))
    error = model.predict(known[list(model.feature_names_in_)]) - frame["y"]
    asked = ("cost", "frontier/recommended.model", path)
    said = run(*asked, "--target", "y", "--score", "rmse", "--missing", "haemolysed").stdout
    rmse, mae = float(np.sqrt((error**2).mean())), float(error.abs().mean())
    assert f"errors: RMSE {rmse:.6g}, MAE {mae:.6g}" in said
    assert shown(said)[:2] == ("neg_root_mean_squared_error", round(-rmse, 4))
    assert run(*asked, "--target", "y", "--part", "test").exit_code == 0  # as the run read it
    predicting = ("predict", *asked[1:], "--keep", "a", "--output", "out.csv")
    for command in (asked, ("inspect", *asked[1:]), predicting):
        said = refused(run(*command))
        assert "column 'a': texts in a column of numbers: 'haemolysed' (3 times); write numbers" in said
        assert run(*command, "--missing", "haemolysed").exit_code == 0
    assert pd.read_csv("out.csv")["a"][4] == "haemolysed"
