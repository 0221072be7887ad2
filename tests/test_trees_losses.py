import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.errors import DataError
from costframe.training.data import Rows
from costframe.trees.boosting import losses
from costframe.trees.boosting.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

LOSSES = [SquaredLoss(), LogisticLoss(), SoftmaxLoss(2), SoftmaxLoss(4)]
seeds = st.integers(0, 2**32 - 1)


def draw(loss, rng, n=9):
    y = rng.standard_normal(n) if isinstance(loss, SquaredLoss) else rng.integers(0, max(2, loss.n_outputs), n)
    return y, 2 * rng.standard_normal((n, loss.n_outputs))


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds)
def test_gradients_are_finite_differences_of_the_loss(loss, seed):
    rng = np.random.default_rng(seed)
    y, scores = draw(loss, rng)
    g, h = loss.gradients(y, scores)
    assert g.dtype == (np.float64 if isinstance(loss, SquaredLoss) else np.float32)
    assert h.dtype == np.float32
    assert g.shape == h.shape == scores.shape
    assert g.flags.f_contiguous
    assert h.flags.f_contiguous
    step = 1e-4
    for row, k in np.ndindex(scores.shape):
        low, middle, high = (loss.mean(y[[row]], shifted(scores, row, k, by)) for by in (-step, 0.0, step))
        assert g[row, k] == pytest.approx((high - low) / (2 * step), abs=1e-5)
        assert h[row, k] == pytest.approx((high - 2 * middle + low) / step**2, abs=1e-4)


def shifted(scores, row, k, by):
    changed = scores[[row]].copy()
    changed[0, k] += by
    return changed


def rows_of(y, weight=None):
    return Rows(np.empty((len(y), 0)), y, np.ones(len(y)) if weight is None else weight)


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds, weighted=st.booleans())
def test_no_constant_is_better_than_the_baseline(loss, seed, weighted):
    rng = np.random.default_rng(seed)
    y, _ = draw(loss, rng)
    w = rng.random(len(y)) + 0.1 if weighted else None
    baseline = loss.baseline(rows_of(y, w))
    assert baseline.shape == (loss.n_outputs,)
    best = loss.mean(y, np.tile(baseline, (len(y), 1)), w)
    other = baseline + 0.01 * rng.standard_normal(loss.n_outputs)
    assert best <= loss.mean(y, np.tile(other, (len(y), 1)), w) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_a_row_given_twice(loss):
    rng = np.random.default_rng(0)
    y, scores = draw(loss, rng)
    w = rng.integers(0, 3, len(y))
    w[0] = 2
    twice = np.repeat(np.arange(len(y)), w)
    assert loss.mean(y, scores, w) == pytest.approx(loss.mean(y[twice], scores[twice]), rel=1e-13)
    assert loss.baseline(rows_of(y, w)) == pytest.approx(loss.baseline(rows_of(y[twice])), rel=1e-13)


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(2), SoftmaxLoss(3)])
@pytest.mark.parametrize("score", [1e-300, 30.0, 800.0, 1e300])
def test_large_scores_are_stable(loss, score):
    y = np.array([0, 1])
    for sign in (1, -1):
        scores = np.zeros((2, loss.n_outputs))
        scores[:, 0] = sign * score
        g, h = loss.gradients(y, scores)
        assert np.isfinite(g).all()
        assert (np.abs(g) <= 1).all()
        assert (h > 0).all()
        assert np.isfinite(loss.mean(y, scores))


def test_tiny_probabilities_keep_their_digits():
    g, h = LogisticLoss().gradients(np.array([1, 0]), np.array([[60.0], [-60.0]]))
    assert g[:, 0] == pytest.approx([-np.exp(-60), np.exp(-60)], rel=1e-6)
    assert h[:, 0] == pytest.approx([1e-16, 1e-16])


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(3)])
def test_an_absent_class_has_a_finite_baseline(loss):
    for y in (np.zeros(4, int), np.ones(4, int)):
        baseline = loss.baseline(rows_of(y))
        assert np.isfinite(baseline).all()
        assert loss.mean(y, np.tile(baseline, (4, 1))) < 1e-12


def test_more_rows_than_fit_in_one_strip():
    rng = np.random.default_rng(0)
    for loss in LOSSES:
        y, scores = draw(loss, rng, 20_000)
        whole, part = loss.gradients(y, scores), loss.gradients(y[-5:], scores[-5:])
        assert np.array_equal(whole[0][-5:], part[0])
        assert np.array_equal(whole[1][-5:], part[1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_gradients_are_the_same_with_any_number_of_threads(order):
    rng = np.random.default_rng(0)
    for loss in LOSSES:
        y, scores = draw(loss, rng, losses._ROWS_WORTH_THREADS)
        scores = np.asarray(scores, order=order)
        before, expected = scores.copy(), loss.gradients(y, scores)
        for n_threads in (2, 3):
            for found, plain in zip(loss.gradients(y, scores, n_threads=n_threads), expected, strict=True):
                assert np.array_equal(found, plain)
        assert np.array_equal(scores, before)


@pytest.mark.parametrize("size", [1e-70, 1.0, 1e70])
def test_residuals_of_any_size_have_the_digits_of_single_precision(size):
    y, scores = np.random.default_rng(0).standard_normal((2, 50, 1)) * size
    g, _ = SquaredLoss().gradients(y[:, 0], scores)
    assert g == pytest.approx(scores - y, rel=1e-7, abs=0)
    digits = np.frexp(g)[0]
    assert np.array_equal(digits, digits.astype(np.float32))


def test_links():
    assert [loss.link for loss in LOSSES] == ["identity", "sigmoid", "softmax", "softmax"]


@pytest.mark.parametrize("y", [[0, 2], [-1, 0], [0.5, 1.0], [[0], [1]]])
def test_what_is_no_class_is_refused(y):
    with pytest.raises(DataError, match="class numbers"):
        LogisticLoss().gradients(np.array(y), np.zeros((2, 1)))
