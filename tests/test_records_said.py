"""What is said of records before and after a fit: notes, drafts of prices, options, and sentences on their figures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from cli_cases import refused, words
from frontier_cases import point
from record_cases import NAMES, PRICES, SMALL, records, table
from sklearn.base import clone

import costframe as cf
from costframe.choices import BudgetSearch, Frontier
from costframe.choices.sentences import describe_model
from costframe.datasets import Dataset, read_table
from costframe.datasets.leaks import Leak, find_leaks
from costframe.plugin import DataError, ParameterError
from costframe.training.error_costs import ERROR_COST

PLAIN_PRICES = {"age": 0.0, "scan": 20.0}
PLAIN = 'unit = "CAD"\n[features]\nage = 0\ncrp = 1\nscan = 20\n'


def frame_of(**how):
    X, y = records(**how)
    return X.assign(ill=y)


@pytest.fixture
def given(tmp_path):
    """Write records and their prices; return their paths."""
    frame_of().to_csv(tmp_path / "stay.csv", index=False)
    (tmp_path / "prices.toml").write_text(PLAIN)
    return tmp_path / "stay.csv", tmp_path / "prices.toml"


def test_a_table_of_records_says_so_unless_the_prices_or_an_option_do(given, tmp_path):
    path, prices = given
    (note,) = [note for note in read_table(path, "ill", prices).notes if "--records" in note]
    assert isinstance(note, Leak)
    assert note.features == ("scan",)
    assert "whether 'scan' is missing tells the target" in note
    assert "% of rows: if nobody made it there, --records says so" in note
    (tmp_path / "said.toml").write_text(PLAIN.replace("scan = 20", 'scan = { cost = 20, absent = "not made" }'))
    for said in (read_table(path, "ill", prices, records=True), read_table(path, "ill", tmp_path / "said.toml")):
        assert [panel.name for panel in said.costs.panels] == (["crp", "scan"] if said.reading["records"] else ["scan"])
        assert not [note for note in said.notes if "missing" in note or "--records" in note]
    answers = read_table(path, "ill", tmp_path / "said.toml", records=False)
    assert not answers.costs.panels
    assert not [note for note in answers.notes if "--records" in note]
    assert [note for note in answers.notes if "whether 'scan' is missing" in note]
    assert not [note for note in read_table(path, "ill").notes if "--records" in note]  # no prices, no tests


def test_prices_that_call_empty_cells_answers_are_asked_no_more_and_win_over_the_option(given, tmp_path):
    path, _ = given
    said = tmp_path / "said.toml"
    said.write_text(PLAIN.replace("scan = 20", 'scan = { cost = 20, absent = "answer" }'))
    assert not [note for note in read_table(path, "ill", said).notes if "--records" in note]
    marked = read_table(path, "ill", said, records=True).costs
    assert [panel.name for panel in marked.panels] == ["crp"]
    marked.save(tmp_path / "saved.toml")
    assert 'absent = "answer"' in (tmp_path / "saved.toml").read_text()
    assert cf.CostModel.load(tmp_path / "saved.toml") == marked


def test_a_resource_says_it_of_its_features_unless_they_do():
    costs = cf.CostModel.of(
        {
            "features": {
                "tsh": {"cost": 1, "needs": ["blood"]},
                "crp": {"cost": 1, "needs": ["blood"], "absent": "not made"},
                "scan": {"cost": 9, "needs": ["bed"]},
                "ecg": {"cost": 2, "absent": "answer", "needs": ["bed"]},
            },
            "resources": {"blood": {"cost": 2, "absent": "answer"}, "bed": 5},
        }
    )
    assert [(panel.name, panel.features) for panel in costs.panels] == [("crp", ("crp",))]
    marked = costs.as_records()
    assert [(p.name, p.features) for p in marked.panels] == [("crp", ("crp",)), ("bed", ("scan",))]
    assert not marked.as_answers().as_records().panels
    assert cf.CostModel.of(PLAIN_PRICES).as_answers() == cf.CostModel.of(PLAIN_PRICES)


def test_tests_that_lack_by_chance_are_one_line_and_few_are_none(tmp_path):
    rng = np.random.default_rng(0)
    X, y, _ = table(n=1000)
    frame = pd.DataFrame(X, columns=NAMES).assign(ill=y)
    for share, said in ((0.1, True), (0.015, False)):
        frame.assign(scan=frame["scan"].where(rng.random(1000) >= share)).to_csv(tmp_path / "some.csv", index=False)
        notes = read_table(tmp_path / "some.csv", "ill", PRICES).notes
        assert not [note for note in notes if "--records" in note]  # the prices say it
        plain = {"features": {"age": 0.0, "crp": 1.0, "scan": 20.0}}
        notes = [note for note in read_table(tmp_path / "some.csv", "ill", plain).notes if "--records" in note]
        assert bool(notes) is said
        assert not any(isinstance(note, Leak) for note in notes)


def test_values_of_tests_that_were_made_still_leak():
    X, y = records()
    X["scan"] = np.where(X["scan"].notna(), (y == "ill") + 0.0, np.nan)
    notes = find_leaks(Dataset.from_arrays(X.to_numpy(), y, PRICES, feature_names=NAMES))
    assert [note for note in notes if "'scan' is the target coded twice" in note]


def test_costs_drafts_not_made(run, given, tmp_path):
    result = run("costs", given[0], "--target", "ill")
    assert result.exit_code == 0, result.output
    assert 'scan = { cost = 1.0, absent = "not made" }  # fill in; empty in ' in result.stdout
    assert "% of rows, which tells the target" in result.stdout
    assert "(AUC 0." in result.stdout
    assert "whether 'scan' is missing tells the target" in result.stderr
    assert 'if nobody made it there, absent = "not made" of the draft says so' in result.stderr
    (tmp_path / "draft.toml").write_text(result.stdout)
    assert [panel.name for panel in cf.CostModel.load(tmp_path / "draft.toml").panels] == ["scan"]
    assert any(
        "3 prices marked 'fill in' are still" in note for note in read_table(given[0], "ill", "draft.toml").notes
    )
    assert "absent" not in run("costs", given[0], "--target", "ill", "--no-records").stdout
    every = run("costs", given[0], "--target", "ill", "--records", "--costs", given[1])
    assert every.stdout.count('absent = "not made" }') == 2  # age is free
    untold = run("costs", given[0], "--ignore", "ill")
    assert "empty in" in untold.stdout
    assert "target" not in untold.stdout


def test_groups_of_columns_are_made_together(run, tmp_path):
    X, y = records()
    lab = X["scan"]
    X = X[["age"]].assign(lab_a=lab, lab_b=2 * lab, lab_c=lab**2, ill=y)
    X.to_csv(tmp_path / "stay.csv", index=False)
    drafted = run("costs", "stay.csv", "--target", "ill").stdout
    assert 'lab = { cost = 1.0, absent = "not made" }  # fill in; guessed from' in drafted
    assert drafted.count('absent = "not made"') == 1


@pytest.mark.usefixtures("undrawn")
def test_compare_and_cost_of_records(run, given, tmp_path):
    terms = ("--costs", given[1], "--target", "ill")
    how = ("--algorithms", "cegb", "--cv", 0, "--points", 2, "--no-references", "--records", "--output", "out")
    said = words(run("compare", given[0], *terms, *how))
    assert "In the records its roc_auc seems" in said
    assert "with the tests made, it is" in said
    assert "In the records" in (tmp_path / "out/report.html").read_text()
    columns = pd.read_csv(tmp_path / "out/points.csv")
    assert columns["recorded_score"].notna().any()
    loaded = Frontier.load(tmp_path / "out")
    assert [p.recorded_score for p in loaded] == pytest.approx(columns["recorded_score"].tolist(), nan_ok=True)
    assert json.loads((tmp_path / "out/run.json").read_text())["reading"]["records"] is True
    kept = cf.load(tmp_path / "out/recommended.model")
    assert [panel.name for panel in kept.costs_.panels] == ["crp", "scan"]
    other = run("compare", given[0], *terms, *how[:-3], "--resume", "--output", "out")
    assert "other prices" in refused_late(other)
    dear = next(p for p in loaded if "scan" in loaded.model(p).predictor_.used_features)
    model = tmp_path / f"out/models/{dear.name}.model"
    told = words(run("cost", model, given[0], "--target", "ill", "--part", "test"))
    assert f"roc_auc {dear.test_score:.4f}" in told
    assert f"In the records its roc_auc seems {dear.recorded_score:.3f}" in told
    assert "scan was not made in" in refused(run("cost", model, given[0]))
    assert "In the records" not in words(run("cost", model, given[0], "--target", "ill", "--no-records"))
    promised = ("promise", "out", given[0], "--target", "ill", "--promise", "error <= 45%")
    assert "scan was not made in" in refused(run(*promised))
    assert "keeps with a probability" in words(run(*promised, "--no-records"))


def refused_late(result):
    """Return the error of a command that has introduced its table."""
    assert result.exit_code == 2, result.output
    return result.stderr


def test_promises_on_test_rows_are_refused_before_anything_is_fitted(run, given):
    how = ("--costs", given[1], "--target", "ill", "--records", "--promise", "error <= 45%")
    error = refused(run("compare", given[0], *how, "--output", "out"))
    assert "promise: needs rows in which all tests were made; scan was not made in" in error


def test_sentences_compare_records_with_service():
    told = point(0.9, 3.0, recorded_score=0.944, recorded_cost=2.5)
    frontier = Frontier((told,), "roc_auc", "CAD", 20.0)
    in_words = describe_model(frontier, told, chosen=False)
    assert (
        "In the records its roc_auc seems 0.944 at 2.50 CAD per row; with the tests made, it is 0.900 ± 0.010"
        in in_words
    )
    assert "In the records" not in describe_model(frontier, evolve(told, recorded_score=None), chosen=False)
    untested = evolve(told, test_score=None, test_cost=None, test_error=None, score=0.8, score_error=0.02)
    assert "it is 0.800 ± 0.020 at 3.00" in describe_model(
        Frontier((untested,), "roc_auc", "CAD", 20.0), untested, chosen=False
    )
    bill = point(-4.0, 3.0, recorded_score=-1.0, recorded_cost=2.0)
    of_bills = Frontier((bill,), ERROR_COST, "CAD", 20.0)
    assert of_bills.has_bills
    assert "In the records its bill seems 3.00, of which 2.00 for features; with the tests made, it is 7.00" in (
        describe_model(of_bills, bill, chosen=False)
    )
    assert frontier.to_frame()["recorded_score"].tolist() == [0.944]


def test_masks_of_frontiers_and_searches():
    X, y, made = table(seed=1)
    frame, labels = pd.DataFrame(X, columns=NAMES), np.where(y, "ill", "well")
    mask = np.ones(X.shape, np.bool_)
    mask[:, 2] = made
    held = frame.where(mask)
    parts = slice(0, 400), slice(400, 600)
    rows = {"X": held[parts[0]], "y": labels[parts[0]], "X_val": held[parts[1]], "y_val": labels[parts[1]]}
    small = clone(SMALL).set_params(costs=cf.CostModel.of(PRICES).as_answers())
    how = {"cv": 0, "points": 2, "n_jobs": 1}
    by_mask = Frontier.fit(small, **rows, **how, made=mask[parts[0]], made_val=mask[parts[1]])
    by_prices = Frontier.fit(clone(SMALL), **rows, **how)
    figures = [[(p.name, p.score, p.cost, p.recorded_score) for p in each] for each in (by_mask, by_prices)]
    assert figures[0] == figures[1]
    assert any(p.recorded_score is not None for p in by_mask)
    told = Frontier.fit(clone(SMALL), **rows, **how, made=True, made_val=True)
    assert all(p.recorded_score is None for p in told)
    assert [p.score for p in told] == [p.score for p in Frontier.fit(small, **rows, **how)]
    search = BudgetSearch(small, 100.0, cv=0, points=2).fit(**rows, made=mask[parts[0]], made_val=mask[parts[1]])
    assert "In the records" in search.summary_
    with pytest.raises(DataError, match="made_val: expected a mask of the 200 rows of X_val"):
        Frontier.fit(small, **rows, **how, made=mask[parts[0]], made_val=mask[:3])
    with pytest.raises(ParameterError, match="made_test: has no effect"):
        Frontier.fit(small, **rows, **how, made_test=True)


def test_nothing_is_promised_on_rows_that_lack_tests():
    X, y = records(seed=1)
    search = BudgetSearch(clone(SMALL), promise="error <= 45%", cv=0, points=2)
    with pytest.raises(DataError, match=r"promise: needs rows in which all tests were made; scan was not made in \d+"):
        search.fit(X[:400], y[:400], X_promise=X[400:], y_promise=y[400:])
    found = search.fit(X[:400], y[:400], X_promise=X[400:], y_promise=y[400:], made_promise=True)
    assert found.certified_.rows == 200
    frontier = found.frontier_
    with pytest.raises(DataError, match="scan was not made"):
        frontier.cheapest(promise="error <= 45%", X=X[400:], y=y[400:])
    asked = X[400:].notna()
    asked.iloc[3, 1] = True
    with pytest.raises(DataError, match="scan was not made"):
        frontier.cheapest(promise="error <= 45%", X=X[400:], y=y[400:], made=asked)


def test_probabilities_of_an_expensive_model_are_refused_where_rows_are_completed():
    X, y = records()
    model = cf.estimator("adapt", costs=cf.CostModel.of(PRICES))
    with pytest.raises(ParameterError, match=r"expensive_proba: expected None .* leave it out, .* or say made=True"):
        model.fit(X, y, expensive_proba=np.full(len(y), 0.5))
