"""Trees of gradients and hessians of any size: powers of two change no digit."""

import numpy as np
import pytest

from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.growing.grow import grow_tree
from costframe.trees.growing.prices import OncePrices


@pytest.mark.parametrize("exponents", [(0, 0), (-400, 0), (400, 0), (3, 500), (-400, -500), (130, 130), (-170, -170)])
@pytest.mark.parametrize("growth", ["breadth", "best"])
@pytest.mark.parametrize("weighted", [False, True])
def test_powers_of_two_change_no_digit(exponents, growth, weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 11))
    y = (X[:, 0] * X[:, 1] + 2 * (X[:, 2] > 1) + 0.1 * rng.standard_normal(1500)).astype(np.float32)
    data = BinMapper.fit(X).transform(X)
    g_unit, h_unit = 2.0 ** exponents[0], 2.0 ** exponents[1] if weighted else 1.0
    h = np.random.default_rng(0).random(len(y)).astype(np.float32) if weighted else None
    plain, scaled = (
        grow_tree(
            data,
            gradients,
            hessians,
            prices=OncePrices(np.full(11, 2.0) * gain, split_price=0.001 * gain, root_price=3 * gain),
            growth=growth,
            max_leaves=17,
            l2=0.25 * unit,
            min_hessian_leaf=4.0 * unit,
        )
        for gradients, hessians, gain, unit in (
            (-y, h, 1.0, 1.0),
            (g_unit * -y.astype(float), h if h is None else h_unit * h.astype(float), g_unit * g_unit / h_unit, h_unit),
        )
    )
    assert 5 < plain.n_leaves <= 17
    for name in ("feature", "threshold", "missing_left", "left", "right", "leaf_of_row"):
        assert np.array_equal(getattr(plain, name), getattr(scaled, name))
    assert np.array_equal(scaled.outputs, plain.outputs * (g_unit / h_unit))


@pytest.mark.parametrize("size", [1e-290, 1e-200, 1e200, 1e300])
def test_gradients_and_hessians_to_the_ends_of_the_doubles(size):
    X = np.array([[0.0], [1.0], [2.0]])
    g, h = np.array([-1.0, 1.0, 0.5]), np.array([1.0, 0.5, 0.5])
    data = BinMapper.fit(X).transform(X)
    assert grow_tree(data, g * size, h * size).outputs == pytest.approx([0, 1, 0, -2, -1], rel=1e-3)
    assert grow_tree(data, g * size, prices=OncePrices([1e300])).n_leaves == (1 if size < 1e200 else 3)
    assert grow_tree(data, g * size, h, l2=1.0).n_leaves == 2


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_rounding_buys_no_feature_at_any_size(unit):
    X = np.random.default_rng(0).standard_normal((1000, 5))
    data = BinMapper.fit(X).transform(X)
    assert grow_tree(data, np.full(1000, 0.1 * unit)).n_leaves == 1
    h = np.random.default_rng(1).random(1000).astype(np.float32).astype(float)
    assert grow_tree(data, h * 0.25, h * unit).n_leaves == 1
