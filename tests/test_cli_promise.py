"""`--promise` of compare and fit, on test rows, and `costframe promise`, on fresh rows for a saved frontier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused, words
from frontier_cases import COSTS, some_rows

import costframe as cf
from costframe.choices import Frontier
from costframe.datasets import read_table

PRICES = """unit = "CAD"
[features]
a = 1.0
b = { cost = 2.0, needs = ["draw"] }
c = { cost = 0.5, needs = ["draw"] }
d = 10.0
[resources]
draw = 4.0
"""


def frame_of(n, seed):
    X, y = some_rows(n, seed)
    return pd.DataFrame(X, columns=[*"abcd"]).assign(ill=np.where(y, "yes", "no"))


@pytest.fixture
def given(table):
    """Write a table and its prices; return what commands take for them."""
    return table(frame_of(900, 0)), "--costs", table(PRICES, "prices.toml"), "--target", "ill"


@pytest.mark.usefixtures("undrawn")
def test_compare_promises_on_test_rows(run, given, tmp_path):
    terms = ("--algorithms", "cegb", "--cv", 0, "--promise", "recall(yes) >= 0.5", "--promise", "error <= 40%")
    said = words(run("compare", *given, *terms, "--confidence", 0.8, "--output", "out"))
    assert "Promised: cegb-" in said
    assert "keeps with a probability of 0.8, by 179 test rows that nothing chose by" in said
    assert "out/promised.model" in said
    data = read_table(given[0], "ill", given[2])
    test, valid = data.part("test"), data.part("valid")
    promises = [cf.Promise(text, confidence=0.8) for text in ("recall(yes) >= 0.5", "error <= 0.4")]
    found = Frontier.load("out").cheapest(promise=promises, X=test.X, y=test.y, plan=(valid.X, valid.y))
    assert np.array_equal(cf.load("out/promised.model").predict(test.X), found.model.predictor_.predict(test.X))
    assert found.name in said
    (tmp_path / "other").mkdir()
    (tmp_path / "other/promised.model").write_text("of an earlier run")
    broken = run("compare", *given, *terms[:4], "--promise", "error <= 0.1%", "--output", "other")
    assert broken.exit_code == 2
    assert "error: promise: no model is certified to keep error <= 0.001 with a probability of 0.9" in broken.stderr
    assert (tmp_path / "other/recommended.model").exists()
    assert not (tmp_path / "other/promised.model").exists()


def test_fit_saves_the_certified_model(run, given, tmp_path):
    terms = ("--algorithm", "cegb", "--cv", 0, "--promise", "accuracy >= 0.6", "--output", "kept.model")
    said = words(run("fit", *given, *terms))
    assert "accuracy >= 0.6" in said
    assert "by 179 test rows that nothing chose by" in said
    assert "wrote kept.model" in said
    fresh = frame_of(5000, 1)
    assert (cf.load(tmp_path / "kept.model").labels(fresh[[*"abcd"]]) == fresh["ill"]).mean() > 0.6


@pytest.fixture
def saved(tmp_path):
    """Save a frontier; return its folder."""
    frame = frame_of(700, 0)
    X, y = frame[[*"abcd"]], frame["ill"]
    model = cf.CEGBClassifier(COSTS, n_estimators=12)
    Frontier.fit(model, X[:450], y[:450], X_val=X[450:], y_val=y[450:], cv=0, n_jobs=1).save(tmp_path / "saved")
    return tmp_path / "saved"


def test_promise_chooses_by_fresh_rows(run, saved, table):
    fresh = frame_of(800, 1).assign(patient=np.arange(800) // 2, large=lambda frame: frame["ill"])
    data, rest = table(fresh, "fresh.csv"), ("--target", "ill", "--group", "patient")
    terms = ("--promise", "agreement(large) >= 0.6", "--promise", "cost <= 20", "--output", "kept.model")
    said = words(run("promise", saved, data, *rest, *terms))
    X, groups = fresh[[*"abcd"]].to_numpy(), fresh["patient"].astype(str)  # numbered as texts, as in files
    promises = [cf.Promise("agreement", of=fresh["large"].to_numpy(), level=0.6), "cost <= 20"]
    found = Frontier.load(saved).cheapest(promise=promises, X=X, y=fresh["ill"], groups=groups)
    assert f"{found.name} costs {found.cost:.4g}" in said
    assert f"agreement(large) >= 0.6: {found.checks[0].value:.4g} on 640 rows" in said
    assert "by 640 rows that nothing chose by, of 320 groups that count as one each" in said
    assert "Another 160 rows fixed the order of tests." in said
    assert "wrote kept.model" in said
    assert np.array_equal(cf.load("kept.model").predict(X), found.model.predictor_.predict(X))
    assert "would be overwritten" in refused(run("promise", saved, data, *rest, *terms))


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ((), "--promise: expected at least one, got none"),
        (("--confidence", 0.8), "--confidence: has no effect without --promise"),
        (("--promise", "error <= 0.3", "--confidence", 1), "confidence: expected a number above 0 and below 1"),
        (("--promise", "eror <= 0.3"), "unknown kind 'eror' (did you mean 'error'?)"),
        (("--promise", "recall(maybe) >= 0.3"), "there is no class 'maybe'; classes are 'no', 'yes'"),
        (("--promise", "agreement(larg) >= 0.3"), "no column 'larg'"),
        (("--promise", "agreement(a) >= 0.3"), "labels that"),
        (("--promise", "bill <= 3"), "bill: needs prices with errors"),
        (("--promise", "error <= 0.001"), "the best that can be promised on them is error <= "),
    ],
)
def test_promise_refuses_by_name(run, saved, table, terms, text):
    assert text in refused(run("promise", saved, table(frame_of(300, 1)), "--target", "ill", *terms))


def test_promise_refuses_folders_and_data_that_are_none(run, saved, table):
    terms = ("--target", "ill", "--promise", "error <= 0.4")
    assert "cannot be read" in refused(run("promise", "nothing", table(frame_of(300, 1)), *terms))
    assert "expected a table file of fresh rows" in refused(run("promise", saved, "breast-cancer", *terms))


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        (("--budget", 3, "--promise", "error <= 0.3"), "leave out --tradeoff and --budget"),
        (("--promise", "recall(y) >= 0.3"), "there is no class 'y'"),
        (("--promise", "bill <= 3"), "needs prices with errors"),
        (("--confidence", 0.9, "--budget", 3), "--confidence: has no effect without --promise"),
    ],
)
def test_fit_refuses_what_does_not_go_with_a_promise(run, given, terms, text, tmp_path):
    result = run("fit", *given, "--algorithm", "cegb", *terms, "--output", "m")
    assert result.exit_code == 2
    assert text in result.stderr
    assert not (tmp_path / "m").exists()
