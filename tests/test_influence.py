"""How far each row moves a score, against numerical derivatives and repeated draws."""

from __future__ import annotations

import numpy as np
import pytest
from score_cases import influence, resolve_score, score_named, with_labels

from costframe.training.influences import standard_error

RNG = np.random.default_rng(3)
N = 60
Y = RNG.integers(0, 2, N)
P = np.round(np.clip(0.3 * Y + RNG.random(N) * 0.7, 0, 1), 1)  # with ties
THREE = RNG.integers(0, 3, N)
P3 = RNG.dirichlet(np.ones(3), N)
NUMBERS = np.exp(RNG.normal(size=N))
MEANS = {
    "accuracy": (Y, P), "r2": (NUMBERS, P), "log_loss": (Y, 0.1 + 0.8 * P), "rmse": (NUMBERS, P),
    "neg_brier_score": (THREE, P3), "neg_mean_absolute_error": (NUMBERS, P), "neg_mean_squared_error": (NUMBERS, P),
    "neg_mean_absolute_percentage_error": (NUMBERS, P), "neg_mean_squared_log_error": (NUMBERS, P),
    "neg_mean_poisson_deviance": (NUMBERS, P + 1), "neg_mean_gamma_deviance": (NUMBERS, P + 1),
}  # fmt: skip
OTHERS = {  # and the largest relative difference that few rows, or rows taken as alike, make
    "roc_auc": (Y, P, 0.05), "average_precision": (Y, P, 0.1), "f1": (Y, P, 0.05), "balanced_accuracy": (Y, P, 0.05),
    "matthews_corrcoef": (THREE, P3, 0.1), "f1_weighted": (THREE, P3, 0.1),
}  # fmt: skip


def slopes(name, y, p, weight, step):
    """Derivatives of a score by the weight of each row, times the weight."""
    score, moved = score_named(name), np.zeros(len(y))
    for row in range(len(y)):
        more = weight.copy()
        more[row] += step
        moved[row] = (score(y, p, more, None) - score(y, p, weight, None)) / step * weight[row]
    return moved


@pytest.mark.parametrize("name", MEANS)
def test_influences_on_means_are_derivatives_by_weight(name):
    y, p = MEANS[name]
    weight = RNG.random(N) + 0.5
    np.testing.assert_allclose(influence(name, y, p, weight), slopes(name, y, p, weight, 1e-6), atol=1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_a_jackknife_is_near_the_derivatives_by_weight(name):
    y, p, far = OTHERS[name]
    weight = RNG.random(N) + 0.5
    found, wanted = influence(name, y, p, weight), slopes(name, y, p, weight, 1e-6)
    assert np.linalg.norm(found - wanted) < 2 * far * np.linalg.norm(wanted)
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(wanted), rel=far)


@pytest.mark.parametrize("name", [*MEANS, *OTHERS])
def test_a_row_of_weight_two_is_a_row_given_twice(name):
    y, p, *far = (MEANS | OTHERS)[name]
    times = RNG.integers(1, 4, N)
    once = influence(name, y, p, times.astype(float))
    twice = influence(name, np.repeat(y, times), np.repeat(p, times, axis=0))
    assert once @ once == pytest.approx(twice @ twice, rel=2 * sum(far) or 1e-9)


def draw(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    y[:2] = 0, 1
    return y, 1.5 * y + rng.normal(size=n)


def draw_numbers(rng, n):
    x = rng.normal(size=n)
    return x + rng.standard_t(5, size=n), 0.9 * x


def explained_variance(estimator, X, y):  # quicker than scikit-learn's own
    return 1 - np.var(y - estimator.predict(X)) / np.var(y)


DRAWN = {"average_precision": lambda rng, n: draw(rng, n, 0.1), explained_variance: draw_numbers}


def are_good_errors(scores, errors, truth):
    """Errors are the spread of scores of drawn rows, and intervals of nine in ten have the score of many rows."""
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.12)
    assert np.mean(np.abs(np.array(scores) - truth) < 1.645 * np.array(errors)) == pytest.approx(0.9, abs=0.06)


@pytest.mark.parametrize("name", DRAWN, ids=lambda name: getattr(name, "__name__", name))
def test_standard_errors_are_those_of_repeated_draws(name):
    rng, given = np.random.default_rng(0), with_labels(resolve_score(name), None)
    score = score_named(given)
    truth, drawn = score(*DRAWN[name](rng, 200_000), None, None), [DRAWN[name](rng, 400) for _ in range(300)]
    scores = [score(y, p, None, None) for y, p in drawn]
    are_good_errors(scores, [standard_error(influence(given, y, p)) for y, p in drawn], truth)


def test_rows_without_weight_move_nothing_and_a_class_of_one_row_is_no_obstacle():
    weight = RNG.integers(1, 4, N) * (np.arange(N) % 2)
    some, each = np.flatnonzero(weight), np.arange(0, N, 2)
    for name, (y, p, _) in OTHERS.items():
        moved = influence(name, y, p, weight)
        np.testing.assert_allclose(moved[some], influence(name, y[some], p[some], weight[some]))
        assert not moved[each].any()
    y, p = np.append(np.arange(30) % 2, 2), RNG.dirichlet(np.ones(3), 31)
    assert np.isfinite(influence("roc_auc", y, p)).all()
    assert np.isfinite(influence("precision", Y, np.zeros(N))).all()


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
