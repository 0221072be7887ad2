"""Frontiers: what is worth having, what a budget buys, and what is written about it."""

from __future__ import annotations

import csv
import io
import math
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import costframe as cf
from costframe.core.bank import WeakLearnerBank
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.predictor import StageTree
from costframe.core.stages import Answer
from costframe.datasets import Dataset
from costframe.frontier import BudgetSearch, Frontier, Point
from costframe.frontier.refine import fill, refine
from costframe.frontier.sweep import check_score, grid
from costframe.frontier.trial import Fitted, silent
from costframe.report.paid import payments

COSTS = {
    "unit": "CAD",
    "features": {
        "a": 1.0,
        "b": {"cost": 2.0, "needs": ["draw"]},
        "c": {"cost": 0.5, "needs": ["draw"]},
        "d": 10.0,
    },
    "resources": {"draw": 4.0},
}


def point(score, cost, tradeoff=0.1, *, algorithm="miser", **more):
    values = {"test_score": score, "test_cost": cost, "fixed": 0.0, "n_features": 1, "n_learners": 1}
    values |= {"rounds": 1.0, "seconds": 0.1} | more
    return Point(algorithm, tradeoff, score, cost, **values)


def some_rows(n=400, seed=0):
    """Rows whose classes follow from `a` roughly and from all four exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] * (X[:, 0] > 0) + 0.5 * X[:, 3] + 0.3 * X[:, 2] > 0).astype(int)


@pytest.fixture(scope="module")
def data():
    X, y = some_rows()
    return Dataset.from_arrays(X, y, COSTS, feature_names=list("abcd"), name="rows")


@pytest.fixture(scope="module")
def frontier(data):
    return Frontier.sweep(data, ["miser"], points=6, parameters={"n_estimators": 30})


coarse = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(coarse, coarse), min_size=1, max_size=12))
def test_non_dominated_is_what_comparing_all_pairs_leaves(pairs):
    points = [point(score, cost, number) for number, (score, cost) in enumerate(pairs)]
    found = Frontier(tuple(points), "r2", "unit", 1.0).non_dominated()
    left = {
        (p.valid_score, p.valid_cost)
        for p in points
        if not any(
            q.valid_score >= p.valid_score
            and q.valid_cost <= p.valid_cost
            and (q.valid_score, q.valid_cost) != (p.valid_score, p.valid_cost)
            for q in points
        )
    }
    assert [(p.valid_score, p.valid_cost) for p in found] == sorted(left)  # equal points stand for one another


@given(st.lists(st.tuples(coarse, coarse), min_size=1, max_size=12), coarse)
def test_within_is_the_best_that_is_affordable(pairs, budget):
    frontier = Frontier(tuple(point(score, cost) for score, cost in pairs), "r2", "CAD", 1.0)
    affordable = [pair for pair in pairs if pair[1] <= budget]
    if not affordable:
        with pytest.raises(ParameterError, match=f"cheapest found costs {min(cost for _, cost in pairs):g}"):
            frontier.within(budget)
        return
    best = max(score for score, _ in affordable)
    chosen = frontier.within(budget)
    assert (chosen.valid_score, chosen.valid_cost) == (best, min(cost for score, cost in affordable if score == best))


def test_cheapest_within_a_share_of_the_best():
    points = (point(1.0, 100), point(0.991, 50), point(0.989, 10))
    frontier = Frontier(points, "accuracy", "unit", 100)
    assert frontier.cheapest_within() is points[1]
    assert frontier.cheapest_within(0.0) is points[0]
    assert frontier.cheapest_within(0.02) is points[2]
    below_zero = Frontier((point(-1.0, 9), point(-1.005, 3), point(-1.5, 1)), "r2", "unit", 9)
    assert below_zero.cheapest_within() is below_zero.points[1]
    with pytest.raises(ParameterError, match="share"):
        frontier.cheapest_within(1.5)


def test_choices_are_made_on_valid_alone():
    lucky = point(0.5, 5, test_score=1.0, test_cost=0.0)
    good = point(0.9, 5, test_score=0.0, test_cost=99.0)
    frontier = Frontier((lucky, good), "accuracy", "unit", 5)
    assert frontier.non_dominated() == (good,)
    assert frontier.best() is frontier.within(5) is frontier.cheapest_within() is good


def test_csv_reads_back_to_the_same_bits(tmp_path):
    points = (point(1 / 3, 0.1 + 0.2, 1e-5 / 3), point(0.5, 2.0))
    frontier = Frontier(points, "roc_auc", "CAD, about", 7.5)
    text = frontier.to_csv(tmp_path / "points.csv")
    assert (tmp_path / "points.csv").read_text() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(rows[0][name]) for name in ("valid_score", "valid_cost", "tradeoff")] == [1 / 3, 0.1 + 0.2, 1e-5 / 3]
    assert [row["unit"] for row in rows] == ["CAD, about"] * 2
    assert rows[0]["full_cost"] == "7.5"


@pytest.mark.parametrize("spread", ["linear", "logarithmic", "one", "free"])
def test_pictures_are_whole_and_repeat(tmp_path, spread):
    costs = {"linear": [1, 2, 3], "logarithmic": [0, 1, 5000], "one": [2], "free": [0, 0, 0]}[spread]
    points = tuple(point(0.5 + 0.1 * i, c, i, n_features=i, test_cost=c) for i, c in enumerate(costs))
    frontier = Frontier(points, "roc_auc", "$\\unit_{", float(max(costs)))
    paths = tmp_path / "f.png", tmp_path / "f.svg"
    first = frontier.plot(*paths, chosen=points[-1], title="a $ and _ {")
    assert frontier.plot(chosen=points[-1], title="a $ and _ {") == first
    assert paths[0].read_bytes() == first["png"]
    assert paths[1].read_bytes() == first["svg"]
    assert first["png"].startswith(b"\x89PNG")
    assert ET.fromstring(first["svg"]).tag.endswith("svg")  # noqa: S314 - our own file
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_sweep_measures_what_the_models_do(data, frontier):
    assert len(frontier.points) == 6
    assert (frontier.score_name, frontier.unit, frontier.full_cost) == ("roc_auc", "CAD", 17.5)
    assert frontier.points[0].tradeoff == 0
    assert [p.tradeoff for p in frontier.points] == sorted(p.tradeoff for p in frontier.points)
    for p in frontier.points:
        model = frontier.model(p)
        report = model.cost(data.part("test").X, rounds=True)
        assert p.test_cost == report.mean
        assert p.valid_cost == model.cost(data.part("valid").X).mean
        assert p.n_features == len(model.predictor_.layout.used)
        assert p.n_learners == (len(model.predictor_.stages[0].learners) if p.n_features else 0)
        assert report.rounds.min() <= p.rounds <= report.rounds.max()
    costs = [p.valid_cost for p in frontier.points]
    assert max(costs) == costs[0] > 10  # without prices, everything is bought
    assert min(costs) < 2  # and in the end hardly anything
    with pytest.raises(ParameterError, match="this frontier"):
        frontier.model(point(0, 0))


def test_the_grid_does_not_depend_on_scales():
    X, y = some_rows()
    y = y + X[:, 3]
    base = Dataset.from_arrays(X, y, COSTS, feature_names=list("abcd"), task="regression")
    dear = {key: value for key, value in COSTS.items() if key != "features"} | {
        "resources": {"draw": 4000.0},
        "features": {
            "a": 1000.0,
            "d": 10000.0,
            "b": {"cost": 2000.0, "needs": ["draw"]},
            "c": {"cost": 500.0, "needs": ["draw"]},
        },
    }
    scaled = Dataset.from_arrays(X, 8 * y, dear, feature_names=list("abcd"), task="regression")
    few = {"n_estimators": 10}
    one, other = (Frontier.sweep(d, ["miser"], points=5, parameters=few) for d in (base, scaled))
    assert [p.valid_cost * 1000 for p in one.points] == pytest.approx([p.valid_cost for p in other.points])
    assert [p.tradeoff * 64 / 1000 for p in one.points] == pytest.approx([p.tradeoff for p in other.points])


def test_the_grid_without_prices_or_loss_is_empty():
    assert grid(0.0, 1.0, 1.0, 5).size == 0
    assert grid(1.0, 1.0, 0.0, 5).size == 0
    free = Dataset.from_arrays(*some_rows(), {"features": dict.fromkeys("abcd", 0)}, feature_names=list("abcd"))
    assert [p.tradeoff for p in Frontier.sweep(free, ["miser"], points=4, parameters={"n_estimators": 3}).points] == [0]


def test_a_sweep_tells_its_progress(data):
    told = []
    Frontier.sweep(
        data, ["miser"], [0.0, 0.1], parameters={"n_estimators": 3}, progress=lambda *event: told.append(event)
    )
    assert [(done, total) for done, total, _ in told] == [(0, 2), (1, 2), (1, 2), (2, 2)]
    assert "tradeoff 0.1: roc_auc" in told[-1][2]


def test_what_a_sweep_refuses(data):
    with pytest.raises(CostframeError, match="miserly"):
        Frontier.sweep(data, ["miserly"])
    with pytest.raises(ParameterError, match="score: classification of 2 classes has"):
        Frontier.sweep(data, ["miser"], score="r2")
    with pytest.raises(ParameterError, match="budget"):
        Frontier.sweep(data, ["miser"], budget=-1.0)
    with pytest.raises(ParameterError, match="points"):
        Frontier.sweep(data, ["miser"], points=0)
    with pytest.raises(ParameterError, match="at least one point"):
        Frontier((), "r2", "unit", 1.0)
    one_sided = Dataset.from_arrays(
        np.zeros((5, 1)), [0, 1, 0, 0, 1], split=["train", "train", "valid", "test", "test"], name="rows"
    )
    with pytest.raises(DataError, match="class 1 has no row in 'valid'"):
        check_score(one_sided, None)
    assert check_score(one_sided, "accuracy") == "accuracy"


class FakeTrial:
    """A trial whose cost falls with the tradeoff as told, and whose score is its cost."""

    algorithm, score = "fake", "r2"

    def __init__(self, cost):
        self.cost, self.fits = cost, []

    def fit(self, tradeoff):
        self.fits.append(tradeoff)
        return Fitted(point(self.cost(tradeoff), self.cost(tradeoff), tradeoff), None)


@given(st.floats(0.05, 0.9))
def test_refinement_comes_close_to_the_budget(budget):
    trial = FakeTrial(lambda tradeoff: 1 / (1 + tradeoff))
    tried = [trial.fit(t) for t in (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)]
    found = refine(trial, tried, budget, silent)
    within = [f.point.valid_cost for f in [*tried, *found] if f.point.valid_cost <= budget]
    assert 0.9 * budget <= max(within) <= budget
    assert len(found) <= 5


def test_refinement_goes_on_until_something_is_affordable():
    trial = FakeTrial(lambda tradeoff: 1 / (1 + tradeoff))
    found = refine(trial, [trial.fit(t) for t in (0.0, 1.0)], 0.05, silent)
    assert min(f.point.valid_cost for f in found) <= 0.05


def test_refinement_gives_up_and_does_nothing_where_nothing_helps():
    stubborn = FakeTrial(lambda _tradeoff: 3.0)
    assert len(refine(stubborn, [stubborn.fit(1.0)], 2.0, silent)) == 8
    cheap = FakeTrial(lambda _tradeoff: 1.0)
    assert refine(cheap, [cheap.fit(t) for t in (0.0, 1.0)], 2.0, silent) == []


def test_filling_goes_where_costs_differ_most():
    trial = FakeTrial(lambda tradeoff: 10.0 if tradeoff < 3 else 1.0)
    every = fill(trial, [trial.fit(t) for t in (0.0, 0.01, 1.0, 100.0)], 6, silent)
    assert [f.point.tradeoff for f in every] == pytest.approx([0.0, 0.01, 1.0, math.sqrt(10.0), 10.0, 100.0])
    assert len(fill(trial, [trial.fit(t) for t in (0.0, 1.0)], 9, silent)) == 2


def test_budget_search_stays_within_its_budget():
    X, y = some_rows()
    X_val, y_val = some_rows(200, seed=1)
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=30), 8.0, points=6)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    assert search.cost(X_val).mean == search.best_point_.valid_cost <= 8.0
    assert search.best_point_ == search.frontier_.within(8.0)
    assert search.score(X_val, y_val) == search.best_estimator_.score(X_val, y_val) > 0.7
    np.testing.assert_array_equal(search.predict(X_val), search.best_estimator_.predict(X_val))
    np.testing.assert_array_equal(search.predict_proba(X_val), search.best_estimator_.predict_proba(X_val))
    assert search.predictor_ is search.best_estimator_.predictor_
    assert search.n_features_in_ == 4
    assert list(search.classes_) == [0, 1]
    assert search.best_point_.test_score is None
    assert search.frontier_.plot()["png"].startswith(b"\x89PNG")
    assert ",,,0.0," in search.frontier_.to_csv()


@pytest.mark.parametrize("task", ["classification", "regression", "ranking"])
def test_budget_search_holds_rows_out_itself(task):
    X, y = some_rows(300)
    frame = pd.DataFrame(X, columns=list("dcba")[::-1])
    qid = np.repeat(np.arange(30), 10)
    more = {"qid": qid} if task == "ranking" else {}
    estimator = cf.estimator("miser", task, costs=COSTS, n_estimators=10)
    search = BudgetSearch(estimator, 6.0, points=4).fit(frame, y, **more)
    again = clone(search).fit(frame, y, **more)
    assert search.best_point_.valid_cost <= 6.0
    np.testing.assert_array_equal(search.predict(frame), again.predict(frame))
    assert hasattr(search, "predict_proba") == (task == "classification")


class Stubborn(ClassifierMixin, BaseEstimator):
    """Reads its first column whatever that costs."""

    def __init__(self, costs=None, tradeoff=0.0):
        self.costs = costs
        self.tradeoff = tradeoff

    def fit(self, X, y, **_validation):
        self.n_features_in_ = X.shape[1]
        self.costs_ = cf.CostModel.of(self.costs, list("abcd"))
        self.classes_ = np.unique(y)
        bank = WeakLearnerBank.columns(list("abcd"), [0])
        self.predictor_ = StageTree(bank, [Answer([0], [[1.0]], [0.0], "sigmoid")], self.costs_)
        return self

    def predict(self, X):
        return self.classes_[(self.predictor_.predict(X) > 0.5).astype(int)]


def test_budget_search_names_the_cheapest_where_nothing_fits():
    X, y = some_rows(100)
    search = BudgetSearch(Stubborn(COSTS), 0.5, points=3)
    with pytest.raises(ParameterError, match=r"at most 0\.5 CAD per row; the cheapest found costs 1 "):
        search.fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ParameterError, match="budget"):
        BudgetSearch(Stubborn(COSTS), -1).fit(X, y)
    with pytest.raises(ParameterError, match="both or neither"):
        BudgetSearch(Stubborn(COSTS), 1).fit(X, y, X_val=X)


def test_weights_count_in_the_search():
    X, y = some_rows(150)
    weight = np.where(np.arange(150) % 3, 1.0, 2.0)
    twice = np.repeat(np.arange(150), weight.astype(int))
    one, other = (BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=8), 5.0, points=4) for _ in range(2))
    one.fit(X, y, weight, X_val=X, y_val=y, sample_weight_val=weight)
    other.fit(X[twice], y[twice], X_val=X[twice], y_val=y[twice])
    assert one.best_point_.valid_cost == pytest.approx(other.best_point_.valid_cost)
    assert one.best_point_.valid_score == pytest.approx(other.best_point_.valid_score)


def test_payments_add_up_to_the_mean(data):
    X = data.part("test").X
    prices = cf.CostModel.from_dict(COSTS | {"learner": 0.01, "split": 0.002, "reuse": 0.001})
    model = cf.estimator("miser", costs=prices, tradeoff=1e-4, n_estimators=5).fit(data.X, data.codes(data.y))
    report = model.cost(X)
    found = payments(report, prices)
    assert sum(p.mean for p in found) == pytest.approx(report.mean)
    for p in found:
        if p.kind != "computing":
            assert p.mean == pytest.approx(p.price * p.share)
    assert {p.name for p in found if p.kind == "computing"} == {"learners", "comparisons", "reuse"}


def test_a_score_that_does_not_exist_is_refused():
    X, y = some_rows(100)
    search = BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=3), 5.0, points=2, scoring="r2")
    with pytest.raises(CostframeError), pytest.warns(UserWarning, match="R\\^2"):
        search.fit(X, y, X_val=X[:1], y_val=y[:1])
