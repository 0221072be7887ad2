"""The single stage against dense twins, a general minimizer, and the evaluator."""

import naive_linear
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.calibration import calibrate
from costframe.stagewise.fitting import fit_at_price
from costframe.stagewise.normal import NormalEquations

seeds = st.integers(0, 10_000)


def drawn(seed, n=40, d=5, n_labels=1):
    """Columns as learners, labels of the first three, groups of learners, features and a resource."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)) + 2, rng.uniform(0.5, 2, n)
    y = X[:, :3] @ rng.standard_normal((3, n_labels)) + 0.3 * rng.standard_normal((n, n_labels))
    shared = np.vstack([np.eye(d), [1, 1, 0, 0, 1], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0]])
    groups = PricedGroups(sparse.csr_array(shared), rng.choice([0.0, 0.02, 0.1, 0.5], d + 3))
    outputs = BankOutputs.of(cf.WeakLearnerBank.columns([f"x{f}" for f in range(d)]), X)
    return X, y, w, groups, NormalEquations.of(outputs, y, w)


@given(seeds, st.integers(1, 3))
def test_sums_over_rows_give_losses_and_fits(seed, n_labels):
    H, y, w, groups, normal = drawn(seed, n_labels=n_labels)
    weights = np.random.default_rng(seed).standard_normal((H.shape[1], n_labels))
    free = PricedGroups(groups.member, np.zeros(len(groups.price)))
    assert normal.loss(weights) == pytest.approx(naive_linear.objective(H, y, w, free, weights, 0.0), rel=1e-9)
    scores = H @ weights + normal.intercept(weights)
    np.testing.assert_allclose(np.average(y - scores, axis=0, weights=w), 0, atol=1e-12)
    support = np.array([0, 2, 4])
    twin = naive_linear.ridge_fit(H, y, w, support, 0.3)[support]
    np.testing.assert_allclose(normal.columns(support).solve(np.full(3, 0.3)), twin, rtol=1e-9, atol=1e-12)


@given(seeds, st.sampled_from([1e-3, 0.1, 1.0, 30.0]))
def test_no_worse_than_everything_or_nothing(seed, tradeoff):
    H, y, w, groups, normal = drawn(seed)
    found = fit_at_price(normal, SampledPrices.whole(groups), tradeoff, 1e-2)
    ridge, priced = 1e-2 * np.median(np.diag(normal.gram)), groups.times(tradeoff)
    value = naive_linear.objective(H, y, w, priced, found, ridge)
    for other in (naive_linear.ridge_fit(H, y, w, np.arange(5), ridge), np.zeros((5, 1))):
        assert value <= naive_linear.objective(H, y, w, priced, other, ridge) * (1 + 1e-9)


def test_constant_learners_have_no_weight():
    X, y, w, groups, _ = drawn(0)
    X[:, 1], X[:, 3] = 5.0, 0.0
    outputs = BankOutputs.of(cf.WeakLearnerBank.columns([f"x{f}" for f in range(5)]), X)
    normal = NormalEquations.of(outputs, y, w)
    assert normal.varies.tolist() == [True, False, True, False, True]
    for tradeoff in (0.0, 0.01):
        found = fit_at_price(normal, SampledPrices.whole(groups), tradeoff, 1e-2)
        assert not found[[1, 3]].any()
        assert np.isfinite(found).all()
        assert found.any()


@settings(max_examples=25)
@given(seeds)
def test_calibration_is_a_logistic_regression(seed):
    rng = np.random.default_rng(seed)
    scores, w = rng.standard_normal(300), rng.uniform(0.5, 2, 300)
    codes = (scores + rng.standard_normal(300) > 0.3).astype(int)
    slope, constants = calibrate(np.stack([np.zeros(300), scores], axis=1), codes, w)
    both = np.repeat([[0], [1]], 300, axis=1).ravel()  # the softened labels, as two rows each
    total = w.sum()
    soft = (np.eye(2)[codes] * total + 0.5) / (total + 1)
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.tile(scores, 2)[:, None], both, np.concatenate([w * soft[:, 0], w * soft[:, 1]])
    )
    assert slope == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
    assert constants[1] - constants[0] == pytest.approx(oracle.intercept_[0], rel=1e-4, abs=1e-5)


def test_calibration_of_useless_and_of_perfect_scores():
    codes = np.arange(90) % 3
    slope, constants = calibrate(np.zeros((90, 3)), codes, np.ones(90))
    assert np.isfinite(slope)
    np.testing.assert_allclose(constants, 0, atol=1e-6)
    slope, _ = calibrate(np.eye(3)[codes], codes, np.ones(90))
    assert 3 < slope < 100
    slope, _ = calibrate(-np.eye(3)[codes], codes, np.ones(90))
    assert slope == 0
