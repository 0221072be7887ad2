"""Sweeps and searches over algorithms that give a whole path of models in one fit."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import frozen
from cli_cases import PLUGIN
from frontier_cases import COSTS, some_rows
from hypothesis import given
from hypothesis import strategies as st
from score_cases import ERROR_COST
from sklearn.base import clone
from study_cases import Division, Entrant, Study, choose_error_cost, choose_points, fit_along

import costframe as cf
from costframe.choices import Frontier
from costframe.datasets import Dataset
from costframe.errors import PluginError

FEW = {"n_estimators": 12}


@frozen
class Place:
    """A point of a path of which only this counts."""

    cost: float
    score: float
    tradeoff: float = 0.1
    n_rounds: int = 1


@st.composite
def fronts(draw):
    steps = st.lists(st.integers(1, 9), min_size=1, max_size=14)
    costs, scores = np.cumsum(draw(steps)) - 1.0, np.cumsum(draw(steps)) / 4 - 3
    return [Place(float(c), float(s)) for c, s in zip(costs, scores, strict=False)]


@given(fronts(), st.integers(1, 8), st.one_of(st.none(), st.integers(0, 60)))
def test_the_points_that_must_be_are_chosen(front, count, budget):
    plain = Place(30.0, -9.0, 0.0)
    affordable = [p for p in front if budget is not None and p.cost <= budget]
    chosen = choose_points(front, plain, count, full_cost=40.0, budget=budget)
    assert len(chosen) == len(set(chosen)) <= count + (budget is not None)
    best = front[-1].score
    cheap = next(p for p in front if p.score >= best - 0.01 * abs(best))
    must = list(dict.fromkeys([front[-1], cheap, plain, front[0]]))
    assert set(must[:count]) <= set(chosen)
    rest = chosen[1:] if chosen[0] == plain else chosen
    assert plain not in rest
    assert [p.cost for p in rest] == sorted((p.cost for p in rest), reverse=True)
    assert not affordable or affordable[-1] in chosen


@pytest.fixture(scope="module")
def data():
    X, y = some_rows()
    return Dataset.from_arrays(X, y, COSTS, feature_names=list("abcd"), name="rows")


@pytest.fixture(scope="module")
def path(data):
    model, (train, valid) = cf.estimator("cegb", costs=data.costs, **FEW), map(data.part, ("train", "valid"))
    return model.fit_path(train.X, train.y, X_val=valid.X, y_val=valid.y, scoring="roc_auc")


@pytest.fixture(scope="module")
def frontier(data):
    return Frontier.sweep(data, ["cegb"], parameters=FEW, budget=4.0, cv=0, references=False)


def test_what_is_measured_is_what_the_path_says_less_chance(path, frontier):
    said = {point.cost: point.score for point in path.frontier()} | {path.plain().cost: path.plain().score}
    off = [said[point.cost] - point.score for point in frontier.points]
    assert min(off) >= -1e-12
    assert max(off) < max(point.score_error for point in frontier.points)
    assert off[-1] == 0.0  # of the constant
    assert 4 < len(frontier.points) <= 25


def test_nothing_is_lost_at_the_budget_nor_at_the_ends(path, frontier):
    front = path.frontier()
    assert path.within(4.0).cost in {point.cost for point in frontier.points}
    assert frontier.recommended(4.0).cost <= path.within(4.0).cost
    assert max(point.cost for point in frontier.points) >= front[-1].cost
    assert min(point.cost for point in frontier.points) == front[0].cost == 0.0
    assert frontier.points[0].tradeoff == 0
    assert frontier.points[0].cost == path.plain().cost
    constant = frontier.points[-1]
    assert constant.n_features == 0
    assert constant.tradeoff == max(point.tradeoff for point in frontier.points) > 0


def test_models_are_estimators_of_their_own(data, frontier):
    valid = data.part("valid")
    for point in frontier.points:
        model = frontier.model(point)
        assert model.tradeoff == point.tradeoff == clone(model).tradeoff
        assert model.cost(valid.X).mean == point.cost
        assert model.n_iter_ == point.n_learners
    one, other = frontier.models[:2]
    before = other.predict_proba(valid.X)
    one.fit(valid.X, valid.y)
    np.testing.assert_array_equal(other.predict_proba(valid.X), before)


WITH_PATH = PLUGIN.replace("    fit_path = None  # its faults are those of fit\n", "").replace(
    "def fit(", "def fit_path("
)


def test_a_broken_path_is_blamed_by_name(installed, data):
    installed("rusty", WITH_PATH.replace("NAME", "rusty").replace("BODY", "return None"))
    text = "AttributeError: 'NoneType' object has no attribute 'frontier'"
    with pytest.raises(PluginError, match=rf"'rusty' of plugin rusty \(rusty-tools 1\.5\) failed: {text}"):
        Frontier.sweep(data, ["rusty"], parameters=FEW)
    told = []
    found = Frontier.sweep(data, ["rusty", "miser"], parameters=FEW, failed=lambda *what: told.append(what))
    assert [name for name, _ in told] == ["rusty"]
    assert {point.algorithm for point in found.points} == {"miser", "linear-all"}
    assert len(Frontier.sweep(data, ["rusty"], [0.1], parameters=FEW).points) == 1  # which needs no path


def billed(n, events=None):
    """Return a data set with prices of errors, with few rows of class 1 if `events` says how many."""
    X, y = some_rows(n)
    y = y if events is None else np.arange(n) % (n // events) // (n // events - 1)
    prices = {"features": dict.fromkeys("abcd", 1.0), "errors": {"0": {"1": 5.0}, "1": {"0": 20.0}}}
    return Dataset.from_arrays(X, y, prices, feature_names=list("abcd"), name="billed")


@pytest.mark.parametrize(
    ("n", "events", "cv", "by_bills", "fits"),
    [
        (400, None, None, True, 4),
        (400, None, None, False, 4),
        (400, 20, None, True, 4),
        (90, 9, None, True, 1),  # too few of a class
        (12_000, 200, None, True, 4),
        (12_000, 1_000, None, True, 1),  # its own estimates
        (12_000, 1_000, None, False, 1),
        (400, None, 5, True, 6),
        (400, None, 0, True, 1),
    ],
)
def test_a_plan_counts_the_folds_that_repeat_a_search(n, events, cv, by_bills, fits):
    rows = billed(n, events)
    score = ERROR_COST if by_bills else "roc_auc"
    study = Study([Entrant.of("planner", rows, {})], Division.of_data(rows, cv), score)
    assert f"about {fits} fit{'s' * (fits > 1)};" in study.describe()


def test_progress_of_a_search_grows_by_equal_shares():
    rows, told = billed(200), []
    score = choose_error_cost(rows.costs, rows.task, np.array(rows.classes), rows.feature_names)
    few = {"max_tries": 4, "n_sets": 3, "n_estimators": 6, "max_leaves": 4, "n_jobs": 1}
    study = Study([Entrant.of("planner", rows, few)], Division.of_data(rows, None), score)
    found = fit_along(study.trial(study.tasks()[0]), 24, None, lambda done, *_: told.append(done))
    assert len(found.fits) > 1
    assert told == sorted(told)
    assert {0, 6, 12, 18, 24} <= set(told)
    assert 5 in told  # the first path alone counts as a quarter
