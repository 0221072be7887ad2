"""Losses of boosted trees: finite differences, definitions written out, and what weights, queries and extremes mean."""

from itertools import permutations
from math import exp, log2

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe.plugin import DataError, ParameterError, Rows
from costframe.training import losses
from costframe.training.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from costframe.trees import LambdaRankLoss
from costframe.trees.ranking import PairwiseLoss, ranking_loss

pytestmark = pytest.mark.engine

LOSSES = [SquaredLoss(), LogisticLoss(), SoftmaxLoss(2), SoftmaxLoss(4)]
RANKINGS = [LambdaRankLoss(), LambdaRankLoss(2), PairwiseLoss()]
seeds = st.integers(0, 2**32 - 1)


def rows_of(y, qid=None, weight=None):
    y = np.asarray(y)
    return Rows(np.empty((len(y), 0)), y, np.ones(len(y)) if weight is None else np.asarray(weight, float), qid)


def draw(loss, rng, n=9):
    y = rng.standard_normal(n) if isinstance(loss, SquaredLoss) else rng.integers(0, max(2, loss.n_outputs), n)
    return y, 2 * rng.standard_normal((n, loss.n_outputs))


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=30)
@given(seed=seeds, weighted=st.booleans())
def test_gradients_are_finite_differences_and_no_constant_is_better_than_the_baseline(loss, seed, weighted):
    rng = np.random.default_rng(seed)
    y, scores = draw(loss, rng)
    g, h = loss.gradients(y, scores)
    step = 1e-4
    for row, k in np.ndindex(scores.shape):
        low, middle, high = (
            loss.mean(y[[row]], scores[[row]] + by * np.eye(loss.n_outputs)[[k]]) for by in (-step, 0.0, step)
        )
        assert g[row, k] == pytest.approx((high - low) / (2 * step), abs=1e-5)
        assert h[row, k] == pytest.approx((high - 2 * middle + low) / step**2, abs=1e-4)
    w = rng.random(len(y)) + 0.1 if weighted else None
    baseline = loss.baseline(rows_of(y, weight=w))
    best, other = (
        loss.mean(y, np.tile(constant, (len(y), 1)), w)
        for constant in (baseline, baseline + 0.01 * rng.standard_normal(loss.n_outputs))
    )
    assert best <= other + 1e-12


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(2), SoftmaxLoss(3)])
@pytest.mark.parametrize("score", [1e-300, 800.0, -1e300])
def test_large_scores_are_stable_and_an_absent_class_has_a_finite_baseline(loss, score):
    y, scores = np.array([0, 1]), np.zeros((2, loss.n_outputs))
    scores[:, 0] = score
    g, h = loss.gradients(y, scores)
    assert (np.abs(g) <= 1).all()
    assert (h > 0).all()
    assert np.isfinite(loss.mean(y, scores))
    baseline = loss.baseline(rows_of(y * 0))
    assert np.isfinite(baseline).all()
    assert loss.mean(y * 0, np.tile(baseline, (2, 1))) < 1e-12


def test_gradients_have_the_digits_of_single_precision_at_any_score():
    scores = np.concatenate([np.linspace(-45, 45, 999), [-800.0, -90.0, 1e-300, 0.0, 90.0, 800.0]])[:, np.newaxis]
    for label in (0, 1):
        y, p = np.full(len(scores), label), scipy.special.expit(scores)
        wrong = p if label == 0 else -scipy.special.expit(-scores)
        both = np.hstack([-scores, scores])
        for g, h, expected, curved in (
            (*LogisticLoss().gradients(y, scores), wrong, p * scipy.special.expit(-scores)),
            (*(each[:, 1:] for each in SoftmaxLoss(2).gradients(y, both / 2)), p - label, p * (1 - p)),
        ):
            np.testing.assert_allclose(g, expected, rtol=1e-7, atol=1e-38)
            np.testing.assert_allclose(h, np.maximum(curved, 1e-16), rtol=1e-7)


@pytest.mark.parametrize("order", ["C", "F"])
def test_gradients_are_the_same_in_any_strips_and_threads(order):
    rng = np.random.default_rng(0)
    for loss in LOSSES:
        y, scores = draw(loss, rng, losses._ROWS_WORTH_THREADS)
        scores = np.asarray(scores, order=order)
        for found, plain, part in zip(
            loss.gradients(y, scores, n_threads=3),
            loss.gradients(y, scores),
            loss.gradients(y[-5:], scores[-5:]),
            strict=True,
        ):
            assert np.array_equal(found, plain)
            assert np.array_equal(plain[-5:], part)


# --- rankings: one query of unit weights, loops over pairs and positions ------------------------------------------


def ndcg_of_order(order, grades, truncation):
    def gain(some):
        return sum((2.0 ** grades[i] - 1) / log2(2 + at) for at, i in enumerate(some[:truncation]))

    return gain(order) / gain(sorted(order, key=lambda i: -grades[i]))


def orders(scores):
    """All orders that the scores allow."""
    found = [list(each) for each in permutations(range(len(scores)))]
    return [each for each in found if all(np.diff(scores[each]) <= 0)]


def lost_ndcg(scores, grades, truncation):
    """1 - NDCG, in the mean over all orders that the scores allow."""
    return 1 - np.mean([ndcg_of_order(each, grades, truncation) for each in orders(scores)])


def pair_weight(i, j, scores, grades, truncation):
    """What NDCG changes by when i and j change places, in the mean over all orders that the scores allow."""
    changes = []
    for order in orders(scores):
        swapped = [{i: j, j: i}.get(row, row) for row in order]
        changes.append(abs(ndcg_of_order(order, grades, truncation) - ndcg_of_order(swapped, grades, truncation)))
    return np.mean(changes)


def lambdas(scores, grades, truncation):
    """(first, second derivatives), normalized; and what the bound is for constant scores."""
    first, second, total, bound = np.zeros(len(scores)), np.zeros(len(scores)), 0.0, 0.0
    for i, j in permutations(range(len(scores)), 2):
        if grades[i] <= grades[j]:
            continue
        bound += pair_weight(i, j, 0 * scores, grades, truncation)
        weight = pair_weight(i, j, scores, grades, truncation)
        if max(scores) > min(scores):
            weight /= 0.01 + abs(scores[i] - scores[j])
        wrong = 1 / (1 + exp(scores[i] - scores[j]))
        first[[i, j]] += weight * wrong * np.array([-1, 1])
        second[[i, j]] += weight * wrong * (1 - wrong)
        total += 2 * weight * wrong
    factor = log2(1 + total) / total if total else 0.0
    return factor * first, factor * second, np.log1p(bound)


def pair_loss(scores, grades):
    """Mean of log(1 + exp(low - high)) over pairs of different grades."""
    pairs = [(i, j) for i, j in permutations(range(len(scores)), 2) if grades[i] > grades[j]]
    return np.mean([np.log1p(exp(scores[j] - scores[i])) for i, j in pairs])


def draw_queries(seed, n=14, n_queries=3, grades=3):
    """Rows whose queries do not lie together, with some scores that tie."""
    rng = np.random.default_rng(seed)
    scores = np.round(2 * rng.standard_normal((n, 1))) / 2
    return rng.integers(0, grades, n).astype(float), scores, rng.integers(0, n_queries, n), rng


def both(loss, rows, scores, **more):
    return loss.for_rows(rows).gradients(rows.y, scores, **more)


@settings(max_examples=15)
@given(seed=seeds, truncation=st.integers(1, 6))
def test_lambdarank_is_the_mean_over_all_orders_of_what_swaps_change(seed, truncation):
    y, scores, qid, _ = draw_queries(seed, 9, 2)
    loss = LambdaRankLoss(truncation)
    gradient, hessian = both(loss, rows_of(y, qid), scores)
    queries = [qid == q for q in (0, 1) if len(set(y[qid == q])) > 1]
    if not queries or max(q.sum() for q in queries) > 6:
        return
    twins = [lambdas(scores[q, 0], y[q], truncation) for q in queries]
    lost = [lost_ndcg(0 * y[q], y[q], truncation) for q in queries]
    scale = 9 / len(queries) * sum(lost) / sum(bound for *_, bound in twins)
    for q, (first, second, _) in zip(queries, twins, strict=True):
        assert gradient[q, 0] == pytest.approx(scale * first, rel=1e-5, abs=1e-6)
        assert hessian[q, 0] == pytest.approx(scale * second, rel=1e-5, abs=1e-6)
    mean = np.mean([lost_ndcg(scores[q, 0], y[q], truncation) for q in queries])
    assert loss.for_rows(rows_of(y, qid)).mean(y, scores) == pytest.approx(mean, abs=1e-12)


@settings(max_examples=30)
@given(seed=seeds, kind=st.sampled_from(["none", "whole", "fractions"]))
def test_pairwise_loss_is_a_mean_over_pairs_and_its_gradients_are_finite_differences(seed, kind):
    y, scores, qid, rng = draw_queries(seed)
    queries = [qid == q for q in range(3) if len(set(y[qid == q])) > 1]
    each = [pair_loss(scores[q, 0], y[q]) for q in queries] or [0.0]
    assert PairwiseLoss().for_rows(rows_of(y, qid)).mean(y, scores) == pytest.approx(np.mean(each), rel=1e-12)
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


@pytest.mark.parametrize("loss", RANKINGS)
@settings(max_examples=25)
@given(seed=seeds, whole_queries=st.booleans())
def test_whole_weights_are_repetitions_of_rows_or_of_queries(loss, seed, whole_queries):
    """The weight that all rows of a query share is how often the query is given."""
    y, scores, qid, rng = draw_queries(seed)
    if whole_queries:
        weight = np.where(qid == 0, 3, 1)
        again = np.concatenate([np.arange(14), np.flatnonzero(qid == 0), np.flatnonzero(qid == 0)])
        queries = np.concatenate([qid, np.full((qid == 0).sum(), 3), np.full((qid == 0).sum(), 4)])
    else:
        weight = rng.integers(1, 4, 14)
        weight[[np.flatnonzero(qid == q)[0] for q in set(qid)]] = 1
        for q in set(qid):
            if (weight[qid == q] == weight[qid == q][0]).all():
                weight[qid == q] = 1
        again = rng.permutation(np.repeat(np.arange(14), weight))
        queries = qid[again]
    rows, repeated = rows_of(y, qid, weight), rows_of(y[again], queries)
    for one, other in zip(both(loss, rows, scores), both(loss, repeated, scores[again]), strict=True):
        assert one[again] == pytest.approx(other, rel=1e-5, abs=1e-6)
    one, other = loss.for_rows(rows).mean(y, scores), loss.for_rows(repeated).mean(y[again], scores[again])
    assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", RANKINGS)
def test_neither_threads_nor_the_order_of_rows_change_the_result(loss):
    rng, n = np.random.default_rng(0), 3000
    y, scores, qid = rng.integers(0, 5, n).astype(float), rng.standard_normal((n, 1)), rng.integers(0, 8, n)
    one, two = (both(loss, rows_of(y, qid), scores, n_threads=threads) for threads in (1, 3))
    assert all(map(np.array_equal, one, two))
    order = rng.permutation(n)
    shuffled = both(loss, rows_of(y[order], qid[order]), scores[order])
    assert one[0][order] == pytest.approx(shuffled[0], rel=1e-5, abs=1e-6)
    assert float(one[0].sum()) == pytest.approx(0, abs=1e-2)  # what pulls one row up pulls another down


@pytest.mark.parametrize("loss", RANKINGS)
@pytest.mark.parametrize("size", [0.0, 800.0, 1e300])
def test_nothing_overflows_and_queries_without_two_grades_teach_nothing(loss, size):
    y = np.array([0.0, 100.0, 99.0, 1e-20, 0.0, 3.0, 1.0, 2.0, 2.0])
    qid = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2])
    scores = size * np.array([[1.0], [-1.0], [0.5], [0.0], [-1.0], [1.0], [1.0], [-1.0], [1.0]])
    ready = loss.for_rows(rows_of(y, qid))
    gradient, hessian = ready.gradients(y, scores)
    assert np.isfinite(gradient).all()
    assert (hessian >= 0).all()
    assert np.isfinite(ready.mean(y, scores))
    assert gradient[1] < 0 or size == 1e300  # the best row is pulled up from wherever it is, short of underflow
    assert not gradient[6:].any()
    assert not hessian[6:].any()
    alone = loss.for_rows(rows_of(y[:6], qid[:6])).mean(y[:6], scores[:6])
    assert ready.mean(y, scores) == pytest.approx(alone)
    nothing = loss.for_rows(rows_of(y[6:], qid[6:]))
    assert nothing.mean(y[6:], scores[6:]) == 0
    assert not np.array(nothing.gradients(y[6:], scores[6:])).any()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: LogisticLoss().gradients(np.array([0, 2]), np.zeros((2, 1))), DataError, "class numbers"),
        (lambda: PairwiseLoss().for_rows(rows_of([0, 1])), DataError, "qid: expected the query of each row"),
        (lambda: ranking_loss("ndcg"), ParameterError, "objective: expected None, 'lambdarank', .* got 'ndcg'"),
        (lambda: LambdaRankLoss(0), ParameterError, "truncation: must be at least 1, got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
