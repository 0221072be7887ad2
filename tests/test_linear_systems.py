"""Systems, and inverses that lose unknowns, against linear algebra that starts anew each time."""

import naive_linear
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.stagewise.systems import ShrinkingInverse, solve_scaled

seeds = st.integers(0, 10_000)
CLOSE = {"rtol": 1e-7, "atol": 1e-10}


def drawn(seed, size, rank=None):
    """A positive matrix with variances of very different sizes, and two right hand sides in its range."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((rank or 2 * size, size)) * 10.0 ** rng.uniform(-2, 1, size)
    return root.T @ root, root.T @ rng.standard_normal((len(root), 2)), rng


def test_what_is_singular_has_a_finite_solution():
    for size, copies in ((3, 2), (10, 40)):
        matrix, right, _ = drawn(1, size)
        matrix, right = np.tile(matrix, (copies, copies)), np.tile(right, (copies, 1))
        found = solve_scaled(matrix, right)
        np.testing.assert_allclose(matrix @ found, right, rtol=1e-3, atol=1e-6 * np.abs(right).max())
        assert np.abs(found).max() < 1e6


def test_rounding_below_zero_is_no_fault():
    matrix = np.ones((3, 3))
    matrix[0, 1] = matrix[1, 0] = 1 + 1e-10
    assert np.isfinite(solve_scaled(matrix, np.ones((3, 1)))).all()
    with pytest.raises(np.linalg.LinAlgError, match="3 unknowns is not positive"):
        solve_scaled(np.ones((3, 3)) - 2 * (1 - np.eye(3)), np.ones((3, 1)))


@given(seeds, st.integers(2, 40), st.booleans())
def test_a_shrinking_inverse_is_a_ridge_fit_of_what_is_left(seed, size, singular):
    matrix, right, rng = drawn(seed, size, rank=max(1, size // 2) if singular else None)
    ridge, support = 0.3, np.flatnonzero(rng.random(size) < 0.8)
    if not len(support):
        return
    fit = ShrinkingInverse(matrix, right, support, ridge)
    while True:
        np.testing.assert_array_equal(fit.support, support)
        weights, loss = naive_linear.fit_of_sums(matrix, right, support, ridge)
        np.testing.assert_allclose(fit.weights, weights, **CLOSE)
        if not len(support):
            break
        for count in {1, max(1, len(support) // 4), len(support) // 2 + 1, len(support)}:
            gone = rng.permutation(len(support))[:count]
            rest = naive_linear.fit_of_sums(matrix, right, np.delete(support, gone), ridge)[1]
            assert fit.lost(gone) == pytest.approx(rest - loss, rel=1e-6, abs=1e-7 * max(1.0, abs(loss)))
            assert (fit.lost_alone[gone] <= fit.lost(gone) * (1 + 1e-6) + 1e-7 * max(1.0, abs(loss))).all()
        gone = rng.permutation(len(support))[: int(rng.choice([1, 1, 1, 2, max(1, len(support) // 2)]))]
        support = np.delete(support, gone)
        fit.remove(gone)
