"""Searches for the best model within a budget."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from frontier_cases import COSTS, some_rows
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe import CostframeError
from costframe.choices import BudgetSearch
from costframe.errors import UselessBudgetWarning
from costframe.plugin import ParameterError


def test_budget_search_stays_within_its_budget():
    X, y = some_rows()
    X_val, y_val = some_rows(200, seed=1)
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=30), 8.0, points=6)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    assert search.cost(X_val).mean == search.best_point_.cost <= 8.0
    assert search.best_point_ == search.frontier_.recommended(8.0)
    assert search.score(X_val, y_val) == search.best_estimator_.score(X_val, y_val)
    assert search.best_point_.score > 0.7
    np.testing.assert_array_equal(search.predict(X_val), search.best_estimator_.predict(X_val))
    np.testing.assert_array_equal(search.predict_proba(X_val), search.best_estimator_.predict_proba(X_val))
    assert search.predictor_ is search.best_estimator_.predictor_
    assert search.n_features_in_ == 4
    assert list(search.classes_) == [0, 1]
    assert search.best_point_.test_score is None
    assert cf.plot.FrontierDisplay(search.frontier_).to_bytes().startswith(b"\x89PNG")
    assert ",,,0.0," in search.frontier_.to_csv()


@pytest.mark.parametrize("task", ["classification", "regression", "ranking"])
def test_budget_search_holds_rows_out_itself(task):
    X, y = some_rows(300)
    frame = pd.DataFrame(X, columns=list("dcba")[::-1])
    qid = np.repeat(np.arange(30), 10)
    more = {"qid": qid} if task == "ranking" else {}
    estimator = cf.estimator("miser", task, costs=COSTS, n_estimators=5)
    search = BudgetSearch(estimator, 6.0, points=3).fit(frame, y, **more)
    again = clone(search).fit(frame, y, **more)
    assert search.best_point_.cost <= 6.0
    np.testing.assert_array_equal(search.predict(frame), again.predict(frame))
    assert hasattr(search, "predict_proba") == (task == "classification")


def test_budget_search_warns_where_the_budget_buys_nothing():
    X, y = some_rows(300)
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=8), 0.2, points=5, cv=0)
    with pytest.warns(
        UselessBudgetWarning, match=r"nothing within 0.2 CAD beats the constant .*: miser, \S+ CAD per row"
    ):
        search.fit(X, y)
    assert search.best_point_.n_features == 0
    affordable = clone(search).set_params(budget=search.frontier_.useful().cost)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UselessBudgetWarning)
        affordable.fit(X, y)
    assert affordable.best_point_.n_features > 0


def test_weights_count_in_the_search():
    X, y = some_rows(150)
    weight = np.where(np.arange(150) % 3, 1.0, 2.0)
    twice = np.repeat(np.arange(150), weight.astype(int))
    one, other = (BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=8), 5.0, points=4, cv=0) for _ in "ab")
    one.fit(X, y, weight, X_val=X, y_val=y, sample_weight_val=weight)
    other.fit(X[twice], y[twice], X_val=X[twice], y_val=y[twice])
    assert one.best_point_.cost == pytest.approx(other.best_point_.cost)
    assert one.best_point_.score == pytest.approx(other.best_point_.score, abs=0.2 * other.best_point_.score_error)
    assert one.best_point_.score_error == pytest.approx(other.best_point_.score_error, rel=0.05)


EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "rows of weight zero count where rows are held out"}


@parametrize_with_checks(
    [BudgetSearch(cf.estimator("miser", n_estimators=2), 1e9, points=2, cv=0)],
    expected_failed_checks=lambda _search: EXPECTED,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::costframe.choices.budget_search.UselessBudgetWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


def several(**settings):
    few = {"dear": cf.MiserClassifier(COSTS, n_estimators=8), "line": LogisticRegression()}
    return BudgetSearch(**{"estimator": few, "budget": 8.0, "tradeoffs": [0.0, 0.01, 0.1], "cv": 0} | settings)


def test_estimators_are_searched_together_and_the_best_is_kept():
    X, y = some_rows(300)
    search = several().fit(X, y)
    assert {point.algorithm for point in search.frontier_} == {"dear", "line"}
    assert search.best_point_ == search.frontier_.recommended(8.0)
    assert search.best_point_.algorithm == "dear"  # the line costs 17.5
    rich = several(budget=20.0, estimator=[cf.MiserClassifier(COSTS, n_estimators=1), LogisticRegression()]).fit(X, y)
    assert rich.best_point_.algorithm == "LogisticRegression"
    trained = rich.best_estimator_
    assert rich.score(X, y) == np.mean(trained.predict(X) == y) > 0.8
    assert rich.cost(X).mean == 17.5
    np.testing.assert_array_equal(rich.predict_proba(X), trained.predict_proba(X))
    assert list(rich.classes_) == [0, 1]


def test_the_margin_and_what_a_larger_budget_buys():
    X, y = some_rows(400)
    search = several(budget=1.5, estimator=cf.MiserClassifier(COSTS, n_estimators=20), tradeoffs=None).fit(X, y)
    chosen, frontier = search.best_point_, search.frontier_
    assert search.margin_ == 1.5 - chosen.cost >= 0
    assert 1 <= len(search.next_buys_) <= 3
    for buy in search.next_buys_:
        assert buy.point in frontier.non_dominated()
        assert buy.cost == buy.point.cost - chosen.cost > 0
        assert buy.gain == frontier.difference(buy.point, chosen)
        assert str(buy).startswith(f"{buy.cost:.3g} CAD more per row would raise roc_auc by ")
        assert f"({buy.point.name})" in str(buy)
    first, *others = search.summary_.split("\n")
    assert first.startswith(f"{chosen.name}: roc_auc {chosen.score:.3f} \u00b1")
    assert first.endswith(" CAD per row, both estimates, " + f"{search.margin_:.2f} below the budget")
    assert others == list(map(str, search.next_buys_))
    assert several(budget=99.0).fit(X, y).next_buys_ == ()


@pytest.mark.parametrize(
    ("settings", "given", "text"),
    [
        ({"budget": np.nan}, {}, "budget: expected a number >= 0"),
        ({"points": 2.5}, {}, "points: expected a whole number >= 1"),
        ({"cv": 2}, {}, "cv: expected 0, or a whole number >= 3"),
        ({"validation_fraction": 1}, {}, "validation_fraction: expected .* 0 and 1"),
        ({"tradeoffs": [-1.0]}, {}, "tradeoffs: expected"),
        ({"estimator": "miser"}, {}, "estimator: expected one of costframe's, with a tradeoff, got 'miser'"),
        ({"estimator": LogisticRegression()}, {}, "estimator: .* LogisticRegression has none"),
        ({"scoring": "ndcg@5"}, {}, "scoring: classification.* has .*, not 'ndcg@5'"),
        ({"scoring": "average_precision"}, {"y": np.arange(60) % 3}, "scoring: classification.* has .*, not 'average"),
        ({}, {"y": np.arange(20) % 2}, "y: expected one value a row, 60, got 20"),  # else forty rows would be left out
        ({}, {"y": np.arange(60) == 7}, "y: no rows can be held out; give X_val and y_val: The least populated"),
        ({}, {"sample_weight": np.ones(5)}, "sample_weight: expected one value a row, 60, got 5"),
        ({}, {"sample_weight_val": np.ones(5)}, "sample_weight_val: has no effect without X_val and y_val"),
        ({}, {"X_val": np.ones((9, 4)), "y_val": [0, 1]}, "y_val: expected one value a row, 9, got 2"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(settings, given, text):
    X, y = some_rows(60)
    estimator = cf.estimator("miser", costs=COSTS, n_estimators=3)
    search = BudgetSearch(**{"estimator": estimator, "budget": 5.0, "points": 2, "cv": 0} | settings)
    with pytest.raises(CostframeError, match=text):
        search.fit(**{"X": X, "y": y} | given)


def test_a_time_limit_ends_a_study_with_the_fits_that_have_ended(monkeypatch):
    """A fit in this process ends when it next reports progress; what ended before is chosen from."""
    X, y = rows_and_labels()
    clock = iter(range(10**6))
    monkeypatch.setattr("costframe.study.study.time.monotonic", lambda: next(clock))  # a second at each look
    given = [cf.CEGBClassifier(n_estimators=3), cf.MiserClassifier(n_estimators=3)]
    how = {"tradeoffs": [0.0, 0.001, 0.01], "cv": 0}
    whole = cf.Frontier.fit(given, X, y, **how)
    assert {point.algorithm for point in whole} == {"cegb", "miser"}
    some = cf.Frontier.fit(given, X, y, **how, time_limit=10)
    assert {point.algorithm for point in some} == {"cegb"}
    search = cf.BudgetSearch(given, 1e9, **how, time_limit=10).fit(X, y)
    assert len(search.frontier_) == len(some)
    late = []
    told = lambda name, error: late.append((name, str(error)))  # noqa: E731
    again = cf.Frontier.fit(given, X, y, **how, time_limit=10, failed=told)
    assert len(again) == len(some)
    assert late[-1] == ("miser", "time was up before all its fits ended")
    with pytest.raises(cf.CostframeError, match="time_limit: 1 s passed before the first fit ended; give more time"):
        cf.Frontier.fit(given, X, y, **how, time_limit=1)
    with pytest.raises(ParameterError, match="time_limit: expected a number of seconds > 0, got 0"):
        cf.BudgetSearch(given, 1.0, time_limit=0).fit(X, y)


def test_progress_tells_the_plan_then_the_time_left(monkeypatch, capsys):
    X, y = rows_and_labels()
    clock = iter(range(10**6))
    monkeypatch.setattr("costframe.study.study.time.monotonic", lambda: next(clock))
    told = []
    given, how = [cf.CEGBClassifier(n_estimators=3)], {"tradeoffs": [0.0, 0.001, 0.01], "cv": 3}
    cf.Frontier.fit(given, X, y, **how, progress=lambda *event: told.append(event))
    assert told[0][2] == "1 algorithm on 200 rows, about 12 fits; a time limit, fewer points, and cv=0 make it shorter"
    assert any(text.startswith("about ") and " s left; cegb at tradeoff" in text for *_, text in told)
    cf.BudgetSearch(given, 1e9, **how, verbose=1).fit(X, y)
    assert capsys.readouterr().err.startswith("1 algorithm on 200 rows, about 12 fits; a time limit")


def rows_and_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, (X[:, 0] + rng.normal(size=200) > 0).astype(int)
