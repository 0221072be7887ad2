"""Scores, which are computed many times along a path, against scikit-learn's slower ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    get_scorer_names,
    log_loss,
    roc_auc_score,
    root_mean_squared_error,
)

from costframe.core.errors import ParameterError
from costframe.training.scoring import (
    SCORES,
    SHORT_NAMES,
    accuracy,
    average_precision,
    default_score,
    influence,
    refuse_unfit_score,
    roc_auc,
    score_named,
    task_scores,
)

seeds = st.integers(0, 10_000)


def some(seed, values=4):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    p = rng.integers(0, values, n) / values if seed % 2 else rng.random(n)
    return rng, n, p


@given(seeds)
def test_areas_are_scikit_learns_with_ties_and_weights(seed):
    rng, n, p = some(seed)
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    for weight in (None, rng.random(n) + 0.1):
        found = average_precision(y, p, weight, None)
        assert found == pytest.approx(average_precision_score(y, p, sample_weight=weight), abs=1e-12)
        expected = roc_auc_score(y, p, sample_weight=weight)
        assert roc_auc(y, p, weight, None) == pytest.approx(expected, abs=1e-12)
        assert roc_auc(y, np.c_[1 - p, p], weight, None) == pytest.approx(expected, abs=1e-12)


@given(seeds)
def test_accuracy_is_scikit_learns(seed):
    rng, n, p = some(seed)
    y, weight, many = rng.integers(0, 3, n), rng.random(n) + 0.1, rng.random((n, 3))
    assert accuracy(y, p, weight, None) == pytest.approx(accuracy_score(y, p > 0.5, sample_weight=weight))
    assert accuracy(y, many, None, None) == accuracy_score(y, many.argmax(axis=1))


@settings(max_examples=30)
@given(seeds)
def test_errors_are_minus_scikit_learns(seed):
    rng, n, p = some(seed)
    y, y3, weight = np.append([0, 1], rng.integers(0, 2, n - 2)), np.append([0, 1, 2], rng.integers(0, 3, n - 3)), None
    p3 = rng.dirichlet(np.ones(3), n)
    for weight in (None, rng.random(n) + 0.1):
        assert score_named("neg_log_loss")(y, p, weight, None) == pytest.approx(-log_loss(y, p, sample_weight=weight))
        both = score_named("neg_log_loss")(y, np.c_[1 - p, p], weight, None)
        assert both == pytest.approx(-log_loss(y, p, sample_weight=weight))
        several = score_named("log_loss")(y3, p3, weight, None)
        assert several == pytest.approx(-log_loss(y3, p3, sample_weight=weight))
        found = score_named("rmse")(5.0 * y3, p, weight, None)
        assert found == pytest.approx(-root_mean_squared_error(5.0 * y3, p, sample_weight=weight))


@settings(max_examples=30)
@given(seeds)
def test_f1_is_scikit_learns_and_macro_for_more_classes(seed):
    rng, n, p = some(seed)
    y, y3, p3 = rng.integers(0, 2, n), rng.choice([0, 2], n), rng.dirichlet(np.ones(4), n)
    for weight in (None, rng.random(n) + 0.1):
        expected = f1_score(y, p > 0.5, sample_weight=weight, zero_division=0.0)
        assert score_named("f1")(y, p, weight, None) == pytest.approx(expected)
        assert score_named("f1")(y, np.c_[1 - p, p], weight, None) == pytest.approx(expected)
        expected = f1_score(y3, p3.argmax(axis=1), sample_weight=weight, average="macro", zero_division=0.0)
        assert score_named("f1")(y3, p3, weight, None) == pytest.approx(expected)


def test_certain_mistakes_and_absent_classes_have_finite_scores():
    zeros, ones = np.zeros(4, int), np.ones(4)
    assert score_named("log_loss")(zeros, ones, None, None) == pytest.approx(np.log(np.finfo(float).eps))
    assert score_named("log_loss")(zeros, 0.0 * ones, None, None) == 0
    assert score_named("f1")(zeros, 0.0 * ones, None, None) == 0
    assert score_named("rmse")(ones, ones, None, None) == 0
    for name in ("log_loss", "f1", "rmse"):
        assert not influence(name, zeros, 0.0 * ones).any()


def test_every_score_has_scikit_learns_name_and_a_task():
    assert set(SCORES) <= set(get_scorer_names())
    tasks = [("classification", 2), ("classification", 3), ("regression", 0), ("ranking", 0)]
    assert {name for task in tasks for name in task_scores(*task)} >= set(SCORES)
    for task in tasks:
        assert default_score(*task) in task_scores(*task)
        assert all(score_named(name) for name in task_scores(*task))
    for short, name in SHORT_NAMES.items():
        assert score_named(short) is score_named(name)


HALVES = ["ndcg@0", "ndcg@-1", "ndcg@", "ndcg@05", "ndcg@5.0", "ndcg@5:3", "precision@5:0", "precision@5 "]


@pytest.mark.parametrize("name", ["f2", *HALVES, 5, None, []])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match=r"score: expected 'accuracy', .*'log_loss'.*'precision@5'"):
        score_named(name)


@pytest.mark.parametrize("name", ["ndcg@0", "precision@5:0", "PRECISION@3"])
def test_names_with_places_are_refused_with_their_form(name):
    with pytest.raises(ParameterError, match=r"any k from 1.*may replace 5.*precision@k:g"):
        score_named(name)


@pytest.mark.parametrize(
    ("name", "y", "p"),
    [
        ("f1", np.array([0.0, 1.0, 3.0]), np.zeros(3)),
        ("log_loss", np.array([0.0, 1.0, 3.0]), np.zeros(3)),
        ("r2", np.array([0, 1, 1]), np.zeros(3)),
        ("ndcg@5", np.array([0, 1, 1]), np.zeros(3)),
        ("average_precision", np.array([0, 1, 2]), np.full((3, 3), 1 / 3)),
        ("precision", np.array([0, 1, 2]), np.full((3, 3), 1 / 3)),
        ("neg_median_absolute_error", np.array([0, 1, 1]), np.zeros(3)),
        ("matthews_corrcoef", np.array([0.0, 1.0, 3.0]), np.zeros(3)),
    ],
)
def test_scores_of_other_labels_are_refused(name, y, p):
    with pytest.raises(ParameterError, match=f"scoring: (regression|classification of . classes) has .*, not '{name}'"):
        refuse_unfit_score(name, y, p)


def test_scores_of_their_own_labels_are_not_refused():
    for task, n_classes in (("classification", 2), ("classification", 3), ("regression", 0), ("ranking", 0)):
        y = np.zeros(2, np.int64 if n_classes else np.float64)
        for name in task_scores(task, n_classes):
            refuse_unfit_score(name, y, np.zeros((2, 3) if n_classes == 3 else 2))
