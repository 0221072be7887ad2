"""Sweeps and searches over algorithms that give a whole path of models in one fit."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import frozen
from cli_cases import PLUGIN
from frontier_cases import COSTS, some_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import costframe as cf
from costframe.core.errors import ParameterError, PluginError
from costframe.datasets import Dataset
from costframe.frontier import BudgetSearch, Frontier
from costframe.frontier.paths import choose_points
from costframe.frontier.set_fits import FITS

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


def lost(front, chosen, budgets):
    """What is lost in score at each budget; a naive twin."""
    best = [max(p.score for p in front if p.cost <= b) for b in budgets]
    return np.array(best) - [max((p.score for p in chosen if p.cost <= b), default=front[0].score) for b in budgets]


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


@given(fronts())
def test_more_points_lose_less_until_nothing_is_lost(front):
    top = max(40.0, front[-1].cost)
    cheapest = min([0.01 * top, *(point.cost for point in front if point.cost > 0)])
    budgets = np.geomspace(cheapest, top, 200)  # those at which `choose` counts: a point between two of others is lost
    budgets = budgets[budgets >= front[0].cost]
    losses = [lost(front, choose_points(front, front[-1], n, full_cost=40.0), budgets).sum() for n in range(3, 18)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(0.0, abs=1e-6)


def test_the_point_is_added_that_loses_least():
    front = [Place(0.0, 0.0), Place(1.0, 0.1), Place(2.0, 0.8), Place(20.0, 0.9), Place(40.0, 1.0)]
    chosen = choose_points(front, front[-1], 3, full_cost=40.0)
    assert [p.cost for p in chosen] == [40.0, 2.0, 0.0]


@pytest.fixture(scope="module")
def data():
    X, y = some_rows()
    return Dataset.from_arrays(X, y, COSTS, feature_names=list("abcd"), name="rows")


@pytest.fixture(scope="module", params=["miser", "cegb"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def path(data, name):
    model, (train, valid) = cf.estimator(name, costs=data.costs, **FEW), map(data.part, ("train", "valid"))
    return model.fit_path(train.X, train.y, X_val=valid.X, y_val=valid.y, scoring="roc_auc")


@pytest.fixture(scope="module")
def frontier(data, name):
    return Frontier.sweep(data, [name], parameters=FEW, budget=4.0, folds=0)


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


def test_models_are_estimators_of_their_own(data, frontier, tmp_path):
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
    cf.save(other.predictor_, tmp_path / "m")
    np.testing.assert_array_equal(cf.load(tmp_path / "m").predict(valid.X), other.predictor_.predict(valid.X))


def test_given_tradeoffs_are_fits_of_their_own(data, name):
    frontier = Frontier.sweep(data, [name], [0.05, 0.0], parameters=FEW)
    train, valid = map(data.part, ("train", "valid"))
    for point in frontier.points:
        model = cf.estimator(name, costs=data.costs, tradeoff=point.tradeoff, **FEW)
        model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
        assert model.cost(valid.X).mean == point.cost
    assert [point.tradeoff for point in frontier.points] == [0.05, 0.0]


def test_progress_rises_to_the_whole(data):
    told = []
    found = Frontier.sweep(
        data, ["miser", "cegb"], points=7, parameters=FEW, progress=lambda *event: told.append(event)
    )
    assert len(found.points) <= 14 + 2 * FITS
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert {total for _, total, _ in told} == {200}
    assert told[-1][0] == 200
    assert len({done for done, _, _ in told}) > 5
    assert "cegb along its path: " in next(text for _, _, text in reversed(told) if "within" not in text)


def test_a_search_takes_the_best_of_the_path(data, name, path):
    train, valid = map(data.part, ("train", "valid"))
    search = BudgetSearch(cf.estimator(name, costs=data.costs, **FEW), 4.0, points=3, cv=0)
    search.fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    assert len(search.frontier_.points) <= 4
    assert search.best_point_ == search.frontier_.recommended(4.0)
    assert max(p.cost for p in search.frontier_.points if p.cost <= 4.0) == path.within(4.0).cost


@pytest.mark.parametrize("task", ["regression", "ranking"])
def test_paths_of_other_tasks(task, name):
    X, y = some_rows(240)
    qid = np.repeat(np.arange(24), 10) if task == "ranking" else None
    split = np.repeat(["train", "train", "valid", "test"], 60)
    data = Dataset.from_arrays(X, y + X[:, 3] if task == "regression" else y, COSTS,
                               feature_names=list("abcd"), task=task, qid=qid, split=split)  # fmt: skip
    frontier = Frontier.sweep(data, [name], parameters={"n_estimators": 4}, points=6)
    assert 2 <= len(frontier.points) <= 6 + FITS
    assert frontier.points[0].cost > 0


WITH_PATH = PLUGIN.replace("    fit_path = None  # its faults are those of fit\n", "").replace(
    "def fit(", "def fit_path("
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise RuntimeError('no oil')", "RuntimeError: no oil"),
        ("return None", "AttributeError: 'NoneType' object has no attribute 'frontier'"),
    ],
)
def test_a_broken_path_is_blamed_by_name(installed, data, body, text):
    installed("rusty", WITH_PATH.replace("NAME", "rusty").replace("BODY", body))
    with pytest.raises(PluginError, match=rf"'rusty' of plugin rusty \(rusty-tools 1\.5\) failed: {text}"):
        Frontier.sweep(data, ["rusty"], parameters=FEW)
    told = []
    found = Frontier.sweep(data, ["rusty", "miser"], parameters=FEW, failed=lambda *what: told.append(what))
    assert [name for name, _ in told] == ["rusty"]
    assert {point.algorithm for point in found.points} == {"miser"}
    assert len(Frontier.sweep(data, ["rusty"], [0.1], parameters=FEW).points) == 1  # which needs no path


def test_an_algorithm_without_a_path_is_fitted_at_a_grid(installed, data):
    installed("plain", PLUGIN.replace("NAME", "plain").replace("BODY", "return super().fit(X, y, **more)"))
    told = []
    found = Frontier.sweep(data, ["plain"], points=4, parameters=FEW, progress=lambda *event: told.append(event[2]))
    assert 4 <= len(found.points) <= 4 + FITS
    assert [point.tradeoff for point in found.points] == sorted(point.tradeoff for point in found.points)
    assert all("at tradeoff" in text or "within" in text for text in told)


def test_settings_that_a_path_cannot_heed_are_refused(data, name):
    with pytest.raises(ParameterError, match="n_iter_no_change: has no effect on a path; leave it out, or"):
        Frontier.sweep(data, [name], parameters={"n_iter_no_change": 4})
