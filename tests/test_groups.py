"""Groups of rows: held out together, in parts and in folds, and errors of estimates are those of groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold
from study_cases import Division, StudyData, StudyRows, estimate_on_rows

import costframe as cf
from costframe.choices import Frontier
from costframe.plugin import DataError, ParameterError

# Nothing predicts the labels of other patients.
pytestmark = pytest.mark.filterwarnings("ignore::costframe.choices.budget_search.UselessBudgetWarning")
SMALL = cf.CEGBClassifier(n_estimators=2)


def grouped(n=240, count=24, seed=0):
    """Rows of patients: features say who it is, and labels are the patient's own, so rows of a patient leak them."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, count, n)
    who, label = rng.normal(size=(count, 4)), rng.integers(0, 2, count)
    return who[groups] + 0.01 * rng.normal(size=(n, 4)), label[groups], np.array([f"p{g}" for g in groups])


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_rows_of_a_group_are_held_out_together(classes, share):
    X, y, groups = grouped()
    parts = StudyRows.of(X, y, None, None, groups=groups).hold_out(share, 0, classes=classes)
    assert sorted(np.concatenate(parts)) == list(range(len(y)))
    train, held = ({*groups[part]} for part in parts)
    assert train
    assert held
    assert not train & held
    if classes and share == 0.3:
        assert len(parts[1]) / len(y) == pytest.approx(share, abs=0.15)
        assert {*y[parts[0]]} == {*y[parts[1]]} == {0, 1}


@pytest.mark.parametrize("seed", range(8))
def test_the_only_group_of_a_class_trains(seed):
    y, groups = (np.arange(60) < 6).astype(int), np.arange(60) // 6
    train, held = StudyRows.of(np.zeros((60, 1)), y, None, None, groups=groups).hold_out(0.3, seed, classes=True)
    assert {*y[train]} == {0, 1}
    assert {*y[held]} == {0}


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(4), StratifiedGroupKFold(3)])
@pytest.mark.parametrize("classes", [True, False])
def test_no_group_is_in_two_folds(cv, classes):
    X, y, groups = grouped()
    rows = StudyRows.of(X, y, None, None, groups=groups)
    if not classes and isinstance(cv, StratifiedGroupKFold):
        rows = evolve(rows, y=y.astype(int))
    division = Division.of_rows(StudyData(rows), cv=cv, share=0.25, seed=0, classes=classes)
    assert not {*division.train.groups} & {*division.valid.groups}
    for fold in division.folds:
        parts = [{*part.groups} for part in (fold.train, fold.valid, fold.out)]
        assert sum(map(len, parts)) == len({*groups})
    assert sorted(np.concatenate([fold.place for fold in division.folds])) == list(range(len(y)))


def test_estimates_of_groups_are_those_of_fresh_groups():
    """Where rows of a patient tell the label, folds of rows promise what fresh patients do not keep."""
    X, y, groups = grouped()
    model, how = cf.CEGBClassifier(n_estimators=10, min_samples_leaf=1), {"scoring": "accuracy", "tradeoffs": [0.0]}
    by_rows, by_groups = (Frontier.fit(model, X, y, **how, cv=4, groups=each).points[0] for each in (None, groups))
    assert by_rows.score > 0.95
    assert by_groups.score < 0.75
    assert by_groups.score_error > 2 * by_rows.score_error
    search = cf.BudgetSearch(model, 100.0, **how, cv=4).fit(pd.DataFrame(X), y, groups=pd.Series(groups))
    assert max(point.score for point in search.frontier_) < 0.75
    planner = cf.PlannerClassifier(n_estimators=5)
    own = Frontier.fit(planner, X, y, groups=groups, cv=0, points=2, scoring="accuracy")
    assert max(point.score for point in own) < 0.75  # on valid, which the planner has not seen


def test_an_error_by_groups_is_that_of_the_draws_of_groups():
    right = np.repeat(np.random.default_rng(0).random(40) < 0.7, 6)
    rows = StudyRows.of(np.zeros((240, 1)), np.ones(240, int), None, None, groups=np.repeat(np.arange(40), 6))
    model = type("Model", (), {"classes_": np.array([0, 1])})
    found = estimate_on_rows("accuracy", rows, model, np.where(right, 0.9, 0.1))
    assert found.error == pytest.approx(np.std(right[::6]) / np.sqrt(40), rel=0.1)
    assert np.flatnonzero(found.influence).tolist() == list(range(0, 240, 6))


@pytest.mark.parametrize(
    ("given", "cv", "text"),
    [
        ({"groups": np.arange(239)}, None, r"groups: expected one group a row, shape \(240,\), got \(239,\)"),
        ({"groups": np.arange(240) % 4}, 5, "cv: 5 need as many groups of each class, the smallest .* is [1-4]"),
        ({"groups": np.arange(240) // 7}, KFold(3), "cv: expected a splitter that holds out whole groups, as GroupKF"),
        ({"groups": np.arange(240), "val": None}, 3, "groups_val: expected the group of each row of X_val"),
        ({"groups": np.arange(240), "val": np.arange(240)}, 3, r"groups_val: group 0 is in X too"),
    ],
)
def test_groups_that_do_not_fit_are_refused_by_name(given, cv, text):
    X, y, _ = grouped()
    if "val" in given:
        given = {"groups": given["groups"], "groups_val": given["val"], "X_val": X, "y_val": y}
    with pytest.raises((ParameterError, DataError), match=text):
        cf.BudgetSearch(SMALL, 100.0, tradeoffs=[0.0], cv=cv).fit(X, y, **given)
