"""Fits of one stage over a bank, with prices: against dense twins that make every number anew, and hard banks."""

import naive_stagewise as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from stagewise_cases import outputs_of

from costframe.plugin import PricedGroups, SampledPrices
from costframe.stagewise import NormalEquations, fit_at_price, fitting
from costframe.stagewise.calibration import calibrate
from costframe.stagewise.fitting import forward_select, prune_groups
from costframe.stagewise.linear_systems import ShrinkingInverse, solve_scaled

seeds = st.integers(0, 10_000)


def drawn(seed, n=60, d=25, n_labels=1, prices=(0.0, 0.002, 0.02, 0.1)):
    """Columns that resemble each other as learners; each needs some of five features and perhaps a resource."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + rng.standard_normal((n, d)) + 2
    y = X[:, :3] @ rng.standard_normal((min(3, d), n_labels)) + rng.standard_normal((n, n_labels))
    shared = np.vstack([np.eye(d), rng.random((5, d)) < 0.3, rng.random((1, d)) < 0.8]).astype(float)
    groups = PricedGroups(sparse.csr_array(shared), rng.choice(prices, d + 6))
    w = rng.uniform(0.5, 2, n)
    return X, y, w, groups, NormalEquations.of(outputs_of(X), y, w)


@settings(max_examples=30)
@given(seeds, st.integers(1, 3), st.sampled_from([1e-3, 0.1, 1.0, 30.0]))
def test_sums_give_losses_and_fits_and_a_fit_at_a_price_is_no_worse_than_all_or_nothing(seed, n_labels, tradeoff):
    H, y, w, groups, normal = drawn(seed, d=6, n_labels=n_labels)
    weights = np.random.default_rng(seed).standard_normal((6, n_labels))
    assert normal.loss(weights) == pytest.approx(naive.objective(H, y, w, groups.times(0.0), weights, 0.0), rel=1e-9)
    scores = H @ weights + normal.intercept(weights)
    np.testing.assert_allclose(np.average(y - scores, axis=0, weights=w), 0, atol=1e-12)
    support = np.array([0, 2, 4])
    twin = naive.ridge_fit(H, y, w, support, 0.3)[support]
    solved = normal.columns(support).solve(np.full(3, 0.3))
    np.testing.assert_allclose(solved, twin, rtol=0, atol=1e-9 * np.abs(twin).max())  # sums round as large ones do
    found = fit_at_price(normal, SampledPrices.whole(groups), tradeoff, 1e-2)
    ridge, priced = 1e-2 * np.median(np.diag(normal.gram)), groups.times(tradeoff)
    value = naive.objective(H, y, w, priced, found, ridge)
    for other in (naive.ridge_fit(H, y, w, np.arange(6), ridge), np.zeros((6, n_labels))):
        assert value <= naive.objective(H, y, w, priced, other, ridge) * (1 + 1e-9)


@settings(max_examples=30)
@given(seeds, st.integers(1, 2))
def test_pruning_of_groups_that_overlap_equals_its_naive_twin(seed, n_labels):
    X, y, w, groups, normal = drawn(seed, d=12, n_labels=n_labels)
    start = naive.ridge_fit(X, y, w, np.array([0, 1, 2, 4, 5, 7, 8, 9, 11]), 0.05)
    twin = naive.prune(X, y, w, groups, start, 0.05)
    np.testing.assert_allclose(prune_groups(normal, groups, start, 0.05), twin, rtol=1e-7, atol=1e-11)


# --- outputs added one at a time ---------------------------------------------------------------------------------


def equations(rng, n_outputs, n_labels, n_sums, n=60):
    """Outputs of which the last ones are sums of two others, in any order; labels that a few of them explain."""
    H = rng.standard_normal((n, n_outputs))
    for c in range(n_outputs - n_sums, n_outputs):
        H[:, c] = H[:, rng.choice(n_outputs - n_sums, 2)] @ rng.uniform(0.5, 2, 2)
    H = H[:, rng.permutation(n_outputs)] * rng.uniform(0.2, 5, n_outputs)
    y = H @ (rng.standard_normal((n_outputs, n_labels)) * (rng.random((n_outputs, 1)) < 0.5))
    y += 0.5 * rng.standard_normal((n, n_labels))
    H, y = H - H.mean(axis=0), y - y.mean(axis=0)
    variance = float((y**2).mean(axis=0).sum())
    return NormalEquations(H.T @ H / n, H.T @ y / n, np.zeros(n_outputs), np.zeros(n_labels), variance)


def offered(rng, n_outputs, n_rows, scale):
    """A price of its own for each output, so that there are no ties; shared ones, some zero, some partly paid."""
    shared = rng.random((5, n_outputs)) < rng.random((5, 1))
    member = sparse.csr_array(np.vstack([np.eye(n_outputs), shared]).astype(float))
    price = rng.uniform(0.5, 1.5, n_outputs + 5) * scale
    price[n_outputs:] *= rng.choice([0.0, 1.0, 5.0], 5)
    whole = SampledPrices.whole(PricedGroups(member, price), rng.dirichlet(np.ones(n_rows)))
    patterns = rng.integers(0, 2**64, whole.reads.shape, np.uint64)
    some = rng.integers(0, 3, (member.nnz, 1))  # rows, all rows, or none, but always all for what is its own
    some[:n_outputs] = 1
    reads = np.where(some == 0, whole.reads & patterns, np.where(some == 1, whole.reads, np.uint64(0)))
    paid = rng.integers(0, 2**64, whole.paid.shape, np.uint64) * rng.integers(0, 2, (n_outputs + 5, 1), np.uint64)
    paid[:n_outputs] = 0
    return SampledPrices(whole.groups, reads, paid, whole.mass)


@pytest.mark.engine
@given(
    seeds, st.integers(3, 12), st.integers(1, 3), st.sampled_from([1, 40, 150]), st.booleans(),
    st.sampled_from([1e-4, 1e-2, 0.1, 1.0, 1e100]), st.sampled_from([0.0, 1e-14, 1e-3, 1.0]),
    st.sampled_from([1, 2, 50]),
)  # fmt: skip
def test_outputs_are_those_of_the_twin(seed, n_outputs, n_labels, n_rows, sums, scale, ridge, patience):
    rng = np.random.default_rng(seed)
    normal = equations(rng, n_outputs, n_labels, rng.integers(1, n_outputs - 1) if sums else 0)
    prices = offered(rng, n_outputs, n_rows, scale)
    if rng.random() < 0.5:
        prices = prices.restrict(np.argsort(rng.random(n_outputs)))
    before = [one.copy() for one in (normal.gram, normal.right, prices.paid, prices.offers)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "_PATIENCE", patience)
        found = forward_select(normal, prices, ridge)
    np.testing.assert_array_equal(found, naive.forward_select(normal, prices, ridge, patience))
    for one, other in zip(before, (normal.gram, normal.right, prices.paid, prices.offers), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_factor_that_grows_is_that_of_the_twin():
    """More outputs are added than the factor has rows at first."""
    rng = np.random.default_rng(3)
    normal = equations(rng, 90, 2, 5, n=200)
    prices = SampledPrices.whole(PricedGroups(sparse.csr_array(np.eye(90)), rng.uniform(0, 0.04, 90)))
    found = forward_select(normal, prices, 1e-3)
    assert 20 < found.sum() < 64
    np.testing.assert_array_equal(found, naive.forward_select(normal, prices, 1e-3, 50))


@pytest.mark.parametrize(
    ("gram", "right", "member", "price", "kept"),
    [
        (np.ones((3, 3)), np.ones(3), np.eye(3), [0.1] * 3, [True, False, False]),  # equals go to the first
        (np.eye(3), np.zeros(3), np.eye(3), [0.0] * 3, [False] * 3),
        (np.empty((0, 0)), np.empty(0), np.empty((2, 0)), [1.0, 1.0], []),
        (np.eye(10), np.ones(10), np.ones((1, 10)), [4.9], [True] * 10),  # a dear feature that only all together repay
        (np.eye(10), np.ones(10), np.ones((1, 10)), [5.1], [False] * 10),
    ],
)
def test_what_is_selected_by_hand(gram, right, member, price, kept):
    normal = NormalEquations(gram, right[:, None], np.zeros(len(right)), np.zeros(1), max(1.0, right.sum()))
    prices = SampledPrices.whole(PricedGroups(sparse.csr_array(member), np.array(price)))
    assert forward_select(normal, prices, 0.0).tolist() == kept


# --- systems, and calibration ------------------------------------------------------------------------------------


def test_what_is_singular_has_a_finite_solution_and_rounding_below_zero_is_no_fault():
    rng = np.random.default_rng(1)
    root = np.tile(rng.standard_normal((20, 10)) * 10.0 ** rng.uniform(-2, 1, 10), (1, 40))
    matrix, right = root.T @ root, root.T @ rng.standard_normal((20, 2))
    found = solve_scaled(matrix, right)
    np.testing.assert_allclose(matrix @ found, right, rtol=1e-3, atol=1e-6 * np.abs(right).max())
    assert np.abs(found).max() < 1e6
    matrix = np.ones((3, 3))
    matrix[0, 1] = matrix[1, 0] = 1 + 1e-10
    assert np.isfinite(solve_scaled(matrix, np.ones((3, 1)))).all()
    with pytest.raises(np.linalg.LinAlgError, match="3 unknowns is not positive"):
        solve_scaled(np.ones((3, 3)) - 2 * (1 - np.eye(3)), np.ones((3, 1)))


@settings(max_examples=30)
@given(seeds, st.integers(2, 40), st.booleans())
def test_a_shrinking_inverse_is_a_ridge_fit_of_what_is_left(seed, size, singular):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((max(1, size // 2) if singular else 2 * size, size)) * 10.0 ** rng.uniform(-2, 1, size)
    matrix, right = root.T @ root, root.T @ rng.standard_normal((len(root), 2))
    support = np.union1d(0, np.flatnonzero(rng.random(size) < 0.8))
    fit = ShrinkingInverse(matrix, right, support, 0.3)
    while True:
        np.testing.assert_array_equal(fit.support, support)
        weights, loss = naive.fit_of_sums(matrix, right, support, 0.3)
        np.testing.assert_allclose(fit.weights, weights, rtol=1e-7, atol=1e-10)
        if not len(support):
            break
        for count in {1, len(support) // 2 + 1, len(support)}:
            gone = rng.permutation(len(support))[:count]
            rest = naive.fit_of_sums(matrix, right, np.delete(support, gone), 0.3)[1]
            assert fit.rise_without(gone) == pytest.approx(rest - loss, rel=1e-6, abs=1e-7 * max(1.0, abs(loss)))
            assert (fit.rises_alone[gone] <= fit.rise_without(gone) * (1 + 1e-6) + 1e-7 * max(1.0, abs(loss))).all()
        gone = rng.permutation(len(support))[: int(rng.choice([1, 2, max(1, len(support) // 2)]))]
        support = np.delete(support, gone)
        fit.remove(gone)


@pytest.mark.parametrize("seed", range(3))
def test_calibration_is_a_logistic_regression_on_softened_labels(seed):
    rng = np.random.default_rng(seed)
    scores, w = rng.standard_normal(300), rng.uniform(0.5, 2, 300)
    codes = (scores + rng.standard_normal(300) > 0.3).astype(int)
    slope, constants = calibrate(np.stack([np.zeros(300), scores], axis=1), codes, w)
    soft = (np.eye(2)[codes] * w.sum() + 0.5) / (w.sum() + 1)  # as two rows each
    both, weight = np.repeat([0, 1], 300), np.concatenate([w * soft[:, 0], w * soft[:, 1]])
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(np.tile(scores, 2)[:, None], both, weight)
    assert slope == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
    assert constants[1] - constants[0] == pytest.approx(oracle.intercept_[0], rel=1e-4, abs=1e-5)


def test_calibration_of_useless_of_perfect_and_of_opposite_scores():
    codes = np.arange(90) % 3
    slope, constants = calibrate(np.zeros((90, 3)), codes, np.ones(90))
    assert np.isfinite(slope)
    np.testing.assert_allclose(constants, 0, atol=1e-6)
    assert 3 < calibrate(np.eye(3)[codes], codes, np.ones(90))[0] < 100
    assert calibrate(-np.eye(3)[codes], codes, np.ones(90))[0] == 0
