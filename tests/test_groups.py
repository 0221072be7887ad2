"""Groups of rows: held out together, in parts and in folds, and errors of estimates are those of groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.frontier import Frontier
from costframe.frontier.estimates import estimate_on_rows
from costframe.frontier.rows import Division, Rows

# Nothing predicts the labels of other patients.
pytestmark = pytest.mark.filterwarnings("ignore::costframe.frontier.search.UselessBudgetWarning")


def grouped(n=240, count=24, seed=0):
    """Rows of patients: features say who it is, and labels are the patient's own, so rows of a patient leak them."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, count, n)
    who, label = rng.normal(size=(count, 4)), rng.integers(0, 2, count)
    return who[groups] + 0.01 * rng.normal(size=(n, 4)), label[groups], np.array([f"p{g}" for g in groups])


def seen_by(folds, groups_of):
    return [[{*groups_of(part)} for part in (fold.train, fold.valid, fold.out)] for fold in folds]


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.25, 0.3, 0.6, 0.9])
def test_rows_of_a_group_are_held_out_together(classes, share):
    X, y, groups = grouped()
    rows = Rows.of(X, y, None, None, groups=groups)
    for seed in range(3):
        parts = rows.hold_out(share, seed, classes=classes)
        assert sorted(np.concatenate(parts)) == list(range(len(y)))
        train, held = ({*groups[part]} for part in parts)
        assert train
        assert held
        assert not train & held
        if classes and 0.2 < share < 0.7:
            assert len(parts[1]) / len(y) == pytest.approx(share, abs=0.15)
            assert {*y[parts[0]]} == {*y[parts[1]]} == {0, 1}


@pytest.mark.parametrize("cv", [None, 3, 5, GroupKFold(4), StratifiedGroupKFold(3)])
@pytest.mark.parametrize("classes", [True, False])
def test_no_group_is_in_two_folds(cv, classes):
    X, y, groups = grouped()
    rows = Rows.of(X, y, None, None, groups=groups)
    if not classes and isinstance(cv, StratifiedGroupKFold):
        rows = evolve(rows, y=y.astype(int))
    division = Division.of_rows(rows, None, None, cv=cv, share=0.25, seed=0, classes=classes)
    assert not {*division.train.groups} & {*division.valid.groups}
    assert division.folds
    for parts in seen_by(division.folds, lambda part: part.groups):
        assert sum(map(len, parts)) == len({*groups})
    assert sorted(np.concatenate([fold.place for fold in division.folds])) == list(range(len(y)))


def test_estimates_of_groups_are_those_of_fresh_groups():
    """Where rows of a patient tell the label, folds of rows promise what fresh patients do not keep."""
    X, y, groups = grouped()
    model = cf.CEGBClassifier(n_estimators=20, min_samples_leaf=1)
    how = {"scoring": "accuracy", "tradeoffs": [0.0], "cv": 4}
    by_rows, by_groups = (Frontier.fit(model, X, y, **how, groups=each).points[0] for each in (None, groups))
    assert by_rows.score > 0.95
    assert by_groups.score < 0.75
    assert by_groups.score_error > 2 * by_rows.score_error
    search = cf.BudgetSearch(model, 100.0, **how).fit(X, y, groups=groups)
    assert max(point.score for point in search.frontier_) < 0.75
    again = cf.BudgetSearch(model, 100.0, **how).fit(pd.DataFrame(X), y, groups=pd.Series(groups))
    assert [point.score for point in again.frontier_] == [point.score for point in search.frontier_]


def test_an_error_by_groups_is_that_of_the_draws_of_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 6)
    right = np.repeat(rng.random(40) < 0.7, 6)
    rows = Rows.of(np.zeros((240, 1)), np.ones(240, int), None, None, groups=groups)
    model = type("Model", (), {"classes_": np.array([0, 1])})
    found = estimate_on_rows("accuracy", rows, model, np.where(right, 0.9, 0.1))
    by_group = right[::6]
    assert found.error == pytest.approx(np.std(by_group) / np.sqrt(40), rel=0.1)
    assert np.flatnonzero(found.influence).tolist() == list(range(0, 240, 6))


def test_groups_of_rankings_hold_whole_queries():
    X, y, _ = grouped()
    qid, groups = np.arange(240) // 5, np.arange(240) // 20
    found = cf.BudgetSearch(cf.MiserRanker(n_estimators=3), 100.0, tradeoffs=[0.0], cv=GroupKFold(3))
    assert found.fit(X, y, qid=qid, groups=groups).frontier_.score_name == "ndcg@5"
    with pytest.raises(DataError, match="groups: expected each query in one group"):
        found.fit(X, y, qid=qid, groups=np.arange(240) // 7)


@pytest.mark.parametrize(
    ("given", "cv", "text"),
    [
        ({"groups": np.arange(239)}, None, r"groups: expected one group a row, shape \(240,\), got \(239,\)"),
        ({"groups": "patient"}, None, r"groups: expected one group a row, shape \(240,\), got \(\)"),
        ({"groups": [None] + [1] * 239}, None, "groups: expected the group of each row, it is missing in row 0"),
        ({"groups": np.append(np.nan, np.ones(239))}, None, "groups: expected the group of each row, it is missing"),
        ({"groups": ["a", 1] * 120}, None, None),  # texts, as numpy makes them
        ({"groups": np.zeros(240)}, None, "there is one group only|y: no rows can be held out"),
        ({"groups": np.arange(240) % 4}, 5, "cv: 5 need as many groups of each class, the smallest .* is [1-4]"),
        ({"groups": np.arange(240) // 7}, KFold(3), "cv: expected a splitter that holds out whole groups, as GroupKF"),
        ({}, GroupKFold(3), "cv: The 'groups' parameter should not be None; give groups to fit"),
        ({"groups_val": np.ones(240)}, None, "groups_val: has no effect without X_val and y_val"),
    ],
)
def test_groups_that_do_not_fit_are_refused_by_name(given, cv, text):
    X, y, _ = grouped()
    search = cf.BudgetSearch(cf.CEGBClassifier(n_estimators=2), 100.0, tradeoffs=[0.0], cv=cv)
    if text is None:
        assert search.fit(X, y, **given)
        return
    with pytest.raises((ParameterError, DataError), match=text):
        search.fit(X, y, **given)


def test_groups_of_validation_rows_are_others():
    X, y, groups = grouped()
    first, last = (np.flatnonzero([group[-1] in ends for group in groups]) for ends in ("01234", "56789"))
    search = cf.BudgetSearch(cf.CEGBClassifier(n_estimators=2), 100.0, tradeoffs=[0.0], cv=3)
    held = {"X_val": X[last], "y_val": y[last]}
    assert search.fit(X[first], y[first], **held, groups=groups[first], groups_val=groups[last])
    with pytest.raises(ParameterError, match="groups_val: expected the group of each row of X_val"):
        search.fit(X[first], y[first], **held, groups=groups[first])
    with pytest.raises(ParameterError, match="groups: expected the group of each row of X, as groups_val"):
        search.fit(X[first], y[first], **held, groups_val=groups[last])
    with pytest.raises(DataError, match=r"groups_val: group 'p1?[0-9]' is in X too"):
        search.fit(X[first], y[first], **held, groups=groups[first], groups_val=groups[first][: len(last)])


def test_an_algorithm_with_folds_of_its_own_gets_those_of_the_groups():
    X, y, groups = grouped()
    planner = cf.PlannerClassifier(n_estimators=5)
    with pytest.raises(ParameterError, match="cv: planner estimates scores by folds that ignore groups"):
        Frontier.fit(planner, X, y, groups=groups, cv=0, points=2, scoring="accuracy")
    found = Frontier.fit(planner, X, y, groups=groups, cv=3, points=2, scoring="accuracy")
    assert max(point.score for point in found) < 0.8  # by its own folds it seems right in nearly all rows
