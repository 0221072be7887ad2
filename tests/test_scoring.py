"""Scores, which are computed many times along a path, against scikit-learn's slower ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, ndcg_score, roc_auc_score

from costframe.training.scoring import accuracy, average_precision, ndcg_at_5, roc_auc

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


@given(seeds)
def test_ndcg_is_the_mean_of_scikit_learns_by_query(seed):
    rng, n, p = some(seed)
    y, qid = rng.integers(0, 4, n).astype(float), rng.integers(0, 4, n)
    found = [
        ndcg_score([2.0 ** y[qid == q] - 1], [p[qid == q]], k=5)
        for q in np.unique(qid)
        if (qid == q).sum() > 1 and y[qid == q].max() > 0
    ]
    assert ndcg_at_5(y, p, None, qid) == pytest.approx(np.mean(found) if found else 0.0)
    assert ndcg_at_5(y[:0], p[:0], None, None) == 0.0
