"""Mixtures in searches: they fill a budget that no fit is near, cost what is stated, and are not made in vain."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import costframe as cf
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.storage.saving import load, save
from costframe.frontier.points import at_tradeoff
from costframe.frontier.rows import Rows
from costframe.frontier.tradeoffs import mix_to_budget
from costframe.frontier.trial import Fitted, Trial

COSTS = {"free": 0.0, "bureau": 2.5}


def drawn(n, seed):
    random = np.random.default_rng(seed)
    cause, free = random.normal(size=n), random.normal(size=n)
    X = pd.DataFrame({"free": free, "bureau": cause + 0.3 * random.normal(size=n)})
    return X, (random.random(n) < 1 / (1 + np.exp(1 + 2 * cause - 0.4 * free))).astype(int)


def search(budget, costs=None, **more):
    model = cf.CEGBClassifier(costs or COSTS, n_estimators=20, n_jobs=1)
    return cf.BudgetSearch(model, budget, points=4, **more).fit(*drawn(2500, 0))


def test_a_mixture_fills_a_budget_and_costs_what_is_stated(tmp_path):
    found = search(1.0)
    assert isinstance(found.predictor_, MixedPredictor)
    point, (X, _) = found.best_point_, drawn(20_000, 1)
    assert 0.9 <= point.cost <= 1.0
    assert abs(found.cost(X).mean - point.cost) < 3 * np.hypot(point.cost_error, 1.25 / np.sqrt(len(X)))
    assert point.score == max(each.score for each in found.frontier_.points if each.cost <= 1.0)
    assert (point.n_features, point.algorithm) == (2, "cegb")
    assert point.mixed_with is not None
    assert f"a mixture of tradeoffs {point.tradeoff:.3g} and {point.mixed_with:.3g}" in at_tradeoff(point)
    save(found.best_estimator_, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(X), found.predict_proba(X))


def trial_on(X, y):
    return Trial("cegb", None, Rows(X[:1800], y[:1800]), Rows(X[1800:], y[1800:]), None, "roc_auc")


@pytest.mark.parametrize(
    ("budget", "costs"),
    [(9.0, COSTS), (1.0, {"free": 0.1, "bureau": 2.5}), (0.0, COSTS)],
    ids=["all are within", "nothing is free", "no share is left"],
)
def test_without_need_or_means_nothing_is_mixed(budget, costs):
    found = search(budget, costs)
    assert not isinstance(found.predictor_, MixedPredictor)


def test_what_cannot_be_mixed_is_not():
    found = search(1.0)
    frontier = found.frontier_
    every = map(Fitted, frontier.points, frontier.models, frontier.influences)
    fits = [each for each in every if not isinstance(each.estimator.predictor_, MixedPredictor)]
    trial = trial_on(*drawn(2500, 0))
    assert len(mix_to_budget(trial, fits, 1.0)) == 1
    assert mix_to_budget(trial, fits, None) == []
    assert mix_to_budget(trial, [evolve(each, influence=None) for each in fits], 1.0) == []
    X, y = drawn(2500, 0)
    assert mix_to_budget(trial_on(X.assign(free=np.arange(2500) % 2), y), fits, 1.0) == []
    ranked = evolve(trial, valid=evolve(trial.valid, qid=np.zeros(len(trial.valid.y))))
    assert mix_to_budget(ranked, fits, 1.0) == []
