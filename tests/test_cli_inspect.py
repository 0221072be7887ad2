"""`costframe inspect`: a model on the terminal and as a page."""

from __future__ import annotations

import re
from html import unescape

import pandas as pd
import pytest
from cli_cases import refused
from lightgbm_cases import TEXT
from page_cases import HOSTILE, PLAIN, cascade, prices, rows

import costframe as cf
from costframe.core.errors import printable


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Save a cascade and rows for it, and work beside them; return the names of both."""
    monkeypatch.chdir(tmp_path)
    cf.save(cascade(4), "my.model")
    pd.DataFrame(rows(), columns=PLAIN).to_csv("rows.csv", index=False)
    return "my.model", "rows.csv"


def words(result):
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_a_model_in_short(run, saved):
    said = words(run("inspect", saved[0]))
    assert "kind regressor" in said
    assert "made of 1 route, 2 answers; 4 columns" in said
    assert "reads 4 of 6 features: 'age', 'pulse', 'chol', 'scan'" in said
    assert "prices 6 features and 1 resource, in CAD; all features of the model 19.00" in said
    assert "features of a row at least 0.00, at most 10.00 CAD, with their resources" in said


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        (b"binary sigmoid:1", "classifier of 2 classes: the probability of the second, without labels"),
        (b"regression", "regressor"),
    ],
)
def test_a_file_of_a_classifier_without_labels_is_no_regressor(run, tmp_path, changed, kind):
    (tmp_path / "theirs.txt").write_bytes(TEXT.replace(b"binary sigmoid:1", changed))
    assert f"kind {kind} made of" in words(run("inspect", "theirs.txt"))


def test_rows_show_what_they_pay(run, saved):
    said = words(run("inspect", *saved))
    mean = cascade(4).cost(rows()).mean
    assert f"40 rows cost {mean:,.6g} CAD per row on average" in said
    assert said == f"{words(run('inspect', saved[0]))} {words(run('cost', *saved))}"


def test_the_page_has_the_same_and_how_to_load_it(run, saved, tmp_path):
    said = words(run("inspect", *saved, "--output", "my.html"))
    assert said.endswith("wrote my.html")
    page = (tmp_path / "my.html").read_text()
    text = " ".join(unescape(re.sub("<style>.*</style>|<[^>]*>", " ", page, flags=re.DOTALL)).split())
    for known in ("1 route, 2 answers; 4 columns", "Means of 40 rows of rows.csv", "draw of chol", "Prices of what it"):
        assert known in text
    assert "cf.load('my.model')" in text
    assert "costframe predict my.model new.csv --output out.csv" in text
    assert f"Mean cost per row {cascade(4).cost(rows()).mean:.2f}" in text


def test_a_page_is_overwritten_with_force_only(run, saved, tmp_path):
    (tmp_path / "my.html").write_text("mine")
    assert "add --force" in refused(run("inspect", saved[0], "--output", "my.html"))
    assert (tmp_path / "my.html").read_text() == "mine"
    words(run("inspect", saved[0], "--output", "my.html", "--force"))
    assert (tmp_path / "my.html").read_text().startswith("<!DOCTYPE html>")


def test_other_prices_and_parts(run, saved):
    frame = pd.DataFrame(rows(), columns=PLAIN).assign(split=["test", "train"] * 20)
    frame.to_csv("split.csv", index=False)
    cf.CostModel.uniform(PLAIN, 3.0).save("three.toml")
    said = words(run("inspect", saved[0], "split.csv", "--part", "test", "--costs", "three.toml"))
    assert "all features of the model 18.00" in said
    assert f"20 rows cost {cascade(4).cost(rows()[::2], 'three.toml').mean:,.6g} unit" in said


def test_a_foreign_model_without_prices_has_uniform_ones(run, saved, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(rows(), rows()[:, 0] > 0, feature_names=list(PLAIN))
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 1}, matrix, 3)
    booster.save_model(tmp_path / "theirs.ubj")
    said = words(run("inspect", "theirs.ubj", saved[1], "--output", "theirs.html"))
    assert "made of one stage; 3 trees" in said
    assert "reads 1 of 1 feature: 'age' prices 1 feature, in unit" in said
    assert "40 rows cost 1 unit per row" in said


def test_names_of_a_hostile_file_stay_texts(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "\x1b[31m.model").write_bytes(b"")
    cf.save(cascade(6, HOSTILE), "\x1b[31m.model", costs=prices(HOSTILE))
    result = run("inspect", "\x1b[31m.model", "--output", "\u202e.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "\u202e.html").read_text()
    for text in (result.stdout, page):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "<script" not in page
    assert "<img" not in page
    assert printable(HOSTILE[3]) in page
    assert "\\x1b[31m.model" in page


def test_a_model_of_no_features_is_described(run, saved, tmp_path):
    cf.save(cascade(0), "constant.model")
    said = words(run("inspect", "constant.model", saved[1], "--output", "constant.html"))
    assert "made of one stage; no learners reads 0 of 6 features prices" in said
    assert "40 rows of rows.csv: none pays anything" in (tmp_path / "constant.html").read_text()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--part", "test"), "--part: has no effect without DATA"),
        (("--output", "none/my.html"), "there is no directory none"),
        (("--output", "my.csv"), "--output my.csv: expected a file name that ends in .html"),
        (("nothing.csv",), "nothing.csv"),
        (("nothing",), "nothing: no such file, and no data set has this name"),
    ],
)
def test_refusals_leave_no_page(run, saved, tmp_path, more, text):
    before = sorted(tmp_path.iterdir())
    assert text in refused(run("inspect", saved[0], *more))
    assert sorted(tmp_path.iterdir()) == before
