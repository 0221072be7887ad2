"""Mixtures: each row is predicted and charged as by the predictor that its hash draws; searches fill budgets so."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from sklearn.metrics import roc_auc_score
from test_planned import LABORATORY, chain
from test_walks import FEWER, QUIET, mixtures

import costframe as cf
from costframe import Answer, StageTree, WeakLearnerBank
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.storage.saving import checksum
from costframe.errors import StorageError
from costframe.plugin import OpaqueLearner, ParameterError
from costframe.study.fitted import Fitted
from costframe.study.mixtures import _beyond_mean, mix_to_budget
from costframe.study.points import at_tradeoff
from costframe.study.rows import StudyRows
from costframe.study.trial import Trial
from costframe.testing import inquire, same_bits, strategies


@QUIET
@FEWER
@given(mixtures(("x0", "x1")), strategies.rows(2))
def test_rows_are_those_of_the_predictor_that_their_hash_draws(mixed, X):
    second, other = mixed.second_answers(X), np.where(X == 0, -X, X)
    other[np.isnan(X)] = -np.nan
    assert np.array_equal(second, mixed.second_answers(other))  # zeros of both signs and all missing values are alike
    report, values = mixed.cost(X), mixed.predict(X)
    for i, row in enumerate(X):
        model = (mixed.first, mixed.second)[int(second[i])]
        assert report.per_row[i] == model.cost(X[i : i + 1]).per_row[0]
        assert same_bits(values[i], model.predict(X[i : i + 1])[0])
        assert inquire(mixed, row, mixed.costs)[0].exit == int(second[i])
    if {*mixed.first.links} == {*mixed.second.links}:
        assert same_bits(mixed.decision_function(X)[second], mixed.second.decision_function(X[second]))


def numbers(n=20_000, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


FREE = {"a": 0.0, "b": 2.0}


def mixture(share=0.25, costs=FREE):
    costs = cf.CostModel.from_dict({"features": costs})
    cheap, dear = (chain(costs, tradeoff) for tradeoff in (9.0, 0.01))
    return MixedPredictor(cheap, dear, share, ["a"])


def test_costs_lie_between_by_the_share():
    mixed, X = mixture(), numbers()
    assert (mixed.first.cost(X).mean, mixed.second.cost(X).mean) == (0, 2)
    assert mixed.cost(X).mean == pytest.approx(0.5, abs=0.03)
    assert list(mixed.cost(X).by_stage) == pytest.approx([0.75, 0.25], abs=0.02)
    assert np.array_equal(mixed.second_answers(X), mixed.second_answers(X[::-1])[::-1])
    assert [cf.ExpectedCost(FREE).evaluate(mixture(share), X[:1]).mean for share in (0.0, 1.0)] == [0.0, 2.0]


WRONG = {
    "a mixture within": (lambda m: evolve(m, first=m), ParameterError, "no mixture itself"),
    "other prices": (lambda m: evolve(m, second=m.second.with_costs(LABORATORY)), ParameterError, "the costs of the f"),
    "a tradeoff": (lambda m: m.inquire(tradeoff=1.0), ParameterError, "tradeoff: expected None"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_mixtures_are_refused_by_name(case):
    make, error, match = WRONG[case]
    with pytest.raises(error, match=match):
        make(mixture())


def test_functions_in_a_mixture_are_not_saved(tmp_path):
    bank = WeakLearnerBank.opaque(("a",), [OpaqueLearner("f", lambda rows: rows[:, 0], (0,))])
    tree = StageTree(bank, [Answer([0], [1.0], [0.0])], cf.CostModel.from_dict({"features": {"a": 0.0}}))
    mixed = MixedPredictor(tree, tree, 0.5, ["a"])
    with pytest.raises(StorageError, match="no opaque learners in a mixture"):
        cf.save(mixed, tmp_path / "mixture")
    assert checksum(mixed) == b""


# --- in searches ---

COSTS = {"free": 0.0, "bureau": 2.5}


def drawn(n, seed):
    random = np.random.default_rng(seed)
    cause, free = random.normal(size=n), random.normal(size=n)
    X = pd.DataFrame({"free": free, "bureau": cause + 0.3 * random.normal(size=n)})
    return X, (random.random(n) < 1 / (1 + np.exp(1 + 2 * cause - 0.4 * free))).astype(int)


def search(budget, costs=COSTS):
    model = cf.CEGBClassifier(costs, n_estimators=10, n_jobs=1)
    return cf.BudgetSearch(model, budget, points=4).fit(*drawn(2500, 0))


@pytest.fixture(scope="module")
def found():
    return search(1.0)


def test_a_mixture_fills_a_budget_and_costs_what_is_stated(found, tmp_path):
    assert isinstance(found.predictor_, MixedPredictor)
    point, (X, _) = found.best_point_, drawn(20_000, 1)
    assert 0.9 <= point.cost <= 1.0
    assert abs(found.cost(X).mean - point.cost) < 3 * np.hypot(point.cost_error, 1.25 / np.sqrt(len(X)))
    assert point.score == max(each.score for each in found.frontier_.points if each.cost <= 1.0)
    assert f"a mixture of tradeoffs {point.tradeoff:.3g} and {point.mixed_with:.3g}" in at_tradeoff(point)
    cf.save(found.best_estimator_, tmp_path / "model")
    assert np.array_equal(cf.load(tmp_path / "model").predict_proba(X), found.predict_proba(X))


@pytest.mark.parametrize("seed", range(3))
def test_the_score_of_a_mixture_is_that_of_mixed_answers_with_its_error(found, seed):
    models = [each.estimator for each in map(Fitted, found.frontier_.points, found.frontier_.models)][:4:3]
    (X, y), (fresh, labels) = drawn(400, seed), drawn(20_000, 7)
    trial = Trial("cegb", None, StudyRows(X, y), StudyRows(X, y), None, "roc_auc")
    beyond, error = _beyond_mean(trial, models, 0.5)
    first, second = (each.predictor_.predict(fresh) for each in models)
    mixed = np.where(np.random.default_rng(0).random(len(fresh)) < 0.5, first, second)
    scores = [roc_auc_score(labels, each) for each in (mixed, first, second)]
    assert 0.002 < error < 0.1
    assert abs(beyond - scores[0] + (scores[1] + scores[2]) / 2) < 3 * error
    _, of_means = _beyond_mean(evolve(trial, score="accuracy"), models, 0.5)
    assert of_means < error


@pytest.mark.parametrize(("budget", "costs"), [(9.0, COSTS), (1.0, {"free": 0.1, "bureau": 2.5})])
def test_without_need_or_means_nothing_is_mixed(budget, costs):
    assert not isinstance(search(budget, costs).predictor_, MixedPredictor)


def test_what_cannot_be_mixed_is_not(found):
    every = map(Fitted, found.frontier_.points, found.frontier_.models, found.frontier_.influences)
    fits = [each for each in every if not isinstance(each.estimator.predictor_, MixedPredictor)]
    X, y = drawn(2500, 0)

    def trial_on(X):
        return Trial("cegb", None, StudyRows(X[:1800], y[:1800]), StudyRows(X[1800:], y[1800:]), None, "roc_auc")

    trial = trial_on(X)
    assert len(mix_to_budget(trial, fits, 1.0)) == 1
    assert mix_to_budget(trial, [evolve(each, influence=None) for each in fits], 1.0) == []
    assert mix_to_budget(trial_on(X.assign(free=np.arange(2500) % 2)), fits, 1.0) == []
    ranked = evolve(trial, valid=evolve(trial.valid, qid=np.zeros(700)))
    assert mix_to_budget(ranked, fits, 1.0) == []
