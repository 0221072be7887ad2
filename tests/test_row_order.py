"""Boosted trees do not depend on the order of rows, to the last bit: neither would parts of the rows, summed apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import engine
from costframe.core.accurate_sums import sum_over_rows, sum_products
from costframe.core.exact_sums import exact_mean, exact_sum, to_grid
from costframe.testing.parts import run_together


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40), st.randoms())
def test_exact_sums_depend_neither_on_order_nor_on_workers(values, random):
    from fractions import Fraction

    whole = sum(map(Fraction, values), Fraction(0))
    shuffled, cut = np.array(random.sample(values, len(values)), np.float64), random.randint(0, len(values))
    try:
        expected = float(whole)
    except OverflowError:
        expected = np.inf if whole > 0 else -np.inf
    assert exact_sum(shuffled) == expected
    parts = shuffled[:cut], shuffled[cut:]
    assert run_together(2, lambda each: exact_sum(parts[each.rank], each)) == [expected, expected]


def test_exact_sums_of_infinities():
    for values, expected in (
        ([np.inf, 1.0], np.inf),
        ([-np.inf], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([np.nan], np.nan),
    ):
        assert np.array_equal(exact_sum(np.array(values)), expected, equal_nan=True)


def test_exact_means():
    assert exact_mean(np.array([1e16, 1.0, -1e16])) == 1 / 3
    assert exact_mean(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == 1.5


@given(st.lists(st.just(0.0) | st.floats(1e-75, 1e30), min_size=1, max_size=40), st.randoms())
def test_sums_of_weights_on_a_grid_are_exact(values, random):
    grid = to_grid(np.array(values))
    assert np.allclose(grid, values, rtol=0, atol=max(values) * 2.0**-40)
    order = random.sample(range(len(values)), len(values))
    assert np.cumsum(grid[order])[-1] == exact_sum(grid)
    assert np.array_equal(to_grid(np.zeros(3)), np.zeros(3))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40), st.randoms())
def test_scales_do_not_depend_on_order(values, random):
    values = np.array(values)
    order = random.sample(range(len(values)), len(values))
    for scale in (lambda each: engine.leaf_scale(each, 0), lambda each: engine.scale_for(each, 40, 0)):
        assert np.array_equal(scale(values), scale(values[order]), equal_nan=True)
    if np.isfinite(scale := engine.scale_for(values, 40, 0)):
        assert sum(abs(int(np.rint(each * scale))) for each in values) < 2**40
    assert sum(abs(int(np.rint(each * engine.leaf_scale(values, 0)))) for each in values) < 2**62


@given(st.integers(0, 999))
def test_accurate_sums_do_not_depend_on_order(seed):
    rng = np.random.default_rng(seed)
    left, right, order = rng.normal(size=(200, 3)) * 1e3, rng.exponential(size=(200, 2)) ** 4, rng.permutation(200)
    sums = sum_products(left, right)
    np.testing.assert_allclose(sums, left.T @ right, rtol=1e-9, atol=1e-6)
    np.testing.assert_array_equal(sum_products(left[order], right[order]), sums)
    exact = [float(sum(map(int, column))) for column in (left * 2**20).astype(np.int64).T]
    np.testing.assert_array_equal(sum_over_rows((left * 2**20).astype(np.int64).astype(float)), exact)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("name", ["Miser", "CEGB"])
def test_models_do_not_depend_on_the_order_of_rows(name, kind, weighted):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((2001, 5)) < 0.05, np.nan, rng.normal(size=(2001, 5)))
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=len(X))
    y = np.digitize(score, [-1.0, 1.0]) if kind == "Classifier" else 1e3**score
    weight = rng.random(len(X)) + 0.1 if weighted else None
    costs = cf.CostModel.of(
        {
            "features": {f"x{f}": {"cost": 0.1 * f + 0.1, "needs": ["r"] if f > 2 else []} for f in range(5)},
            "resources": {"r": 0.7},
            "split": 0.01,
            "reuse": 0.001,
        }
    )
    models = []
    for order in (np.arange(len(X)), rng.permutation(len(X))):
        model = getattr(cf, name + kind)(costs, tradeoff=1e-3, n_estimators=12)
        weights = None if weight is None else weight[order]
        models.append(model.fit(X[order], y[order], sample_weight=weights).predictor_)
    one, other = models
    assert len(one.bank) == len(other.bank) > 0
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    assert np.array_equal(one.cost(X).per_row, other.cost(X).per_row)
