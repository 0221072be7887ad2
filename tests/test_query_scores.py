"""Scores of the first places of queries, against scikit-learn and against counting."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from costframe.core.errors import DataError
from costframe.training.scoring import ndcg_at_5, score_label, score_named

seeds, ks = st.integers(0, 10_000), st.integers(1, 12)


def some(seed, most=40):
    """Return grades, predictions (half of the seeds with ties) and queries that do not lie together."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    p = rng.integers(0, 4, n) / 4 if seed % 2 else rng.random(n)
    return rng, rng.integers(0, 5, n).astype(float), p, rng.integers(0, 4, n)


@given(seeds, ks)
def test_ndcg_is_the_mean_of_scikit_learns_by_query(seed, k):
    _, y, p, qid = some(seed)
    found = [
        ndcg_score([2.0 ** y[qid == q] - 1], [p[qid == q]], k=k)
        for q in np.unique(qid)
        if (qid == q).sum() > 1 and y[qid == q].max() > 0
    ]
    expected = pytest.approx(np.mean(found) if found else 0.0)
    assert score_named(f"ndcg@{k}")(y, p, None, qid) == expected
    if k == 5:
        assert ndcg_at_5(y, p, None, qid) == expected


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
    assume((y >= 2).any())
    for weight in (np.ones(len(y)), rng.random(len(y)) + 0.1, rng.integers(1, 4, len(y)).astype(float)):
        of = [(y[qid == q] >= 2, p[qid == q], weight[qid == q]) for q in np.unique(qid)]
        found = [cut_average_precision(*each, k) for each in of if each[0].any()]
        expected = pytest.approx(np.mean(found) if found else 0.0)
        assert score_named(f"average_precision@{k}:2")(y, p, weight, qid) == expected
    whole = weight.astype(int)
    repeated = (np.repeat(each, whole) for each in (y, p, qid))
    again, of_rows, of_queries = repeated
    assert score_named(f"average_precision@{k}:2")(again, of_rows, None, of_queries) == expected


@given(seeds)
def test_average_precision_of_all_places_is_scikit_learns(seed):
    rng, y, p, _ = some(seed)
    y[:2] = 0, 4
    for weight in (None, rng.random(len(y)) + 0.1):
        expected = average_precision_score(y > 2, p, sample_weight=weight)
        assert score_named(f"average_precision@{10**15}")(y, p, weight, None) == pytest.approx(expected)


@pytest.mark.parametrize(("grades", "relevant"), [([0, 1], 1), ([0, 1, 2], 2), ([0, 1, 2, 3], 2), ([0, 1, 2, 3, 4], 3)])
def test_relevant_is_above_half_of_the_largest_grade(grades, relevant):
    y, p = np.array(grades, float), -np.array(grades, float)
    for kind in ("precision", "average_precision"):
        scores = [score_named(f"{kind}@2{rule}") for rule in ("", *(f":{grade}" for grade in range(1, relevant + 1)))]
        values = [score(y, p, None, None) for score in scores]
        assert values[0] == values[-1]
        assert len(grades) < 4 or values[0] != values[1]


def test_empty_places_are_misses_and_queries_without_relevant_documents_do_not_count():
    y, qid = np.array([1.0, 0, 0, 0, 1]), np.array([7, 7, 8, 8, 9])
    p = np.array([2.0, 1, 1, 2, 0])
    assert score_named("precision@4")(y, p, None, qid) == 0.25
    assert score_named("average_precision@4")(y, p, None, qid) == 1
    assert score_named("ndcg@4")(y, p, None, qid) == 1  # one document is in order


@pytest.mark.parametrize("name", ["ndcg@5", "precision@5", "average_precision@5"])
def test_nothing_to_count_scores_zero_and_weights_of_zero_count_nothing(name):
    score, y, p = score_named(name), np.array([1.0, 0, 1]), np.array([3.0, 2, 1])
    assert score(y[:0], p[:0], None, None) == 0.0
    assert score(0 * y, p, None, None) == 0.0
    if name != "ndcg@5":
        shown = np.array([1.0, 1.0, 0.0])
        assert score(y, p, shown, None) == score(y[:2], p[:2], None, None)
        assert score(y, p, 0 * shown, None) == 0.0


def test_pictures_name_them():
    labels = [score_label(name) for name in ("ndcg@10", "precision@5", "average_precision@3:2", "rmse_of_mine")]
    assert labels == ["NDCG@10", "precision@5", "average precision@3, relevant from grade 2", "rmse_of_mine"]
