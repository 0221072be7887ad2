"""Frontiers: what is worth having, what a budget buys, and what is written about it."""

from __future__ import annotations

import csv
import io
import math
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from frontier_cases import COSTS, point, some_rows
from hypothesis import given
from hypothesis import strategies as st

from costframe import CostframeError
from costframe.choices import Frontier
from costframe.choices.sentences import describe_useless_budget
from costframe.core.plugins.registry import registry
from costframe.datasets import Dataset
from costframe.plugin import ParameterError
from costframe.study.bisection import bisect_tradeoffs
from costframe.study.division import Division
from costframe.study.entrants import Entrant
from costframe.study.estimates import difference_error
from costframe.study.fits_within_sets import FITS
from costframe.study.fitted import Fitted
from costframe.study.grid import fill
from costframe.study.processes import process_count
from costframe.study.progress import silent
from costframe.study.store import Store
from costframe.study.study import Study


@pytest.fixture(scope="module")
def data():
    X, y = some_rows()
    return Dataset.from_arrays(X, y, COSTS, feature_names=list("abcd"), name="rows")


@pytest.fixture(scope="module")
def frontier(data):
    return Frontier.sweep(data, ["miser"], points=6, parameters={"n_estimators": 30}, references=False)


coarse = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(coarse, coarse), min_size=1, max_size=12))
def test_non_dominated_is_what_comparing_all_pairs_leaves(pairs):
    points = [point(score, cost, number) for number, (score, cost) in enumerate(pairs)]
    found = Frontier(tuple(points), "r2", "unit", 1.0).non_dominated()
    left = {
        (p.score, p.cost)
        for p in points
        if not any(q.score >= p.score and q.cost <= p.cost and (q.score, q.cost) != (p.score, p.cost) for q in points)
    }
    assert [(p.score, p.cost) for p in found] == sorted(left)  # equal points stand for one another


@given(st.lists(st.tuples(coarse, coarse), min_size=1, max_size=12), coarse)
def test_recommended_within_a_budget_is_the_best_that_is_affordable(pairs, budget):
    frontier = Frontier(tuple(point(score, cost) for score, cost in pairs), "r2", "CAD", 1.0)
    affordable = [pair for pair in pairs if pair[1] <= budget]
    if not affordable:
        with pytest.raises(ParameterError, match=f"cheapest found costs {min(cost for _, cost in pairs):g}"):
            frontier.recommended(budget)
        return
    best = max(score for score, _ in affordable)
    chosen = frontier.recommended(budget)
    assert (chosen.score, chosen.cost) == (best, min(cost for score, cost in affordable if score == best))


def test_the_cheapest_within_one_standard_error_is_recommended():
    points = tuple(point(score, cost, score_error=0.02) for score, cost in [(0.9, 100), (0.885, 50), (0.87, 10)])
    frontier = Frontier(points, "accuracy", "unit", 100)
    assert frontier.best() is points[0]
    assert frontier.recommended() is points[1]
    assert frontier.recommended(60) is points[2]  # .015 below the best that is affordable
    assert frontier.recommended(9e9) is points[1]


def test_points_are_compared_row_by_row_where_their_rows_are_known():
    rng = np.random.default_rng(0)
    common = rng.normal(size=50) / 100
    points = (point(0.9, 100, score_error=0.07), point(0.89, 50, score_error=0.07), point(0.88, 10, score_error=0.07))
    alike = common + rng.normal(size=50) / 10_000
    frontier = Frontier(points, "r2", "unit", 100, influences=(common, alike, None))
    assert frontier.difference_error(points[0], points[1]) == pytest.approx(np.sqrt(np.sum((common - alike) ** 2)))
    assert frontier.difference_error(points[0], points[2]) == 0.07
    assert frontier.recommended() is points[2]  # of which only the error is known
    paired = Frontier(points[:2], "r2", "unit", 100, influences=(common, alike))
    assert paired.recommended() is points[0]
    assert paired.difference(points[0], points[1]).value == pytest.approx(0.01)
    longer = np.append(np.full(7, 0.1), common)  # rows of train before those of valid
    assert difference_error(common, longer) == pytest.approx(np.sqrt(0.07))


def test_a_constant_is_kept_only_where_nothing_affordable_is_better():
    constant = point(0.5, 0.0, n_features=0)
    weak, good, best = point(0.51, 5, score_error=0.02), point(0.7, 25, score_error=0.02), point(0.8, 90)
    frontier = Frontier((constant, weak, good, best), "roc_auc", "CAD", 100)
    assert frontier.recommended(12) is constant
    assert frontier.useful() is good
    assert describe_useless_budget(frontier, frontier.recommended(12), 12.0) == (
        "nothing within 12 CAD beats the constant by more than the error; the cheapest that does: miser, 25 CAD per "
        "row, roc_auc 0.7 \u00b1 0.02"
    )
    assert frontier.recommended(25) is good
    assert describe_useless_budget(frontier, good, 25.0) is None
    hopeless = Frontier((constant, weak), "roc_auc", "CAD", 100)
    assert hopeless.useful() is None
    assert "nothing found at any cost does" in describe_useless_budget(hopeless, hopeless.recommended(), None)


def test_choices_are_never_made_on_test():
    lucky = point(0.5, 5, test_score=1.0, test_cost=0.0)
    good = point(0.9, 5, test_score=0.0, test_cost=99.0)
    frontier = Frontier((lucky, good), "accuracy", "unit", 5)
    assert frontier.non_dominated() == (good,)
    assert frontier.best() is frontier.recommended(5) is frontier.recommended() is good


def test_csv_reads_back_to_the_same_bits(tmp_path):
    points = (point(1 / 3, 0.1 + 0.2, 1e-5 / 3), point(0.5, 2.0))
    frontier = Frontier(points, "roc_auc", "CAD, about", 7.5)
    text = frontier.to_csv(tmp_path / "points.csv")
    assert (tmp_path / "points.csv").read_text() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(rows[0][name]) for name in ("score", "cost", "tradeoff")] == [1 / 3, 0.1 + 0.2, 1e-5 / 3]
    assert [row["unit"] for row in rows] == ["CAD, about"] * 2
    assert rows[0]["full_cost"] == "7.5"
    guarded = csv.DictReader(io.StringIO(Frontier(points, "roc_auc", "=1+1", 7.5).to_csv()))
    assert [row["unit"] for row in guarded] == ["'=1+1"] * 2


def test_a_sweep_measures_what_the_models_do(data, frontier):
    assert 2 < len(frontier.points) <= 6 + FITS
    assert (frontier.score_name, frontier.unit, frontier.full_cost) == ("roc_auc", "CAD", 17.5)
    assert frontier.points[0].tradeoff == 0
    for p in frontier.points:
        model = frontier.model(p)
        report = model.cost(data.part("test").X, rounds=True)
        assert p.test_cost == report.mean
        assert p.cost == model.cost(data.part("valid").X).mean
        assert p.n_features == len(model.predictor_.layout.used)
        assert p.n_learners == (len(model.predictor_.stages[0].learners) if p.n_features else 0)
        assert report.rounds.min() <= p.rounds <= report.rounds.max()
    costs = [p.cost for p in frontier.points]
    assert max(costs) == costs[0] > 10  # without prices, everything is bought
    assert min(costs) < 2  # and in the end hardly anything
    with pytest.raises(ParameterError, match="this frontier"):
        frontier.model(point(0, 0))


def test_processes_side_by_side_change_nothing(data):
    told, failures = [], {}

    def sweep(n_jobs):
        return Frontier.sweep(
            data, ["miser", "reweighted", "cegb"], [0.0, 0.1], parameters={"n_estimators": 3, "subsample": 0.5},
            cv=0, n_jobs=n_jobs, progress=lambda *event: told.append(event), failed=failures.__setitem__,
        )  # fmt: skip

    alone, beside = ([evolve(point, seconds=0.0) for point in sweep(n_jobs).points] for n_jobs in (1, 2))
    assert alone == beside
    assert [point.algorithm for point in beside] == ["cegb", "cegb"]
    assert set(failures) == {"miser", "reweighted"}  # these have no subsample
    assert "subsample" in str(failures["miser"])
    assert told[-1][:2] == (300, 300)  # an algorithm that failed counts as much as the others
    with pytest.raises(CostframeError, match="subsample"):
        Frontier.sweep(data, ["miser", "cegb"], [0.0], parameters={"subsample": 0.5}, cv=0, n_jobs=2)


class FakeTrial:
    """A trial whose cost falls with the tradeoff as told, and whose score is its cost."""

    algorithm, score, has_tradeoff = "fake", "r2", True

    def __init__(self, cost):
        self.cost, self.fits = cost, []

    def fit(self, tradeoff):
        self.fits.append(tradeoff)
        return Fitted(point(self.cost(tradeoff), self.cost(tradeoff), tradeoff), None)


@given(st.floats(0.01, 0.9))
def test_refinement_comes_close_to_the_budget(budget):
    trial = FakeTrial(lambda tradeoff: 1 / (1 + tradeoff))
    tried = [trial.fit(t) for t in (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)]
    found = bisect_tradeoffs(trial, tried, budget, silent)
    within = [f.point.cost for f in [*tried, *found] if f.point.cost <= budget]
    assert 0.9 * budget <= max(within) <= budget
    assert budget < 0.05 or len(found) <= 5


def test_filling_goes_where_costs_differ_most():
    trial = FakeTrial(lambda tradeoff: 10.0 if tradeoff < 3 else 1.0)
    every = fill(trial, [trial.fit(t) for t in (0.0, 0.01, 1.0, 100.0)], 6, silent)
    assert [f.point.tradeoff for f in every] == pytest.approx([0.0, 0.01, 1.0, math.sqrt(10.0), 10.0, 100.0])
    assert len(fill(trial, [trial.fit(t) for t in (0.0, 1.0)], 9, silent)) == 2


@pytest.mark.parametrize(
    ("score", "name", "more", "low", "high"),
    [
        (0.9, "r2", {}, 0.9 - 1.645 * 0.05, 0.9 + 1.645 * 0.05),
        (0.99, "roc_auc", {}, 0.99 - 1.645 * 0.05, 1.0),  # none is above one
        (-0.04, "neg_log_loss", {"rows_lacked": 0.5}, -0.04 - 1.645 * 0.05, 0.0),
        (0.8, "r2", {"rows_lacked": 0.25}, 0.8 - 1.645 * 0.05, 0.8 + 0.25 * 0.2 + 1.645 * 0.05),  # more rows may teach
    ],
)
def test_the_interval_knows_of_both_errors_of_what_rows_lack_and_of_the_best_value(score, name, more, low, high):
    one = point(score, 1, score_error=0.03, test_error=0.04, **more)
    assert Frontier((one,), name, "unit", 1).interval(one) == pytest.approx((low, high))


def test_the_grid_does_not_depend_on_scales():
    X, y = some_rows()
    dear = {name: {"cost": 1000 * cost, "needs": ["draw"] if name in "bc" else []}
            for name, cost in zip("abcd", (1.0, 2.0, 0.5, 10.0), strict=True)}  # fmt: skip
    one, other = (
        Frontier.sweep(
            Dataset.from_arrays(X, scale * (y + X[:, 3]), costs, feature_names=list("abcd"), task="regression"),
            ["miser"], points=5, parameters={"n_estimators": 10},
        )
        for scale, costs in ((1, COSTS), (8, {"features": dear, "resources": {"draw": 4000.0}}))
    )  # fmt: skip
    assert [p.cost * 1000 for p in one.points] == pytest.approx([p.cost for p in other.points])
    assert [p.tradeoff * 64 / 1000 for p in one.points] == pytest.approx([p.tradeoff for p in other.points])


@pytest.mark.parametrize(
    ("algorithms", "more", "text"),
    [
        ("miserly", {}, "'miserly'"),
        ([], {}, "algorithms: expected at least one name"),
        (["miser"], {"score": "r2"}, "score: classification of 2 classes has"),
        (["miser"], {"budget": -1.0}, "budget"),
        (["miser"], {"points": 0}, "points"),
        (["miser"], {"tradeoffs": []}, "tradeoffs: expected at least one"),
        (["miser"], {"tradeoffs": [0.0, math.nan]}, "tradeoffs: expected finite numbers >= 0, got nan"),
    ],
)
def test_what_a_sweep_refuses(data, algorithms, more, text):
    with pytest.raises(CostframeError, match=text):
        Frontier.sweep(data, algorithms, progress=lambda *_: pytest.fail("it began"), **more)


@pytest.mark.parametrize(
    ("plugin", "distribution", "keeps", "processes"),
    [
        ("ours", "costframe", False, 2),
        ("theirs", "theirs", True, 2),
        ("theirs (costframe 1)", "theirs", False, 0),  # their models may not go to another process
        ("here", None, True, 0),  # another process would not know it
    ],
)
def test_algorithms_are_fitted_side_by_side_where_other_processes_can(
    data, tmp_path, monkeypatch, plugin, distribution, keeps, processes
):
    monkeypatch.setattr("costframe.study.processes.thread_count", lambda: 2)
    owner = EntryPoint(plugin, "some.module", "costframe")
    vars(owner)["dist"] = distribution and SimpleNamespace(name=distribution, version="no distribution")
    monkeypatch.setitem(registry().owners, "cegb", owner)
    entrants = [Entrant.of(name, data, {}) for name in ("miser", "cegb")]
    study = Study(entrants, Division.of_data(data), "roc_auc", store=Store(tmp_path if keeps else None))
    assert process_count(study) == processes
