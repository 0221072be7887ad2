"""Plans against the optimum found by trying everything, where conditional losses are exact."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import frozen
from naive_planning import Problem, losses, open_loop_plan, optimal_plan

import costframe as cf
from costframe.sets.prices import SetPrices
from costframe.trees.boosting.folds import ManyFolds
from costframe_planner import planner
from costframe_planner.plans import Routes, follow

NESTED = [(), (0,), (0, 1), (0, 1, 2)]


@frozen
class Model:
    features: tuple
    losses: np.ndarray


def drawn(stops, seed):
    """Draw a joint distribution of three features of two values and two classes, in which the first tells most."""
    random = np.random.default_rng(seed)
    values = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    weights = random.dirichlet(np.full(len(values), 3.0))
    classes = random.dirichlet((0.5, 0.5), size=len(values))
    costs = cf.CostModel.from_dict(
        {
            "features": {"a": 0.5, "b": {"cost": 1.0, "needs": ["lab"]}, "c": {"cost": 2.0, "needs": ["lab"]}},
            "resources": {"lab": 0.7},
        }
    )
    return Problem(values, weights, classes, stops=stops, costs=costs)


def exactly(problem):
    """Return a regression whose predictions are exact conditional means; `seen` is a set of features."""

    def regress(_problem, seen, targets, **_):
        means = np.empty_like(targets)
        _, group = np.unique(problem.values[:, list(seen)], axis=0, return_inverse=True)
        group = np.zeros(len(targets), int) if not seen else group
        for each in np.unique(group):
            rows = group == each
            means[rows] = np.average(targets[rows], axis=0, weights=problem.weights[rows])
        return ManyFolds(means, targets.mean(axis=0), None)

    return regress


def trained_exactly(problem, regress):
    prices = problem.costs.select(problem.costs.names)
    models = [Model(stop, losses(problem, k)) for k, stop in enumerate(problem.stops)]
    gains = [
        regress(None, model.features, np.stack([later.losses - model.losses for later in models[k + 1 :]], axis=1))
        for k, model in enumerate(models[:-1])
    ]
    routes = Routes(SetPrices.of(prices, 1.0), tuple(frozenset(stop) for stop in problem.stops))
    return planner.Trained(models, list(problem.stops), gains, routes)


def value(problem, trained, gains, tradeoff):
    at, visited = follow(trained.routes, [each.predictions for each in gains], tradeoff)
    lost = np.stack([model.losses for model in trained.models])[at, np.arange(len(at))]
    return float(problem.weights @ (lost + tradeoff * trained.routes.cost(visited)))


@pytest.mark.parametrize("tradeoff", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_backward_induction_is_the_optimum_on_nested_sets(seed, tradeoff, monkeypatch):
    problem = drawn(NESTED, seed)
    regress = exactly(problem)
    monkeypatch.setattr(planner, "regress", regress)
    trained = trained_exactly(problem, regress)
    induced = planner.induce(SimpleNamespace(n_threads=1), trained, tradeoff)
    assert value(problem, trained, induced, tradeoff) == pytest.approx(optimal_plan(problem, tradeoff).value, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_loss_to_go_is_the_open_loop_plan(seed):
    problem = drawn(NESTED, seed)
    trained = trained_exactly(problem, exactly(problem))
    for tradeoff in (0.02, 0.1, 0.3):
        found = value(problem, trained, trained.gains, tradeoff)
        assert found == pytest.approx(open_loop_plan(problem, tradeoff).value, abs=1e-12)


def test_induction_is_sometimes_better_than_loss_to_go_and_never_worse(monkeypatch):
    better = 0
    for seed in range(12):
        problem = drawn(NESTED, seed)
        regress = exactly(problem)
        monkeypatch.setattr(planner, "regress", regress)
        trained = trained_exactly(problem, regress)
        for tradeoff in (0.05, 0.1):
            to_go = value(problem, trained, trained.gains, tradeoff)
            induced = value(problem, trained, planner.induce(SimpleNamespace(n_threads=1), trained, tradeoff), tradeoff)
            assert induced <= to_go + 1e-12
            better += induced < to_go - 1e-9
    assert better > 0


def test_prices_of_one_feature_more_or_less_are_differences():
    rng = np.random.default_rng(0)
    prices = SetPrices(rng.random(6), rng.random(3), rng.random((6, 3)) < 0.4, 1.0)
    for size in range(7):
        features = frozenset(rng.permutation(6)[:size].tolist())
        more, less = prices.added_prices(features), prices.saved_prices(features)
        for f in range(6):
            if f in features:
                assert less[f] == pytest.approx(prices.of_set(features) - prices.of_set(features - {f}))
            else:
                assert more[f] == pytest.approx(prices.of_set(features | {f}) - prices.of_set(features))
