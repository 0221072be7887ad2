"""`costframe fit` and `costframe cost`: models into files, and what they cost."""

from __future__ import annotations

import json
import os
import re
import stat
import sys

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused

import costframe as cf
from costframe.datasets import read_table


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
    given = ("--target", "ill", "--algorithm", "miser", "--budget", 8, "--folds", 0, "--output", "m")
    result = run("fit", table, "--costs", prices, *given)
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
    (tmp_path / "theirs").write_bytes(booster.save_raw("ubj"))  # content tells, not the suffix
    adopted = cf.adopt(booster, feature_names=list(rows))
    for until in (None, "class", 0.5):
        more, model = ((), adopted) if until is None else (("--until", until), cf.certain(adopted, until))
        result = run("cost", "theirs", table, "--costs", prices, *more)
        assert result.exit_code == 0, result.output
        assert f"300 rows cost {model.cost(rows, prices).mean:,.6g} CAD per row" in result.stdout
        assert ("of the rows end before the last learner" in result.stdout) == (until is not None)
    assert "give them with --costs" in refused(run("cost", "theirs", table))
    assert "--until: expected 'class' or a number, got 'soon'" in refused(
        run("cost", "theirs", table, "--costs", prices, "--until", "soon")
    )


def test_cost_of_a_lightgbm_model_trained_without_names(run, patients, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    table, prices = patients
    frame = pd.read_csv(table)
    rows = frame[["age", "chol", "scan"]]
    data = lightgbm.Dataset(rows.to_numpy(), frame["ill"] == "yes")
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, data, 3)
    booster.save_model(tmp_path / "theirs.txt")
    result = run("cost", "theirs.txt", table, "--costs", prices)
    assert result.exit_code == 0, result.output
    report = cf.adopt(booster, feature_names=list(rows)).cost(rows, prices)
    assert f"300 rows cost {report.mean:,.6g} CAD per row" in result.stdout


@pytest.fixture
def fitted(run, patients):
    """Fit a model of the small table; return its path, the table's and its prices'."""
    table, prices = patients
    more = ("--target", "ill", "--algorithm", "miser", "--tradeoff", 0.0001, "--output", "ill.model")
    assert run("fit", table, "--costs", prices, *more).exit_code == 0
    return "ill.model", table, prices


def test_cost_counts_prices_of_what_the_model_does_not_have(run, fitted):
    model, table, prices = fitted
    assert "not used" not in run("cost", model, table, "--costs", prices).stdout
    one = prices.with_name("one.toml")
    one.write_text(prices.read_text().replace("age = 1.0", "age = 1.0\npulse = 3.0"))
    said = run("cost", model, table, "--costs", one).stdout
    assert "  1 of 4 prices is not used: the model has no such feature\n" in said
    further = prices.with_name("further.toml")
    further.write_text(prices.read_text().replace("age = 1.0", "age = 1.0\npulse = 3.0\nweight = 4.0"))
    result = run("cost", model, table, "--costs", further)
    assert result.exit_code == 0, result.output
    assert "  2 of 5 prices are not used: the model has no such features\n" in result.stdout
    mean = re.search(r"300 rows cost (\S+) CAD", run("cost", model, table, "--costs", prices).stdout).group(1)
    assert f"300 rows cost {mean} CAD" in result.stdout


def test_cost_names_both_files_where_prices_lack_a_feature(run, fitted):
    model, table, prices = fitted
    (other := prices.with_name("other.toml")).write_text("[features]\nage = 1\nchol = 1\nscam = 1\n")
    assert refused(run("cost", model, table, "--costs", other)) == (
        f"error: ill.model and {other} do not fit: features without a price: 'scan' (did you mean 'scam'?); "
        "prices of no feature: 'scam'"
    )


def test_cost_names_the_model_where_a_column_lacks(run, fitted):
    model, table, _ = fitted
    frame = pd.read_csv(table).drop(columns="scan")
    frame.to_csv(table.with_name("less.csv"), index=False)
    said = refused(run("cost", model, table.with_name("less.csv")))
    assert said.startswith(f"error: {table.with_name('less.csv')}: no column 'scan', which ill.model reads")
    assert "no feature 'age', which ill.model reads" in refused(run("cost", model, "breast-cancer"))


def test_cost_of_one_row(run, fitted):
    model, table, _ = fitted
    pd.read_csv(table)[:1].to_csv(table.with_name("one.csv"), index=False)
    assert re.match(r"1 row costs \S+ CAD per row", run("cost", model, table.with_name("one.csv")).stdout)


@pytest.mark.parametrize("content", [[1, 2], {}, {"learner": 3}, {"learner": {"gradient_booster": []}}, None, "text"])
def test_json_of_something_else_is_no_model(run, patients, tmp_path, content):
    (tmp_path / "list.json").write_text(json.dumps(content))
    said = refused(run("cost", "list.json", patients[0], "--costs", patients[1]))
    assert said.startswith("error: list.json: ")
    assert re.search("is not a costframe model|expected a|lacks", said)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
@pytest.mark.parametrize("kind", ["a pipe", "a directory", "a link to nothing"])
def test_fit_refuses_a_place_that_is_no_file_before_any_work(run, tmp_path, kind):
    place = tmp_path / "place"
    {"a pipe": os.mkfifo, "a directory": os.mkdir}.get(kind, lambda link: link.symlink_to("nowhere"))(place)
    mode = stat.S_IFMT(place.lstat().st_mode)
    said = refused(run("fit", "none.csv", "--target", "y", "--algorithm", "miser", "--tradeoff", 1, "--output", place))
    assert said == f"error: --output {place}: cannot be written: is {kind}, expected a file"
    assert stat.S_IFMT(place.lstat().st_mode) == mode
    assert list(tmp_path.iterdir()) == [place]


def test_fit_counts_in_words(run, patients, tmp_path):
    table, _ = patients
    pd.read_csv(table)[["age", "ill"]].to_csv(table, index=False)
    result = run("fit", table, "--target", "ill", "--algorithm", "miser", "--tradeoff", 1e9, "--output", "m")
    assert "It reads 0 of 1 feature, with 0 learners.\n" in result.stdout
    assert np.ptp(cf.load(tmp_path / "m").predict(pd.read_csv(table)[["age"]])) == 0
