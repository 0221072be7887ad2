"""How far each row moves a score, against numerical derivatives and repeated draws."""

from __future__ import annotations

import numpy as np
import pytest

from costframe.training.scoring import influence, score_named, standard_error

RNG = np.random.default_rng(3)
N = 60
Y = RNG.integers(0, 2, N)
P = np.round(np.clip(0.3 * Y + RNG.random(N) * 0.7, 0, 1), 1)  # with ties
THREE = RNG.integers(0, 3, N)
P3 = RNG.dirichlet(np.ones(3), N)
CASES = {
    "accuracy": (Y, P), "roc_auc": (Y, P), "average_precision": (Y, P), "r2": (RNG.normal(size=N), P),
    "f1": (Y, P), "log_loss": (Y, 0.1 + 0.8 * P), "rmse": (RNG.normal(size=N), P),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_influences_are_derivatives_by_weight(name, weighted):
    y, p = CASES[name]
    weight = RNG.random(N) + 0.5 if weighted else np.ones(N)
    found = influence(name, y, p, weight)
    score, step = score_named(name), 1e-6
    for row in range(N):
        more = weight.copy()
        more[row] += step
        slope = (score(y, p, more, None) - score(y, p, weight, None)) / step
        assert found[row] == pytest.approx(slope * weight[row], abs=1e-5)


@pytest.mark.parametrize("name", ["roc_auc", "accuracy", "f1", "log_loss"])
def test_scores_of_several_classes_are_moved_as_they_say(name):
    score, step, weight = score_named(name), 1e-6, np.ones(N)
    found = influence(name, THREE, P3)
    for row in range(N):
        more = weight.copy()
        more[row] += step
        slope = (score(THREE, P3, more, None) - score(THREE, P3, weight, None)) / step
        assert found[row] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_row_of_weight_two_is_a_row_given_twice(name):
    y, p = CASES[name]
    times = RNG.integers(1, 4, N)
    once = influence(name, y, p, times.astype(float))
    twice = influence(name, np.repeat(y, times), np.repeat(p, times))
    assert once @ once == pytest.approx(twice @ twice)


def test_standard_errors_are_those_of_repeated_draws():
    rng = np.random.default_rng(0)
    scores, errors = [], []
    for _ in range(400):
        y = rng.integers(0, 2, 300)
        p = y + rng.normal(size=300)
        scores.append(score_named("roc_auc")(y, p, None, None))
        errors.append(standard_error(influence("roc_auc", y, p)))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.1)


@pytest.mark.parametrize("name", ["ndcg@5", "precision@3:1", "average_precision@10:1"])
def test_queries_vary_as_wholes(name):
    qid, y = np.repeat(np.arange(10), 6), RNG.integers(0, 3, 60)
    p = RNG.random(60)
    moved = influence(name, y, p, None, qid)
    assert set(np.flatnonzero(moved) % 6) == {0}
    score = score_named(name)
    each = [score(y[qid == q], p[qid == q], None, None) for q in range(10)]
    assert moved @ moved == pytest.approx(np.var(each) / 10)
    assert not influence(name, np.zeros(60), p, None, qid).any()


def test_no_score_is_certain():
    right = influence("accuracy", Y, np.where(Y, 0.9, 0.1))
    assert not right.any()
    assert standard_error(right) == pytest.approx(1 / N)
