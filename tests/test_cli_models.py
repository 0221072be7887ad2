"""`costframe fit`, `cost` and `inspect`: models into files, what they cost, and how they look as text and page."""

from __future__ import annotations

import re
from html import unescape

import pandas as pd
import pytest
from cli_cases import refused, words
from page_cases import PLAIN, cascade, rows

import costframe as cf
from costframe.datasets import read_table


def test_fit_then_cost(run, patients, tmp_path):
    table, costs = patients
    common = (table, "--costs", costs, "--target", "ill", "--algorithm", "miser", "--output", "ill.model")
    assert "wrote ill.model" in words(run("fit", *common, "--tradeoff", 0.0001))
    model, frame = cf.load(tmp_path / "ill.model"), pd.read_csv(table)
    features = frame[["age", "chol", "scan"]]
    assert f"300 rows cost {model.cost(features).mean:,.6g} CAD per row" in words(run("cost", "ill.model", table))
    (dearer := costs.with_name("dear.toml")).write_text(
        costs.read_text().replace("50.0", "500.0").replace("age = 1.0", "age = 1.0\npulse = 3.0")
    )
    repriced = run("cost", "ill.model", table, "--costs", dearer, "--acquisition", "learner")
    prices = cf.CostModel.load(costs).to_dict()
    prices["features"]["scan"] = 500.0
    expected = model.cost(features, prices, acquisition="learner").mean
    assert f"{expected:,.6g} CAD per row" in words(repriced)
    assert "  1 of 4 prices is not used: the model has no such feature\n" in repriced.stdout

    frame.drop(columns="age").to_csv(table.with_name("less.csv"), index=False)
    said = refused(run("cost", "ill.model", table.with_name("less.csv")))
    assert said.startswith(f"error: {table.with_name('less.csv')}: no column 'age', which ill.model reads")
    (other := costs.with_name("other.toml")).write_text("[features]\nage = 1\nchol = 1\nscam = 1\n")
    assert refused(run("cost", "ill.model", table, "--costs", other)) == (
        f"error: ill.model and {other} do not fit: features without a price: 'scan' (did you mean 'scam'?); "
        "prices of no feature: 'scam'"
    )


def test_fit_within_a_budget(run, patients, tmp_path):
    table, costs = patients
    given = ("--target", "ill", "--algorithm", "miser", "--budget", 8, "--cv", 0, "--output", "m")
    words(run("fit", table, "--costs", costs, *given))
    data = read_table(table, "ill", costs)
    assert cf.load(tmp_path / "m").cost(data.part("valid").X).mean <= 8


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_cost_of_a_foreign_model(run, patients, tmp_path, kind):
    library, (table, costs) = pytest.importorskip(kind, reason=f"needs {kind}"), patients
    frame = pd.read_csv(table)
    features, labels = frame[["age", "chol", "scan"]], frame["ill"] == "yes"
    if kind == "xgboost":
        booster = library.train({"objective": "binary:logistic", "max_depth": 2}, library.DMatrix(features, labels), 3)
        (tmp_path / "theirs").write_bytes(booster.save_raw("ubj"))  # content tells, not the suffix
    else:  # trained without names
        data = library.Dataset(features.to_numpy(), labels)
        booster = library.train({"objective": "binary", "verbose": -1}, data, 3).save_model(tmp_path / "theirs")
    adopted = cf.adopt(booster, feature_names=list(features))
    for more, model in (((), adopted), (("--until", "class"), cf.certain(adopted, "class"))):
        said = words(run("cost", "theirs", table, "--costs", costs, *more))
        assert f"300 rows cost {model.cost(features, costs).mean:,.6g} CAD per row" in said
        assert ("of the rows end before the last learner" in said) == bool(more)
    assert "give them with --costs" in refused(run("cost", "theirs", table))
    assert "--until: expected 'class' or a number" in refused(
        run("cost", "theirs", table, "--costs", costs, "--until", "soon")
    )
    if kind == "lightgbm":
        frame.assign(ill=labels.astype(int)).to_csv("numbers.csv", index=False)
        scored = refused(
            run("cost", "theirs", "numbers.csv", "--costs", costs, "--target", "ill", "--score", "roc_auc")
        )
        assert "the model is a classifier of 2 classes" in scored
        assert "with_classes" in scored
    assert f"kind classifier of 2 classes{': the probability' * (kind == 'lightgbm')}" in words(
        run("inspect", "theirs")
    )


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Save a cascade and rows for it, and work beside them; return the names of both."""
    monkeypatch.chdir(tmp_path)
    cf.save(cascade(4), "my.model")
    pd.DataFrame(rows(), columns=PLAIN).assign(split=["test", "train"] * 20).to_csv("rows.csv", index=False)
    return "my.model", "rows.csv"


def test_inspect_says_what_a_model_is_and_what_rows_pay(run, saved, tmp_path):
    said = words(run("inspect", *saved, "--output", "my.html"))
    for text in (
        "kind regressor made of 1 route, 2 answers; 4 columns",
        "reads 4 of 6 features: 'age', 'pulse', 'chol', 'scan'",
        "prices 6 features and 1 resource, in CAD; all features of the model 19.00",
        "features of a row at least 0.00, at most 10.00 CAD, with their resources",
        f"40 rows cost {cascade(4).cost(rows()).mean:,.6g} CAD per row on average",
    ):
        assert text in said
    page = unescape(re.sub("<style>.*</style>|<[^>]*>", " ", (tmp_path / "my.html").read_text(), flags=re.DOTALL))
    for text in (
        "1 route, 2 answers; 4 columns", "Means of 40 rows of rows.csv", "draw of chol", "cf.load('my.model')",
        "costframe predict my.model new.csv --output out.csv",
        f"Mean cost per row {cascade(4).cost(rows()).mean:.2f}",
    ):  # fmt: skip
        assert text in " ".join(page.split())
    cf.CostModel.uniform(PLAIN, 3.0).save("three.toml")
    said = words(run("inspect", *saved, "--part", "test", "--costs", "three.toml"))
    assert "all features of the model 18.00" in said
    assert f"20 rows cost {cascade(4).cost(rows()[::2], 'three.toml').mean:,.6g} unit" in said


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--part", "test"), "--part: has no effect without DATA"),
        (("--output", "none/my.html"), "there is no directory none"),
        (("--output", "my.csv"), "--output my.csv: expected a file name that ends in .html"),
        (("nothing",), "nothing: no such file, and no data set has this name"),
    ],
)
def test_refusals_leave_no_page(run, saved, tmp_path, more, text):
    before = sorted(tmp_path.iterdir())
    assert text in refused(run("inspect", saved[0], *more))
    assert sorted(tmp_path.iterdir()) == before
