"""Ranking losses against their naive twins, finite differences, and what weights and queries mean."""

import naive_ranking
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe.core.errors import DataError, ParameterError
from costframe.training.data import Rows
from costframe.training.scoring import ndcg_at_5
from costframe.trees.boosting.losses import SquaredLoss
from costframe.trees.boosting.ranking import LambdaRankLoss, PairwiseLoss, ranking_loss

pytestmark = pytest.mark.engine

LOSSES = [LambdaRankLoss(), LambdaRankLoss(2), PairwiseLoss()]
seeds = st.integers(0, 2**32 - 1)


def rows_of(y, qid, weight=None):
    y = np.asarray(y, float)
    return Rows(np.zeros((len(y), 1)), y, np.ones(len(y)) if weight is None else np.asarray(weight, float), qid)


def draw(seed, n=14, n_queries=3, grades=3):
    """Rows whose queries do not lie together, with some scores that tie."""
    rng = np.random.default_rng(seed)
    scores = np.round(2 * rng.standard_normal((n, 1))) / 2
    return rng.integers(0, grades, n).astype(float), scores, rng.integers(0, n_queries, n), rng


def both(loss, rows, scores, **more):
    return loss.for_rows(rows).gradients(rows.y, scores, **more)


@settings(max_examples=25)
@given(seed=seeds, truncation=st.integers(1, 6))
def test_lambdarank_is_the_mean_over_all_orders_of_what_swaps_change(seed, truncation):
    """Against the definition itself: every order that the scores allow, every pair swapped in it."""
    y, scores, qid, _ = draw(seed, 10, 2)
    loss = LambdaRankLoss(truncation)
    gradient, hessian = both(loss, rows_of(y, qid), scores)
    queries = [qid == q for q in (0, 1) if len(set(y[qid == q])) > 1]
    bounds = [naive_ranking.bound_of_constant(y[q], truncation) for q in queries if q.sum() <= 6]
    if not queries or len(bounds) < len(queries):
        return
    lost = [naive_ranking.lost_ndcg(0 * y[q], y[q], truncation) for q in queries]
    scale = 10 / len(queries) * sum(lost) / sum(bounds)
    for q in queries:
        first, second = naive_ranking.lambdas(scores[q, 0], y[q], truncation)
        assert gradient[q, 0] == pytest.approx(scale * np.array(first), rel=1e-5, abs=1e-6)
        assert hessian[q, 0] == pytest.approx(scale * np.array(second), rel=1e-5, abs=1e-6)
    mean = np.mean([naive_ranking.lost_ndcg(scores[q, 0], y[q], truncation) for q in queries])
    assert loss.for_rows(rows_of(y, qid)).mean(y, scores) == pytest.approx(mean, abs=1e-12)


@given(seed=seeds)
def test_pairwise_loss_is_the_mean_over_queries_of_that_over_pairs(seed):
    y, scores, qid, _ = draw(seed)
    queries = [qid == q for q in range(3) if len(set(y[qid == q])) > 1]
    each = [naive_ranking.pair_loss(scores[q, 0], y[q]) for q in queries] or [0.0]
    assert PairwiseLoss().for_rows(rows_of(y, qid)).mean(y, scores) == pytest.approx(np.mean(each), rel=1e-12)


@given(seed=seeds, kind=st.sampled_from(["none", "whole", "fractions"]))
def test_pairwise_gradients_are_finite_differences_of_the_loss(seed, kind):
    y, scores, qid, rng = draw(seed)
    weights = {"none": np.ones(14), "whole": rng.integers(1, 4, 14), "fractions": rng.uniform(0.1, 3, 14)}[kind]
    rows, step = rows_of(y, qid, weights), 1e-4
    loss = PairwiseLoss().for_rows(rows)
    gradient, hessian = loss.gradients(y, scores)
    for i in range(14):
        shift = step * (np.arange(14) == i)[:, np.newaxis]
        low, middle, high = (loss.mean(y, scores + by * shift) for by in (-1, 0, 1))
        unit = rows.total_weight / weights[i]  # the sum over rows, by a unit of this row's weight
        assert gradient[i, 0] == pytest.approx(unit * (high - low) / (2 * step), abs=1e-4)
        assert hessian[i, 0] == pytest.approx(unit * (high - 2 * middle + low) / step**2, abs=2e-3)


@given(seed=seeds)
def test_ndcg_lost_is_that_of_the_score_users_know(seed):
    """At truncation five; and the score counts queries whose relevant rows are all alike, in which nothing is lost."""
    y, scores, qid, _ = draw(seed, 40)
    loss = LambdaRankLoss(5).for_rows(rows_of(y, qid))
    differ = np.array([len(set(y[qid == q])) > 1 for q in range(3)])
    if differ.all():
        assert loss.mean(y, scores) == pytest.approx(1 - ndcg_at_5(y, scores[:, 0], None, qid), abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds)
def test_uneven_whole_weights_are_repetitions_of_rows(loss, seed):
    y, scores, qid, rng = draw(seed)
    weight = rng.integers(1, 4, 14)
    weight[[np.flatnonzero(qid == q)[0] for q in set(qid)]] = 1  # else the query itself is what is repeated
    for q in set(qid):
        if (weight[qid == q] == weight[qid == q][0]).all():
            weight[qid == q] = 1
    again = rng.permutation(np.repeat(np.arange(14), weight))
    rows, repeated = rows_of(y, qid, weight), rows_of(y[again], qid[again])
    for one, other in zip(both(loss, rows, scores), both(loss, repeated, scores[again]), strict=True):
        assert one[again] == pytest.approx(other, rel=1e-5, abs=1e-6)
    one, other = loss.for_rows(rows).mean(y, scores), loss.for_rows(repeated).mean(y[again], scores[again])
    assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds)
def test_the_weight_that_rows_of_a_query_share_is_how_often_the_query_is_given(loss, seed):
    y, scores, qid, _ = draw(seed)
    again = np.concatenate([np.arange(14), np.flatnonzero(qid == 0), np.flatnonzero(qid == 0)])
    queries = np.concatenate([qid, np.full((qid == 0).sum(), 3), np.full((qid == 0).sum(), 4)])
    rows, repeated = rows_of(y, qid, np.where(qid == 0, 3, 1)), rows_of(y[again], queries)
    for one, other in zip(both(loss, rows, scores), both(loss, repeated, scores[again]), strict=True):
        assert one[again] == pytest.approx(other, rel=1e-5, abs=1e-6)
    one, other = loss.for_rows(rows).mean(y, scores), loss.for_rows(repeated).mean(y[again], scores[again])
    assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [1e-70, 0.3, 2.0, 1e70])
def test_equal_weights_of_any_size_change_nothing(loss, weight):
    y, scores, qid, _ = draw(1)
    plain, weighted = rows_of(y, qid), rows_of(y, qid, np.full(14, weight))
    for one, other in zip(both(loss, plain, scores), both(loss, weighted, scores), strict=True):
        assert one == pytest.approx(other, rel=1e-6)
    means = [loss.for_rows(rows).mean(y, scores) for rows in (plain, weighted)]
    assert means[0] == pytest.approx(means[1])


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=5)
@given(seed=seeds)
def test_neither_threads_nor_the_order_of_rows_change_the_result(loss, seed):
    rng = np.random.default_rng(seed)
    n = 3000
    y, scores, qid = rng.integers(0, 5, n).astype(float), rng.standard_normal((n, 1)), rng.integers(0, 8, n)
    one, two, three = (both(loss, rows_of(y, qid), scores, n_threads=threads) for threads in (1, 2, 3))
    for k in range(2):
        assert np.array_equal(one[k], two[k])
        assert np.array_equal(one[k], three[k])
    order = rng.permutation(n)
    shuffled = both(loss, rows_of(y[order], qid[order]), scores[order])
    assert one[0][order] == pytest.approx(shuffled[0], rel=1e-5, abs=1e-6)
    assert float(one[0].sum()) == pytest.approx(0, abs=1e-2)  # what pulls one row up pulls another down


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 800.0, 1e300])
def test_nothing_overflows(loss, size):
    y = np.array([0.0, 100.0, 99.0, 1e-20, 0.0, 3.0])
    scores = size * np.array([[1.0], [-1.0], [0.5], [0.0], [-1.0], [1.0]])
    loss = loss.for_rows(rows_of(y, np.zeros(6, int)))
    gradient, hessian = loss.gradients(y, scores)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert (hessian >= 0).all()
    assert np.isfinite(loss.mean(y, scores))
    assert gradient[1] < 0 or size == 1e300  # the best row is pulled up from wherever it is, short of underflow


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_without_two_grades_teach_nothing(loss):
    y, qid = np.array([1.0, 2.0, 2.0, 0.0, 0.0, 1.0, 0.0]), np.array([0, 1, 1, 2, 2, 3, 3])
    scores = np.arange(7.0)[:, np.newaxis]
    gradient, hessian = both(loss, rows_of(y, qid), scores)
    assert not gradient[:5].any()
    assert not hessian[:5].any()
    assert gradient[5] < 0 < gradient[6]
    alone = loss.for_rows(rows_of(y[5:], qid[5:])).mean(y[5:], scores[5:])
    assert loss.for_rows(rows_of(y, qid)).mean(y, scores) == pytest.approx(alone)
    nothing = loss.for_rows(rows_of(y[:5], qid[:5]))
    assert nothing.mean(y[:5], scores[:5]) == 0
    assert not np.array(nothing.gradients(y[:5], scores[:5])).any()


def test_the_bound_is_the_loss_for_constant_scores():
    """So that gains of splits are in units of NDCG."""
    y, _, qid, _ = draw(3)
    _, hessian = both(LambdaRankLoss(), rows_of(y, qid), np.zeros((14, 1)))
    bound = 2 * np.log(2) * hessian.sum() / 14
    assert bound == pytest.approx(LambdaRankLoss().for_rows(rows_of(y, qid)).mean(y, np.zeros((14, 1))), rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_makes_no_sense_is_refused(loss):
    with pytest.raises(DataError, match="qid: expected the query of each row"):
        loss.for_rows(rows_of([0, 1], None))
    with pytest.raises(DataError, match=r"scores: must have shape \(2, 1\), got \(3, 1\)"):
        both(loss, rows_of([0, 1], np.zeros(2, int)), np.zeros((3, 1)))
    assert loss.n_outputs == 1
    assert loss.link == "identity"
    assert loss.baseline([1, 2]).tolist() == [0.0]


def test_losses_are_known_by_name():
    assert ranking_loss(None) == ranking_loss("lambdarank") == LambdaRankLoss(30)
    assert ranking_loss("pairwise") == PairwiseLoss()
    assert ranking_loss("squared") == SquaredLoss()
    with pytest.raises(
        ParameterError, match="objective: expected None, 'lambdarank', 'pairwise' or 'squared', got 'ndcg'"
    ):
        ranking_loss("ndcg")
    with pytest.raises(ParameterError, match="truncation: must be at least 1, got 0"):
        LambdaRankLoss(0)
