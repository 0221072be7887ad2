"""Sets and plans between two others, where a step in cost is wide."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
from attrs import evolve

from costframe.sets import SetArchive
from costframe_planner import PlannerClassifier
from costframe_planner.measure import Measure
from costframe_planner.plan_points import new_point
from costframe_planner.refinement import Refinement, in_area, in_proportion, in_shares

QUICK = {"n_jobs": 1, "n_estimators": 60}


def table(weights, n=1500, seed=0):
    """Draw a table of features with these weights in the log odds, at a price of one each."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, len(weights)))
    return X, (random.random(n) < 1 / (1 + np.exp(-X @ np.asarray(weights)))).astype(int)


def fit_ends(monkeypatch, X, y, **settings):
    """Fit a path of which the search found the ends alone; return costs and losses of all stops but the constant."""
    monkeypatch.setattr(SetArchive, "spread", lambda *_: [frozenset(), frozenset(range(X.shape[1]))])
    path = PlannerClassifier(np.ones(X.shape[1]), **QUICK, **settings).fit_path(X, y)
    problem = path.kept.problem
    return [(len(model.features), problem.rows.mean(model.losses)) for model in path.kept.trained.models]


def test_wide_steps_are_divided_as_long_as_sets_lose_surely_less_than_mixtures(monkeypatch):
    X, y = table(2 * 0.7 ** np.arange(16))
    sets = fit_ends(monkeypatch, X, y)
    costs = [cost for cost, _ in sets]
    assert len(costs) <= 2 + 18 // 3
    assert {1, 2, 3} < set(costs)  # of the best features, one more gains what the next ones do not
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(sets)]
    assert slopes == sorted(slopes)  # they are all on the hull
    assert [cost for cost, _ in fit_ends(monkeypatch, X, y, n_sets=2)] == [costs[0], costs[-1]]


def test_wide_steps_stay_where_nothing_gains(monkeypatch):
    costs = [cost for cost, _ in fit_ends(monkeypatch, *table([2.0, *[0.0] * 15]))]
    assert costs[:2] == [0, 1]
    assert len(costs) <= 3  # the model of all features reads some of the others


def test_further_plans_are_where_costs_are_farthest_apart_in_proportion():
    costs = {1.0: 100.0, 2.0: 40.0, 3.0: 5.0, 4.0: 2.0, 5.0: 0.1}  # of 100

    def of(point):
        known = np.interp(point.tradeoff, list(costs), list(costs.values()))
        return evolve(point, cost=float(known), loss=0.0)

    measure = SimpleNamespace(kept=SimpleNamespace(problem=SimpleNamespace(paid=SimpleNamespace(full=100.0))), of=of)

    def further(count, widest, apart=in_proportion(100.0)):  # noqa: B008 - a function
        points = Measure.along(measure, [new_point(tradeoff) for tradeoff in costs], Refinement(count, widest, apart))
        return [point.tradeoff for point in points if point.tradeoff not in costs]

    assert further(1, 0.1) == [6**0.5]
    assert further(1, 0.1, in_shares(100.0)) == [2**0.5]
    found = sorted([*costs, *further(99, np.log(4 / 3))])
    assert max(found[:-1]) == 4.0  # below 2 % all costs are the same
    steps = [of(new_point(a)).cost / of(new_point(b)).cost for a, b in pairwise(found[:-1])]
    assert 1 < max(steps) <= 4 / 3


def test_costs_of_subnormal_prices_are_not_apart():
    points = [evolve(new_point(tradeoff), cost=cost, loss=0.0) for tradeoff, cost in ((1.0, 5e-324), (2.0, 0.0))]
    assert Refinement(9, 0.1, in_proportion(5e-324)).place(points) is None
    assert Refinement(9, 0.1, in_area(5e-324, 1.0)).place(points) is None


def test_further_plans_by_area_are_where_both_cost_and_loss_fall_and_one_without_a_loss_divides_their_step():
    known = {1.0: (100.0, 0.5), 2.0: (60.0, 0.5), 3.0: (30.0, 0.9), 4.0: (28.0, 1.6), 5.0: (0.0, 1.6)}

    def of(point):
        cost, loss = known.get(point.tradeoff, (45.0, np.nan))
        return evolve(point, cost=cost, loss=loss)

    points = [of(new_point(tradeoff)) for tradeoff in known]
    refinement = Refinement(9, 0.1, in_area(100.0, 2.0))
    place, tradeoff = refinement.place(points)
    assert (place, tradeoff) == (2, 6**0.5)
    points.insert(place, of(new_point(tradeoff)))  # between 60 and 30, with a loss of .7, so sqrt(.15 * .1) is left
    assert refinement.place(points)[0] in (2, 3)
    assert evolve(refinement, widest=0.13).place(points) is None
    assert evolve(refinement, nearest=2.0).place(points) is None
