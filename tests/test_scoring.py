"""Scores, which are computed many times along a path, against scikit-learn's slower ones and against counting."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from costframe.plugin import DataError, ParameterError
from costframe.training.basic_scores import SCORES, accuracy, average_precision, roc_auc
from costframe.training.scoring import (
    SHORT_NAMES,
    default_score,
    ndcg_at_5,
    refuse_unfit_score,
    score_named,
    task_scores,
)

seeds, ks = st.integers(0, 10_000), st.integers(1, 12)


def close(value):
    return pytest.approx(value, abs=1e-12)


@given(seeds)
def test_scores_are_scikit_learns_with_ties_and_weights(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    p, p3 = rng.integers(0, 4, n) / 4 if seed % 2 else rng.random(n), rng.dirichlet(np.ones(3), n)
    y, y3 = np.append([0, 1], rng.integers(0, 2, n - 2)), np.append([0, 1, 2], rng.integers(0, 3, n - 3))
    for w in (None, rng.random(n) + 0.1):
        how = {"sample_weight": w}
        assert average_precision(y, p, w, None) == close(metrics.average_precision_score(y, p, **how))
        assert accuracy(y3, p3, w, None) == close(metrics.accuracy_score(y3, p3.argmax(axis=1), **how))
        assert accuracy(y, p, w, None) == close(metrics.accuracy_score(y, p > 0.5, **how))
        for scores in (p, np.c_[1 - p, p]):
            assert roc_auc(y, scores, w, None) == close(metrics.roc_auc_score(y, p, **how))
            assert score_named("neg_log_loss")(y, scores, w, None) == pytest.approx(-metrics.log_loss(y, p, **how))
            f1 = metrics.f1_score(y, p > 0.5, zero_division=0.0, **how)
            assert score_named("f1")(y, scores, w, None) == pytest.approx(f1)
        assert score_named("log_loss")(y3, p3, w, None) == pytest.approx(-metrics.log_loss(y3, p3, **how))
        f1 = metrics.f1_score(y3, p3.argmax(axis=1), average="macro", **how)
        assert score_named("f1")(y3, p3, w, None) == pytest.approx(f1)
        error = metrics.root_mean_squared_error(5.0 * y3, p, **how)
        assert score_named("rmse")(5.0 * y3, p, w, None) == pytest.approx(-error)


def test_every_score_has_scikit_learns_name_and_a_task():
    assert set(SCORES) <= set(metrics.get_scorer_names())
    tasks = [("classification", 2), ("classification", 3), ("regression", 0), ("ranking", 0)]
    assert {name for task in tasks for name in task_scores(*task)} >= set(SCORES)
    for task, n_classes in tasks:
        assert default_score(task, n_classes) in task_scores(task, n_classes)
        y = np.zeros(2, np.int64 if n_classes else np.float64)
        for name in task_scores(task, n_classes):
            refuse_unfit_score(name, y, np.zeros((2, 3) if n_classes == 3 else 2))
    assert all(score_named(short) is score_named(name) for short, name in SHORT_NAMES.items())


@pytest.mark.parametrize("name", ["f2", "ndcg@0", "ndcg@05", "ndcg@5:3", "precision@5:0", "PRECISION@3", 5, None])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match=r"score: expected 'accuracy', .*'log_loss'.*'precision@5'"):
        score_named(name)


# --- the first places of queries ---


def some(seed, most=40):
    """Return grades, predictions (half of the seeds with ties) and queries that do not lie together."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    p = rng.integers(0, 4, n) / 4 if seed % 2 else rng.random(n)
    return rng, rng.integers(0, 5, n).astype(float), p, rng.integers(0, 4, n)


@given(seeds, ks)
def test_ndcg_is_the_mean_of_scikit_learns_by_query(seed, k):
    _, y, p, qid = some(seed)
    of = [(y[qid == q], p[qid == q]) for q in np.unique(qid)]
    found = [metrics.ndcg_score([2.0**y - 1], [p], k=k) for y, p in of if len(y) > 1 and y.max() > 0]
    expected = pytest.approx(np.mean(found) if found else 0.0)
    assert score_named(f"ndcg@{k}")(y, p, None, qid) == expected
    assert k != 5 or ndcg_at_5(y, p, None, qid) == expected


@given(seeds, ks)
def test_precision_is_the_mean_over_orders_that_the_predictions_allow(seed, k):
    """Documents of weight w are given w times, or as one block of w places."""
    rng, y, p, _ = some(seed, 6)
    times = rng.integers(1, 4, len(y))
    relevant, orders = y >= 3, (list(order) for order in permutations(range(len(y))))
    allowed = [order for order in orders if (np.diff(p[order]) <= 0).all()]
    reached = [np.repeat(relevant[order], times[order])[:k].sum() / k for order in allowed]
    found = score_named(f"precision@{k}:3")
    if not relevant.any():
        with pytest.raises(DataError, match=f"no row is relevant for precision@{k}:3, the highest grade is [012]"):
            found(y, p, None, None)
        return
    once, twice = found(y, p, times.astype(float), None), found(np.repeat(y, times), np.repeat(p, times), None, None)
    assert once == pytest.approx(twice)
    if len(np.unique(p)) == len(p) or (times == 1).all():
        assert once == pytest.approx(np.mean(reached))


def cut_average_precision(relevant, p, weight, k):
    """Go through the tied documents, best first; those at place k count in proportion."""
    hits = places = total = 0.0
    for value in sorted(set(p.tolist()), reverse=True):
        tied = p == value
        share = min(1.0, max(0.0, k - places) / weight[tied].sum())
        places += share * weight[tied].sum()
        more = share * (weight * relevant)[tied].sum()
        hits += more
        total += more * hits / places
    return total / min(k, (weight * relevant).sum())


@given(seeds, ks)
def test_average_precision_is_that_of_the_first_places(seed, k):
    rng, y, p, qid = some(seed)
    y[:2] = 0, 4
    for weight in (np.ones(len(y)), rng.random(len(y)) + 0.1):
        of = [(y[qid == q] >= 2, p[qid == q], weight[qid == q]) for q in np.unique(qid)]
        found = [cut_average_precision(*each, k) for each in of if each[0].any()]
        assert score_named(f"average_precision@{k}:2")(y, p, weight, qid) == pytest.approx(np.mean(found))
        expected = metrics.average_precision_score(y > 2, p, sample_weight=weight)
        assert score_named(f"average_precision@{10**15}")(y, p, weight, None) == pytest.approx(expected)


def test_queries_without_relevant_documents_do_not_count_and_relevant_is_above_half_of_the_largest_grade():
    y, qid, p = np.array([1.0, 0, 0, 0, 1]), np.array([7, 7, 8, 8, 9]), np.array([2.0, 1, 1, 2, 0])
    found = [score_named(f"{kind}@4")(y, p, None, qid) for kind in ("precision", "average_precision", "ndcg")]
    assert found == [0.25, 1, 1]  # one document is in order
    for most, relevant in ((1, 1), (2, 2), (3, 2), (4, 3)):
        y = np.arange(most + 1.0)
        assert score_named("precision@2")(y, -y, None, None) == score_named(f"precision@2:{relevant}")(
            y, -y, None, None
        )
